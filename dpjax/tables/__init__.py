"""User tables in CSV files: columns with their grids, or locations in the plane."""
