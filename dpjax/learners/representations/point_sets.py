"""d-point functions, and labels whose bits are d-point functions, represented by buckets of random hash functions."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from math import comb
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.bucket_sets import BucketSets
from dpjax.concepts.hashing import Hash
from dpjax.concepts.point_sets import PointSets
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Sample
from dpjax.learners.representations.base import require_listed
from dpjax.learners.representations.hashed import HashSizes
from dpjax.learners.representations.labelings import choose_labeling

_MOST_CELLS = 1 << 24
_MOST_FOR_ONE = 1 << 16


@dataclass(frozen=True)
class PointSetBuckets(HashSizes):
    """The functions that label x by its bucket under one of ``tries`` hash functions, every bit of the label 1 on at
    most d buckets: tries (sum_{i <= d} binomial(2^bits, i))^L members, with one hash function for all bits.

    The buckets of the target's sets err on the points that collide with them. `choose` never lists the members: its
    table has tries 2^bits (2 (d + 1))^L cells, at most 2^24.

    Args:
      concepts: a `PointSets` class. tries: number of hash functions, >= 1. bits: in [1, 12]; a function has 2**bits
        buckets. By default for the accuracy.

    Reference: Bun, Gaboardi, Sivakumar 2021, Section 8 and Theorem 7.2; the construction is our own.
    """

    concepts: PointSets
    tries: int | None = None
    bits: int | None = None
    most_bits: ClassVar[int] = 12

    def __post_init__(self):
        checks.instance("concepts", self.concepts, PointSets, "use PointBuckets for points, Whole for other classes")
        self.check_sizes()
        if self._cells(1, 1) > _MOST_CELLS:
            self._refuse(1, 1)

    @property
    def ones(self) -> int:
        """Elements of a set, d."""
        return self.concepts.ones

    @property
    def elements(self) -> int:
        """Elements of all sets of a concept, d L."""
        return self.concepts.ones * self.concepts.bits

    def members_of(self, tries: int, bits: int) -> int:
        """With these sizes."""
        return tries * self._of_function(1 << bits)

    def draw(self, key: Array) -> Hash:
        """The hash functions."""
        tries, bits = self.known()
        return Hash.draw(key, tries, bits, max(1, (self.concepts.domain.size - 1).bit_length()))

    def correct(self, family: Hash, sample: Sample) -> Array:
        """Rows by function, bucket and label, ``int32[tries, 2^bits, 2^L]``."""
        tries, bits = self.known()
        if self._cells(tries, bits) > _MOST_CELLS:
            self._refuse(tries, bits)
        weights = jnp.asarray([1 << i for i in range(self.concepts.bits)], jnp.int32)
        label = jnp.sum(jnp.where(sample.y, weights, 0), axis=1, dtype=jnp.int32)
        empty = jnp.zeros((1 << bits, 1 << self.concepts.bits), jnp.int32)
        real = sample.mask.astype(jnp.int32)
        count = lambda bucket: empty.at[bucket.astype(jnp.int32), label].add(real)  # noqa: E731
        return jax.lax.map(count, family(sample.x).T)

    def choose(self, key: Array, family: Hash, sample: Sample, epsilon: Array) -> BucketSets:
        """The exponential mechanism over all members, by a recursion over buckets."""
        correct = self.correct(family, sample)
        function, pairs = choose_labeling(key, correct, self.ones, self.concepts.bits, epsilon, sample.capacity)
        return self._hypothesis(family, function, pairs)

    def errors(self, family: Hash, sample: Sample) -> Array:
        """Of all members by function, for at most 2^16 of one function; `choose` needs no list."""
        bits = self.known()[1]
        listed = jnp.asarray(self._listed(1 << bits))
        right = self.correct(family, sample)
        hits = jnp.sum(right[:, jnp.arange(1 << bits, dtype=jnp.int32), listed], axis=-1, dtype=jnp.int32)
        return (jnp.sum(sample.mask, dtype=jnp.int32) - hits).reshape(-1)

    def member(self, family: Hash, index: Array) -> BucketSets:
        """The hypothesis of one member, in the order of `errors`."""
        listed = self._listed(1 << self.known()[1])
        each = len(listed)
        pairs = np.zeros((each, self.elements, 2), np.int32)
        for row, labels in enumerate(listed):
            used = np.flatnonzero(labels)
            pairs[row, : len(used)] = np.stack([used, labels[used]], axis=1)
        return self._hypothesis(family, index // each, jnp.asarray(pairs)[index % each])

    def sized(self, sizes: tuple[int, ...]) -> "PointSetBuckets":
        """With these numbers of functions and bits."""
        return replace(self, tries=sizes[0], bits=sizes[1])

    def _hypothesis(self, family: Hash, function: Array, pairs: Array) -> BucketSets:
        words = jnp.concatenate([function[None].astype(jnp.int32), pairs.reshape(-1)]).astype(jnp.uint32)[None]
        hashes = jax.tree.map(lambda part: part[None], family)
        return BucketSets(words, jnp.zeros(1, bool), jnp.zeros(1, jnp.int32), hashes, self.concepts.bits)

    def _of_function(self, buckets: int) -> int:
        return sum(comb(buckets, i) for i in range(self.ones + 1)) ** self.concepts.bits

    def _cells(self, tries: int, bits: int) -> int:
        return (tries << bits) * (2 * (self.ones + 1)) ** self.concepts.bits

    def _refuse(self, tries: int, bits: int) -> None:
        raise InputError(
            "representation",
            f"at most 2^24 = {_MOST_CELLS} cells, tries 2^bits (2 (d + 1))^L",
            f"{self._cells(tries, bits)} of {tries} functions, {1 << bits} buckets, d = {self.ones}, "
            f"L = {self.concepts.bits}",
            "take a larger alpha, or learn the bits separately",
        )

    def _listed(self, buckets: int) -> np.ndarray:
        """The labels of the buckets under every member of one function, ``int32[m, B]``."""
        if self._of_function(buckets) > _MOST_FOR_ONE:
            require_listed(1 << 63)
        return _labelings(buckets, self.ones, self.concepts.bits)


@cache
def _labelings(buckets: int, ones: int, bits: int) -> np.ndarray:
    sets = [chosen for size in range(min(ones, buckets) + 1) for chosen in combinations(range(buckets), size)]
    indicator = np.zeros((len(sets), buckets), np.int32)
    for row, chosen in enumerate(sets):
        indicator[row, list(chosen)] = 1
    return np.array(
        [sum(indicator[row] << i for i, row in enumerate(rows)) for rows in product(range(len(sets)), repeat=bits)]
    )
