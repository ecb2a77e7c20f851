"""Rows in strips between parallel lines, and the selection of functions that keep a range of strips per direction."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

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
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes, Planar
from dpjax.mechanisms.cover.lines.measures import Net
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.triangles.corners import MOST_ROWS, log_sum, packed
from dpjax.mechanisms.exponential import scaled


@register_dataclass
@dataclass(frozen=True)
class Binned:
    """Rows, as `HalfPlanes` has them, and for every direction the strip of each, ``int32[directions, n]``."""

    x: Array
    bins: Array


@dataclass(frozen=True)
class Strips(Planar):
    """Base of families of convex pieces whose edges are from a finite set of lines.

    Lines have one of ``directions`` slopes, equally spaced in angle, and cut the square into ``bins`` strips of equal
    width. A piece belongs to a group of directions and keeps a range of strips of each; all have measure 1.

    d: 1 to 2**64 - 1; rows as `HalfPlanes` has them, n <= 2**26.
    directions: 3 to 64. bins: 1 to 64.
    """

    d: int
    directions: int
    bins: int
    most_rows: ClassVar[int] = MOST_ROWS

    def __post_init__(self):
        checks.integer("d", self.d, 1, 2**64 - 1)
        checks.integer("directions", self.directions, 3, 64)
        checks.integer("bins", self.bins, 1, 64)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of pieces."""

    @property
    @abstractmethod
    def edges(self) -> int:
        """The cuts of a piece, see `Planar`."""

    @abstractmethod
    def groups(self) -> np.ndarray:
        """The directions of each group, ``int32[groups, ...]``, on the host."""

    @abstractmethod
    def counts(self, rows: Binned, weight: Array, group: Array) -> tuple[Array, Array]:
        """Targets and others in every piece of a group, ``float64[...]`` each; weight: of `corners.packed`."""

    @abstractmethod
    def piece(self, group: Array, number: Array) -> Cut:
        """The piece at place ``number`` of a group's flattened `counts`; each leaf has a leading axis ``edges``."""

    @property
    def planes(self) -> HalfPlanes:
        """The lattice that the lines are on, see `Planar`."""
        return HalfPlanes(self.d)

    @property
    def passes(self) -> int:
        """Four for each direction and each group, with its table; see `Planar`."""
        return 4 * (len(self.groups()) + self.directions)

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
        """The halfplanes that keep ``sides``, ``int32[e]`` below 2 bins, of directions ``lines``, ``int32[e]``.

        Side i < bins keeps the strips 0, ..., i and side bins + i the strips i, ..., bins - 1.
        Returns: cuts, each leaf with a leading axis of e; a piece hits the rows that all of its cuts hit.
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
        """The law of the piece that `select` draws, as one table of ``size`` entries: for small families."""
        with jax.enable_x64(True):
            rows, weight = self.prepare(x), packed(target, other)
            score = score.capped(LARGEST)
            counts = jax.lax.map(lambda group: self.counts(rows, weight, group), jnp.asarray(self.groups()))
            scores = score.quality(*counts).reshape(-1)
            return scaled(asked(scores, "set_cover", score.sensitivity), score.coefficient)

    def log_weights(self, rows: Binned, weight: Array, score: Score, group: Array) -> Array:
        """Coefficient times score of all pieces of a group, ``float64[pieces]``."""
        return score.log_weight(*self.counts(rows, weight, group)).reshape(-1)

    def weighted(self, rows: Binned, weight: Array, score: Score) -> tuple[Cut, Array]:
        """All pieces, leaves ``[pieces, edges, ...]``, and coefficient times score of each, ``float64[pieces]``."""
        groups = jnp.asarray(self.groups())
        logs = jax.lax.map(lambda group: self.log_weights(rows, weight, score, group), groups)
        numbers = jnp.arange(logs.shape[1], dtype=jnp.int32)
        cuts = jax.vmap(jax.vmap(self.piece, (None, 0)), (0, None))(groups, numbers)
        return jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), cuts), logs.reshape(-1)

    def totals(self, rows: Binned, weight: Array, score: Score) -> Array:
        """The log of the weight of each group, ``float64[groups]``."""
        groups = jnp.asarray(self.groups())
        return jax.lax.map(lambda group: log_sum(self.log_weights(rows, weight, score, group)), groups)

    def select(self, key: Array, x: Array | Binned, target: Array, other: Array, score: Score) -> Cut:
        """See `Family.select`: the exponential mechanism, exactly; first the group of directions, then the piece.

        Returns: cuts, each leaf with a leading axis ``edges``.
        """
        of_lines, of_sides = jax.random.split(key)
        with jax.enable_x64(True):
            rows, weight = self.prepare(x), packed(target, other)
            score = score.capped(LARGEST)
            totals = self.totals(rows, weight, score)
            group = jnp.asarray(self.groups())[jnp.maximum(Categorical(totals).sample(of_lines), 0)]
            law = Categorical(self.log_weights(rows, weight, score, group))
            return self.piece(group, jnp.maximum(law.sample(of_sides), 0))

    def hits(self, h: Cut, x: Array | Binned) -> Array:
        """Which rows are in all halfplanes of a piece, ``bool[n]``, by integer arithmetic."""
        return all_hit(self.planes, h, x.x if isinstance(x, Binned) else x)


def all_hit(planes: HalfPlanes, h: Cut, x: Array) -> Array:
    """Which rows all cuts of h hit, ``bool[n]``; leaves of h have a leading axis."""
    inside = [cut_hits(planes, jax.tree.map(lambda part, i=i: part[i], h), x) for i in range(h.chart.shape[0])]
    return jnp.all(jnp.stack(inside), axis=0)
