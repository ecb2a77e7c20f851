"""The result of a search for a dimension: proved bounds and a witness."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpjax.core.checks import InputError


@dataclass(frozen=True)
class Dimension:
    """Proved bounds of a dimension, which are equal unless a time limit stopped the search.

    name: as in a sentence, "VC dimension". lower, upper: whole numbers (fractions for the randomized Littlestone
    dimension). witness: an object with ``holds(matrix)``; what it proves is in its docstring. seconds: of the search.
    """

    name: str
    lower: int | Fraction
    upper: int | Fraction
    witness: Any
    seconds: float

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper

    @property
    def value(self) -> int | Fraction:
        """The dimension; InputError if the search was stopped before it was known."""
        if not self.exact:
            actual = f"bounds {self.lower} and {self.upper} after {self.seconds:.1f} s"
            advice = "allow more seconds, or use .lower and .upper, which are proved"
            raise InputError(self.name, "a search that ended", actual, advice)
        return self.lower

    def in_rows(self, numbers: np.ndarray) -> "Dimension":
        """The same with a witness for a matrix whose row numbers[i] is row i of the searched one."""
        return replace(self, witness=self.witness.in_rows(numbers))

    def named(self, name: str) -> "Dimension":
        """The same with another name."""
        return replace(self, name=name)

    def __str__(self) -> str:
        if self.exact:
            return f"{self.name} {self.lower}"
        return f"{self.name} between {self.lower} and {self.upper} (stopped after {self.seconds:.1f} s)"
