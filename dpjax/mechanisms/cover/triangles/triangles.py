"""Triangles with edges in a finite set of lines, sampled exactly, for any number of rows."""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import checks
from dpjax.core.draws import asked
from dpjax.core.integers import integers
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut, affine, cut_hits
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Net
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.triangles.corners import corner_counts, log_sum, packed
from dpjax.mechanisms.exponential import scaled


@register_dataclass
@dataclass(frozen=True)
class Binned:
    """Rows, as `HalfPlanes` has them, and for every direction the strip of each, ``int32[directions, n]``."""

    x: Array
    bins: Array


@dataclass(frozen=True)
class Triangles:
    """Intersections of three halfplanes from a finite set of lines.

    Lines have one of ``directions`` slopes, equally spaced in angle, and cut the square into ``bins`` strips of equal
    width. The three edges of a triangle have different slopes; each keeps the strips 0, ..., i or the strips
    i, ..., bins - 1, so that two of its 2 bins choices keep everything. There are C(directions, 3) (2 bins)^3 triples,
    of measure 1 each; some of them are a halfplane, an intersection of two halfplanes, or the plane.

    d: 1 to 2**64 - 1; rows as `HalfPlanes` has them, n <= 2**26.
    directions: 3 to 64. bins: 1 to 64.

    A selection takes O(directions^3 (n + bins^4)) steps: rows are counted once per triple of directions, not once
    per triple of lines. Edges of other triangles are approximated to within a strip and a direction: utility is for
    data that are smooth at this resolution, privacy for all data.

    Reference: Kaplan, Mansour, Matias and Stemmer 2019, Section 5 (unions of polygons); the sampler is derived here.
    """

    d: int
    directions: int = 12
    bins: int = 16

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**64 - 1)
        checks.integer("directions", self.directions, 3, 64)
        checks.integer("bins", self.bins, 1, 64)

    @property
    def size(self) -> int:
        """Triples of halfplanes."""
        return comb(self.directions, 3) * (2 * self.bins) ** 3

    @property
    def planes(self) -> HalfPlanes:
        """The lattice that the lines are on, see `Planar`."""
        return HalfPlanes(self.d)

    @property
    def edges(self) -> int:
        """3, see `Planar`."""
        return 3

    def triples(self) -> np.ndarray:
        """All triples of directions, ascending, ``int32[C(directions, 3), 3]``."""
        return np.array(list(combinations(range(self.directions), 3)), np.int32)

    def lines(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Chart ``int32[L]``, slope ``[L]`` and ends of the strips ``[L, bins + 1]`` of every direction, on the host.

        Slopes and ends are ``int64``, or Python integers on large grids. The outer ends are those of all values.
        """
        grid = self.planes.grid
        cells = Net(self.directions).cells(grid, 1)
        chart, slope = cells.chart, cells.low[:, 0]
        least = -self.d * np.maximum(slope, 0)
        most = (self.d << grid.bits) - self.d * np.minimum(slope, 0)
        width = (most - least) // self.bins + 1
        ends = np.stack([least + i * width for i in range(self.bins + 1)], axis=1)
        ends[:, 0], ends[:, -1] = grid.first, grid.last + 1
        return chart, slope, ends

    def prepare(self, x: Array | Binned) -> Binned:
        """The strip of each row, by integer arithmetic."""
        if isinstance(x, Binned):
            return x
        with jax.enable_x64(True):
            offset, across = self.planes.features(x)

            def one(line: tuple[Array, Any, Any]) -> Array:
                chart, slope, ends = line
                value = affine(offset[chart], across[chart], slope[None])
                passed = [(value >= ends[i]).astype(jnp.int32) for i in range(1, self.bins)]
                return sum(passed, start=jnp.zeros(x.shape[0], jnp.int32))

            return Binned(x, jax.lax.map(one, self._lines()))

    def cuts(self, lines: Array, sides: Array) -> Cut:
        """The halfplanes that keep ``sides``, ``int32[3]`` below 2 bins, of directions ``lines``, ``int32[3]``.

        Returns: cuts, each leaf with a leading axis of 3; a triangle hits the rows that all three hit.
        """
        with jax.enable_x64(True):
            chart, slope, ends = self._lines()
            above = sides >= self.bins
            strip = jnp.where(above, sides - self.bins, sides + 1)
            return Cut.of(chart[lines], slope[lines][:, None], ends[lines, strip], above)

    def _lines(self) -> tuple[Array, Any, Any]:
        chart, *rest = self.lines()
        slope, ends = (integers(part, self.planes.grid.words) for part in rest)
        return jnp.asarray(chart), slope, ends

    def law(self, x: Array | Binned, target: Array, other: Array, score: Score) -> Categorical:
        """The law of the triple that `select` draws, as one table of ``size`` entries: for small families."""
        with jax.enable_x64(True):
            rows, weight = self.prepare(x), packed(target, other)
            counts = jax.lax.map(lambda triple: self._counts(rows, weight, triple), jnp.asarray(self.triples()))
            scores = score.quality(*counts).reshape(-1)
            return scaled(asked(scores, "set_cover", score.sensitivity), score.coefficient)

    def select(self, key: Array, x: Array | Binned, target: Array, other: Array, score: Score) -> Cut:
        """See `Family.select`: the exponential mechanism, exactly; first the three directions, then the sides.

        Returns: three cuts, each leaf with a leading axis of 3.
        """
        of_lines, of_sides = jax.random.split(key)
        with jax.enable_x64(True):
            rows, weight = self.prepare(x), packed(target, other)
            score = score.capped(LARGEST)
            triples = jnp.asarray(self.triples())

            def logs(triple: Array) -> Array:
                return score.log_weight(*self._counts(rows, weight, triple))

            totals = jax.lax.map(lambda triple: log_sum(logs(triple)), triples)
            lines = triples[jnp.maximum(Categorical(totals).sample(of_lines), 0)]
            number = jnp.maximum(Categorical(logs(lines).reshape(-1)).sample(of_sides), 0)
            both = jnp.int32(2 * self.bins)
            sides = jnp.stack([number // (both * both), number // both % both, number % both])
            return self.cuts(lines, sides)

    def hits(self, h: Cut, x: Array | Binned) -> Array:
        """Which rows are in all three halfplanes, ``bool[n]``, by integer arithmetic."""
        rows = x.x if isinstance(x, Binned) else x
        inside = [cut_hits(self.planes, jax.tree.map(lambda part, i=i: part[i], h), rows) for i in range(3)]
        return inside[0] & inside[1] & inside[2]

    def _counts(self, rows: Binned, weight: Array, triple: Array) -> tuple[Array, Array]:
        first, second, third = (jax.lax.dynamic_index_in_dim(rows.bins, triple[i], 0, False) for i in range(3))
        return corner_counts(first, second, third, weight, self.bins)
