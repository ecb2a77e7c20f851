"""A user-defined private learner: the exponential mechanism over all concepts of a small class, written out.

It learns any class of up to 2**16 concepts with numbers 0, 1, ...: thresholds, points, a matrix, or your own. Change
`learn` to your algorithm, then `plan`, `guarantee` and `sample_size` to its parameters, privacy cost and theorem.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

import dpjax as dp
from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks, wide
from dpjax.learners import Number, Spends, down, plan_type, single_column
from dpjax.mechanisms import exponential, exponential_guarantee
from dpjax.mechanisms.exponential import effective_epsilon

MOST_CONCEPTS = 1 << 16


@plan_type
class Plan:
    """The numbers that the budget determines. They are traced: a sweep of epsilon compiles once.

    epsilon: of the one exponential mechanism, ``float32[]``.
    """

    epsilon: Number


@dataclass(frozen=True)  # structure only: equal by value, hashable, and without a budget
class Learner(dp.Learner):  # its base validates arguments and predicts by the class
    """Selects a concept with probability proportional to exp(-epsilon errors / 2).

    Privacy: (epsilon, 0), replace-one and add-or-remove-one, for every sample.
    Utility: error at most alpha with probability 1 - beta from `sample_size` rows on, if a concept makes no error.
    """

    concepts: dp.ConceptClass
    neighboring: dp.Neighboring = dp.Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "pure"

    def __post_init__(self):
        checks.integer("number of concepts", self.concepts.size, 1, MOST_CONCEPTS)

    def _plan(self, privacy: dp.Privacy, accuracy: dp.Accuracy, n: int | None = None) -> Plan:
        """On the host: all of epsilon, rounded down to float32, so that the program never exceeds the budget."""
        return Plan(down(float(privacy.epsilon)))

    def _learn(self, key: Array, sample: dp.Sample, plan: Plan) -> dp.Hypothesis:
        """Traced: one concept. Masked rows are ignored; an empty sample gives a uniform concept."""
        numbers = jnp.asarray(wide.encode(range(self.concepts.size)))
        labels = self.concepts.predict(dp.Hypothesis.of(numbers), sample.x)  # bool[capacity, concepts]
        wrong = (labels != single_column(sample, "Learner")[:, None]) & sample.mask[:, None]
        errors = jnp.sum(wrong, axis=0, dtype=jnp.int32)  # one row changes each by at most 1
        chosen = exponential(-errors, plan.epsilon).sample(key)  # a law, so that audits can list its outcomes
        return dp.Hypothesis.of(numbers[chosen][None])

    def _guarantee(self, plan: Plan) -> Guarantee:
        """The cost of the number that the program uses."""
        what = f"a choice among {self.concepts.size} concepts"
        return exponential_guarantee(float(plan.epsilon), what, self.neighboring)

    def _sample_size(self, privacy: dp.Privacy, accuracy: dp.Accuracy) -> int:
        """The theorem's n.

        With L = ln(2 |C| / beta): with probability 1 - beta / 2 all concepts of error above alpha have more than
        alpha n / 2 errors on the sample (Chernoff, from n = 8 L / alpha on); with probability 1 - beta / 2 the selected
        concept has at most 2 L / epsilon.
        """
        epsilon = effective_epsilon(privacy.epsilon)  # of the choice that runs
        alpha, beta = float(accuracy.alpha), float(accuracy.beta)
        log = math.log(2 * self.concepts.size / beta)
        return math.ceil(max(8 / alpha, 4 / (alpha * epsilon)) * log)


def small() -> Learner:
    """The learner over three elements, so small that an audit enumerates every sample of a few rows."""
    return Learner(dp.Thresholds(dp.Domain(3)))
