"""Indicators of sets of d elements, and functions to labels each of whose bits is one."""

from dataclasses import dataclass
from math import comb
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.concepts.bucket_sets import BucketSets
from dpjax.concepts.distributions import Distribution
from dpjax.concepts.domain import Domain, require, require_narrow
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.points import first_of_each
from dpjax.concepts.versions.subsets import Subsets
from dpjax.core import checks, wide
from dpjax.core.checks import InputError

_MOST_WORDS = 1024


@dataclass(frozen=True)
class PointSets(ConceptClass):
    """d-point functions over up to 2**64 elements: 1 on exactly ``ones`` elements. With ``bits`` L > 1, all functions
    to labels 0..2^L - 1 each of whose bits is a d-point function; samples carry the bits of a label, the least
    significant first.

    A concept is encoded by its sets, ``uint32[k, 2 L d]``: for each bit d distinct elements, ascending. `encoded` makes
    it from lists.

    Args:
      domain: of at least ``ones`` elements. ones: d >= 1. bits: L in [1, 16].

    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 7.2: multiclass Littlestone dimension d L, and d for each bit, if
      |X| >= d (L + 1).
    """

    domain: Domain
    ones: int = 1
    bits: int = 1

    def __post_init__(self):
        require_narrow(require(self.domain))
        checks.integer("bits", self.bits, 1, 16)
        if checks.integer("ones", self.ones, 1) > self.domain.size:
            advice = "take fewer, or more elements"
            raise InputError("ones", f"at most the domain's size, {self.domain.size}", repr(self.ones), advice)
        if 2 * self.ones * self.bits > _MOST_WORDS:
            advice = "learn the bits separately"
            raise InputError(
                "ones, bits", f"at most {_MOST_WORDS // 2} elements in all", f"{self.ones * self.bits}", advice
            )

    @property
    def columns(self) -> int:
        """Label columns of a sample, L."""
        return self.bits

    @property
    def size(self) -> int:
        """The number of concepts, binomial(|X|, d)^L."""
        return comb(self.domain.size, self.ones) ** self.bits

    def encoded(self, concepts: Any) -> np.ndarray:
        """Host: ``uint32[c, 2 L d]`` from concepts, each a list of d elements, or of L such lists."""
        nested = np.asarray(concepts, dtype=object)
        if nested.size == 0 or nested.size % (self.bits * self.ones) or nested.shape[-1] != self.ones:
            shape = f"({'' if self.bits == 1 else f'{self.bits} lists of '}{self.ones} elements)"
            raise InputError("concepts", f"a list of concepts {shape}", f"shape {nested.shape}", "list the elements")
        sets = np.sort(nested.reshape(-1, self.bits, self.ones), axis=-1)
        if (sets[..., 1:] == sets[..., :-1]).any():
            raise InputError("concepts", "distinct elements in each set", "equal ones", "list every element once")
        self.domain.encode(sets)  # all within the domain
        return wide.encode(sets.astype(np.uint64)).reshape(len(sets), -1)

    def targets(self, count: int) -> np.ndarray:
        """Host: at most ``count`` concepts, encoded, with sets spread over the domain."""
        few = min(checks.integer("count", count, 1), self.size)
        if self.size <= 4096:
            return self.encoded([self._number((2 * i + 1) * self.size // (2 * few)) for i in range(few)])
        most = min(self.domain.size, max(4 * self.ones * self.bits, self.ones + count))
        return self.encoded(self._windows(self.domain.spread(most), few))

    def targets_under(self, distribution: Any, count: int) -> np.ndarray:
        """Host: as `targets`, of the distribution's single elements if there are enough of them."""
        single = [int(value) for value in distribution.single()]
        checks.integer("count", count, 1)
        return self.encoded(self._windows(single, count)) if len(single) >= self.ones else self.targets(count)

    def sets(self, hypothesis: Hypothesis) -> Array:
        """The elements of each bit's set, ``uint32[k, L, d, 2]``."""
        return hypothesis.concept.reshape(-1, self.bits, self.ones, 2)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k L]`` for elements ``uint32[..., limbs]``, the bits of a concept together."""
        if isinstance(hypothesis, BucketSets):
            return hypothesis.predict(x)
        sets = self.sets(hypothesis)[..., 2 - x.shape[-1] :]
        inside = jnp.any(jnp.all(x[..., None, None, None, :] == sets, axis=-1), axis=-1)
        return (inside & ~hypothesis.zero[:, None]).reshape(*x.shape[:-1], -1)

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        if isinstance(hypothesis, BucketSets):
            return hypothesis.describe()

        def said(words: np.ndarray) -> str:
            values = wide.decode(np.asarray(words).reshape(self.bits, self.ones, 2)).tolist()
            parts = [f"x in {{{', '.join(map(str, sorted({*one})))}}}" for one in values]
            return (
                "1 iff " + parts[0]
                if self.bits == 1
                else "; ".join(f"bit {i} iff {part}" for i, part in enumerate(parts))
            )

        return sentences(hypothesis, said)

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the elements with another label, exactly, in units of the distribution: ``uint64[k]`` (64-bit types
        enabled); at most 2**64 - 1."""
        elements = self.sets(target).reshape(target.concept.shape[0], -1, 2)
        everywhere, full = jnp.zeros(elements.shape[0], jnp.uint64), jnp.zeros(elements.shape[0], bool)
        if isinstance(hypothesis, BucketSets):
            everywhere, full = hypothesis.mass(distribution)
        else:
            points = self.sets(hypothesis).reshape(elements.shape[0], -1, 2)
            elements = jnp.concatenate([elements, points], axis=1)
        ours, theirs = (self._labels(side, elements[..., 2 - self.domain.limbs :]) for side in (hypothesis, target))
        single = jax.vmap(lambda rows: first_of_each(rows, jnp.ones(rows.shape[0], bool)))(elements)
        mass = jnp.where(single, distribution.mass_at(wide.join(elements)), jnp.uint64(0))
        wrong = jnp.where(jnp.any(ours != theirs, axis=-1), mass, jnp.uint64(0))
        listed = jnp.where(jnp.any(ours, axis=-1) & isinstance(hypothesis, BucketSets), mass, jnp.uint64(0))
        total = everywhere - jnp.sum(listed, axis=1) + jnp.sum(wrong, axis=1)
        some = jnp.any(wrong > 0, axis=1) | (full & ~jnp.any(listed > 0, axis=1))
        return jnp.where((total == 0) & some, jnp.uint64(2**64 - 1), total)  # 2**64 wraps to 0

    def growth(self, elements: int) -> int:
        """An upper bound of the ways in which the class labels ``elements`` elements."""
        few = min(elements, self.domain.size)
        return min(self.size, sum(comb(few, i) for i in range(min(self.ones, few) + 1)) ** self.bits)

    def versions(self) -> Subsets:
        """See `ConceptClass.versions`; for labels of one bit."""
        if self.bits > 1:
            raise InputError("bits", "labels of one bit", f"{self.bits} bits", "ask for those of each bit")
        return Subsets(self.domain.size, self.ones)

    def _labels(self, hypothesis: Hypothesis, x: Array) -> Array:
        """The labels that hypothesis j gives to the elements of row j of ``uint32[k, e, limbs]``, ``bool[k, e, L]``."""
        if isinstance(hypothesis, BucketSets):
            return hypothesis.labels_at(x)
        sets = self.sets(hypothesis)[..., 2 - x.shape[-1] :]
        inside = jnp.any(jnp.all(x[:, :, None, None, :] == sets[:, None], axis=-1), axis=-1)
        return inside & ~hypothesis.zero[:, None, None]

    def _number(self, number: int) -> list[list[int]]:
        """Concept ``number`` in [0, size)."""
        each, sets = comb(self.domain.size, self.ones), []
        for _ in range(self.bits):
            number, rank = divmod(number, each)
            sets.append(_subset(rank, self.ones))
        return sets

    def _windows(self, elements: list[int], count: int) -> list[list[list[int]]]:
        """Concepts whose sets are consecutive windows of the elements, one after the other."""
        total = len(elements)
        made = [
            [[elements[(start + i * self.ones + j) % total] for j in range(self.ones)] for i in range(self.bits)]
            for start in range(total)
        ]
        distinct = list({str([sorted(subset) for subset in sets]): sets for sets in made}.values())
        few = min(count, len(distinct))
        return [distinct[i * len(distinct) // few] for i in range(few)]


def _subset(rank: int, ones: int) -> list[int]:
    """The set with this rank among those of ``ones`` whole numbers >= 0, in the combinatorial number system."""
    elements = []
    for left in range(ones, 0, -1):
        element = left - 1
        while comb(element + 1, left) <= rank:
            element += 1
        elements.append(element)
        rank -= comb(element, left)
    return elements
