"""Classes with one concept for each element of a line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.domain import Domain, require
from dpjax.core import checks
from dpjax.core.arithmetic import FEWEST, Arithmetic, arithmetic, encode


@dataclass(frozen=True)
class OnLine(ConceptClass):
    """Base class of points and thresholds: one concept per element of a domain."""

    domain: Domain

    def __post_init__(self):
        require(self.domain)

    @property
    def numbers(self) -> Arithmetic:
        """The arithmetic of elements and of concepts."""
        return arithmetic(self.domain.limbs)

    @property
    def size(self) -> int:
        """The number of concepts, |X|."""
        return self.domain.size

    def numbered(self, numbers: Sequence[int]) -> np.ndarray:
        """Host: ``uint32[c, W]``, at least two limbs."""
        return encode(checks.indices("target", numbers, self.size), max(FEWEST, self.domain.limbs))

    def growth(self, elements: int) -> int:
        """An upper bound of the ways in which the class cuts ``elements`` elements: one for each of them, and none."""
        return min(elements + 1, self.size)

    def targets_under(self, distribution: Any, count: int) -> np.ndarray:
        """Host: ``uint32[c, W]``, at most ``count`` of the distribution's single elements; `targets` if it has none."""
        single = distribution.single()
        if not len(single):
            return self.targets(count)
        places = np.linspace(0, len(single) - 1, min(checks.integer("count", count, 1), len(single)))
        return self.numbered(single[np.unique(places.astype(int))].tolist())
