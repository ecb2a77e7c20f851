"""Halfplanes over the grid {0, ..., d}^2, sampled exactly from any base measure on lines, for any number of rows."""

from dataclasses import dataclass
from math import exp
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks, wide
from dpjax.core.checks import InputError
from dpjax.core.integers import clip, constant, on_host, widened
from dpjax.core.members import implements, member, missing, required
from dpjax.core.types import MOST_ROWS
from dpjax.mechanisms.cover.family import Family, Following
from dpjax.mechanisms.cover.lines.cuts import Cells, Cut, Support, affine, check_sizes, grid_points
from dpjax.mechanisms.cover.lines.measures import Grid, Kinematic, LineMeasure
from dpjax.mechanisms.cover.lines.region import Favored, around, clipped, square
from dpjax.mechanisms.cover.lines.rejection import CutFamily
from dpjax.mechanisms.cover.score import Score

_KINEMATIC = Kinematic()
_BESIDE = 8.0  # lines within one unit of a polygon have at most its perimeter + 2 pi, and the lattice a little more
_MOST_NATS = 700  # its exponential is a float


class Planar(Family):
    """Base class of families whose functions are intersections of one or more cuts on the lattice of `HalfPlanes`.

    Its `select` returns a `Cut`; with several cuts per function each leaf has a leading axis ``edges``.
    """

    @required
    def planes(self) -> "HalfPlanes":
        """The lattice."""

    @required
    def edges(self) -> int:
        """The number of cuts of one function."""

    @member
    def complete(self) -> bool:
        """Whether for every intersection of ``edges`` halfplanes some functions have the same rows of the grid, at
        least 1 / ``size`` of the measure: theorems for all distributions need it."""
        return False

    def enough(self, triangles: int, polygons: int) -> int:
        """How many functions a union of simple polygons needs at most; with other numbers than ``triangles``,
        ``complete`` is about the pieces of such unions. triangles: at least their corners, less two for each."""
        return triangles

    @member
    def floored(self) -> bool:
        """Whether a draw may take very long unless the score has `score.Saturating.nats`."""
        return False

    def log_total(self, x: Any, target: Array, other: Array, score: Score) -> Array:
        """The log of the integral of exp(coefficient q) under the measure of total mass 1, ``float64[]``. Optional: a
        family with it can stand beside slab wedges."""
        raise missing("family", self, Planar.log_total, "take Pieces")

    def listed(self, x: Any, target: Array, other: Array, score: Score) -> tuple[Cut, Array]:
        """All functions, leaves ``[F, edges, ...]``, with the logs of their parts of `log_total`, ``float64[F]``.
        Optional: for exact audits of small families beside slab wedges."""
        raise missing("family", self, Planar.listed, "take Pieces")

    @member
    def most_rows(self) -> int:
        """The most rows of a selection."""
        return MOST_ROWS

    @member
    def passes(self) -> int:
        """Approximate number of passes over the rows of a selection, for the sizes of batches of trials."""
        return 32


@dataclass(frozen=True)
class HalfPlanes(CutFamily, Planar, Following):
    """The halfplanes y - s x >= t and x - s y >= t, |s| <= 1, and their complements.

    d: 1 to 2**64 - 1; rows are whole numbers ``[n, 2]`` or, for d >= 2**32, ``uint32[n, 4]``, upper words first: the
    elements of `concepts.Plane`. Coordinates are clipped to {0, ..., d}.
    measure: the base measure, see `measures`. slabs: cells of s per chart, and bins: of the t that the rows reach,
    before refinement; they affect the time of a draw, never its law. spare, walls: see `rejection.select_cut`.

    s and t are multiples of 2**-bits, bits = 64 words - 4 - ceil(log2 d). words: 64-bit words of an integer, 1 to 4;
    None for the fewest with which every way to cut the grid has its share of lines, `Grid.fine`. Time grows with the
    words. With fewer there is no `size`.

    follow: in a set cover, a share of the base measure of each round, in [0, 1), that is for the lines that meet the
    polygon that the functions so far leave (`region`); 0 for the same measure in all rounds. It needs a measure with
    ``mass(d)``, that of all lines with one sign, such as `Kinematic`.
    Reference: Kaplan, Mansour, Matias and Stemmer 2019, Section 4 (SelectHalfplane), Observations 4.1, 4.2 and 4.5,
      Remark 4.3; the sampler is derived here.
    """

    d: int
    measure: LineMeasure = _KINEMATIC
    slabs: int = 128
    bins: int = 256
    spare: int = 2048
    walls: int = 256
    words: int | None = None
    follow: float = 0.0
    complete: ClassVar[bool] = True

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**64 - 1)
        checks.whole_or_none("words", self.words, 1, 4)
        if self.words == 1 and self.d > 2**30:
            raise InputError("words", "2 or more for d above 2**30", "1", "use None")
        check_sizes(self.slabs, self.bins, self.spare, self.walls)
        if not 0 <= checks.number("follow", self.follow) < 1:
            raise InputError("follow", "a number in [0, 1)", repr(self.follow), "for example 0.9")
        if self.follow and not implements(self.measure, LineMeasure.mass):
            advice = "use Kinematic(), give the measure its mass, or follow=0"
            raise InputError("follow", "0 for a measure without mass(d)", repr(self.follow), advice)

    @property
    def planes(self) -> "HalfPlanes":
        """The family itself, see `Planar`."""
        return self

    @property
    def edges(self) -> int:
        """1, see `Planar`."""
        return 1

    @property
    def size(self) -> float:
        """mu(H) / mu(C) at most, see `LineMeasure.log_cost`: what counts as the number of functions in theorems.

        Lines that are not favored keep a share 1 - follow of the measure.

        InputError if the lattice is too coarse for it, or the measure has no bound.
        """
        if not self.grid.exact:
            raise InputError(
                "words",
                f"{Grid.fine(self.d).words} or more for d = {self.d}, so that every cut has a line",
                repr(self.words),
                "use None",
            )
        cost = self.measure.log_cost(self.d)
        if not 0 <= cost < _MOST_NATS:
            raise InputError("measure", f"a log_cost in [0, {_MOST_NATS})", repr(cost), "return a proved bound in nats")
        return exp(cost) / (1 - self.follow)

    def size_along(self, width: float, length: float) -> float:
        """mu(H) / mu(the lines along a rectangle), see `Kinematic.log_cost_along`; never above `size`.

        NoTheoremError for a measure without ``log_cost_along``. InputError as `size`, and for other rectangles.
        """
        return min(self.size, exp(self.measure.log_cost_along(self.d, width, length)) / (1 - self.follow))

    @property
    def grid(self) -> Grid:
        """The lattice of lines."""
        return Grid.fine(self.d) if self.words is None else Grid(self.d, self.words)

    @property
    def first(self) -> int:
        """The smallest value."""
        return self.grid.first

    @property
    def last(self) -> int:
        """The largest value."""
        return self.grid.last

    @property
    def step(self) -> int:
        """t is a multiple of 2**step."""
        return self.measure.step(self.grid)

    def select(self, key: Array, x: Array, target: Array, other: Array, score: Score, favored: Any = None) -> Cut:
        """See `CutFamily.select`. favored: a state of `start` and `followed`, or None."""
        if favored is not None:
            favored = self.favored(favored)
        return super().select(key, x, target, other, score, favored)

    def start(self, rounds: int) -> Array | None:
        """The corners of the grid, see `region.square`; None without ``follow``."""
        with jax.enable_x64(True):
            return square(self.d, rounds) if self.follow else None

    def followed(self, state: Array, h: Cut) -> Array:
        """The polygon ``state`` without what h hits; as it is if h hits all of it. Of the whole numbers of h alone."""
        with jax.enable_x64(True):
            theta, t = h.whole()
            offset, slope = self._affine(state)
            values = affine(offset[h.chart], slope[h.chart], theta)
            return clipped(state, (values >= t) == h.above, t - values, self.d)

    def favored(self, state: Array) -> Favored:
        """The lines within one unit of the polygon ``state`` have about a share ``follow`` of the measure."""
        measure: Any = self.measure
        share = self.follow / (1 - self.follow) * measure.mass(self.d)
        with jax.enable_x64(True):
            return Favored(*self._affine(state), share / (around(state) + _BESIDE), 1 << self.grid.bits)

    def features(self, x: Array) -> tuple[Any, Array]:
        """Chart 0: y against x; chart 1: x against y."""
        return self._affine(self._points(x))

    def _affine(self, points: Array) -> tuple[Any, Array]:
        """`features` of ``uint64[n, 2]``."""
        points = points.T
        slope = points.astype(jnp.int64) if self.grid.words == 1 else points
        return widened(points[::-1], self.grid.words) << self.grid.bits, slope[..., None]

    def _points(self, x: Array) -> Array:
        """Rows as ``uint64[n, 2]``."""
        if self.d < 2**32:
            return grid_points(x, self.d, 2).astype(jnp.uint64)
        if x.ndim != 2 or x.shape[1] != 4 or x.dtype != jnp.uint32:
            raise InputError(
                "x",
                f"two words for each coordinate, uint32[n, 4], for d = {self.d}",
                f"{x.dtype}{list(x.shape)}",
                "use the elements of concepts.Plane",
            )
        return jnp.minimum(wide.join(x.reshape(-1, 2, 2)), jnp.uint64(self.d))

    def cells(self) -> Cells:
        """Slabs of s."""
        return self.measure.cells(self.grid, self.slabs)

    def log_density(self, chart: Array, theta: Any) -> Array:
        """The log-density of the measure."""
        return self.measure.log_density(self.grid, chart, theta)

    def log_peak(self, chart: Array, low: Any, high: Any) -> Array:
        """The log-density at the slope nearest to 0, see `LineMeasure.log_density`."""
        return self.log_density(chart, clip(constant(0, low), low, high - 1))

    def support(self, chart: Array, low: Any, high: Any) -> Support:
        """The support of the measure."""
        return self.measure.support(self.grid, chart, low, high)

    def normal(self, h: Cut) -> np.ndarray:
        """Host: (a, b, c), ``float64[..., 3]``; h hits (x, y) iff a x + b y >= c, or > c where not ``above``."""
        scale = 2.0**-self.grid.bits
        slope = on_host(h.theta)[..., 0].astype(np.float64) * scale
        t = on_host(h.t).astype(np.float64) * scale
        ones, flat = np.ones_like(t), np.asarray(h.chart) == 0
        sign = np.where(np.asarray(h.above), 1.0, -1.0)
        return sign[..., None] * np.stack([np.where(flat, -slope, ones), np.where(flat, ones, -slope), t], axis=-1)
