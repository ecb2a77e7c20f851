"""What a threshold sanitizer is: rows in, a synthetic database out that answers all thresholds at once.

Rows are numbers of ``bits`` bits as in `mechanisms.median`: ``uint32[capacity, W]``, the real ones under ``mask``.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.mechanisms.median import bits as B
from dpjax.types import Goal, Neighboring, Privacy


@register_dataclass
@dataclass(frozen=True)
class Sanitized:
    """A synthetic database of r weighted points; the share of a threshold t is the weight of the points <= t.

    points: ``uint32[r, W]``, r static, in any order.
    weights: ``int32[r]``, at least 0 and not all 0; a share is a weight over their sum.
    outcome: ``int32[r]``, 0, or -1 where a part gave no answer: its point is then element 0, and its weight stays.
    """

    points: Array
    weights: Array
    outcome: Array

    @staticmethod
    def of(points: Array, weights: Array, outcome: Array | None = None) -> "Sanitized":
        """Weights that are all 0, as those of no rows, become all 1."""
        weights = jnp.where(jnp.any(weights > 0), weights, jnp.ones_like(weights))
        if outcome is None:
            outcome = jnp.zeros(weights.shape, jnp.int32)
        return Sanitized(points, weights, outcome)

    def share(self, threshold: Array) -> Array:
        """The estimated share of rows <= threshold, ``float32[...]`` for ``uint32[..., W]``."""
        below = B.less_equal(self.points, threshold[..., None, :])
        weight = jnp.sum(jnp.where(below, self.weights, 0), axis=-1, dtype=jnp.int32)
        return weight.astype(jnp.float32) / jnp.sum(self.weights, dtype=jnp.int32).astype(jnp.float32)


class ThresholdSanitizer(Protocol):
    """A frozen dataclass, static and equal by value, planned on the host from public numbers."""

    bits: int
    neighboring: Neighboring

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """Jittable and total. x: ``uint32[capacity, W]``. mask: ``bool[capacity]``."""

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """What `sanitize` spends at this budget, for every database."""

    def sample_size(self, privacy: Privacy, goal: Goal) -> int:
        """Rows from which `error` is at most alpha with probability 1 - beta; InputError where that is not proved."""


def error(sanitized: Sanitized, x: Any, mask: Any) -> Fraction:
    """Host: the largest error over all thresholds, as an exact fraction; 0 without rows."""
    over, under = _worst_gap(sanitized, jnp.asarray(x), jnp.asarray(mask))
    return Fraction(int(np.asarray(over)), int(np.asarray(under)))


def worst_gap(sanitized: Sanitized, x: Array, mask: Array) -> tuple[Array, Array]:
    """`error` as numerator and denominator, ``int64[]`` each, for jitted trials.

    Both step functions are constant between elements that are a row or a point, so these are all the thresholds that
    matter; equal elements count together, so a value that many rows share is one step. n x sum of weights < 2**63.
    """
    width, capacity = x.shape[1], x.shape[0]
    count = sanitized.weights.shape[0]
    elements = jnp.concatenate([x, sanitized.points])
    rows = jnp.concatenate([mask.astype(jnp.int32), jnp.zeros(count, jnp.int32)])
    weights = jnp.concatenate([jnp.zeros(capacity, jnp.int32), sanitized.weights])
    columns = tuple(elements[:, limb] for limb in range(width))
    *limbs, rows, weights = jax.lax.sort((*columns, rows, weights), num_keys=width)
    differ = jnp.stack([limb[1:] != limb[:-1] for limb in limbs])
    last = jnp.append(jnp.any(differ, axis=0), jnp.ones(1, bool))
    with jax.enable_x64(True):
        below, weight = jnp.cumsum(rows.astype(jnp.int64)), jnp.cumsum(weights.astype(jnp.int64))
        gaps = jnp.abs(weight * below[-1] - below * weight[-1])
        largest = jnp.max(jnp.where(last, gaps, jnp.int64(0)))
        return largest, jnp.maximum(below[-1], jnp.int64(1)) * weight[-1]


_worst_gap = jax.jit(worst_gap)


def boundaries(n: Array, parts: int) -> Array:
    """floor(i n / parts) for i = 0, ..., parts, ``int32[parts + 1]``: n rows in parts whose sizes differ by at most 1.

    The parts are static, n (``int32[]``) is public; nothing overflows.
    """
    with jax.enable_x64(True):
        place = jnp.arange(parts + 1, dtype=jnp.int64)
        return (place * n.astype(jnp.int64) // jnp.int64(parts)).astype(jnp.int32)
