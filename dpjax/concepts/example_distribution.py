"""The base class of distributions that examples are drawn from."""

from abc import abstractmethod
from typing import Any

import numpy as np
from jax import Array

from dpjax.concepts.domain import FiniteDomain
from dpjax.core.checks import InputError
from dpjax.core.members import Base, member, missing


class ExampleDistribution(Base):
    """Base class of distributions over the elements of a domain: a frozen dataclass and a pytree, whose leaves may be
    traced. A subclass implements ``draw`` and, unless errors are probabilities, has ``total``.

    A class's ``error`` may ask for the masses: `mass_at` on a line or a small domain, `points` on a plane.
    """

    @abstractmethod
    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, limbs]`` independent elements; element i does not depend on ``count``; consumes ``key``."""

    @member
    def total(self) -> int:
        """Host: the total mass in units, at most 2**64, in which the class's ``error`` counts. Optional if that is a
        probability."""
        raise InputError("distribution", "one with total", type(self).__name__, "write it, or let error be a float")

    def units(self) -> Any:
        """`total` as ``float64[]``, traced if it depends on leaves."""
        return float(self.total)

    def misfit(self, domain: FiniteDomain) -> str | None:
        """None, or the reason why the distribution is not over the domain, for messages."""
        return None

    def single(self) -> np.ndarray:
        """Host: numbers of elements that have positive mass by themselves, ``uint64[...]``, ascending: concepts that
        they tell apart become targets."""
        return np.zeros(0, np.uint64)

    @member
    def atoms(self) -> bool:
        """Whether all mass is on the elements ``start`` with ``weight``, see `concepts.Distribution`."""
        return False

    def mass_at(self, element: Array) -> Array:
        """Mass of single elements by their numbers, unsigned ``[...]`` -> ``uint64[...]``. Optional. Traced."""
        raise missing("distribution", self, ExampleDistribution.mass_at, "take dpjax.from_weights")

    def points(self) -> Any:
        """The elements in which classes over a plane compare concepts, ``uint32[p, limbs]``. Optional. Traced."""
        raise missing("distribution", self, ExampleDistribution.points, "take for example UniformPlane(d)")

    def weights(self) -> Array | None:
        """The masses of `points`, ``uint64[p]``; None if each is one unit. Traced."""
        return None
