"""A person's own CSV file: columns with their own grids, or places in the plane."""
