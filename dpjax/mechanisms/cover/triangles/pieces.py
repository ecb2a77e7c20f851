"""Triangles and rectangles together: a mixture of two families of convex pieces."""

from dataclasses import dataclass
from math import log
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes, Planar
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.triangles.corners import MOST_ROWS, log_sum, packed
from dpjax.mechanisms.cover.triangles.rectangles import Rectangles
from dpjax.mechanisms.cover.triangles.strips import Binned, Strips, all_hit
from dpjax.mechanisms.cover.triangles.triangles import Triangles


@register_dataclass
@dataclass(frozen=True)
class Twice:
    """Rows, and their strips in each family."""

    x: Array
    parts: tuple[Binned, ...]


@dataclass(frozen=True)
class Pieces(Planar):
    """`Triangles`, and `Rectangles` with twice as many directions and 3/2 as many bins; half of the measure for each.

    The triangles are there for the theorem, at the price of ln 2 nats; the rectangles cost less and fit more.
    """

    d: int
    directions: int = 8
    bins: int = 16
    most_rows: ClassVar[int] = MOST_ROWS

    def __post_init__(self):
        self.families()  # checks the numbers

    def families(self) -> tuple[Strips, ...]:
        """The two families."""
        of_triangles = Triangles(self.d, self.directions, self.bins)
        return of_triangles, Rectangles(self.d, min(2 * self.directions, 64), min(-(-3 * self.bins // 2), 64))

    @property
    def size(self) -> int:
        """mu(H) / mu(h) at most, at least the number of pieces: twice the size of the larger family."""
        return 2 * max(family.size for family in self.families())

    @property
    def planes(self) -> HalfPlanes:
        """The lattice that the lines are on, see `Planar`."""
        return HalfPlanes(self.d)

    @property
    def passes(self) -> int:
        """Those of the triangles, which are most of them; see `Planar`."""
        return self.families()[0].passes

    @property
    def edges(self) -> int:
        """4, see `Planar`; an edge of a triangle counts twice."""
        return 4

    def prepare(self, x: Array | Twice) -> Twice:
        """The strips of each row in both families."""
        return x if isinstance(x, Twice) else Twice(x, tuple(family.prepare(x) for family in self.families()))

    def select(self, key: Array, x: Array | Twice, target: Array, other: Array, score: Score) -> Cut:
        """See `Family.select`: the exponential mechanism, exactly; first the group of directions, then the piece.

        Returns: cuts, each leaf with a leading axis of 4.
        """
        of_group, of_piece = jax.random.split(key)
        with jax.enable_x64(True):
            parts, weight = self.prepare(x).parts, packed(target, other)
            score = score.capped(LARGEST)
            pairs = list(zip(self.families(), parts, strict=True))
            totals = [family.totals(rows, weight, score) - log(family.size) for family, rows in pairs]
            chosen = jnp.maximum(Categorical(jnp.concatenate(totals)).sample(of_group), 0)
            first, tables, groups = 0, [], []
            for (family, rows), total in zip(pairs, totals, strict=True):
                count = total.shape[0]
                group = jnp.asarray(family.groups())[jnp.clip(chosen - first, 0, count - 1)]
                table = family.log_weights(rows, weight, score, group)
                tables.append(jnp.where((first <= chosen) & (chosen < first + count), table, -jnp.inf))
                groups.append(group)
                first += count
            number = jnp.maximum(Categorical(jnp.concatenate(tables)).sample(of_piece), 0)
            triangle, rectangle = (
                family.piece(group, jnp.clip(number - start, 0, table.shape[0] - 1))
                for (family, _), group, table, start in zip(pairs, groups, tables, (0, tables[0].shape[0]), strict=True)
            )
            is_triangle = number < tables[0].shape[0]
            padded = jax.tree.map(lambda part: jnp.concatenate([part, part[-1:]]), triangle)
            return jax.tree.map(lambda tri, rect: jnp.where(is_triangle, tri, rect), padded, rectangle)

    def listed(self, x: Array | Twice, target: Array, other: Array, score: Score) -> tuple[Cut, Array]:
        """See `Planar`."""
        with jax.enable_x64(True):
            weight, score = packed(target, other), score.capped(LARGEST)
            pairs = zip(self.families(), self.prepare(x).parts, strict=True)
            found = [(*family.weighted(rows, weight, score), log(2 * family.size)) for family, rows in pairs]
            (triangles, rectangles), logs = zip(*((cuts, part - cost) for cuts, part, cost in found), strict=True)
            padded = jax.tree.map(lambda part: jnp.concatenate([part, part[:, -1:]], axis=1), triangles)
            return jax.tree.map(lambda *parts: jnp.concatenate(parts), padded, rectangles), jnp.concatenate(logs)

    def log_total(self, x: Array | Twice, target: Array, other: Array, score: Score) -> Array:
        """See `Planar`."""
        with jax.enable_x64(True):
            weight, score = packed(target, other), score.capped(LARGEST)
            pairs = zip(self.families(), self.prepare(x).parts, strict=True)
            totals = [family.totals(rows, weight, score) - log(2 * family.size) for family, rows in pairs]
            return log_sum(jnp.concatenate(totals))

    def hits(self, h: Cut, x: Array | Twice) -> Array:
        """Which rows are in all halfplanes of a piece, ``bool[n]``, by integer arithmetic."""
        return all_hit(self.planes, h, x.x if isinstance(x, Twice) else x)
