"""What a concept class is: a frozen dataclass, static, equal by value."""

from typing import Any, Protocol

from jax import Array

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.mechanisms.intervals import Pieces


class ConceptClass(Protocol):
    """A class over a domain, whose concepts are numbers or words of bits, ``uint32[..., limbs]``."""

    @property
    def domain(self) -> Any:
        """Its elements: with ``size``, ``limbs`` and ``encode``."""

    @property
    def size(self) -> int:
        """How many concepts there are."""

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """Labels ``bool[..., k]`` of elements."""

    def error(self, distribution: Any, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """The mass on which they differ, ``uint64[k]`` in units of the distribution; 64-bit types enabled."""


class Described(ConceptClass, Protocol):
    """A class that says in words what a hypothesis is; figures, trials and tables use it where it is there.

    A class over a line whose concepts are intervals may take ``describe(hypothesis, rule=...)``, a `hypothesis.Rule`:
    tables then give the sentence in the units of their columns.
    """

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""

    def targets(self, count: int) -> Any:
        """Host: at most ``count`` concepts, encoded, that a `Task` draws its targets from if none are given."""


class InPieces(ConceptClass, Protocol):
    """A class whose concepts can be listed by their errors on a sample, piece by piece."""

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Pieces of concepts of equal error on one column of labels."""
