"""What representations by random hash functions have in common: the numbers of functions and of buckets."""

from typing import Any, ClassVar

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.learners.representations.base import Representation
from dpjax.theory import representations as theory

MOST_BITS = 20


class HashSizes(Representation):
    """Base of representations with fields ``tries`` and ``bits``, None for those that the accuracy decides.

    A subclass has ``ones``, the number of elements of a set, ``elements``, of all sets of a concept together, and
    ``members_of(tries, bits)``.
    """

    ones: Any
    elements: Any
    most_bits: ClassVar[int] = MOST_BITS

    def check_sizes(self: Any) -> None:
        """Raises InputError for sizes out of range."""
        checks.whole_or_none("tries", self.tries, 1, 1 << 16)
        checks.whole_or_none("bits", self.bits, 1, self.most_bits)

    @property
    def sizes(self: Any) -> tuple[int, ...]:
        """(tries, bits)."""
        return self.known()

    def known(self: Any) -> tuple[int, int]:
        """Both sizes, or InputError."""
        if self.tries is None or self.bits is None:
            advice = "give them, or take .for_accuracy(alpha, beta), which chooses them"
            raise InputError("tries, bits", "both numbers", f"{self.tries}, {self.bits}", advice)
        return self.tries, self.bits

    def failure(self: Any, near: float) -> float:
        """`theory.representations.hash_failure`; 0 if there are no other elements to collide with."""
        tries, bits = self.known()
        if self.concepts.domain.size == self.ones:
            return 0.0
        return theory.hash_failure(bits, tries, self.elements, near)

    def for_accuracy(self: Any, near: float, failure: float) -> Any:
        """The numbers that make the fewest functions."""
        candidates: list[tuple[int, tuple[int, int]]] = []
        for bits in range(1, self.most_bits + 1) if self.bits is None else [self.bits]:
            tries = self.tries or theory.hash_tries(bits, self.elements, near, failure)
            if tries is not None and tries <= 1 << 16 and self.sized((tries, bits)).failure(near) <= failure:
                candidates.append((self.members_of(tries, bits), (tries, bits)))
        return self.sized(min(candidates)[1]) if candidates else None

    @property
    def count(self: Any) -> int:
        """The number of members, equal ones counted as often as they occur."""
        return self.members_of(*self.known())
