"""The score that a round of a set cover maximizes, and its sensitivity."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

_MOST, _WIDEST = 1e100, 1e12


@register_dataclass
@dataclass(frozen=True)
class Score:
    """The score of one round, q = min(T - share, -O), and its coefficient in the exponent: two ``float64[]``.

    T and O count the targets and the other rows that a function hits; share is budget / k, finite. A subclass
    (registered as a pytree too) may override `quality`; it must be nondecreasing in T and nonincreasing in O, which the
    bounds of `lines` rely on, and needs a proof of its accounting.

    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 3.
    """

    coefficient: Array
    share: Array

    sensitivity: ClassVar[int] = 1
    """The largest change of a score when one row is added, removed or replaced."""

    @classmethod
    def of(cls, budget: Array, k: int, coefficient: Array) -> "Score":
        """share = budget / k, of any floats. A coefficient that is not a positive number becomes 0."""
        with jax.enable_x64(True):
            known = jnp.asarray(coefficient, jnp.float64)
            known = jnp.where(known > 0, jnp.minimum(known, _MOST), 0.0)
            share = jnp.nan_to_num(jnp.asarray(budget, jnp.float64), nan=0.0, posinf=_WIDEST, neginf=-_WIDEST) / k
            return cls(known, jnp.clip(share, -_WIDEST, _WIDEST))

    def capped(self, most: float) -> "Score":
        """The score with its coefficient clipped to ``most``."""
        with jax.enable_x64(True):
            return type(self)(jnp.minimum(self.coefficient, most), self.share)

    def quality(self, hit: Array, wrong: Array) -> Array:
        """q <= 0, ``float64[...]``, from counts of targets and of others; 64-bit types enabled."""
        return jnp.minimum(hit.astype(jnp.float64) - self.share, -wrong.astype(jnp.float64))

    def log_weight(self, hit: Array, wrong: Array) -> Array:
        """Coefficient times q."""
        return self.coefficient * self.quality(hit, wrong)
