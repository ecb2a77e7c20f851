"""Product distributions over the cube."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.cube import Cube
from dpjax.concepts.example_distribution import ExampleDistribution
from dpjax.concepts.packing import pack
from dpjax.core import checks, random
from dpjax.core.checks import InputError

_UNIT = 1 << 32


@register_dataclass
@dataclass(frozen=True)
class ProductCube(ExampleDistribution):
    """Independent coordinates; coordinate i is 1 with probability ones[i] / 2**32. Errors are in units of 2**-64.

    ones: ``uint32[d]``, traced: other probabilities do not recompile.
    """

    ones: Array

    @staticmethod
    def of(probabilities) -> "ProductCube":
        """From d probabilities in [0, 1), rounded to the nearest unit of 2**-32."""
        values = [Fraction(checks.number("probability", float(p))) for p in probabilities]
        wrong = [float(value) for value in values if not 0 <= value < 1]
        if wrong:
            raise InputError("probabilities", "numbers in [0, 1)", repr(wrong[0]), "the largest is 1 - 2**-32")
        Cube(len(values))
        return ProductCube(jnp.asarray(np.array([min(round(v * _UNIT), _UNIT - 1) for v in values], np.uint32)))

    @staticmethod
    def balanced(dimension: int, literals: int, label: bool = True) -> "ProductCube":
        """Equal probabilities for which an AND of ``literals`` coordinates is 1 with probability 1/2.

        label: False for ORs of coordinates instead.
        """
        share = 2.0 ** (-1.0 / checks.integer("literals", literals, 1))
        return ProductCube.of([share if label else 1 - share] * checks.integer("dimension", dimension, 1))

    @property
    def dimension(self) -> int:
        """d."""
        return self.ones.shape[0]

    @property
    def total(self) -> int:
        """Total mass in units, on the host."""
        return 2**64

    def misfit(self, domain: Any) -> str | None:
        """None, or the reason why the distribution is not over the domain."""
        return None if domain == Cube(self.dimension) else f"one over {Cube(self.dimension)}"

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, limbs]`` independent elements; element i does not depend on ``count``."""
        pairs = -(-self.dimension // 2)
        high, low = random.words(key, (count, pairs))
        spare = 2 * pairs - self.dimension
        ones = jnp.pad(self.ones, (0, spare)).reshape(1, pairs, 2)
        bits = jnp.stack([high < ones[:, :, 0], low < ones[:, :, 1]], axis=-1).reshape(count, 2 * pairs)
        return pack(bits)[:, ::-1]
