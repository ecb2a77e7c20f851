"""The base class of domains, and the ordered domain {0, ..., size-1} of up to 2**2048 elements."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.core import arithmetic, checks
from dpjax.core.checks import InputError
from dpjax.core.members import Base, implements, missing, required

MOST_BITS = 2048
"""Bits of an element."""


class FiniteDomain(Base):
    """Base class of domains: a frozen dataclass, equal by value. Elements have numbers 0, ..., size-1 and are
    ``uint32[..., limbs]``, most significant limb first."""

    @required
    def size(self) -> int:
        """The number of elements, >= 1."""

    @required
    def limbs(self) -> int:
        """uint32 limbs of an element, >= 1."""

    @abstractmethod
    def encode(self, values: Any) -> np.ndarray:
        """Host: elements, or their numbers -> ``uint32[..., limbs]``. InputError for a value outside."""

    def decode(self, elements: Any) -> np.ndarray:
        """Host: the inverse of `encode`, for checks. Optional."""
        raise missing("domain", self, FiniteDomain.decode, "write it")

    def spread(self, count: int) -> list[int]:
        """Host: ``count`` distinct elements spread evenly, ascending, for distributions. Optional."""
        raise missing("domain", self, FiniteDomain.spread, "write for example Domain(2**32)")

    def uniform(self) -> Any:
        """The uniform distribution, if it is not that of `concepts.distributions.uniform`. Optional."""
        raise missing("domain", self, FiniteDomain.uniform, "see dpjax.uniform")

    @property
    def parameters(self) -> dict[str, Any]:
        """Arguments that configurations may leave out in distributions and learners over the domain, by name."""
        return {}


@dataclass(frozen=True)
class Domain(FiniteDomain):
    """{0, ..., size-1}, size at most 2**2048. Elements are ``uint32[..., limbs]``; ``limbs`` is 1 up to size 2**32."""

    size: int

    def __post_init__(self):
        checks.integer("domain size", self.size, 1, 2**MOST_BITS)

    @property
    def limbs(self) -> int:
        """uint32 limbs of an element."""
        return max(1, -(-(self.size - 1).bit_length() // 32))

    def encode(self, values) -> np.ndarray:
        """Host: integers in [0, size) -> ``uint32[..., limbs]``. Raises InputError for a value outside."""
        whole = np.asarray(values, dtype=object)
        for value in whole.reshape(-1):
            if not checks.is_element(value, self.size):
                expected = f"a whole number in [0, {checks.short(self.size)})"
                advice = "widen the domain or clip the value before"
                raise InputError("domain element", expected, repr(value), advice)
        return arithmetic.encode(whole, self.limbs)

    def decode(self, elements) -> np.ndarray:
        """Host: ``uint32[..., limbs]`` -> ``uint64[...]``, or whole numbers ``object[...]`` beyond 2**64 elements."""
        return arithmetic.decode(elements)

    def spread(self, count: int) -> list[int]:
        """Host: ``count`` distinct elements spread evenly, ascending."""
        checks.integer("number of elements", count, 1, self.size)
        return [(2 * i + 1) * self.size // (2 * count) for i in range(count)]


def require_narrow(domain: Any) -> None:
    """InputError for a domain of more than 2**64 elements."""
    if domain.limbs > arithmetic.FEWEST:
        actual = f"elements of {domain.limbs} limbs"
        raise InputError("domain", "at most 2**64 elements", actual, "larger domains are for Points and Thresholds")


def require(domain: Any) -> Any:
    """A domain whose elements are ordered, or InputError."""
    checks.instance("domain", domain, FiniteDomain, "write for example Domain(2**32)")
    if not implements(domain, FiniteDomain.spread):
        raise missing("domain", domain, FiniteDomain.spread, "write for example Domain(2**32)")
    return domain
