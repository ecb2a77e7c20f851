"""Triangles with edges in a finite set of lines."""
