"""The exact law of (t, sign) at one theta: the rows sorted by value, and the gaps between them.

All t of a gap hit the same rows, so the exponential mechanism at a given theta has 2 (n + 1) outcomes; their weights
are numbers of lattice points times exp(coefficient q).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random, wide
from dpjax.laws import Categorical
from dpjax.mechanisms.cover.lines.cuts import Cuts, Rows, halves
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.triangles.corners import log_sum


@register_dataclass
@dataclass(frozen=True)
class Sweep:
    """The law at one theta. Outcomes: four tails, then (gap, sign) in the order of the values; 2 m + 4 for m `Rows`.

    start: ``int64[m]``, the largest multiple of 2**step at or before each gap, divided by 2**step.
    width: ``int64[m]``, lattice points in the gap. log_weights: ``float64[2 m + 4]``.
    """

    start: Array
    width: Array
    log_weights: Array

    @staticmethod
    def empty(rows: int) -> "Sweep":
        """Zeros of the shape that the sweep of ``rows`` rows has."""
        zeros = jnp.zeros(rows, jnp.int64)
        return Sweep(zeros, zeros, jnp.zeros(2 * rows + 4, jnp.float64))

    def log_total(self) -> Array:
        """log of the sum of all weights, ``float64[]``; independent of the order of summation and of padding."""
        return log_sum(self.log_weights)

    def draw(self, cuts: Cuts, key: Array) -> tuple[Array, Array]:
        """One t, ``int64[]``, and whether the cut hits the rows above it."""
        of_gap, of_point = jax.random.split(key)
        index = jnp.maximum(Categorical(self.log_weights).sample(of_gap), 0)
        gap = jnp.maximum(index - 4, 0) // 2
        inside = below(of_point, jnp.maximum(self.width[gap], 1))
        t = (self.start[gap] + 1 + inside) << cuts.step
        t = jnp.where(index < 4, jnp.where(index < 2, jnp.int64(cuts.first), jnp.int64(cuts.last + 1)), t)
        return t, index % 2 == 0


def below(key: Array, bound: Array) -> Array:
    """Uniform in {0, ..., bound - 1}, ``int64[...]`` for bounds from 1 to 2**63, up to a factor 1 +- 2**-64."""
    return wide.join(random.randint_below(key, wide.split(bound.astype(jnp.uint64)), bound.shape)).astype(jnp.int64)


def sweep(cuts: Cuts, rows: Rows, chart: Array, theta: Array, score: Score) -> Sweep:
    """Sorts the rows by value(theta, x). Ignored rows lie beyond all t; at least one follows the last gap."""
    reach = cuts.support(chart, theta, theta + 1)
    start = jnp.int64(cuts.first)
    values = jnp.where(rows.code > 0, rows.values(chart, theta), jnp.int64(cuts.last + 1))
    packed = jnp.sort((values - start).astype(jnp.uint64) << jnp.uint64(2) | rows.code.astype(jnp.uint64))
    code = (packed & jnp.uint64(3)).astype(jnp.int64)
    ends = jnp.clip((packed >> jnp.uint64(2)).astype(jnp.int64) + start, reach.low - 1, reach.high) >> cuts.step
    start = jnp.concatenate([(reach.low - 1)[None] >> cuts.step, ends[:-1]])
    width = ends - start
    weight = (code & 1) + ((code >> 1) << 32)
    total = jnp.sum(weight)
    before = jnp.cumsum(weight) - weight
    lengths = jnp.log(jnp.maximum(width, 1).astype(jnp.float64))
    lengths = jnp.where(width > 0, lengths, -jnp.inf)
    signs = [score.log_weight(*halves(part)) + lengths for part in (total - before, before)]
    tails = tail_weights(reach.below, reach.above, total, score)
    return Sweep(start, width, jnp.concatenate([tails, jnp.stack(signs, axis=-1).reshape(-1)]))


def tail_weights(low: Array, high: Array, total: Array, score: Score) -> Array:
    """Log-weights ``float64[4]`` of the cuts below and above all values, each with both signs."""
    every, none = score.log_weight(*halves(total)), score.log_weight(*halves(jnp.zeros_like(total)))
    low, high = (jnp.where(part > 0, jnp.log(jnp.maximum(part, 1e-300)), -jnp.inf) for part in (low, high))
    return jnp.stack([low + every, low + none, high + none, high + every])
