"""Parities c_a(x) = <a, x> mod 2 over the cube, learned from uniform examples."""

from dataclasses import dataclass
from math import log
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.concepts.cube import OnCube, UniformCube
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.core import keys, wide
from dpjax.core.checks import InputError
from dpjax.mechanisms.intervals import Pieces


@dataclass(frozen=True)
class Parities(OnCube):
    """PAR_d for d in [1, 4096]. Concept number a is x -> <a, x> mod 2; number 0 is the all-zero function.

    Numbers are ``uint32[k, W]`` with W = max(2, ceil(d / 32)): an element padded with leading zeros.

    Learned from uniform elements only. Reference: Bun, Nissim, Stemmer 2016, Section 2.2, Definitions 2.13 and 2.14.
    """

    any_distribution: ClassVar[bool] = False
    spread: ClassVar[float] = 0.5

    @property
    def size(self) -> int:
        """The number of concepts, 2**d."""
        return self.domain.size

    def separated(self, alpha: float) -> float:
        """ln of a number of concepts, any two of which differ on more than 2 alpha of the uniform distribution."""
        return self.dimension * log(2) if alpha < 0.25 else 0.0

    @property
    def limbs(self) -> int:
        """W, uint32 limbs of a concept's number."""
        return max(2, self.domain.limbs)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``."""
        number = hypothesis.concept[:, -x.shape[-1] :]
        folded = jnp.zeros((), jnp.uint32)
        for limb in range(x.shape[-1]):
            folded = folded ^ (x[..., None, limb] & number[:, limb])
        return odd(folded) & ~hypothesis.zero

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return sentences(hypothesis, lambda words: f"<a, x> mod 2 for a = {wide.unpack(words)}")

    def error(self, distribution: UniformCube, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """0, or 2**63 (one half): two parities agree on half of the cube. ``uint64[k]`` (64-bit types enabled)."""
        if not isinstance(distribution, UniformCube) or distribution.dimension != self.dimension:
            advice = "parities are learned from uniform examples"
            raise InputError("distribution", f"UniformCube({self.dimension})", repr(distribution), advice)
        ours = jnp.where(hypothesis.zero[:, None], jnp.uint32(0), hypothesis.concept)
        theirs = jnp.where(target.zero[:, None], jnp.uint32(0), target.concept)
        return jnp.where(jnp.all(ours == theirs, axis=-1), jnp.uint64(0), jnp.uint64(2**63))

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Every concept is its own cell, d <= 16; all errors by one Walsh-Hadamard transform.

        x ``uint32[n, 1]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        self.check_listed(16, "parities", "use ParityLearner, which solves for them")
        votes = jnp.where(mask, jnp.where(y, jnp.int32(1), jnp.int32(-1)), 0)
        cell = (x[:, 0] & jnp.uint32(self.size - 1)).astype(jnp.int32)  # as in `predict`, bits beyond d are ignored
        balance = jnp.zeros(self.size, jnp.int32).at[cell].add(votes)
        errors = (jnp.sum(mask, dtype=jnp.int32) + walsh_hadamard(balance)) // 2
        number = jnp.stack([jnp.zeros(self.size, jnp.uint32), jnp.arange(self.size, dtype=jnp.uint32)], axis=-1)
        return Pieces(number, number, errors, jnp.ones(self.size, bool), size=self.size)

    def targets(self, count: int, seed: int = 0) -> Array:
        """``count`` random concepts, ``uint32[count, W]``."""
        number = UniformCube(self.dimension).draw(keys.root(seed), count)
        return jnp.pad(number, ((0, 0), (self.limbs - number.shape[1], 0)))


def odd(words: Array) -> Array:
    """Whether a word has an odd number of ones, ``bool[...]`` for ``uint32[...]``."""
    for shift in (16, 8, 4, 2, 1):
        words = words ^ (words >> jnp.uint32(shift))
    return (words & jnp.uint32(1)).astype(bool)


def nearest(labels: Array) -> Array:
    """The number of the parity that agrees most often with the labels of all elements, the least of several:
    ``uint32[2]`` for ``bool[2**d]``. All agreements by one Walsh-Hadamard transform."""
    agreement = walsh_hadamard(jnp.where(labels, jnp.int32(-1), jnp.int32(1)))
    return jnp.stack([jnp.uint32(0), jnp.argmax(agreement).astype(jnp.uint32)])


def walsh_hadamard(values: Array) -> Array:
    """sum over x of values[x] (-1)^<a, x> at every a, ``[2**d]``; exact for integers."""
    size, half = values.shape[0], 1
    while half < size:
        pairs = values.reshape(-1, 2, half)
        values = jnp.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(size)
        half *= 2
    return values
