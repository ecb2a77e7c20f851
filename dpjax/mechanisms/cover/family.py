"""What a private set cover chooses from: a family of functions with a fixed base measure."""

from typing import Any, Protocol, runtime_checkable

from jax import Array

from dpjax.mechanisms.cover.score import Score


class Family(Protocol):
    """A family H with a base measure mu that does not depend on the data: a frozen dataclass, static, equal by value.

    A function h "hits" a row that it labels with the one label that the family is made for: 0 where the concept to be
    learned is an AND of members of H (targets are the negatives), 1 where it is an OR (targets are the positives).
    """

    def select(self, key: Array, x: Any, target: Array, other: Array, score: Score) -> Any:
        """One h with density proportional to mu(h) exp(coefficient q(h)), coefficient and q of ``score``. Total.

        Args:
          key: consumed.
          x: the rows, an array that leads with n, or what `Prepared.prepare` made of it.
          target, other: ``bool[n]``, disjoint: the rows that are to be hit and those that are not. No other thing is
            read of the labels, and rows under neither do not matter.
          score: of counts of the rows that h hits under ``target`` and under ``other``.

        Returns: a pytree of fixed shapes and dtypes.
        """

    def hits(self, h: Any, x: Any) -> Array:
        """Which rows h hits, ``bool[n]``: to the last bit the same wherever it is asked."""


@runtime_checkable
class Prepared(Protocol):
    """A family that reads the rows once, before the first round."""

    def prepare(self, x: Array) -> Any:
        """What `Family.select` and `Family.hits` may be given in place of the rows."""
