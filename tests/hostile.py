"""Distributions on which a wrong sample size shows: mass next to the decision boundary, atoms, ends of the domain."""

from math import ceil, floor

from dpjax.concepts.plane_atoms import PlaneAtoms


def beside_the_edges(d, corners, steps, edges=None, spacing=2):
    """Grid points ``steps`` above the first ``edges`` edges of a polygon, by default all, below for steps < 0.

    They have equal mass and ``spacing`` columns (rows, for steep edges) between them. A line that is off by more than
    the steps at one end of an edge is wrong on half of the points that it passes.
    """
    points = set()
    for (x, y), (u, v) in list(zip(corners, corners[1:] + corners[:1], strict=True))[:edges]:
        steep = abs(v - y) > abs(u - x)
        if steep:
            x, y, u, v = y, x, v, u
        low, high = sorted((x, u))
        for place in range(low + (high - low) // 10, high - (high - low) // 10, spacing):
            at = y + (v - y) * (place - x) / (u - x)
            for step in steps:
                other = floor(at) + step if step < 0 else ceil(at) + step
                if 0 <= other <= d:
                    points.add((other, place) if steep else (place, other))
    return PlaneAtoms.of(d, sorted(points), [1] * len(points))
