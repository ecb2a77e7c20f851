"""Threshold functions: c_t(y) = 1 iff y <= t."""

from dataclasses import dataclass
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
from dpjax.core import wide
from dpjax.mechanisms.intervals import Pieces


def _up_to(first: int, last: int) -> str:
    return f"1 iff x <= {last}"


@dataclass(frozen=True)
class Thresholds(OnLine):
    """THRESH_X over a domain of up to 2**64 elements. Concept number t labels {0, ..., t} with 1.

    N concepts for N elements: no concept is empty. `dimensions.families.thresholds` has one more, with the empty one.

    Reference: Bun, Nissim, Stemmer 2016, Section 2.2.
    """

    differences = MappingProxyType({"thresholds": 2})

    @property
    def chain(self) -> int:
        """The largest number of elements over which it has all thresholds."""
        return self.domain.size

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``."""
        with jax.enable_x64(True):
            return (wide.join(x)[..., None] <= wide.join(hypothesis.concept)) & ~hypothesis.zero

    def describe(self, hypothesis: Hypothesis, rule: Rule = _up_to) -> list[str]:
        """A sentence for each hypothesis, on the host; ``rule`` writes it for the elements first to last."""
        return sentences(hypothesis, lambda words: rule(0, int(wide.decode(words))))

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement, exactly, in units of the distribution: ``uint64[k]`` (64-bit types enabled)."""
        ours, theirs = wide.join(hypothesis.concept), wide.join(target.concept)
        upper = jnp.where(hypothesis.zero | (~target.zero & (theirs > ours)), theirs, ours)
        lower = jnp.where(upper == ours, theirs, ours)
        between = distribution.mass_up_to(upper) - distribution.mass_up_to(lower)
        alone = distribution.mass_up_to(upper)  # one of the two is the zero function
        alone = jnp.where((alone == 0) & distribution.reaches(upper), jnp.uint64(2**64 - 1), alone)  # 2**64 wraps to 0
        error = jnp.where(hypothesis.zero | target.zero, alone, between)
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

    def dichotomies(self, points: Array, real: Array) -> tuple[Array, Array]:
        """One concept for each way in which the class cuts a set: (``uint32[r + 1, 2]``, which of them count).

        points ``uint32[r, limbs]``, real ``bool[r]``. The threshold at each distinct point, and threshold 0 if it
        lies below all of them.
        """
        with jax.enable_x64(True):
            number = wide.split(jnp.minimum(wide.join(points), jnp.uint64(self.size - 1)))
        lowest = ~jnp.any(jnp.all(number == 0, axis=-1) & real)
        return jnp.pad(number, ((0, 1), (0, 0))), jnp.append(first_of_each(number, real), lowest)

    @property
    def height(self) -> int:
        """The height as a tree of VC dimension 1: node t, at depth t, is threshold t; threshold 0 is the root."""
        return self.size - 1

    def deterministic(self, x: Array, y: Array, mask: Array) -> Array:
        """The deterministic points of t samples as the path of one node, ``uint32[t, 2]``; the root if inconsistent.

        x ``uint32[t, m, limbs]``, y and mask ``bool[t, m]``. Threshold 0 labels element 0 with 1, as all thresholds do.
        """
        with jax.enable_x64(True):
            values = wide.join(x)
            real = mask & (values > 0)
            deepest = jnp.max(jnp.where(real & y, values, jnp.uint64(0)), axis=-1, initial=0)
            refuted = jnp.any(real & ~y & (values <= deepest[:, None]), axis=-1)
            return wide.split(jnp.where(refuted, jnp.uint64(0), deepest))

    def depth_of(self, node: Array) -> Array:
        """``uint32[..., W]`` for nodes ``uint32[..., 2]``, W limbs of the height."""
        return node if self.height >= 2**32 else node[..., 1:]

    def ancestor(self, node: Array, depth: Array) -> Array:
        """The ancestor-or-self of each node at ``depth`` (``uint32[W]``), ``uint32[..., 2]``; the node if deeper."""
        with jax.enable_x64(True):
            return wide.split(jnp.minimum(wide.join(node), wide.join(depth)))

    def is_member(self, hypothesis: Hypothesis) -> Array:
        """``bool[k]``: whether the hypothesis is a concept of the class; the all-zero function is not."""
        return ~hypothesis.zero

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Cells of equal empirical error: the n + 1 half-open gaps between sorted rows.

        x ``uint32[n, limbs]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        count, size = mask.shape[0], self.domain.size
        with jax.enable_x64(True):
            values = wide.join(x)
            values, labels = wide.sort(values, (y.astype(jnp.uint32),), real=mask, below=size, bits=(1,))
            labels = labels.astype(bool)
            real = jnp.arange(count, dtype=jnp.int32) < jnp.sum(mask, dtype=jnp.int32)
            # cell i contains the thresholds t with exactly the first i rows at or below t
            low = jnp.concatenate([jnp.zeros(1, jnp.uint64), values])
            next_value = jnp.where(real, values, jnp.uint64(size - 1))
            closed = jnp.concatenate([real, jnp.zeros(1, bool)])  # does another row end the cell?
            high = jnp.concatenate([next_value, jnp.full(1, size - 1, jnp.uint64)])
            exists = jnp.concatenate([jnp.ones(1, bool), real])
            alive = exists & jnp.where(closed, low < high, True)
            high = jnp.where(closed, high - jnp.uint64(1), high)
            first, last = wide.split(low), wide.split(high)
        gain = jnp.where(real, jnp.where(labels, jnp.int32(-1), jnp.int32(1)), 0)
        positives = jnp.sum(y & mask, dtype=jnp.int32)
        errors = positives + jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(gain, dtype=jnp.int32)])
        return Pieces(first, last, errors, alive, size=self.size)
