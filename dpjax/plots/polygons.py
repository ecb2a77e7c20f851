"""A learned polygon over the true one: the rows, the region, and the halfplane of each round."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.plots.files import check_formats, house_style, render, write
from dpjax.types import Sample

_PIXELS, _MOST_ROWS = 512, 3000
_LEARNED, _TRUE, _ROWS = "#8ccbee", "#d0382d", {True: "#003b80", False: "#c9a24a"}


def plot_polygon(
    learned: tuple[ConvexPolygons, Hypothesis], sample: Sample, base: str | Path, about: Mapping[str, Any], title: str,
    caption: str = "", *, truth: tuple[ConvexPolygons, Hypothesis] | None = None,
    formats: str | Sequence[str] = ("png", "svg"),
) -> list[Path]:  # fmt: skip
    """Draws a polygon of one concept and writes a file a format; returns their paths.

    learned, truth: a class and a concept of it, on the same grid. sample: what was learned from; 3000 rows are shown.
    Lines are numbered by their rounds; those that exclude nothing of the square are left out.
    """
    chosen, place = check_formats(formats), Path(base)
    with house_style():
        figure = Figure(figsize=(5.6, 5.9), layout="constrained", facecolor="white")
        axes = figure.subplots()
        _draw(axes, learned, sample, truth)
        axes.set_title(caption, fontsize=9, color="#555555", loc="left")
        figure.suptitle(title, fontsize=11, weight="bold", x=0.012, ha="left", parse_math=False)
        software = f"dpjax {about.get('versions', {}).get('dpjax', '')}".strip()
        files = {name: render(figure, name, about, title, software) for name in chosen}
    return [write(place.with_name(f"{place.name}.{name}"), data) for name, data in files.items()]


def _draw(
    axes: Axes, learned: tuple[ConvexPolygons, Hypothesis], sample: Sample,
    truth: tuple[ConvexPolygons, Hypothesis] | None,
) -> None:  # fmt: skip
    concepts, d = learned[0], learned[0].d
    axis = np.linspace(0, d, _PIXELS).round().astype(np.uint32)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    inside = _region(learned, grid)
    axes.contourf(axis, axis, inside, levels=[0.5, 1.5], colors=[_LEARNED], alpha=0.55, zorder=1)
    if truth is not None:
        axes.contour(axis, axis, _region(truth, grid), levels=[0.5], colors=[_TRUE], linewidths=1.8, zorder=4)
        axes.plot([], [], color=_TRUE, linewidth=1.8, label="target")
    real = np.flatnonzero(np.asarray(sample.mask))[:_MOST_ROWS]
    x, y = np.asarray(sample.x)[real].astype(float), np.asarray(sample.y)[real, 0]
    for label in (True, False):
        own = x[y == label]
        axes.plot(own[:, 0], own[:, 1], "o", color=_ROWS[label], markersize=1.6, markeredgewidth=0, alpha=0.7, zorder=2,
                  label=f"rows labelled {int(label)}")  # fmt: skip
    axes.fill([], [], color=_LEARNED, alpha=0.55, label="learned")
    for number, (a, b, c) in enumerate(concepts.family.normal(concepts.cuts(learned[1].concept[0])), start=1):
        ends = _across(a, b, c, d)
        if len(ends) == 2:
            axes.plot(*np.transpose(ends), color="#555555", linewidth=0.8, linestyle=(0, (4, 2)), zorder=3)
            across, up = np.mean(ends, axis=0)
            axes.text(across, up, str(number), fontsize=8, ha="center", va="center", zorder=5,
                      bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "#555555"})  # fmt: skip
    axes.set(xlim=(0, d), ylim=(0, d), aspect="equal")
    axes.grid(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.05), ncols=4, markerscale=4)


def _region(of: tuple[ConvexPolygons, Hypothesis], grid: np.ndarray) -> np.ndarray:
    concepts, hypothesis = of
    return np.asarray(concepts.predict(hypothesis, jnp.asarray(grid)))[:, 0].reshape(_PIXELS, _PIXELS).astype(float)


def _across(a: float, b: float, c: float, d: int) -> list[tuple[float, float]]:
    """Where the line a x + b y = c enters and leaves the square; empty where it misses it."""
    found: list[tuple[float, float]] = []
    for side in (0.0, float(d)):
        if b and 0 <= (c - a * side) / b <= d:
            found.append((side, (c - a * side) / b))
        if a and 0 < (c - b * side) / a < d:
            found.append(((c - b * side) / a, side))
    return found if len(found) == 2 and found[0] != found[1] else []
