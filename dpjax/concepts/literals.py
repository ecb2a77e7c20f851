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
from dpjax.core.checks import InputError
from dpjax.mechanisms.intervals import Pieces


@dataclass(frozen=True)
class OfLiterals(OnCube):
    """What `Conjunctions` and `Disjunctions` share. Concepts have numbers a < 4**d.

    Bit i of a says whether not v_i is in it, bit d + i whether v_i is. Numbers are ``uint32[k, W]``, most significant
    limb first, W = max(2, ceil(2 d / 32)).
    """

    label: ClassVar[bool]
    """The label that one literal alone can give: False in an AND, True in an OR."""

    @property
    def size(self) -> int:
        """The number of concepts' numbers, 4**d; of different concepts there are 3**d + 1."""
        return 1 << 2 * self.dimension

    @property
    def limbs(self) -> int:
        """W, uint32 limbs of a concept's number."""
        return max(2, -(-2 * self.dimension // 32))

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``; bits beyond d do not count."""
        return self.masks(hypothesis).holds(x) ^ self.label

    def masks(self, hypothesis: Hypothesis) -> Masks:
        """Which coordinates have to be 1 and which 0 for the label that is not `label`."""
        found, zero = split(hypothesis.concept, self.dimension), hypothesis.zero[:, None]
        if self.label:
            return Masks(*(jnp.where(zero, jnp.uint32(0), part) for part in (found.negative, found.positive)))
        every = split(jnp.full((1, self.limbs), 0xFFFFFFFF, jnp.uint32), self.dimension)
        return Masks(*(jnp.where(zero, whole, part) for whole, part in zip(every, found, strict=True)))

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return sentences(hypothesis, lambda words: self._words(int(wide.unpack(words))))

    def _words(self, number: int) -> str:
        d, found = self.dimension, []
        for i in range(d):
            found += [f"x{i}"] * (number >> d + i & 1) + [f"not x{i}"] * (number >> i & 1)
        return (
            f"1 iff {(' or ' if self.label else ' and ').join(found)}" if found else f"{int(not self.label)} everywhere"
        )

    def error(self, distribution: UniformCube | ProductCube, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement in units of 2**-64, ``uint64[k]`` (64-bit types enabled).

        2**64 - 1 stands for all of it. Uniform: exact up to 64 literals in both together, else less than 2 units off.
        A product of d coordinates: at most 4 (d - 1) units off. Equal numbers have error 0.
        """
        if not isinstance(distribution, UniformCube | ProductCube) or distribution.dimension != self.dimension:
            raise InputError(
                "distribution", f"UniformCube or ProductCube of {self.dimension} coordinates", repr(distribution),
                "these are the ones for which errors have a closed form",
            )  # fmt: skip
        return disagreement(distribution, self.masks(hypothesis), self.masks(target))

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Every number is a piece of its own, d <= 6; of the numbers of the concept that needs v_i and not v_i only the
        last one.

        x ``uint32[n, 1]``, y ``bool[n]``, mask ``bool[n]``. One replaced row moves an error by at most 1.
        """
        self.check_listed(6, "concepts", "use ConjunctionLearner, which chooses literals one by one")
        low = jnp.arange(self.size, dtype=jnp.uint32)
        number = jnp.stack([jnp.zeros_like(low), low], axis=-1)
        wrong = (self.predict(Hypothesis.of(number), x) != y[:, None]) & mask[:, None]
        both = (low >> jnp.uint32(self.dimension)) & low & jnp.uint32(self.domain.size - 1) != 0
        exists = ~both | (low == self.size - 1)
        return Pieces(number, number, jnp.sum(wrong, axis=0, dtype=jnp.int32), exists, size=self.size)

    def of_literals(self, chosen: Array) -> Array:
        """The concept of functions of `mechanisms.cover.Literals` by their numbers, ``int32[m]`` -> ``uint32[W]``.

        The constant that hits no row changes nothing; the one that hits every row makes it number 4**d - 1.
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

    Number 0 is constantly 1; where v_i and not v_i are both in it, it is constantly 0, as number 4**d - 1 is.

    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 1.1.
    """

    label = False


@dataclass(frozen=True)
class Disjunctions(OfLiterals):
    """DISJ_d for d in [1, 4096]: ORs of literals.

    Number 0 is constantly 0; where v_i and not v_i are both in it, it is constantly 1, as number 4**d - 1 is.
    """

    label = True
