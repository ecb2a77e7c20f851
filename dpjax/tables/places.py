"""A person's own table of places: two coordinates onto a public grid, and what was learned in their units."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.concepts import ConvexPolygons, Hypothesis, Unions
from dpjax.concepts.areas import Box, pieces, placed, region, shapely_module
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.learners import Learner
from dpjax.tables.columns import Grid, Table, labels, numbers, opened


def grids(box: Box | None, bits: int) -> tuple[Grid, Grid]:
    """The public grid of a box x0, y0, x1, y1. InputError where there is none or it makes no sense."""
    checks.integer("bits", bits, 1, 30)
    if box is None:
        raise InputError(
            "box", "--box X0 Y0 X1 Y1, corners of a rectangle", "none",
            "give one from what is known of the region; the box is public and never read from the data, because that "
            "would leak it",
        )  # fmt: skip
    x0, y0, x1, y1 = (checks.number("box", float(value)) for value in box)
    if not (x0 < x1 and y0 < y1):
        raise InputError("box", "X0 Y0 X1 Y1 with X0 < X1 and Y0 < Y1", repr(tuple(box)), "give its lower corner first")
    return Grid(x0, x1, bits), Grid(y0, y1, bits)


def read(
    path: str | Path, features: Sequence[str], targets: Sequence[str], placing: tuple[Grid, Grid]
) -> tuple[Table, int]:  # fmt: skip
    """Reads places and their labels from a CSV file, and how many were moved to the nearest edge of the box.

    Two features and one target; without any, the file has three columns, in this order. Each place is moved and rounded
    by itself, to the cell of the grid that it is in.
    """
    if not features and not targets:
        names = opened(path, ()).column_names
        if len(names) != 3:
            raise InputError(
                "table", "three columns x, y, label, or --features X Y --target LABEL", f"{len(names)} columns",
                "name the columns",
            )  # fmt: skip
        features, targets = names[:2], names[2:]
    if len(features) != 2 or len(targets) != 1:
        raise InputError(
            "columns", "two features and one target for a shape", f"{len(features)} and {len(targets)}",
            "name the two coordinates and the label",
        )  # fmt: skip
    rows = opened(path, (*features, *targets))
    values = [numbers(rows, name) for name in features]
    outside = [(one < grid.low) | (one > grid.high) for one, grid in zip(values, placing, strict=True)]
    cells = [grid.place(name, one, True) for grid, name, one in zip(placing, features, values, strict=True)]
    x = np.stack(cells, axis=1).astype(np.uint32)
    return Table(x, labels(rows, targets[0])[:, None], tuple(targets), placing), int(np.sum(outside[0] | outside[1]))


def box_of(placing: tuple[Grid, ...]) -> Box:
    """The centres of the first and of the last cell of two columns, in their units."""
    (x0, x1), (y0, y1) = (_ends(grid) for grid in placing)
    return x0, y0, x1, y1


def summary(learner: Learner, hypothesis: Hypothesis, table: Table) -> list[dict[str, Any]]:
    """What was learned, in the columns' units: ``pieces`` holds lists of [a, b, c], the halfplanes a x + b y <= c.

    A row is labelled 1 iff all halfplanes of one of the lists hold the centre of its cell.
    """
    concepts = learner.concepts
    assert isinstance(concepts, ConvexPolygons | Unions)
    x0, y0, x1, y1 = box_of(table.grids)
    inverse = np.array([concepts.d / (x1 - x0), concepts.d / (y1 - y0)])
    found = []
    for piece in pieces(concepts, hypothesis):
        normals = piece[:, :2] * inverse
        lines = np.column_stack([normals, piece[:, 2] + normals @ np.array([x0, y0])])
        found.append((lines / np.hypot(*normals.T)[:, None]).tolist())
    edges = len(found[0])
    union = isinstance(concepts, Unions)
    rule = f"1 iff in one of {len(found)} triangles" if union else f"1 iff in {edges} halfplanes"
    if bool(hypothesis.zero[0]):
        rule, found = "0 everywhere", []
    return [{"concept": table.names[0], "outcome": int(hypothesis.outcome[0]), "rule": rule, "pieces": found}]


def geometry(concepts: ConvexPolygons | Unions, hypothesis: Hypothesis, table: Table) -> dict[str, Any]:
    """The learned region as GeoJSON, in the columns' units, and its share of the box; needs shapely."""
    shapely, found = shapely_module(), region(concepts, hypothesis)
    box = box_of(table.grids)
    own = shapely.transform(found, lambda points: placed(points, concepts.d, box))
    return {"region": shapely.geometry.mapping(own), "share": float(found.area) / concepts.d**2}


def _ends(grid: Grid) -> tuple[float, float]:
    half = (grid.high - grid.low) / 2.0 ** (grid.bits + 1)
    return grid.low + half, grid.high - half
