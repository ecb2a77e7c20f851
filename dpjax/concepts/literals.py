"""ANDs and ORs of literals over the cube."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.cube import OnCube, UniformCube
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.masks import Masks, disagreement, join, split
from dpjax.concepts.packing import pack
from dpjax.concepts.product import ProductCube
from dpjax.core import checks, keys, random, wide
from dpjax.mechanisms.intervals import Pieces


@dataclass(frozen=True)
class OfLiterals(OnCube):
    """Base class of `Conjunctions` and `Disjunctions`. Concepts have numbers a < 4**d.

    Bit i of a is 1 if the concept has the literal not v_i, bit d + i if it has v_i. Numbers are ``uint32[k, W]``, most
    significant limb first, W = max(2, ceil(2 d / 32)).
    """

    label: ClassVar[bool]
    """The label that a single literal determines: False in an AND, True in an OR."""

    @property
    def size(self) -> int:
        """The number of concept numbers, 4**d; there are 3**d + 1 different concepts."""
        return 1 << 2 * self.dimension

    @property
    def limbs(self) -> int:
        """W, uint32 limbs of a concept's number."""
        return max(2, -(-2 * self.dimension // 32))

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``; bits beyond d are ignored."""
        return self.masks(hypothesis).holds(x) ^ self.label

    def masks(self, hypothesis: Hypothesis) -> Masks:
        """The coordinates that must be 1 and those that must be 0 for the label that is not `label`."""
        masks, zero = split(hypothesis.concept, self.dimension), hypothesis.zero[:, None]
        if self.label:
            return Masks(*(jnp.where(zero, jnp.uint32(0), part) for part in (masks.negative, masks.positive)))
        every = split(jnp.full((1, self.limbs), 0xFFFFFFFF, jnp.uint32), self.dimension)
        return Masks(*(jnp.where(zero, whole, part) for whole, part in zip(every, masks, strict=True)))

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return sentences(hypothesis, lambda words: self._words(int(wide.unpack(words))))

    def _words(self, number: int) -> str:
        d, literals = self.dimension, []
        for i in range(d):
            literals += [f"x{i}"] * (number >> d + i & 1) + [f"not x{i}"] * (number >> i & 1)
        return (
            f"1 iff {(' or ' if self.label else ' and ').join(literals)}"
            if literals
            else f"{int(not self.label)} everywhere"
        )

    def error(self, distribution: UniformCube | ProductCube, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement in units of 2**-64, ``uint64[k]`` (64-bit types enabled).

        2**64 - 1 is the total mass. Uniform: exact up to 64 literals in both together, else less than 2 units off.
        Product of d coordinates: an error of at most 4 (d - 1) units. Equal numbers have error 0.
        """
        return disagreement(self.dimension, distribution, self.masks(hypothesis), self.masks(target))

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Every number is its own cell, d <= 6; of the numbers with both v_i and not v_i for some i only the last one
        is listed.

        x ``uint32[n, 1]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        self.check_listed(6, "concepts", "use ConjunctionLearner, which chooses literals one by one")
        low = jnp.arange(self.size, dtype=jnp.uint32)
        number = jnp.stack([jnp.zeros_like(low), low], axis=-1)
        wrong = (self.predict(Hypothesis.of(number), x) != y[:, None]) & mask[:, None]
        both = (low >> jnp.uint32(self.dimension)) & low & jnp.uint32(self.domain.size - 1) != 0
        exists = ~both | (low == self.size - 1)
        return Pieces(number, number, jnp.sum(wrong, axis=0, dtype=jnp.int32), exists, size=self.size)

    def of_literals(self, chosen: Array) -> Array:
        """The concept of a list of `mechanisms.cover.Literals` functions, ``int32[m]`` -> ``uint32[W]``.

        The constant that hits no row has no effect; the one that hits every row makes the concept number 4**d - 1.
        """
        d = self.dimension
        place = jnp.arange(d, dtype=jnp.int32)[None]
        every = jnp.any(chosen == 2 * d + 1)
        parts = (jnp.any(chosen[:, None] == place + start, axis=0) | every for start in (0, d))
        return join(Masks(*(pack(part[None])[:, ::-1] for part in parts)), d)[0]

    def targets(self, count: int, literals: int | None = None, seed: int = 0, *, signs: bool = True) -> Array:
        """``count`` random concepts of ``literals`` different coordinates, by default 3, ``uint32[count, W]``, host.

        signs: whether each of them is negated with probability 1/2; otherwise none is.
        """
        literals = min(3, self.dimension) if literals is None else literals
        checks.integer("literals", literals, 0, self.dimension)
        rank, sign = keys.streams(keys.root(seed), "coordinates", "signs")
        drawn = jax.jit(random.words, static_argnums=1)
        words = np.stack([np.asarray(part) for part in drawn(rank, (count, self.dimension))], axis=-1)
        chosen = np.argsort(wide.decode(words), axis=1, kind="stable")[:, :literals]
        high, _ = drawn(sign, (count, literals))
        negated = (np.asarray(high) & 1).astype(bool) & signs
        bits = np.where(negated, chosen, chosen + self.dimension)
        return jnp.asarray(wide.pack([sum(1 << int(bit) for bit in row) for row in bits], self.limbs))


@dataclass(frozen=True)
class Conjunctions(OfLiterals):
    """CONJ_d for d in [1, 4096]: ANDs of literals.

    Number 0 is constantly 1. A concept with both v_i and not v_i is constantly 0, as is number 4**d - 1.

    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 1.1,
      Example 2.8.
    """

    label = False


@dataclass(frozen=True)
class Disjunctions(OfLiterals):
    """DISJ_d for d in [1, 4096]: ORs of literals.

    Number 0 is constantly 0. A concept with both v_i and not v_i is constantly 1, as is number 4**d - 1.

    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Example 2.8.
    """

    label = True
