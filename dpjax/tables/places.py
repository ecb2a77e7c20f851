"""Hypotheses on locations in the plane, in the units of their two columns."""

from typing import Any

import numpy as np

from dpjax.concepts import Hypothesis
from dpjax.concepts.areas import Box, pieces, placed, region, shapely_module
from dpjax.concepts.base import ConceptClass
from dpjax.concepts.clipping import crosses
from dpjax.core.members import implements
from dpjax.tables.grids import Grid


def box_of(grids: tuple[Grid, ...]) -> Box:
    """The centers of the first and of the last cell of two columns, in their units."""
    (x0, y0), (x1, y1) = zip(*(_ends(grid) for grid in grids), strict=True)
    return x0, y0, x1, y1


def pieces_of(concepts: Any, hypothesis: Hypothesis, grids: tuple[Grid, ...]) -> dict[str, Any]:
    """``pieces``: lists of [a, b, c], the halfplanes a x + b y <= c in the columns' units; empty for other classes.

    A row is labeled 1 iff all halfplanes of one of the lists contain the center of its cell. Halfplanes that contain
    the whole box are left out, and repeated ones: an empty list contains the box, and no list is the constant 0.
    """
    if not implements(concepts, ConceptClass.halfplanes):
        return {}
    if bool(hypothesis.zero[0]):
        return {"pieces": []}
    x0, y0, x1, y1 = box_of(grids)
    inverse = np.array([concepts.d / (x1 - x0), concepts.d / (y1 - y0)])
    parts = []
    for piece in pieces(concepts, hypothesis):
        once = dict.fromkeys(tuple(line) for line in piece.tolist())
        sides = np.array([line for line in once if crosses(concepts.d, line)]).reshape(-1, 3)
        normals = sides[:, :2] * inverse
        lines = np.column_stack([normals, sides[:, 2] + normals @ np.array([x0, y0])])
        parts.append((lines / np.hypot(*normals.T)[:, None]).tolist())
    return {"pieces": parts}


def geometry(concepts: Any, hypothesis: Hypothesis, grids: tuple[Grid, ...]) -> dict[str, Any]:
    """The learned region as GeoJSON, in the columns' units, and its fraction of the box; needs shapely."""
    shapely, shape = shapely_module(), region(concepts, hypothesis)
    box = box_of(grids)
    scaled = shapely.transform(shape, lambda points: placed(points, concepts.d, box))
    return {"region": shapely.geometry.mapping(scaled), "share": float(shape.area) / concepts.d**2}


def _ends(grid: Grid) -> tuple[float, float]:
    half = (grid.high - grid.low) / 2.0 ** (grid.bits + 1)
    return grid.low + half, grid.high - half
