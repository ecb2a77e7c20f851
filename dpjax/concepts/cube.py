"""The cube {0, 1}^d as a domain, and the uniform distribution over it."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.domain import FiniteDomain
from dpjax.concepts.example_distribution import ExampleDistribution
from dpjax.core import checks, random, wide
from dpjax.core.checks import InputError

MOST_BITS = 4096


@dataclass(frozen=True)
class Cube(FiniteDomain):
    """{0, 1}^d, d in [1, 4096]. Elements are ``uint32[..., limbs]``; coordinate i is the bit of weight 2**i."""

    dimension: int

    def __post_init__(self):
        checks.integer("dimension", self.dimension, 1, MOST_BITS)

    @property
    def size(self) -> int:
        """2**d."""
        return 1 << self.dimension

    @property
    def parameters(self) -> dict[str, Any]:
        """``dimension``."""
        return {"dimension": self.dimension}

    def uniform(self) -> "UniformCube":
        """The uniform distribution."""
        return UniformCube(self.dimension)

    @property
    def limbs(self) -> int:
        """uint32 limbs of an element, ceil(d / 32)."""
        return -(-self.dimension // 32)

    def encode(self, values) -> np.ndarray:
        """Host: integers in [0, 2**d) -> ``uint32[..., limbs]``. Raises InputError for a value outside."""
        whole = np.asarray(values, dtype=object)
        for value in whole.reshape(-1):
            if not 0 <= value < self.size or int(value) != value:
                raise InputError("element", f"a whole number in [0, 2**{self.dimension})", repr(value), "use more bits")
        return wide.pack(whole, self.limbs)

    def decode(self, elements) -> np.ndarray:
        """Host: ``uint32[..., limbs]`` -> integers, ``object[...]``."""
        return wide.unpack(elements)


@dataclass(frozen=True)
class OnCube(ConceptClass):
    """Base class of concept classes over {0, 1}^d, d in [1, 4096]."""

    dimension: int

    def __post_init__(self):
        Cube(self.dimension)

    @property
    def domain(self) -> Cube:
        """{0, 1}^d."""
        return Cube(self.dimension)

    def check_listed(self, most: int, what: str, advice: str) -> None:
        """InputError for more than ``most`` coordinates, too many to list all concepts."""
        if self.dimension > most:
            raise InputError("dimension", f"at most {most}, as all {what} are listed", str(self.dimension), advice)


@register_dataclass
@dataclass(frozen=True)
class UniformCube(ExampleDistribution):
    """The uniform distribution over {0, 1}^d. Errors are in units of 2**-64."""

    dimension: int = field(metadata={"static": True})

    def __post_init__(self):
        Cube(self.dimension)  # checks it

    @property
    def total(self) -> int:
        """Total mass in units, on the host."""
        return 2**64

    def misfit(self, domain: Any) -> str | None:
        """None, or the reason why the distribution is not over the domain."""
        return None if domain == Cube(self.dimension) else f"one over {Cube(self.dimension)}"

    def mass_at(self, element: Array) -> Array:
        """Mass of single elements, given as numbers, unsigned ``[...]`` -> ``uint64[...]``; d in [1, 64]."""
        with jax.enable_x64(True):
            return jnp.full(jnp.shape(element), 2 ** (64 - self.dimension), jnp.uint64)

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, limbs]`` independent elements; element i does not depend on ``count``."""
        limbs = Cube(self.dimension).limbs
        high, low = random.words(key, (count, -(-limbs // 2)))
        elements = jnp.stack([high, low], axis=-1).reshape(count, limbs + limbs % 2)[:, :limbs]
        spare = 32 * limbs - self.dimension
        return elements.at[:, 0].set(elements[:, 0] >> np.uint32(spare)) if spare else elements
