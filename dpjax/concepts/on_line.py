"""Classes with one concept for each element of a line."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.domain import Domain, require
from dpjax.core import checks, wide


@dataclass(frozen=True)
class OnLine(ConceptClass):
    """Base class of points and thresholds: one concept per element of a domain of up to 2**64 elements."""

    domain: Domain

    def __post_init__(self):
        require(self.domain)

    @property
    def size(self) -> int:
        """The number of concepts, |X|."""
        return self.domain.size

    def growth(self, elements: int) -> int:
        """An upper bound of the ways in which the class cuts ``elements`` elements: one for each of them, and none."""
        return min(elements + 1, self.size)

    def targets_under(self, distribution: Any, count: int) -> np.ndarray:
        """Host: ``uint32[c, 2]``, at most ``count`` of the distribution's single elements; `targets` if it has none."""
        single = distribution.single()
        if not len(single):
            return self.targets(count)
        places = np.linspace(0, len(single) - 1, min(checks.integer("count", count, 1), len(single)))
        return wide.encode(single[np.unique(places.astype(int))])
