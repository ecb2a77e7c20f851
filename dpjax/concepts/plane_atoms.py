"""Distributions over finitely many points of the grid in the plane."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.distributions import Distribution, from_weights
from dpjax.concepts.domain import Domain
from dpjax.concepts.example_distribution import ExampleDistribution
from dpjax.concepts.plane import Plane
from dpjax.core import checks
from dpjax.core.checks import InputError


@register_dataclass
@dataclass(frozen=True)
class PlaneAtoms(ExampleDistribution):
    """Points of {0, ..., d}^2 with whole weights; build it with `of`. Errors are exact sums of weights.

    d: static. elements: ``uint32[m, limbs]``. law: of their numbers 0, ..., m - 1. Traced: other points or weights of
    the same number do not recompile.
    """

    d: int = field(metadata={"static": True})
    elements: Array
    law: Distribution

    @classmethod
    def of(cls, d: int, points: Sequence[tuple[int, int]], weights: Sequence[int]) -> "PlaneAtoms":
        """Host: distinct points, and as many weights, whole numbers >= 1 with a sum below 2**64: errors wrap there."""
        elements = Plane(d).encode(points)
        if len(points) != len(weights) or len(np.unique(elements, axis=0)) != len(points):
            actual = f"{len(points)} points, {len(weights)} weights"
            raise InputError("points", "distinct points, and as many weights", actual, "merge equal points")
        whole = [checks.integer("weight", int(weight) if _whole(weight) else weight, 1) for weight in weights]
        if not 1 <= sum(whole) < 1 << 64:
            raise InputError("weights", "a sum from 1 to 2**64 - 1", repr(sum(whole)), "use smaller whole numbers")
        law: Any = from_weights(Domain(max(2, len(points))), range(len(points)), whole)
        return cls(d, jnp.asarray(elements), law)

    @property
    def total(self) -> int:
        """Total mass in units, on the host."""
        return self.law.total

    def misfit(self, domain: Any) -> str | None:
        """None, or the reason why the distribution is not over the domain."""
        return None if domain == Plane(self.d) else f"one over {Plane(self.d)}"

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, limbs]`` independent points; point i does not depend on ``count``."""
        return self.elements[self.law.draw(key, count)[:, 0]]

    def points(self) -> Array:
        """All points."""
        return self.elements

    def weights(self) -> Array:
        """``uint64[m]``; 64-bit types enabled."""
        with jax.enable_x64(True):
            return self.law.mass_at(jnp.asarray(np.arange(self.elements.shape[0]), jnp.uint64))


def _whole(weight: Any) -> bool:
    return isinstance(weight, Integral) and not isinstance(weight, bool)
