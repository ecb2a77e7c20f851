"""A learned polygon or union with the true shape, the rows, and the halfplane or triangle of each round."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpjax.concepts.areas import Box, Geometry, pieces, placed, rings
from dpjax.concepts.clipping import area, clipped, square
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.concepts.unions import Unions
from dpjax.core import wide
from dpjax.core.types import Sample
from dpjax.plots import sheet
from dpjax.plots.files import check_formats, save
from dpjax.plots.page import Page
from dpjax.plots.sheet import Block
from dpjax.plots.words import typeset

Concept = tuple[ConvexPolygons | Unions, Hypothesis]
_PIXELS, _MOST_ROWS, _LEAST_SHARE = 512, 3000, 1e-3
_WIDTH = 5.6
_LEARNED, _TRUE, _ROWS, _ROUND = "#8ccbee", "#d0382d", {True: "#003b80", False: "#c9a24a"}, "#555555"


def plot_polygon(
    learned: Concept,
    sample: Sample,
    base: str | Path,
    about: Mapping[str, Any],
    title: str,
    caption: str = "",
    *,
    truth: Concept | Geometry | None = None,
    box: Box | None = None,
    formats: str | Sequence[str] = ("png", "svg"),
    **look: Any,
) -> list[Path]:
    """Draws a polygon or a union of one concept and writes one file per format; returns their paths.

    learned: a class and a concept of it. sample: the training sample, of which 3000 rows are shown. truth: another
    concept on the same grid, or a shapely geometry in its coordinates. box: axis values at the corners (0, 0) and (d,
    d). A polygon's lines and a union's triangles are numbered by round; those without area in the square are left out.
    look: width, font, size, dpi of `Page.of`; on a screen the figure is 5.6 inches wide, and has its title.
    """
    check_formats(formats)
    page = Page.of(**look, dark=False)
    page = page if page.fixed else replace(page, width=_WIDTH)
    corners = box or (0.0, 0.0, learned[0].d, learned[0].d)

    def draw() -> tuple[Figure, str]:
        blocks = []
        if not page.fixed:
            blocks.append(sheet.text(page, typeset(title), size=1.2 * page.size, weight="bold", space=0.4 * page.em))
        if caption:
            grey = page.colors["grey"]
            blocks.append(sheet.text(page, typeset(caption), size=page.small, color=grey, space=0.2 * page.em))
        blocks.append(
            Block(page.width, lambda part: _draw(part.subplots(), learned, sample, truth, corners, page.small))
        )
        legend = sheet.legend(page, page.width - 2 * sheet.MARGIN, *_legend(truth is not None), handle=1.6)
        blocks.append(sheet.legends(page, [legend], 1))
        return sheet.compose(page, blocks), title

    return save(draw, base, formats, about, page)


def _legend(target: bool) -> tuple[list[Artist], list[str]]:
    rows: list[Artist] = [
        Line2D([], [], linestyle="", marker="o", color=_ROWS[label], markersize=5) for label in (True, False)
    ]
    handles = [Patch(color=_LEARNED, alpha=0.55, linewidth=0), *rows]
    names = ["learned", "rows labeled 1", "rows labeled 0"]
    if target:
        return [*handles, Line2D([], [], color=_TRUE, linewidth=1.8)], [*names, "target"]
    return handles, names


def _draw(
    axes: Axes, learned: Concept, sample: Sample, truth: Concept | Geometry | None, box: Box, points: float = 8.0
) -> None:
    d = learned[0].d
    domain = learned[0].domain
    axis = np.minimum(np.linspace(0, d, _PIXELS).round(), np.nextafter(2.0**64, 0)).astype(np.uint64)
    grid = wide.encode(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2), domain.limbs // 2)
    grid = grid.reshape(-1, domain.limbs)
    across, up = placed(np.stack([axis, axis], axis=-1), d, box).T
    axes.contourf(across, up, _region(learned, grid), levels=[0.5, 1.5], colors=[_LEARNED], alpha=0.55, zorder=1)
    real = np.flatnonzero(np.asarray(sample.mask))[:_MOST_ROWS]
    x, y = placed(domain.decode(np.asarray(sample.x)[real]), d, box), np.asarray(sample.y)[real, 0]
    for label in (True, False):
        rows = x[y == label]
        axes.plot(
            rows[:, 0], rows[:, 1], "o", color=_ROWS[label], markersize=1.6, markeredgewidth=0, alpha=0.7, zorder=2
        )
    for number, path in _rounds(learned):
        ends = placed(path, d, box)
        axes.plot(*ends.T, color=_ROUND, linewidth=0.8, linestyle=(0, (4, 2)), zorder=3)
        if len(ends) == 2:  # labels at different positions
            share = 0.38 + 0.12 * (number % 3)
            across_to, up_to = (1 - share) * ends[0] + share * ends[1]
        else:
            across_to, up_to = np.mean(ends[:-1], axis=0)
        bbox = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": _ROUND}
        axes.text(across_to, up_to, str(number), fontsize=points, ha="center", va="center", zorder=5, bbox=bbox)
    if truth is not None:
        if isinstance(truth, tuple):
            axes.contour(across, up, _region(truth, grid), levels=[0.5], colors=[_TRUE], linewidths=1.8, zorder=4)
        else:
            for ring in rings(truth):
                axes.plot(*placed(ring, d, box).T, color=_TRUE, linewidth=1.8, zorder=4)
    axes.set(xlim=(box[0], box[2]), ylim=(box[1], box[3]), box_aspect=1)
    axes.grid(False)


def _region(of: Concept, grid: np.ndarray) -> np.ndarray:
    concepts, hypothesis = of
    return np.asarray(jax.jit(concepts.predict)(hypothesis, grid))[:, 0].reshape(_PIXELS, _PIXELS).astype(float)


def _rounds(learned: Concept) -> list[tuple[int, list[tuple[float, float]]]]:
    """The number of each round, from 1, with its segment or closed triangle in the square."""
    concepts, hypothesis = learned
    d, rounds = concepts.d, []
    if isinstance(concepts, ConvexPolygons):
        paths = [_across(a, b, c, d) for a, b, c in pieces(concepts, hypothesis)[0]]
        return [(number, path) for number, path in enumerate(paths, start=1) if path]
    for number, piece in enumerate(pieces(concepts, hypothesis), start=1):
        loop = clipped(square(d), piece[:, :2], piece[:, 2])
        if area(loop) > _LEAST_SHARE * d**2:
            rounds.append((number, [*loop, loop[0]]))
    return rounds


def _across(a: float, b: float, c: float, d: int) -> list[tuple[float, float]]:
    """The points where the line a x + b y = c enters and leaves the square; empty if it misses the square."""
    points: list[tuple[float, float]] = []
    for side in (0.0, float(d)):
        if b and 0 <= (c - a * side) / b <= d:
            points.append((side, (c - a * side) / b))
        if a and 0 < (c - b * side) / a < d:
            points.append(((c - b * side) / a, side))
    return points if len(points) == 2 and points[0] != points[1] else []
