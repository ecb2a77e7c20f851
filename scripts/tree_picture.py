"""A class of VC dimension 1 as the tree that it is: layers of depths, concepts and improper nodes, and marked ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpjax.concepts import Tree
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.plots.files import save

_MOST = 200
_PROPER, _IMPROPER, _MARKS = "#003b80", "#d0382d", ("#e69f00", "#3fae5a", "#b46ac6")


def tree_places(tree: Tree) -> np.ndarray:
    """``float64[V + 1]``, where the nodes are from left to right: leaves at 0, 1, ..., others amid their children."""
    place, leaves = np.zeros(tree.size), 0
    for node in range(tree.size):
        if tree.tout[node] == node + 1:
            place[node], leaves = leaves, leaves + 1
    for node in range(tree.size - 1, -1, -1):
        children = tree.child[tree.child_start[node] : tree.child_start[node + 1]]
        if len(children):
            place[node] = (place[children].min() + place[children].max()) / 2
    return place


def plot_tree(
    tree: Tree,
    base: str | Path,
    about: Mapping[str, Any],
    title: str,
    caption: str = "",
    *,
    marks: Mapping[int, str] | None = None,
    counts: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    formats: str | Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draws a tree of at most 200 nodes, root on top, and writes a file a format; returns their paths.

    Filled circles are concepts, hollow ones improper nodes; each depth is a band.

    Args:
      marks: nodes with a ring, and what the ring means.
      counts: one for each node, written beside it where it is not 0.
      names: one for each point; by default x and its number. A node is called by its first point.
    """
    checks.integer("nodes of the tree", tree.size, 1, _MOST)
    if counts is not None and len(counts) != tree.size:
        raise InputError("counts", f"{tree.size} numbers", str(len(counts)), "give one for each node")

    def draw() -> tuple[Figure, str]:
        figure = Figure(figsize=(6.4, 1.5 + 0.95 * (tree.height + 1)), layout="constrained", facecolor="white")
        axes = figure.subplots()
        _draw(axes, tree, marks or {}, counts, names)
        axes.set_title(caption, fontsize=9, color="#555555", loc="left")
        figure.suptitle(title, fontsize=11, weight="bold", x=0.012, ha="left", parse_math=False)
        return figure, title

    return save(draw, base, formats, about)


def _draw(
    axes: Axes, tree: Tree, marks: Mapping[int, str], counts: Sequence[int] | None, names: Sequence[str] | None
) -> None:
    x, y = tree_places(tree), -tree.depth.astype(float)
    points = tree.place.tolist()
    called = names if names is not None else [f"x{number}" for number in range(len(points))]
    for depth in range(tree.height + 1):
        axes.axhspan(-depth - 0.5, -depth + 0.5, color="#f3f3f3" if depth % 2 == 0 else "#ffffff", zorder=0)
        axes.text(x.min() - 0.75, -depth, f"depth {depth}", fontsize=8, color="#555555", va="center", ha="right")
    for node in range(1, tree.size):
        above = tree.parent[node]
        axes.plot([x[above], x[node]], [y[above], y[node]], color="#777777", linewidth=1, zorder=1)
    for number, (node, meaning) in enumerate(marks.items()):
        color = _MARKS[number % len(_MARKS)]
        axes.plot(
            x[node],
            y[node],
            "o",
            markersize=23,
            markerfacecolor="none",
            markeredgecolor=color,
            markeredgewidth=2.4,
            zorder=2,
            linestyle="",
            label=meaning,
        )
    for proper, label in ((True, "concept of the class (proper)"), (False, "hypothesis only (improper)")):
        own = np.flatnonzero(tree.proper == proper)
        if len(own):
            axes.plot(
                x[own],
                y[own],
                "o",
                markersize=17,
                markeredgewidth=1.6,
                label=label,
                zorder=3,
                markerfacecolor=_PROPER if proper else "white",
                markeredgecolor=_PROPER if proper else _IMPROPER,
            )
    for node in range(tree.size):
        text = "∅" if node == 0 else called[points.index(node)]
        axes.text(
            x[node],
            y[node],
            text,
            fontsize=8,
            ha="center",
            va="center",
            zorder=4,
            color="white" if tree.proper[node] else _IMPROPER,
        )
        if counts is not None and counts[node]:
            axes.text(x[node] + 0.24, y[node], f"{counts[node]}", fontsize=8, color="#222222", va="center", zorder=4)
    axes.set(xlim=(x.min() - 1.6, x.max() + 0.8), ylim=(-tree.height - 0.5, 0.5), xticks=[], yticks=[])
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.grid(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, markerscale=0.5, handlelength=1.5)
