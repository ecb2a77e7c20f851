"""Threshold functions: c_t(y) = 1 iff y <= t."""

from dataclasses import dataclass
from math import log1p
from types import MappingProxyType

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import Cover, Group
from dpjax.concepts.distributions import Distribution
from dpjax.concepts.hypothesis import Hypothesis, Rule, sentences
from dpjax.concepts.on_line import OnLine
from dpjax.concepts.points import first_of_each
from dpjax.concepts.tree.rooted import Rooted
from dpjax.concepts.versions.intervals import Intervals
from dpjax.core.arithmetic import decode
from dpjax.mechanisms.intervals import Pieces


def _up_to(first: int, last: int) -> str:
    return f"1 iff x <= {last}"


@dataclass(frozen=True)
class Thresholds(OnLine, Rooted):
    """THRESH_X over an ordered domain. Concept number t labels {0, ..., t} with 1.

    N concepts for N elements: no concept is empty. `dimensions.families.thresholds` has one more, with the empty one.

    Reference: Bun, Nissim, Stemmer 2016, Section 2.2.
    """

    sums = ("prefixes",)
    differences = MappingProxyType({"thresholds": 2})

    @property
    def chain(self) -> int:
        """The largest number of elements over which it has all thresholds."""
        return self.domain.size

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``."""
        numbers = self.numbers
        with jax.enable_x64(True):
            value = jnp.expand_dims(numbers.read(x), x.ndim - 1)
            return numbers.less_equal(value, numbers.read(hypothesis.concept)) & ~hypothesis.zero

    def describe(self, hypothesis: Hypothesis, rule: Rule = _up_to) -> list[str]:
        """A sentence for each hypothesis, on the host; ``rule`` writes it for the elements first to last."""
        return sentences(hypothesis, lambda words: rule(0, int(decode(words))))

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement, exactly, in units of the distribution: ``uint64[k]`` (64-bit types enabled)."""
        numbers = self.numbers
        ours, theirs = numbers.read(hypothesis.concept), numbers.read(target.concept)
        upper = numbers.where(hypothesis.zero | (~target.zero & numbers.above(theirs, ours)), theirs, ours)
        lower = numbers.where(numbers.equal(upper, ours), theirs, ours)
        alone = hypothesis.zero | target.zero  # one of the two is the zero function
        below = jnp.where(alone, jnp.uint64(0), distribution.mass_up_to(lower))
        error = distribution.mass_up_to(upper) - below
        most = (error == 0) & distribution.reaches(upper) & (alone | ~distribution.reaches(lower))  # 2**64 wraps to 0
        error = jnp.where(most, jnp.uint64(2**64 - 1), error)
        return jnp.where(hypothesis.zero & target.zero, jnp.uint64(0), error)

    def covers(self, alpha: float, agnostic: bool) -> list[Cover]:
        """See `ConceptClass.covers`: realizable, an interval of mass alpha on each side of the target; agnostic,
        1/eta thresholds between which intervals have a mass of at most eta, and those in each interval together.

        Proof in docs/proofs/generic.md#thresholds-agnostic.
        """
        if not agnostic:
            return [(Group(2, True, 0.0),)]
        etas = alpha * 2.0 ** -np.arange(1, 12)
        return [(Group(1 / eta, False, 0.0), Group(1 / eta + 1, True, eta)) for eta in etas]

    def agreement(self, alpha: float, n: int) -> float:
        """See `ConceptClass.agreement`: one of n + 1 gaps between rows has a mass above alpha, each with (1 - alpha)^n.

        The rows are images of uniform numbers, of which n cut [0, 1] into gaps of one law.
        """
        return log1p(n) + n * log1p(-alpha)

    def dichotomies(self, points: Array, real: Array) -> tuple[Array, Array]:
        """One concept for each way in which the class cuts a set: (``uint32[r + 1, 2]``, which of them count).

        points ``uint32[r, limbs]``, real ``bool[r]``. The threshold at each distinct point, and threshold 0 if it
        lies below all of them.
        """
        numbers = self.numbers
        with jax.enable_x64(True):
            number = numbers.number(numbers.lesser(numbers.read(points), numbers.constant(self.size - 1)))
        lowest = ~jnp.any(jnp.all(number == 0, axis=-1) & real)
        return jnp.pad(number, ((0, 1), (0, 0))), jnp.append(first_of_each(number, real), lowest)

    @property
    def height(self) -> int:
        """The height as a tree of VC dimension 1: node t, at depth t, is threshold t; threshold 0 is the root."""
        return self.size - 1

    def versions(self) -> Intervals:
        """See `ConceptClass.versions`: intervals of thresholds."""
        return Intervals(self.domain.size)

    def deterministic(self, x: Array, y: Array, mask: Array) -> Array:
        """The deterministic points of t samples as the path of one node, ``uint32[t, W]``; the root if inconsistent.

        x ``uint32[t, m, limbs]``, y and mask ``bool[t, m]``. Threshold 0 labels element 0 with 1, as all thresholds do.
        """
        numbers = self.numbers
        with jax.enable_x64(True):
            values, root = numbers.read(x), numbers.constant(0)
            real = mask & numbers.above(values, root)
            deepest = numbers.largest(numbers.where(real & y, values, root))
            refuted = jnp.any(real & ~y & numbers.less_equal(values, deepest[:, None]), axis=-1)
            return numbers.number(numbers.where(refuted, root, deepest))

    def depth_of(self, node: Array) -> Array:
        """Limbs of the height, for nodes ``uint32[..., W]``."""
        return node if self.height >= 2**32 else node[..., 1:]

    def ancestor(self, node: Array, depth: Array) -> Array:
        """The ancestor-or-self of each node at a depth, ``uint32[..., W]``; the node if deeper."""
        numbers = self.numbers
        with jax.enable_x64(True):
            return numbers.number(numbers.lesser(numbers.read(node), numbers.read(depth)))

    def is_member(self, hypothesis: Hypothesis) -> Array:
        """``bool[k]``: whether the hypothesis is a concept of the class; the all-zero function is not."""
        return ~hypothesis.zero

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Cells of equal empirical error: the n + 1 half-open gaps between sorted rows.

        x ``uint32[n, limbs]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        count, size = mask.shape[0], self.domain.size
        numbers = self.numbers
        with jax.enable_x64(True):
            values = numbers.read(x)
            values, labels = numbers.sort(values, (y.astype(jnp.uint32),), real=mask, below=size, bits=(1,))
            labels = labels.astype(bool)
            real = jnp.arange(count, dtype=jnp.int32) < jnp.sum(mask, dtype=jnp.int32)
            # cell i contains the thresholds t with exactly the first i rows at or below t
            low = jnp.concatenate([numbers.constant(0)[None], values])
            top = numbers.constant(size - 1)
            next_value = numbers.where(real, values, top)
            closed = jnp.concatenate([real, jnp.zeros(1, bool)])  # does another row end the cell?
            high = jnp.concatenate([next_value, top[None]])
            exists = jnp.concatenate([jnp.ones(1, bool), real])
            alive = exists & jnp.where(closed, numbers.less(low, high), True)
            high = numbers.where(closed, numbers.subtract(high, numbers.constant(1)), high)
            first, last = numbers.number(low), numbers.number(high)
        gain = jnp.where(real, jnp.where(labels, jnp.int32(-1), jnp.int32(1)), 0)
        positives = jnp.sum(y & mask, dtype=jnp.int32)
        errors = positives + jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(gain, dtype=jnp.int32)])
        return Pieces(first, last, errors, alive, size=self.size)
