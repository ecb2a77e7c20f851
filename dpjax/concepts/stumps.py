"""Decision stumps over the cube: single literals and the two constants."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.cube import OnCube, UniformCube
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.masks import Masks, disagreement
from dpjax.concepts.packing import pack, unpack
from dpjax.concepts.product import ProductCube
from dpjax.core import wide
from dpjax.mechanisms.intervals import Pieces


def _literal(coordinate: int, value: int) -> str:
    return f"1 iff {'' if value else 'not '}x{coordinate}"


@dataclass(frozen=True)
class Stumps(OnCube):
    """Single literals and constants over {0, 1}^d, d in [1, 4096]: the weak class of boosting on tables.

    Concept number 2 i is v_i, 2 i + 1 is not v_i, 2 d is constantly 1 and 2 d + 1 constantly 0. With a coordinate for
    each threshold of a column, as `tables.grids.on_cube` makes them, these are the decision stumps of the columns.
    """

    @property
    def size(self) -> int:
        """The number of concepts, 2 d + 2."""
        return 2 * self.dimension + 2

    def masks(self, hypothesis: Hypothesis) -> Masks:
        """The coordinates that must be 1 and those that must be 0; all of both for the constant 0."""
        number = jnp.minimum(hypothesis.concept[:, 1], jnp.uint32(self.size - 1)).astype(jnp.int32)[:, None]
        place = jnp.arange(self.dimension, dtype=jnp.int32)
        never = (number == self.size - 1) | hypothesis.zero[:, None]
        return Masks(*(pack((number == 2 * place + sign) | never)[:, ::-1] for sign in (0, 1)))

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``; bits beyond d are ignored."""
        return self.masks(hypothesis).holds(x)

    def describe(self, hypothesis: Hypothesis, rule: Callable[[int, int], str] = _literal) -> list[str]:
        """A sentence for each hypothesis, on the host; ``rule`` writes it for the value of a coordinate that is 1."""

        def said(words: np.ndarray) -> str:
            number = min(int(wide.decode(words)), self.size - 1)
            coordinate, negated = divmod(number, 2)
            return f"{1 - negated} everywhere" if coordinate == self.dimension else rule(coordinate, 1 - negated)

        return sentences(hypothesis, said)

    def error(self, distribution: UniformCube | ProductCube, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement in units of 2**-64, ``uint64[k]`` (64-bit types enabled); 2**64 - 1 is the total.

        Product of d coordinates: an error of at most 4 (d - 1) units. Equal numbers have error 0.
        """
        return disagreement(self.dimension, distribution, self.masks(hypothesis), self.masks(target))

    def growth(self, elements: int) -> int:
        """An upper bound of the ways in which the class cuts ``elements`` elements."""
        return min(self.size, 1 << min(elements, 62))

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Every number is its own cell; errors are computed in one pass over the rows' bits.

        x ``uint32[n, limbs]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        bits = unpack(x[:, ::-1], self.dimension)
        differs = jnp.sum((bits ^ y[:, None]) & mask[:, None], axis=0, dtype=jnp.int32)
        ones, rows = jnp.sum(y & mask, dtype=jnp.int32), jnp.sum(mask, dtype=jnp.int32)
        constants = jnp.stack([rows - ones, ones])
        errors = jnp.concatenate([jnp.stack([differs, rows - differs], axis=1).reshape(-1), constants])
        low = jnp.arange(self.size, dtype=jnp.uint32)
        number = jnp.stack([jnp.zeros_like(low), low], axis=-1)
        return Pieces(number, number, errors, jnp.ones(self.size, bool), size=self.size)
