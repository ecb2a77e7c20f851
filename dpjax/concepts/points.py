"""Point functions: c_x(y) = 1 iff y = x."""

from dataclasses import dataclass
from math import log, log1p
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import Cover, Group
from dpjax.concepts.distributions import Distribution
from dpjax.concepts.hashing import Buckets, bucket_error
from dpjax.concepts.hypothesis import Hypothesis, Rule, sentences
from dpjax.concepts.on_line import OnLine
from dpjax.concepts.versions.subsets import Subsets
from dpjax.core.arithmetic import Arithmetic, decode
from dpjax.mechanisms.intervals import Pieces


def _only(first: int, last: int) -> str:
    return f"1 iff x = {first}"


@dataclass(frozen=True)
class Points(OnLine):
    """POINT_X over an ordered domain. Concept number x is the indicator of {x}.

    Reference: Bun, Nissim, Stemmer 2016, Section 2.2.
    """

    sums = ("singles",)
    differences = MappingProxyType({"points": 2, "thresholds": 4})

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``."""
        if isinstance(hypothesis, Buckets):
            return hypothesis.predict(x)
        target = hypothesis.concept[:, -x.shape[-1] :]
        return jnp.all(x[..., None, :] == target, axis=-1) & ~hypothesis.zero

    def describe(self, hypothesis: Hypothesis, rule: Rule = _only) -> list[str]:
        """A sentence for each hypothesis, on the host; ``rule`` writes it for the elements first to last."""
        if isinstance(hypothesis, Buckets):
            return sentences(hypothesis, lambda words: f"1 iff hash function {words[0]} gives {words[1]}")
        return sentences(hypothesis, lambda words: rule(*[int(decode(words))] * 2))

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement, exactly, in units of the distribution: ``uint64[k]`` (64-bit types enabled)."""
        if isinstance(hypothesis, Buckets):
            return bucket_error(distribution, hypothesis, target)
        numbers = self.numbers
        ours, theirs = numbers.read(hypothesis.concept), numbers.read(target.concept)
        zero = jnp.uint64(0)
        same = numbers.equal(ours, theirs) & ~hypothesis.zero & ~target.zero
        wrong = jnp.where(hypothesis.zero, zero, distribution.mass_at(ours))
        missed = jnp.where(target.zero, zero, distribution.mass_at(theirs))
        both = jnp.where(wrong + missed < wrong, jnp.uint64(2**64 - 1), wrong + missed)  # 2**64 would wrap to 0
        return jnp.where(same, zero, both)

    def covers(self, alpha: float, agnostic: bool) -> list[Cover]:
        """See `ConceptClass.covers`: at most 1/eta heavy elements one by one, light ones together.

        Realizable, the representative differs from the target only if that is not listed: then its mass is at most
        ``rare``, and the other elements of mass above alpha - rare are few, or few of its rows were drawn.
        Proof in docs/proofs/generic.md#points-agnostic.
        """
        if agnostic:
            etas = (alpha * 2.0 ** -np.arange(2, 12)).tolist()  # a float and a size beyond 2**1024 can be compared
            return [(Group(min(1 / eta, self.size), False, 2 * eta), Group(1, True, eta)) for eta in etas]
        etas, rares = (alpha * 2.0 ** -np.arange(1, 7)).tolist(), alpha * np.arange(5, 10) / 10
        return [
            (
                Group(min(1 / eta, self.size), False, 0.0, 0.0),
                Group(1, True, eta, 0.0),
                Group(1 / (alpha - rare), False, 0.0),
                Group(1, True, alpha - rare, 0.5, True),
            )
            for eta in etas
            for rare in rares
        ]

    def agreement(self, alpha: float, n: int) -> float:
        """See `ConceptClass.agreement`: one of the two elements has a mass above alpha/2, as at most 2/alpha have."""
        return log(2 / alpha) + n * log1p(-alpha / 2)

    def dichotomies(self, points: Array, real: Array) -> tuple[Array, Array]:
        """One concept for each way in which the class cuts a set: (``uint32[r + 1, 2]``, which of them count).

        points ``uint32[r, limbs]``, real ``bool[r]``. Each distinct point, and the lowest other value, if there is one.
        """
        numbers, tried = self.numbers, min(points.shape[0] + 1, self.size)
        value = jnp.asarray(self.numbered(range(tried)))
        with jax.enable_x64(True):
            number = numbers.number(numbers.lesser(numbers.read(points), numbers.constant(self.size - 1)))
        taken = jnp.any(jnp.all(value[:, None] == number[None], axis=-1) & real[None], axis=1)
        outside = jnp.min(jnp.where(taken, tried, jnp.arange(tried, dtype=jnp.int32)))
        last = value[jnp.minimum(outside, tried - 1)]
        return jnp.concatenate([number, last[None]]), jnp.append(first_of_each(number, real), outside < tried)

    def versions(self) -> Subsets:
        """See `ConceptClass.versions`: sets of one element."""
        return Subsets(self.domain.size, 1)

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Cells of equal empirical error: each value that occurs, then all other values together. n + 1 cells.

        x ``uint32[n, limbs]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        numbers, count = self.numbers, mask.shape[0]
        with jax.enable_x64(True):
            values, order = _sorted_rows(numbers, numbers.read(x), mask, self.domain.size)
            real = mask[order]
            index = jnp.arange(count, dtype=jnp.int32)
            differs = jnp.concatenate([jnp.ones(1, bool), numbers.differ(values[1:], values[:-1])])
            starts = real & differs
            next_start = jax.lax.cummin(jnp.where(differs | ~real, index, count), reverse=True)
            end = jnp.concatenate([next_start[1:], jnp.full(1, count, jnp.int32)])
            limbs = numbers.number(values)
        votes = jnp.where(mask, jnp.where(y, jnp.int32(1), jnp.int32(-1)), 0)[order]
        total = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(votes, dtype=jnp.int32)])
        balance = total[end] - total[index]  # positive minus negative rows at this value
        positives = jnp.sum(y & mask, dtype=jnp.int32)
        errors = jnp.concatenate([positives - balance, positives[None]])
        distinct = jnp.sum(starts, dtype=jnp.int32)
        rest = jnp.bool_(True)
        if self.domain.size <= count:
            rest = distinct < self.domain.size
        everything = jnp.asarray(self.numbered([0, self.domain.size - 1]))
        first, last = (jnp.concatenate([limbs, end]) for end in (everything[:1], everything[1:]))
        alive = jnp.concatenate([starts, rest[None]])
        return Pieces(first, last, errors, alive, holes=limbs, hole=starts, size=self.size)


def first_of_each(rows: Array, real: Array) -> Array:
    """Which real rows ``[r, w]`` have no equal real row before them, ``bool[r]``."""
    index = jnp.arange(rows.shape[0], dtype=jnp.int32)
    before = jnp.all(rows[:, None] == rows[None], axis=-1) & real[None] & (index[None] < index[:, None])
    return real & ~jnp.any(before, axis=1)


def _sorted_rows(numbers: Arithmetic, values: Array, mask: Array, size: int) -> tuple[Array, Array]:
    """Row values ascending with padding last, and the rows' numbers, ``int32[n]``."""
    index = jnp.arange(mask.shape[0], dtype=jnp.uint32)
    bits = max(1, (mask.shape[0] - 1).bit_length())
    values, order = numbers.sort(values, (index,), real=mask, below=size, bits=(bits,))
    return values, order.astype(jnp.int32)
