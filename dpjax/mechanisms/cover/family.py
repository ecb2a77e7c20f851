"""The interface of the families that a private set cover chooses from."""

from abc import abstractmethod
from typing import Any

from jax import Array

from dpjax.core.checks import NoTheoremError
from dpjax.core.members import Base
from dpjax.mechanisms.cover.score import Score


class Family(Base):
    """Base class of a family H with a base measure mu that does not depend on the data: a frozen dataclass, static,
    equal by value.

    A function h "hits" the rows to which it gives one fixed label, a property of the family: label 0 to learn an AND of
    members of H (targets are the negatives), label 1 to learn an OR (targets are the positives).

    Reference: Kaplan, Mansour, Matias, Stemmer 2019, Definition 2.6.
    """

    @abstractmethod
    def select(self, key: Array, x: Any, target: Array, other: Array, score: Score) -> Any:
        """One h with density proportional to mu(h) exp(coefficient q(h)), coefficient and q of ``score``. Total.

        Args:
          key: consumed.
          x: the rows, an array with leading axis n, or the result of `prepare`.
          target, other: ``bool[n]``, disjoint: the rows that h should hit and those that it should not. Labels enter
            only through these masks; rows in neither mask are ignored.
          score: its counts are the rows of ``target`` and of ``other`` that h hits.

        Returns: a pytree of fixed shapes and dtypes.
        """

    @abstractmethod
    def hits(self, h: Any, x: Any) -> Array:
        """Which rows h hits, ``bool[n]``: bitwise equal results in every program."""

    def prepare(self, x: Array) -> Any:
        """The rows as `select` and `hits` accept them, computed once, before the first round."""
        return x

    def size_along(self, width: float, length: float) -> float:
        """mu(H) / mu(the cuts along a rectangle) at most, for theorems that assume a margin; NoTheoremError without."""
        given = type(self).__name__
        raise NoTheoremError("margin", "a family with size_along, such as HalfPlanes", given, "leave it out")


class Following(Family):
    """Base class of a family whose base measure follows the functions selected so far.

    Privacy: they are published, so this is adaptive composition; the stopping game bounds any measure of a round that
    is a function of them. A state must be such a function, and the same bits in every program.
    """

    @abstractmethod
    def start(self, rounds: int) -> Any:
        """The state before the first of ``rounds`` rounds, a pytree of arrays; None: the measure stays the same."""

    @abstractmethod
    def followed(self, state: Any, h: Any) -> Any:
        """The state after h, of the same shapes and dtypes."""

    @abstractmethod
    def select(self, key: Array, x: Any, target: Array, other: Array, score: Score, favored: Any = None) -> Any:
        """`Family.select` under the measure of the state ``favored``."""
