"""What a sanitizer is: rows in, a synthetic database out.

Rows are numbers of ``bits`` bits as in `mechanisms.median`: ``uint32[capacity, W]``, the real ones under ``mask``.
"""

from dataclasses import dataclass
from typing import Protocol

import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.accounting.guarantee import Guarantee
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.mechanisms.median import bits as B


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


class Sanitizer(Protocol):
    """A frozen dataclass, static and equal by value, planned on the host from public numbers."""

    @property
    def bits(self) -> int:
        """Of a row."""
        ...

    @property
    def neighboring(self) -> Neighboring:
        """The relation under which `guarantee` holds."""
        ...

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """Jittable and total. x: ``uint32[capacity, W]``. mask: ``bool[capacity]``."""

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """What `sanitize` spends at this budget, for every database."""

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """Rows from which `error` is at most alpha with probability 1 - beta; InputError where that is not proved."""
