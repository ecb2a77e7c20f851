"""An upper bound of the weight of one cell, with bin boundaries that follow the rows.

Fixed bins cannot separate rows that move together as theta moves, such as many copies of one point. Here
the boundaries of the bins, the walls, are rows and midpoints of two rows that are adjacent at one theta, and move
with them. Values and walls are affine in theta, so an inequality that holds at the corners of a cell holds in it.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.integers import clip, concatenate, constant, maximum, minimum, sort, stack
from dpjax.mechanisms.cover.lines.cuts import Cuts, Rows, corners_of, halves
from dpjax.mechanisms.cover.lines.envelope import log_upper
from dpjax.mechanisms.cover.lines.region import log_favored
from dpjax.mechanisms.cover.lines.sweep import Sweep, log_lengths, tail_weights
from dpjax.mechanisms.cover.score import Score

_SHARES = 2**20
_EVEN = 8  # this part of the walls is spread evenly over the rows
_WORTH, _FEWEST = 1.0, 16  # nats of the rows between two places of walls near the top; the least number of places
_JUMP = 4.0  # nats of rows of one value


@dataclass(frozen=True)
class Walls:
    """Rows in the order of their values at one theta, ``order`` ``int32[m]``; the first ``real`` of them count.

    density: ``int64[m]``, the density of walls over the ranks; 0 beyond the real rows. places: ``int64[]``, the number
    of ranks that are enough for the weight of the law.
    """

    order: Array
    real: Array
    density: Array
    places: Array

    @staticmethod
    def at(cuts: Cuts, rows: Rows, chart: Array, theta: Any, law: Sweep, score: Score) -> "Walls":
        """Walls are dense where the law at theta has its weight, and the rarer the more nats a gap lies below the top.

        Between two walls the bound is above the weight by what their rows are worth, which may be more where the weight
        is small. A gap beside rows of one value that are worth a jump counts for all of them, up to one place. The
        number of walls follows from that, too: it depends on the rows that count, never on the buffer.
        """
        values = rows.ordered(cuts, chart, theta)
        order = sort(values, jnp.arange(values.shape[0], dtype=jnp.int32))[1]
        real = jnp.sum(rows.code > 0, dtype=jnp.int32)
        below_top = jnp.max(law.log_weights) - jnp.max(law.log_weights[4:].reshape(-1, 2), axis=1)
        every = real if rows.favored is None else real + 2
        beside = _beside(jnp.isfinite(below_top), every)
        worth = jnp.where(score.coefficient * beside > _JUMP, beside, 1.0) / (1.0 + below_top)
        share = jnp.floor(_SHARES * jnp.minimum(worth, jnp.ceil(_WORTH / score.coefficient))).astype(jnp.int64)
        if rows.favored is not None:  # the law has two gaps more, which end at marks
            marks, sorted_values = rows.favored.marks(cuts, chart, theta), values[order]
            place = jnp.arange(order.shape[0], dtype=jnp.int32)
            for mark in marks:
                place = place + (mark <= sorted_values).astype(jnp.int32)
            reached = jnp.cumsum(share)[jnp.minimum(place, order.shape[0] - 1)]
            share = reached - jnp.concatenate([jnp.zeros(1, jnp.int64), reached[:-1]])
        present = jnp.arange(order.shape[0], dtype=jnp.int32) < real
        share = jnp.where(present, share, 0)
        places = jnp.ceil(score.coefficient / (_WORTH * _SHARES) * jnp.sum(share).astype(jnp.float64)).astype(jnp.int64)
        even = jnp.sum(share) // (_EVEN * jnp.maximum(real, 1).astype(jnp.int64)) + 1
        return Walls(order, real, jnp.where(present, share + even, 0), jnp.maximum(places, _FEWEST))

    def ranks(self, count: int) -> tuple[Array, Array]:
        """``int32[count]`` (one fewer if odd), ascending, and how many differ: at each rank two walls, see `pairs`."""
        places, reached = jnp.minimum(self.places, count // 2), jnp.cumsum(self.density)
        reached = reached * places // jnp.maximum(reached[-1], 1)
        place = jnp.minimum(jnp.arange(count // 2, dtype=jnp.int64), places - 1)
        ranks = jnp.searchsorted(reached, place, side="right").astype(jnp.int32)
        return jnp.repeat(jnp.clip(ranks, 0, jnp.maximum(self.real - 1, 0)), 2), 2 * places.astype(jnp.int32)

    def pairs(self, ranks: Array) -> Array:
        """The two rows whose midpoint is the wall, ``int32[W, 2]``: one wall before the row of a rank and one on it."""
        before = jnp.arange(ranks.shape[0], dtype=jnp.int32) % 2 == 0
        return jnp.stack([self.order[jnp.maximum(ranks - before.astype(jnp.int32), 0)], self.order[ranks]], axis=1)


def _beside(wide: Array, most: Array) -> Array:
    """The number of rows of one value before or after each gap that has a width, the larger one, ``float64[m]``."""
    place = jnp.arange(wide.shape[0], dtype=jnp.int32)
    past, ahead = jnp.where(wide, place, -1), jnp.where(wide, place, jnp.int32(wide.shape[0]))
    before = jnp.concatenate([jnp.full(1, -1, jnp.int32), jax.lax.cummax(past)[:-1]])
    after = jnp.concatenate([jax.lax.cummin(ahead, reverse=True)[1:], most[None]])
    return jnp.maximum(place - before, jnp.minimum(after, most) - place).astype(jnp.float64)


def moving_bound(cuts: Cuts, rows: Rows, score: Score, walls: Walls, count: int, cell: tuple[Array, Any, Any]) -> Array:
    """An upper bound of log_density + log_total over a cell of theta, ``float64[]``, by ``count`` walls at most."""
    ranks, used = walls.ranks(count)
    return bound_between(cuts, rows, score, walls.pairs(ranks), cell, used)


def bound_between(
    cuts: Cuts, rows: Rows, score: Score, pairs: Array, cell: tuple[Array, Any, Any], used: Array | None = None
) -> Array:
    """The bound for walls between pairs of rows, ``int32[W, 2]``; ``used`` of them, ``int32[]``. ``used`` n steps.

    Any pairs give a valid bound: the sequence of walls leads from below all t to above all t, so every t lies between
    two consecutive walls, also where walls cross.
    """
    chart, low, high = cell
    corners = corners_of(low, high)
    values = [rows.values(chart, corner) for corner in corners]
    weight = rows.weight()
    reach = cuts.support(chart, low, high)

    def sides(place: Array, found: tuple[Array, Array, Any]) -> tuple[Array, Array, Any]:
        pair = pairs[place]
        some_above = some_below = jnp.zeros(weight.shape, jnp.bool_)
        doubled = []
        for value in values:
            doubled.append(value[pair[0]] + value[pair[1]])
            some_above = some_above | (value > doubled[-1] >> 1)
            some_below = some_below | (value < (doubled[-1] + 1) >> 1)
        above, below = (jnp.sum(jnp.where(some, weight, 0)) for some in (some_above, some_below))
        return jax.tree.map(lambda column, entry: column.at[place].set(entry), found, (above, below, stack(doubled)))

    size = pairs.shape[0]
    nothing = jax.tree.map(lambda part: jnp.zeros((size, len(corners)), part.dtype), reach.low)
    start = jnp.zeros(size, jnp.int64), jnp.zeros(size, jnp.int64), nothing
    last = jnp.int32(size) if used is None else used
    found = jax.lax.fori_loop(jnp.int32(0), last, sides, start)
    place = jnp.minimum(jnp.arange(size, dtype=jnp.int32), last - 1)  # the walls beyond are copies of the last one
    above, below, doubled = jax.tree.map(lambda column: column[place], found)
    total, none = jnp.sum(weight)[None], jnp.zeros(1, jnp.int64)
    may_above = halves(jnp.concatenate([total, above]))[0]  # per bin: targets that may lie above its lower wall
    may_below = halves(jnp.concatenate([below, total]))[0]
    must_above = halves(jnp.concatenate([total - below, none]))[1]
    must_below = halves(jnp.concatenate([none, total - above]))[1]
    ends = [stack([end << 1] * len(corners))[None] for end in (reach.low - 1, reach.high)]
    doubled = concatenate([ends[0], doubled, ends[1]])
    apart = doubled[1:] - doubled[:-1]
    width = (reduce(maximum, [apart[:, i] for i in range(len(corners))]) + 1) >> (1 + cuts.step)
    whole = (reach.high >> cuts.step) - ((reach.low - 1) >> cuts.step)
    width = clip(width + int(cuts.step > 0), constant(0, whole), whole)
    lengths = log_lengths(width)
    if rows.favored is not None:
        lengths = log_favored(width, _near(cuts, rows, chart, corners, doubled, width), rows.favored.extra)
    weights = jnp.stack([score.log_weight(may_above, must_above), score.log_weight(may_below, must_below)])
    tails = tail_weights(reach.below, reach.above, total[0], score)
    return cuts.log_peak(chart, low, high) + log_upper(width, weights, tails, lengths)


def _near(cuts: Cuts, rows: Rows, chart: Array, corners: list[Any], doubled: Any, width: Any) -> Any:
    """At least the number of favored t between two consecutive walls, ``integers[W + 1]``, at every theta of a cell.

    Between the later of the first wall and the low end, and the earlier of the second wall and the high end: the low
    end is concave in theta and the high one convex, so the differences are largest at corners of the cell. The walls
    are rounded down, which is exact for whole t: twice an end may have one bit too many at d = 1.
    """
    ends, places = [rows.favored.reach(chart, corner) for corner in corners], doubled >> 1
    from_low = reduce(maximum, [places[1:, i] - ends[i][0] for i in range(len(corners))])
    to_high = reduce(maximum, [ends[i][1] - places[:-1, i] for i in range(len(corners))])
    near = minimum(from_low, to_high) >> cuts.step
    return clip(near + int(cuts.step > 0), constant(0, width), width)
