"""Sample sizes of the theorems, with constants, as functions of plain numbers (NumPy and SciPy, on the host)."""
