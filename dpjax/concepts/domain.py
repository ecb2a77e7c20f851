"""An ordered domain {0, ..., size-1} of up to 2**64 elements."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpjax.core import checks, wide
from dpjax.core.checks import InputError


@dataclass(frozen=True)
class Domain:
    """{0, ..., size-1}. Elements are ``uint32[..., limbs]``; ``limbs`` is 1 up to size 2**32, else 2."""

    size: int

    def __post_init__(self):
        checks.integer("domain size", self.size, 1, 2**64)

    @property
    def limbs(self) -> int:
        """uint32 limbs of an element."""
        return 1 if self.size <= 2**32 else 2

    def encode(self, values) -> np.ndarray:
        """Host: integers in [0, size) -> ``uint32[..., limbs]``. Raises InputError for a value outside."""
        whole = np.asarray(values, dtype=object)
        for value in whole.reshape(-1):
            if not 0 <= value < self.size or int(value) != value:
                raise InputError(
                    "domain element", f"a whole number in [0, {self.size})", repr(value),
                    "widen the domain or clip the value before",
                )  # fmt: skip
        return wide.encode(whole.astype(np.uint64), self.limbs)

    def decode(self, elements) -> np.ndarray:
        """Host: ``uint32[..., limbs]`` -> ``uint64[...]``."""
        return wide.decode(elements)

    def spread(self, count: int) -> list[int]:
        """Host: ``count`` distinct elements spread evenly, ascending."""
        checks.integer("number of elements", count, 1, self.size)
        return [(2 * i + 1) * self.size // (2 * count) for i in range(count)]


def require(domain: Any) -> Any:
    """A domain, or InputError."""
    return checks.members("domain", domain, ("size", "limbs", "encode", "spread"), "write for example Domain(2**32)")


@dataclass(frozen=True)
class OnLine:
    """Base class of points and thresholds: one concept per element of a domain of up to 2**64 elements."""

    domain: Domain
    differences: ClassVar[Mapping[str, int]]
    """The number of points, or of thresholds, in the symmetric difference of two concepts."""

    def __post_init__(self):
        require(self.domain)

    @property
    def size(self) -> int:
        """The number of concepts, |X|."""
        return self.domain.size

    def growth(self, elements: int) -> int:
        """An upper bound of the ways in which the class cuts ``elements`` elements: one for each of them, and none."""
        return min(elements + 1, self.size)

    def targets(self, count: int) -> np.ndarray:
        """Host: ``uint32[c, 2]``, at most ``count`` concepts spread over the domain."""
        return wide.encode(self.domain.spread(min(checks.integer("count", count, 1), self.size)))

    def targets_under(self, distribution: Any, count: int) -> np.ndarray:
        """Host: ``uint32[c, 2]``, at most ``count`` of the distribution's single elements; `targets` if it has none."""
        single: Any = getattr(distribution, "single", list)()
        if not len(single):
            return self.targets(count)
        places = np.linspace(0, len(single) - 1, min(checks.integer("count", count, 1), len(single)))
        return wide.encode(single[np.unique(places.astype(int))])
