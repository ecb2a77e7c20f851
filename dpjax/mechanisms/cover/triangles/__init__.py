"""Triangles and rectangles with edges in a finite set of lines."""
