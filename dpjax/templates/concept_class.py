"""A user-defined concept class, intervals, and a private learner for it.

Every learner of dpjax that needs only the members of `Intervals` can learn it, such as KLN, which uses its pieces.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import dpjax as dp
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import sentences
from dpjax.core import checks, wide
from dpjax.learners import Number, Spends, down, plan_type, single_column
from dpjax.mechanisms import exponential, exponential_guarantee
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.intervals import Pieces

MOST_ELEMENTS = 256  # largest domain: all intervals are listed


def between(first: int, last: int) -> str:
    """Description of an interval."""
    return f"1 iff {first} <= x <= {last}"


@dataclass(frozen=True)  # static, equal by value: equal classes share a program
class Intervals(dp.ConceptClass):
    """Concepts [a, b] over {0, ..., d - 1}, which label a, a + 1, ..., b with 1.

    Concept number c is row c of `ends`. Elements are ``uint32[..., 1]``, hypotheses `dpjax.Hypothesis`.
    """

    domain: dp.Domain

    def __post_init__(self):
        checks.integer("domain size", self.domain.size, 1, MOST_ELEMENTS)

    @property
    def size(self) -> int:
        """d (d + 1) / 2 concepts."""
        return self.domain.size * (self.domain.size + 1) // 2

    def ends(self) -> np.ndarray:
        """Host: ``uint32[size, 2]``, first and last element of every interval."""
        return np.stack(np.triu_indices(self.domain.size), axis=1).astype(np.uint32)

    def predict(self, hypothesis: dp.Hypothesis, x: Array) -> Array:
        """Labels ``bool[..., k]`` of elements ``uint32[..., 1]``; False everywhere where ``zero``."""
        low, high = self._of(hypothesis)
        return (low <= x) & (x <= high) & ~hypothesis.zero

    def error(self, distribution: Any, hypothesis: dp.Hypothesis, target: dp.Hypothesis) -> Array:
        """The mass of the disagreement, ``uint64[k]`` in units of the distribution; 64-bit types are enabled."""
        elements = jnp.arange(self.domain.size, dtype=jnp.uint32)
        differ = self.predict(hypothesis, elements[:, None]) != self.predict(target, elements[:, None])
        mass = distribution.mass_at(elements)
        return jnp.sum(jnp.where(differ, mass[:, None], jnp.uint64(0)), axis=0)

    def describe(self, hypothesis: dp.Hypothesis, rule: Callable[[int, int], str] = between) -> list[str]:
        """Host: a description of each hypothesis; `dpjax learn` passes a rule in the units of its table."""
        ends = self.ends().tolist()
        return sentences(hypothesis, lambda words: rule(*ends[int(wide.decode(words))]))

    def errors(self, x: Array, y: Array, mask: Array) -> Array:
        """``int32[size]``: the number of errors of each concept on one column of labels.

        x ``uint32[n, 1]``, y and mask ``bool[n]``. Masked rows are ignored. One row changes each count by at most 1.
        """
        cell = jnp.minimum(x[:, 0], jnp.uint32(self.domain.size - 1)).astype(jnp.int32)
        vote = jnp.where(mask, jnp.where(y, jnp.int32(1), jnp.int32(-1)), 0)
        votes = jnp.zeros(self.domain.size, jnp.int32).at[cell].add(vote)
        below = jnp.concatenate([jnp.zeros(1, jnp.int32), jnp.cumsum(votes, dtype=jnp.int32)])
        ends = self.ends().astype(np.int32)
        return jnp.sum(y & mask, dtype=jnp.int32) - (below[ends[:, 1] + 1] - below[ends[:, 0]])

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """For KLN: level sets of the error as ranges of concept numbers. Here each concept is a separate range."""
        number = jnp.asarray(wide.encode(range(self.size)))
        return Pieces(number, number, self.errors(x, y, mask), jnp.ones(self.size, bool), size=self.size)

    def _of(self, hypothesis: dp.Hypothesis) -> tuple[Array, Array]:
        place = jnp.minimum(hypothesis.concept[:, 1], jnp.uint32(self.size - 1)).astype(jnp.int32)
        ends = jnp.asarray(self.ends())[place]
        return ends[:, 0], ends[:, 1]


@plan_type
class Plan:
    """epsilon: of the one exponential mechanism, ``float32[]``."""

    epsilon: Number


@dataclass(frozen=True)
class Learner(dp.Learner):
    """Selects an interval with probability proportional to exp(-epsilon errors / 2).

    Privacy: (epsilon, 0), replace-one and add-or-remove-one, for every sample.
    Utility: error at most alpha with probability 1 - beta from `sample_size` rows on, if an interval makes no error.
    """

    concepts: Intervals
    neighboring: dp.Neighboring = dp.Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "pure"

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Plan:
        """On the host: all of epsilon, rounded down to float32, so that the program never exceeds the budget."""
        return Plan(down(float(privacy.epsilon)))

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        """Traced: one interval; an empty sample gives a uniform one."""
        errors = self.concepts.errors(sample.x, single_column(sample, "Learner"), sample.mask)
        chosen = exponential(-errors, plan.epsilon).sample(key)  # a law, so that audits can list its outcomes
        with jax.enable_x64(True):
            return dp.Hypothesis.of(wide.split(chosen.astype(jnp.uint64))[None])

    def _guarantee(self, plan: Plan) -> Guarantee:
        """The cost of the number that the program uses."""
        return exponential_guarantee(float(plan.epsilon), f"a choice among {self.concepts.size}", self.neighboring)

    def _sample_size(self, privacy: dp.Privacy, accuracy: dp.Accuracy) -> int:
        """With L = ln(2 |C| / beta): with probability 1 - beta / 2 all concepts of error above alpha have more than
        alpha n / 2 errors on the sample (Chernoff, from n = 8 L / alpha on); with probability 1 - beta / 2 the selected
        concept has at most 2 L / epsilon.
        """
        epsilon = effective_epsilon(privacy.epsilon)  # of the choice that runs
        alpha, beta = float(accuracy.alpha), float(accuracy.beta)
        return math.ceil(max(8 / alpha, 4 / (alpha * epsilon)) * math.log(2 * self.concepts.size / beta))


def small() -> Learner:
    """The learner over three elements, so small that an audit enumerates every sample of a few rows."""
    return Learner(Intervals(dp.Domain(3)))
