"""Upper bounds, for all theta of a cell at once, of the total weight that `sweep` computes at one theta.

The values of a row over a cell fill an interval. A cut with t in a bin may or may not hit a row whose interval meets
the bin: the bound counts the row if it is a target and ignores it if not. Both counts, for all bins of a cell, are
running sums of two histograms, of the lower and of the upper ends of the intervals.

Values are relative to those of a point in the middle of the rows, and the bins divide the range that the rows reach:
rows that are close together are told apart wherever they are.
"""

import itertools
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.integers import clip, concatenate, constant, integers, maximum, minimum, where, widened, words_of
from dpjax.mechanisms.cover.lines.cuts import Cuts, Rows, affine, corners_of, halves
from dpjax.mechanisms.cover.lines.region import log_favored
from dpjax.mechanisms.cover.lines.sweep import log_lengths, tail_weights
from dpjax.mechanisms.cover.score import Score

_UNITS = 2.0**40
_SLACK = 1e-9  # bounds the rounding error of a logarithm in float64; 1e-13 of its size is added
_BITS, _HALF = 58, 1 << 62  # of a relative value, and more than its size


def envelope(cuts: Cuts, rows: Rows, score: Score, bins: int) -> Array:
    """Bounds of log_density + log_total for the cells of ``cuts.cells()``, ``float64[C]``.

    bins: static, for the range of the rows: at least half of them are used. O(C n + C bins) steps, cell by cell.
    """
    cells = cuts.cells()
    box = _Box.of(rows)

    def one(cell: tuple[Array, Any, Any]) -> Array:
        return _bound(cuts, rows, score, bins, box, *cell)

    low, high = (integers(part, cells.words) for part in (cells.low, cells.high))
    return jax.lax.map(one, (jnp.asarray(cells.chart), low, high))


class _Box(NamedTuple):
    """The features of all rows that count lie between these: offsets ``integers[charts]``, slopes ``[charts, D]``.

    rows: of all rows, those that do not count replaced by one that does: offsets ``integers[charts, n]``, the distances
      of their slopes from the middle, >= 0, ``[charts, n, D]``, and which slopes are above it, ``bool[charts, n, D]``.
    """

    low: tuple[Any, Array]
    high: tuple[Any, Array]
    rows: tuple[Any, Array, Array]

    @staticmethod
    def of(rows: Rows) -> "_Box":
        real = rows.code > 0
        index = jax.lax.argmax(real, 0, jnp.int32)
        offset = jax.tree.map(lambda part: jnp.where(real, part, part[:, index][:, None]), rows.offset)
        slope = jnp.where(real[:, None], rows.slope, rows.slope[:, index][:, None])
        low, high = _fold(offset, minimum), _fold(offset, maximum)
        least, most = jnp.min(slope, axis=1), jnp.max(slope, axis=1)
        middle = _middle(least, most)[:, None]
        above = slope > middle
        return _Box((low, least), (high, most), (offset, jnp.where(above, slope - middle, middle - slope), above))

    def middle(self, chart: Array) -> Array:
        """The middle of the slopes, ``[D]``."""
        return _middle(self.low[1][chart], self.high[1][chart])

    def values(self, chart: Array, low: Any, high: Any) -> tuple[Any, Any]:
        """The least and the largest value of each row over a cell, ``integers[n]``, less that of the middle slopes.

        They are affine in theta, so each coordinate has its own end, by the sign of the slope.
        """
        offset, slope, above = (jax.tree.map(lambda part: part[chart], column) for column in self.rows)
        last = high - 1

        def at(up: Any, down: Any) -> Any:
            return affine(offset, slope, where(above.T, up[:, None], -down[:, None]))

        return at(last, low), at(low, last)

    def ends(self, chart: Array, theta: Any) -> tuple[Any, Any]:
        """At most and at least the values of all rows at a theta, ``integers[]``."""
        slopes = self.low[1][chart], self.high[1][chart]
        every = [
            jnp.stack([slopes[i][d] for d, i in enumerate(way)])
            for way in itertools.product((0, 1), repeat=slopes[0].shape[0])
        ]
        low, high = ([affine(side[0][chart], slope, theta) for slope in every] for side in (self.low, self.high))
        return _least(low), _most(high)


def _middle(low: Array, high: Array) -> Array:
    return high - ((high - low) >> 1)


def _least(values: Iterable[Any]) -> Any:
    return reduce(minimum, values)


def _most(values: Iterable[Any]) -> Any:
    return reduce(maximum, values)


def _fold(values: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """``integers[charts, n]``, n >= 1, combined along the last axis; ``combine`` may meet a value twice."""
    while (size := jax.tree.leaves(values)[0].shape[1]) > 1:
        first, second = (
            jax.tree.map(lambda part, at=at: part[:, at : at + (size + 1) // 2], values) for at in (0, size // 2)
        )
        values = combine(first, second)
    return jax.tree.map(lambda part: part[:, 0], values)


def _wide(values: Array, like: Any) -> Any:
    """``int64[...]`` above -2**62 as integers."""
    return widened((values + _HALF).astype(jnp.uint64), words_of(like)) - _HALF


def _bound(cuts: Cuts, rows: Rows, score: Score, bins: int, box: _Box, chart: Array, low: Any, high: Any) -> Array:
    bits = (bins - 1).bit_length()
    unit = max(cuts.step, (cuts.last + 1 - cuts.first).bit_length() - _BITS, 0)  # a bin is a multiple of 2**unit
    corners, nothing, words = corners_of(low, high), constant(0, low), words_of(low)
    frame = [affine(nothing, box.middle(chart), corner) for corner in corners]
    least, most = box.values(chart, low, high)
    up = (1 << unit) - 1  # values are rounded outwards to the unit
    most = most + up
    sides = [[end - origin for end in box.ends(chart, at)] for at, origin in zip(corners, frame, strict=True)]
    first = (_least(side[0] for side in sides) >> unit).astype(jnp.int64)
    extent = ((_most(side[1] for side in sides) + up) >> unit).astype(jnp.int64) - first
    shift = jnp.maximum(64 - jax.lax.clz(extent) - bits, 0)
    start, weight = _wide(first, low) << unit, rows.weight()

    def histogram(values: Any) -> Array:
        above, amount = values - start, shift + unit  # of one word: one shift in place of two
        if words > 1:
            above, amount = (above >> unit).astype(jnp.int64), shift
        place = jax.lax.shift_right_logical(above, jnp.broadcast_to(amount, above.shape)).astype(jnp.int32)
        return jnp.cumsum(jnp.zeros(1 << bits, jnp.int64).at[place].add(weight, mode="promise_in_bounds"))

    none, total = jnp.zeros(1, jnp.int64), jnp.sum(weight)
    begun = jnp.concatenate([none, histogram(least), total[None]])  # rows that may lie below the end of a bin
    reached = jnp.concatenate([none, none, histogram(most)])  # rows that certainly lie below a bin
    may_above, may_below = halves(total - reached)[0], halves(begun)[0]
    must_above, must_below = halves(total - begun)[1], halves(reached)[1]
    weights = [score.log_weight(may_above, must_above), score.log_weight(may_below, must_below)]
    reach = cuts.support(chart, low, high)
    tails = tail_weights(reach.below, reach.above, total, score)
    steps = jnp.minimum(jnp.arange((1 << bits) + 1, dtype=jnp.int64) << shift, extent + 1) + (first - 1)
    ends = _wide(steps, low) << unit
    whole = ((reach.high >> cuts.step) - ((reach.low - 1) >> cuts.step))[None]
    inner = concatenate([whole, (ends[1:] - ends[:-1]) >> cuts.step, whole])
    width = _within(inner, ends, frame, [(reach.low - 1, reach.high)] * len(corners), cuts.step)
    lengths = None
    if rows.favored is not None:
        near = _within(width, ends, frame, [rows.favored.reach(chart, corner) for corner in corners], cuts.step)
        lengths = log_favored(width, near, rows.favored.extra)
    return cuts.log_peak(chart, low, high) + log_upper(width, jnp.stack(weights), tails, lengths)


def _within(width: Any, ends: Any, frame: list[Any], ranges: list[tuple[Any, Any]], step: int) -> Any:
    """At least the number of t of each bin that lie in a range, ``integers[bins + 2]``, at every theta of a cell.

    width: at least the number of all its t. ends: ``integers[bins + 1]``, relative. frame, ranges: at the corners of
    the cell. A low end is concave in theta, a high one convex, and the frame affine: differences are largest there.
    """
    places = [origin + ends for origin in frame]
    up = _most(place - low for place, (low, _) in zip(places, ranges, strict=True))
    down = _most(high - place for place, (_, high) in zip(places, ranges, strict=True))
    up, down = ((part >> step) + int(step > 0) for part in (up, down))
    most = minimum(concatenate([up, width[-1:]]), concatenate([width[:1], down]))
    return clip(most, constant(0, width), width)


def log_upper(width: Any, weights: Array, tails: Array, lengths: Array | None = None) -> Array:
    """At least log(sum of width exp(weights) + sum of exp(tails)), ``float64[]``, from sums of integers.

    width: ``integers[m]``. weights: ``float64[2, m]``, the same widths for both signs. tails: ``float64[4]``.
    lengths: ``float64[m]``, in place of the logarithms of the widths.
    """
    terms = weights + (log_lengths(width) if lengths is None else lengths)[None]
    terms = jax.lax.optimization_barrier(terms)  # keeps XLA from computing the slow logarithms twice
    top = jnp.maximum(jnp.max(terms), jnp.max(tails))
    units = [jnp.floor(jnp.exp(part - top) * _UNITS).astype(jnp.int64) + 1 for part in (terms, tails)]
    total = jnp.log((jnp.sum(units[0]) + jnp.sum(units[1])).astype(jnp.float64) / _UNITS)
    return slackened(top + total)


def slackened(bound: Array) -> Array:
    """An upper bound of a logarithm, increased by more than the rounding error of its computation."""
    return bound + (_SLACK + 1e-13 * jnp.abs(bound))
