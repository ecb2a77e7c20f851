"""Numerical tools of accounting: profiles, convolution, grids, roots."""
