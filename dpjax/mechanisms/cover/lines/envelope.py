"""Upper bounds, for all theta of a cell at once, of the total weight that `sweep` computes at one theta.

The values of a row over a cell fill an interval. A cut with t in a bin may or may not hit a row whose interval meets
the bin: the bound counts the row if it is a target and ignores it if not. Both counts, for all bins of a cell, are
running sums of two histograms, of the lower and of the upper ends of the intervals.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.integers import clip, integers, words_of
from dpjax.mechanisms.cover.lines.cuts import Cuts, Rows, halves
from dpjax.mechanisms.cover.lines.region import log_favored
from dpjax.mechanisms.cover.lines.sweep import log_lengths, tail_weights
from dpjax.mechanisms.cover.score import Score

_UNITS = 2.0**40
_SLACK = 1e-9  # bounds the rounding error of a logarithm in float64; 1e-13 of its size is added


def envelope(cuts: Cuts, rows: Rows, score: Score, bins: int) -> Array:
    """Bounds of log_density + log_total for the cells of ``cuts.cells()``, ``float64[C]``.

    bins: static; the range of t is divided into this many to twice as many bins. O(C n + C bins) steps, cell by cell.
    """
    cells = cuts.cells()

    def one(cell: tuple[Array, Any, Any]) -> Array:
        return _bound(cuts, rows, score, bins, *cell)

    low, high = (integers(part, cells.words) for part in (cells.low, cells.high))
    return jax.lax.map(one, (jnp.asarray(cells.chart), low, high))


def _bound(cuts: Cuts, rows: Rows, score: Score, bins: int, chart: Array, low: Any, high: Any) -> Array:
    shift = (cuts.last + 1 - cuts.first).bit_length() - 1 - (bins - 1).bit_length()
    count = ((cuts.last + 1 - cuts.first) >> shift) + 1
    weight = rows.weight()

    def histogram(values: Any) -> Array:
        place = ((values - cuts.first) >> shift).astype(jnp.int32)
        return jnp.cumsum(jnp.zeros(count, jnp.int64).at[place].add(weight, mode="promise_in_bounds"))

    least, most = histogram(rows.values(chart, high - 1)), histogram(rows.values(chart, low))
    total = jnp.sum(weight)
    reached = jnp.concatenate([jnp.zeros(1, jnp.int64), most[:-1]])  # rows that certainly lie below the bin
    may_above, may_below = halves(total - reached)[0], halves(least)[0]
    must_above, must_below = halves(total - least)[1], halves(reached)[1]
    reach = cuts.support(chart, low, high)
    edges = cuts.first + (np.arange(count + 1, dtype=object) << shift) - 1
    ends = clip(integers(edges, words_of(reach.low)), reach.low - 1, reach.high) >> cuts.step
    width = ends[1:] - ends[:-1]
    weights = [score.log_weight(may_above, must_above), score.log_weight(may_below, must_below)]
    tails = tail_weights(reach.below, reach.above, total, score)
    lengths = None
    if rows.favored is not None:
        near = clip(ends, *(end >> cuts.step for end in rows.favored.reach(chart, low, high - 1)))
        lengths = log_favored(width, near[1:] - near[:-1], rows.favored.extra)
    return cuts.log_peak(chart, low, high) + log_upper(width, jnp.stack(weights), tails, lengths)


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
