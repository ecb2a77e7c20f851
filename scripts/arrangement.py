"""The law of one private halfplane as a picture: its dual arrangement, each cell shaded by its probability."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure

from dpjax.core import checks
from dpjax.plots.files import save

sys.path.append(str(Path(__file__).resolve().parent.parent))  # the oracles are among the tests
from tests.oracles import events
from tests.oracles.slabs import Frame

_MOST, _STEPS, _NUMBERED, _SHADES = 20, 13, 3, 1e-5
_GREYS = np.linspace(0.02, 0.6, 256)  # the darkest leave the curves visible
_TARGET, _OTHER, _LINE = "#c9a24a", "#003b80", "#d0382d"


@dataclass(frozen=True)
class Arrangement:
    """The cells of the halfplanes {p : n(angle) . (p - center) > distance} that the kinematic measure has.

    pieces: ``float64[m, 2 steps, 2]``, curved trapezoids as polygons of (angle in degrees from -45 to 315, distance in
    units of d). place: ``int64[m]``, whose cell each is part of. hit: ``bool[cells, n]``, the rows that a cell hits.
    chance, area: ``float64[cells]``, the probability of a cell and its share of the base measure. middle:
    ``float64[cells, 2]``, the inside of its largest piece.
    """

    pieces: np.ndarray
    place: np.ndarray
    hit: np.ndarray
    chance: np.ndarray
    area: np.ndarray
    middle: np.ndarray


def arrangement(x: np.ndarray, target: np.ndarray, d: int, budget: float, k: int, coefficient: float) -> Arrangement:
    """All cells of at most 20 rows, and their exact probabilities: mass x exp(coefficient min(T - budget / k, -O)).

    Args:
      x: ``int[n, 2]`` in {0, ..., d}^2. target: ``bool[n]``; the others are not to be hit.
    """
    rows = checks.integer("rows", len(x), 1, _MOST)
    frame, everything = Frame.rotations(d), (1 << rows) - 1
    with jax.enable_x64(True):
        bits = jnp.asarray(1 << np.arange(rows), jnp.int32)[:, None]
        cells = jax.jit(events.weighted_cells, static_argnums=2)(jnp.asarray(x, jnp.int32), bits, frame)
    real = np.flatnonzero(np.asarray(cells.mass) > 0)
    columns = cells.chart, cells.slopes, cells.base, cells.height, cells.mass, cells.below
    chart, slopes, base, height, mass, below = (np.asarray(part)[real] for part in columns)
    pieces, hits = [], []
    for sign in (1, -1):
        pieces.append(_pieces(chart, slopes, base, height, sign, d))
        hits.append(below[:, 0] if sign == 1 else everything ^ below[:, 0])
    codes, place = np.unique(np.concatenate(hits), return_inverse=True)
    both, mass = np.concatenate(pieces), np.tile(mass, 2)
    area = np.bincount(place, mass) / mass.sum()
    hit = (codes[:, None] >> np.arange(rows)) & 1 == 1
    targets = hit[:, target].sum(axis=1)
    quality = np.minimum(targets - budget / k, targets - hit.sum(axis=1))
    weight = np.log(area) + coefficient * quality
    chance = np.exp(weight - np.logaddexp.reduce(weight))
    order = np.argsort(mass, kind="stable")
    largest = np.zeros(len(codes), int)
    largest[place[order]] = order
    return Arrangement(both, place, hit, chance, area, both[largest].mean(axis=1))


def plot_arrangement(
    x: np.ndarray,
    target: np.ndarray,
    d: int,
    budget: float,
    k: int,
    coefficient: float,
    base: str | Path,
    about: Mapping[str, Any],
    title: str,
    caption: str = "",
    formats: str | Sequence[str] = ("png", "svg"),
) -> list[Path]:
    """Draws the rows with the likeliest halfplanes that hit some of them, and the arrangement; writes a file a format.

    Arguments as `arrangement` has them; returns the paths.
    """
    law = arrangement(x, target, d, budget, k, coefficient)

    def draw() -> tuple[Figure, str]:
        figure = Figure(figsize=(11.0, 4.4), layout="constrained", facecolor="white")
        plane, dual = figure.subplots(1, 2, width_ratios=(1, 1.9))
        some = law.hit.any(axis=1) & ~law.hit.all(axis=1)
        best = np.argsort(np.where(some, -law.chance, 0))[:_NUMBERED]
        _plane(plane, x, target, d, law, best)
        _dual(figure, dual, x, target, d, law, best)
        figure.suptitle(title, fontsize=11, weight="bold", x=0.008, ha="left", parse_math=False)
        figure.supxlabel(caption, fontsize=8, color="#555555", x=0.008, ha="left")
        return figure, title

    return save(draw, base, formats, about)


def _pieces(
    chart: np.ndarray, slopes: np.ndarray, base: np.ndarray, height: np.ndarray, sign: int, d: int
) -> np.ndarray:
    """Trapezoids of (slope, offset) as polygons of (angle, distance): up along the bottom, back along the top."""
    part = np.linspace(0, 1, _STEPS)
    slope = slopes[:, :1] + np.diff(slopes, axis=1) * part
    low = base[:, :1] + np.diff(base, axis=1) * part
    high = low + height[:, :1] + np.diff(height, axis=1) * part
    slope = np.concatenate([slope, slope[:, ::-1]], axis=1)
    offset = np.concatenate([low, high[:, ::-1]], axis=1)
    # chart 0 hits y - s x < t with sign 1: the normal is (s, -1); in chart 1 x and y are exchanged
    half, turn = (270 if sign == 1 else 90), np.degrees(np.arctan(slope))
    angle = np.where(chart[:, None] == 0, half + turn, half - 90 - turn)
    distance = -sign * (offset - (1 - slope) * d / 2) / np.sqrt(1 + slope**2) / d
    return np.stack([angle, distance], axis=-1)


def _plane(axes: Axes, x: np.ndarray, target: np.ndarray, d: int, law: Arrangement, best: np.ndarray) -> None:
    for own, color, marker, label in ((target, _TARGET, "o", "targets"), (~target, _OTHER, "s", "others")):
        axes.plot(x[own, 0], x[own, 1], marker, color=color, markersize=6, label=label, zorder=3, clip_on=False)
    for number, cell in enumerate(best, start=1):
        angle, distance = np.radians(law.middle[cell, 0]), law.middle[cell, 1] * d
        normal = np.array([np.cos(angle), np.sin(angle)])
        foot = d / 2 + distance * normal
        along = np.array([-normal[1], normal[0]])
        axes.plot(*np.transpose([foot - 2 * d * along, foot + 2 * d * along]), color=_LINE, linewidth=1, zorder=2)
        start = foot + (number - (_NUMBERED + 1) / 2) * 0.14 * d * along
        axes.annotate("", start + 0.1 * d * normal, start, arrowprops={"arrowstyle": "->", "color": _LINE})
        _badge(axes, start, number)
    axes.set(xlim=(0, d), ylim=(0, d), aspect="equal", title="rows, and halfplanes of the likeliest cells")
    axes.grid(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)


def _dual(
    figure: Figure, axes: Axes, x: np.ndarray, target: np.ndarray, d: int, law: Arrangement, best: np.ndarray
) -> None:
    most = float(law.chance.max())
    shades, greys = LogNorm(most * _SHADES, most, clip=True), ListedColormap(colormaps["Greys"](_GREYS))
    cells = PolyCollection(list(law.pieces), array=law.chance[law.place], cmap=greys, norm=shades, linewidths=0.3)
    cells.set_edgecolor("face")
    axes.add_collection(cells)
    angle = np.linspace(-45, 315, 361)
    for row, own in zip(x, target, strict=True):
        height = np.cos(np.radians(angle)) * (row[0] / d - 0.5) + np.sin(np.radians(angle)) * (row[1] / d - 0.5)
        axes.plot(angle, height, color=_TARGET if own else _OTHER, linewidth=0.9)
    for number, cell in enumerate(best, start=1):
        _badge(axes, law.middle[cell], number)
    axes.set(xlim=(-45, 315), ylim=(-0.9, 0.9), title="dual arrangement: a row is a curve, a halfplane a point")
    axes.set(xlabel="angle of the normal that points to what is hit", ylabel="distance from the center / d")
    axes.set_xticks([0, 90, 180, 270], ["0°", "90°", "180°", "270°"])
    axes.grid(False)
    figure.colorbar(cells, ax=axes, label="probability of the cell", pad=0.01)


def _badge(axes: Axes, place: np.ndarray, number: int) -> None:
    across, up = float(place[0]), float(place[1])
    axes.text(
        across,
        up,
        str(number),
        fontsize=8,
        ha="center",
        va="center",
        zorder=5,
        color="#222222",
        bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": _LINE},
    )
