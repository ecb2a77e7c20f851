"""Clipping convex polygons by halfplanes, on the host."""

from typing import Any

import numpy as np

Corner = tuple[float, float]
_MARGIN = 2.0**-40  # far above the rounding errors of float64, relative to the terms of a x + b y - c


def square(side: float) -> list[Corner]:
    """The corners of [0, side]^2, counterclockwise."""
    return [(0.0, 0.0), (side, 0.0), (side, side), (0.0, side)]


def clipped(corners: list[Corner], normals: Any, offsets: Any) -> list[Corner]:
    """The corners of the part of a convex polygon where a x + b y <= c for every normal (a, b) and offset c.

    Fewer than 3 corners if the part is empty, a point or a segment.

    Reference: Sutherland and Hodgman 1974, "Reentrant polygon clipping".
    """
    for (a, b), c in zip(normals, offsets, strict=True):
        kept = []
        for (x, y), (u, v) in zip(corners, corners[1:] + corners[:1], strict=True):
            here, there = c - a * x - b * y, c - a * u - b * v
            if here >= 0:
                kept.append((x, y))
            if (here >= 0) != (there >= 0):
                share = here / (here - there)
                kept.append((x + share * (u - x), y + share * (v - y)))
        corners = kept
    return corners


def area(corners: list[Corner]) -> float:
    """The area of a simple polygon."""
    pairs = zip(corners, corners[1:] + corners[:1], strict=True)
    return 0.5 * abs(sum(x * v - u * y for (x, y), (u, v) in pairs))


def crosses(side: float, line: Any) -> bool:
    """Whether the halfplane a x + b y <= c, ``line`` = (a, b, c), excludes part of [0, side]^2; True if uncertain."""
    a, b, c = map(float, line)
    return max(a * x + b * y for x, y in square(side)) > c - float(_margins(side, np.array([[a, b, c]]))[0])


def meets(side: float, lines: Any) -> bool:
    """Whether the halfplanes a x + b y <= c, ``float64[e, 3]``, and [0, side]^2 intersect; True if uncertain."""
    return len(clipped(square(side), lines[:, :2], lines[:, 2] + _margins(side, lines))) >= 3


def _margins(side: float, lines: np.ndarray) -> np.ndarray:
    return _MARGIN * (side * np.abs(lines[:, :2]).sum(axis=1) + np.abs(lines[:, 2]) + side)
