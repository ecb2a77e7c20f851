"""The score by which a round of a set cover chooses, and by how much one row can move it."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.types import Neighboring

_MOST, _WIDEST = 1e100, 1e12

Range = tuple[float, float]


class Moves(NamedTuple):
    """By how much one row more moves the score of a function, at least and at most.

    target_hit, target_missed: the row is a target. other_hit, other_missed: it is none.
    """

    target_hit: Range
    target_missed: Range
    other_hit: Range
    other_missed: Range


@register_dataclass
@dataclass(frozen=True)
class Score:
    """The score of one round, q = min(T - share, -O), and its coefficient in the exponent: two ``float64[]``.

    T and O count the targets and the other rows that a function hits; share is budget / k, finite. A subclass
    (registered as a pytree too) may have another `quality`; it must not fall with T or rise with O, which the bounds of
    `lines` rely on, and accounting must be proved for its `moves`.

    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 3.
    """

    coefficient: Array
    share: Array

    sensitivity: ClassVar[int] = 1
    """The most that one row added, removed or replaced moves a score, see `moves`."""

    @classmethod
    def of(cls, budget: Array, k: int, coefficient: Array) -> "Score":
        """share = budget / k, of any floats. A coefficient that is no positive number counts as 0."""
        with jax.enable_x64(True):
            known = jnp.asarray(coefficient, jnp.float64)
            known = jnp.where(known > 0, jnp.minimum(known, _MOST), 0.0)
            share = jnp.nan_to_num(jnp.asarray(budget, jnp.float64), nan=0.0, posinf=_WIDEST, neginf=-_WIDEST) / k
            return cls(known, jnp.clip(share, -_WIDEST, _WIDEST))

    def capped(self, most: float) -> "Score":
        """With a coefficient of at most ``most``."""
        with jax.enable_x64(True):
            return type(self)(jnp.minimum(self.coefficient, most), self.share)

    def quality(self, hit: Array, wrong: Array) -> Array:
        """q, ``float64[...]``, at most 0 where share is, of counts of targets and of others; 64-bit types enabled."""
        return jnp.minimum(hit.astype(jnp.float64) - self.share, -wrong.astype(jnp.float64))

    def log_weight(self, hit: Array, wrong: Array) -> Array:
        """Coefficient times q."""
        return self.coefficient * self.quality(hit, wrong)

    @classmethod
    def moves(cls, k: int | None) -> Moves:
        """What one row more does to q.

        k: where share is the exact number of targets over k, which a target moves too; None where share is fixed, as
          by a noisy count that was published.

        The minimum of two numbers moves by no less than the smaller and no more than the larger of their moves.
        """
        per = 0.0 if k is None else 1 / k
        return Moves((0.0, 1 - per), (-per, 0.0), (-1.0, 0.0), (0.0, 0.0))

    @classmethod
    def span(cls, neighboring: Neighboring, k: int | None) -> float:
        """The length of the interval in which the scores of neighbours differ, over all functions.

        Under REPLACE_ONE the moves of the new row less those of the old one.
        """
        moves = cls.moves(k)
        kinds = (moves.target_hit, moves.target_missed), (moves.other_hit, moves.other_missed)
        added = max(max(high for _, high in kind) - min(low for low, _ in kind) for kind in kinds)
        return added if neighboring is Neighboring.ADD_OR_REMOVE_ONE else 2 * added
