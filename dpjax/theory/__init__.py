"""Sample sizes of the theorems, with constants, as functions of plain numbers (numpy and scipy, on the host)."""
