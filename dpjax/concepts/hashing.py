"""Buckets of random hash functions as hypotheses, for learning points at a sample size independent of |X|."""

import itertools
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.distributions import Distribution
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import random, wide
from dpjax.core.arithmetic import arithmetic
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support, listed

_BITS = 64


class Hash(NamedTuple):
    """h(x) = offset xor the columns at the 1-bits of x: affine over GF(2), so pairwise independent and uniform.

    columns ``uint32[..., B]``, B = 64 or more for wider elements, offset ``uint32[...]``, all below 2**bits. Two
    elements share a bucket with probability exactly 2**-bits.
    """

    columns: Array
    offset: Array

    @staticmethod
    def draw(key: Array, count: int, bits: int, width: int = _BITS) -> "Hash":
        """``count`` independent hash functions into 2**bits buckets, bits in [0, 31], of elements of ``width`` bits."""
        return HashLaw(count, bits, width).sample(key)

    def of_columns(self, function: Array) -> "Hash":
        """The function of each of k columns by its number ``uint32[k]``; of functions ``[k, count]``, from the column's
        own."""
        number = function.astype(jnp.int32)
        if self.offset.ndim == 1:
            return Hash(self.columns[number], self.offset[number])
        column = jnp.arange(number.shape[0], dtype=jnp.int32)
        return Hash(self.columns[column, number], self.offset[column, number])

    def each(self, x: Array) -> Array:
        """The bucket into which function j puts element j of ``uint32[k, limbs]``, ``uint32[k]``."""
        return jax.vmap(lambda columns, offset, row: Hash(columns[None], offset[None])(row)[0])(*self, x)

    def __call__(self, x: Array) -> Array:
        """Buckets ``uint32[..., functions]`` of elements ``uint32[..., limbs]`` under all functions."""
        bucket = jnp.zeros((), jnp.uint32)
        if x.shape[-1] <= wide.LIMBS:
            for limb in range(x.shape[-1]):
                bucket = _absorbed(bucket, x[..., x.shape[-1] - 1 - limb], self.columns[:, 32 * limb : 32 * limb + 32])
            return bucket ^ self.offset
        columns = self.columns.reshape(-1, x.shape[-1], 32).swapaxes(0, 1)
        limbs = jnp.moveaxis(x[..., ::-1], -1, 0)
        start = jnp.zeros((*x.shape[:-1], self.columns.shape[0]), jnp.uint32)
        bucket, _ = jax.lax.scan(lambda bucket, part: (_absorbed(bucket, *part), None), start, (limbs, columns))
        return bucket ^ self.offset


@register_dataclass
@dataclass(frozen=True)
class HashLaw(Law):
    """The uniform law on ``count`` functions into 2**bits buckets, of elements below 2**width. All static."""

    count: int = field(metadata={"static": True})
    bits: int = field(metadata={"static": True})
    width: int = field(default=_BITS, metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Hash:
        """Columns of bits that no element can have are 0."""
        most = self._most
        high, _ = random.words(key, (self.count, most + 1))
        table = high & jnp.uint32(2**self.bits - 1)
        columns = table[:, :most]
        if self.width < most:
            columns = jnp.where(np.arange(most) < self.width, columns, jnp.uint32(0))
        return Hash(columns, table[:, most])

    def log_prob(self, outcome: Hash) -> Array:
        """The log mass, ``float64[]``."""
        with jax.enable_x64(True):
            inside = jnp.all(outcome.columns < 2**self.bits) & jnp.all(outcome.offset < 2**self.bits)
            inside &= jnp.all(outcome.columns[:, self.width :] == 0)
            return jnp.where(inside, -self._entropy * jnp.log(2.0), -jnp.inf)

    def support(self, limit: int) -> Support | None:
        """All tables: 2**(count bits (width + 1)) of them, so only for a few bits."""
        if self._entropy > np.log2(limit):
            return None
        words = list(itertools.product(range(2**self.bits), repeat=self.count * (self.width + 1)))
        tables = np.array(words, np.uint32).reshape(-1, self.count, self.width + 1)
        columns = jnp.asarray(np.pad(tables[..., :-1], ((0, 0), (0, 0), (0, self._most - self.width))))
        return listed(Hash(columns, jnp.asarray(tables[..., -1])), self.log_prob)

    @property
    def _most(self) -> int:
        return max(_BITS, 32 * -(-self.width // 32))

    @property
    def _entropy(self) -> int:
        return self.count * self.bits * (self.width + 1)


@register_dataclass
@dataclass(frozen=True)
class Buckets(Hypothesis):
    """k hypotheses: x is positive if hash function ``concept[j, 0]`` puts it into bucket ``concept[j, 1]``.

    hashes: the functions, drawn independently of the data and therefore publishable: shared by all columns, or for each
      of them, with a leading axis of length k.
    """

    hashes: Hash

    def predict(self, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``."""
        if self.hashes.offset.ndim == 1:  # there may be many columns and few functions
            bucket = self.hashes(x)[..., self.concept[:, 0].astype(jnp.int32)]
        else:
            bucket = self.own()(x)
        return (bucket == self.concept[:, 1]) & ~self.zero

    def own(self) -> Hash:
        """The function of each column, k of them."""
        return self.hashes.of_columns(self.concept[:, 0])

    def mass(self, distribution: Distribution) -> tuple[Array, Array]:
        """Mass of the positives modulo 2**64, and whether a segment starts with one, as in the all-positive case."""
        weight = wide.join(distribution.weight)

        def of_atoms(own: Hash, bucket: Array) -> tuple[Array, Array]:
            inside = Hash(own.columns[None], own.offset[None])(distribution.start)[:, 0] == bucket
            return jnp.sum(jnp.where(inside, weight, jnp.uint64(0))), jnp.any(inside)

        if distribution.atoms:
            mass, some = jax.vmap(of_atoms)(self.own(), self.concept[:, 1])
            return jnp.where(self.zero, jnp.uint64(0), mass), some & ~self.zero
        start, end = wide.join(distribution.start), wide.join(distribution.end)

        def of_concept(own: Hash, bucket: Array) -> tuple[Array, Array]:
            inside = Hash(own.columns[None], own.offset[None])(distribution.start)[:, 0] == bucket
            levels = _levels(own.columns)
            count = lambda last: _count(own, levels, bucket, last)  # noqa: E731
            below = jnp.where(start == 0, jnp.uint64(0), jax.vmap(count)(start - jnp.uint64(1)))
            return jnp.sum(weight * (jax.vmap(count)(end) - below)), jnp.any(inside)

        mass, some = jax.vmap(of_concept)(self.own(), self.concept[:, 1])
        return jnp.where(self.zero, jnp.uint64(0), mass), some & ~self.zero


def bucket_error(distribution: Distribution, hypothesis: Buckets, target: Hypothesis) -> Array:
    """Mass of the disagreement between buckets and points, ``uint64[k]`` (64-bit types enabled); at most 2**64 - 1."""
    point = arithmetic(target.concept.shape[1]).read(target.concept)
    hit = (hypothesis.own().each(target.concept) == hypothesis.concept[:, 1]) & ~hypothesis.zero
    point_mass = jnp.where(target.zero, jnp.uint64(0), distribution.mass_at(point))
    mass, some = hypothesis.mass(distribution)
    wrong = jnp.where(hit, mass - point_mass, mass + point_mass)
    any_wrong = jnp.where(hit, some & (point_mass == 0), some | (point_mass > 0))
    return jnp.where((wrong == 0) & any_wrong, jnp.uint64(2**64 - 1), wrong)


def _absorbed(bucket: Array, limb: Array, columns: Array) -> Array:
    """The buckets after 32 bits of the elements, ``uint32[...]``, with ``uint32[functions, 32]``."""
    for bit in range(32):
        digit = (limb[..., None] >> jnp.uint32(bit)) & jnp.uint32(1)
        bucket = bucket ^ (digit * columns[:, bit])
    return bucket


def _levels(columns: Array) -> tuple[Array, Array]:
    """The span of the lowest i columns, for every i < 64: a basis by leading bit, ``uint32[64, 32]``, and its size."""

    def add(state: tuple[Array, Array], column: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        basis, rank = state
        rest = _reduced(basis, column)
        leading = jnp.int32(31) - jax.lax.clz(rest).astype(jnp.int32)
        grown = jnp.where(rest == 0, basis, basis.at[leading].set(rest))
        return (grown, rank + (rest != 0)), (basis, rank)

    start = jnp.zeros(32, jnp.uint32), jnp.int32(0)
    return jax.lax.scan(add, start, columns)[1]


def _reduced(basis: Array, word: Array) -> Array:
    """``word`` reduced by the basis (by leading bit); 0 if it lies in the span."""
    for bit in range(31, -1, -1):
        has = ((word >> jnp.uint32(bit)) & jnp.uint32(1)).astype(bool)
        word = jnp.where(has, word ^ basis[bit], word)
    return word


def _count(own: Hash, levels: tuple[Array, Array], bucket: Array, last: Array) -> Array:
    """The number of elements of {0, ..., last} in the bucket, ``uint64[]``.

    The numbers up to ``last`` are, for each 1-bit i of it, those that agree above bit i and have a 0 at it, with
    i free bits below, and ``last`` itself. Of the former 2^(i - rank) are in the bucket, or none.
    """
    (basis, rank), place = levels, jnp.arange(_BITS, dtype=jnp.uint64)
    ones = ((last >> place) & jnp.uint64(1)).astype(bool)
    taken = jnp.where(ones, own.columns, jnp.uint32(0))
    above = jax.lax.associative_scan(jnp.bitwise_xor, taken, reverse=True) ^ taken
    rest = jax.vmap(_reduced)(basis, own.offset ^ above ^ bucket)
    free = place - rank.astype(jnp.uint64)
    whole = jnp.sum(jnp.where(ones & (rest == 0), jnp.uint64(1) << free, jnp.uint64(0)))
    itself = (own.offset ^ jax.lax.reduce(taken, jnp.uint32(0), jax.lax.bitwise_xor, (0,))) == bucket
    return whole + itself.astype(jnp.uint64)
