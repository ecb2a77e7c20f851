"""The exact law of (t, sign) at one theta: the rows sorted by value, and the gaps between them.

All t of a gap hit the same rows, so the exponential mechanism at a given theta has 2 (n + 1) outcomes; their weights
are numbers of lattice points times exp(coefficient q).
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.integers import (
    clip,
    concatenate,
    constant,
    decoded,
    encoded,
    integers,
    maximum,
    sort,
    where,
    widened,
    words_of,
)
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.cuts import Cuts, Rows, halves
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.triangles.corners import log_sum


@register_dataclass
@dataclass(frozen=True)
class Sweep:
    """The law at one theta. Outcomes: four tails, then (gap, sign) in the order of the values; 2 m + 4 for m `Rows`.

    start: ``integers[m]``, the largest multiple of 2**step at or before each gap, divided by 2**step.
    width: ``integers[m]``, lattice points in the gap. log_weights: ``float64[2 m + 4]``.
    """

    start: Any
    width: Any
    log_weights: Array

    @staticmethod
    def empty(rows: int, words: int = 1) -> "Sweep":
        """Zeros of the shape that the sweep of ``rows`` rows has."""
        zeros = integers(np.zeros(rows, np.int64), words)
        return Sweep(zeros, zeros, jnp.zeros(2 * rows + 4, jnp.float64))

    def log_total(self) -> Array:
        """log of the sum of all weights, ``float64[]``; independent of the order of summation and of padding."""
        return log_sum(self.log_weights)

    def draw(self, cuts: Cuts, key: Array) -> tuple[Any, Array]:
        """One t, ``integers[]``, and whether the cut hits the rows above it."""
        of_gap, of_point = jax.random.split(key)
        index = jnp.maximum(Categorical(self.log_weights).sample(of_gap), 0)
        gap = jnp.maximum(index - 4, 0) // 2
        width = self.width[gap]
        inside = below(of_point, maximum(width, constant(1, width)))
        t = (self.start[gap] + 1 + inside) << cuts.step
        ends = where(index < 2, constant(cuts.first, t), constant(cuts.last + 1, t))
        t = where(index < 4, ends, t)
        return t, index % 2 == 0


def below(key: Array, bound: Any) -> Any:
    """Uniform in {0, ..., bound - 1}, ``integers[...]`` for positive bounds, up to a factor 1 +- 2**-64."""
    return decoded(random.randint_below(key, encoded(bound), bound.shape))


def sweep(cuts: Cuts, rows: Rows, chart: Array, theta: Any, score: Score) -> Sweep:
    """Sorts the rows by value(theta, x). Ignored rows lie beyond all t; at least one follows the last gap."""
    reach = cuts.support(chart, theta, theta + 1)
    middle = (cuts.first + cuts.last + 1) // 2  # values about it leave two bits for the code
    values = rows.ordered(cuts, chart, theta)
    if rows.favored is not None:  # its ends take the places of two ignored rows
        place, marks = jnp.arange(rows.code.shape[0]), rows.favored.marks(cuts, chart, theta)
        for i, mark in enumerate(marks):
            values = where(place == rows.code.shape[0] - 1 - i, mark, values)
    packed = sort(((values - middle) << 2) + widened(rows.code.astype(jnp.uint64), words_of(values)))
    code = packed.astype(jnp.int64) & 3
    ends = clip((packed >> 2) + middle, reach.low - 1, reach.high) >> cuts.step
    start = concatenate([(reach.low - 1)[None] >> cuts.step, ends[:-1]])
    width = ends - start
    weight = (code & 1) + ((code >> 1) << 32)
    total = jnp.sum(weight)
    before = jnp.cumsum(weight) - weight
    lengths = log_lengths(width)
    if rows.favored is not None:
        low, high = (clip(mark, reach.low - 1, reach.high) >> cuts.step for mark in marks)
        lengths = lengths + jnp.where((ends > low) & (ends <= high), jnp.log1p(rows.favored.extra), 0.0)
    signs = [score.log_weight(*halves(part)) + lengths for part in (total - before, before)]
    tails = tail_weights(reach.below, reach.above, total, score)
    return Sweep(start, width, jnp.concatenate([tails, jnp.stack(signs, axis=-1).reshape(-1)]))


def log_lengths(width: Any) -> Array:
    """ln of numbers of lattice points, ``float64[...]``, -inf where there are none."""
    lengths = jnp.log(maximum(width, constant(1, width)).astype(jnp.float64))
    return jnp.where(width > 0, lengths, -jnp.inf)


def tail_weights(low: Array, high: Array, total: Array, score: Score) -> Array:
    """Log-weights ``float64[4]`` of the cuts below and above all values, each with both signs."""
    every, none = score.log_weight(*halves(total)), score.log_weight(*halves(jnp.zeros_like(total)))
    low, high = (jnp.where(part > 0, jnp.log(jnp.maximum(part, 1e-300)), -jnp.inf) for part in (low, high))
    return jnp.stack([low + every, low + none, high + none, high + every])
