"""The rule that the best private learners of small classes seem to follow, as a learner of dpjax, and its exact law.

The home of a database is the concept with the fewest errors, ties broken by an order of the concepts. The margin rule
gives a concept that f rows have to be replaced for, before it is the home, the probability c exp(-epsilon f) with
c = 1 / (1 + exp(-epsilon)), and the home the rest. Proof of its privacy, for at most 1 + e^epsilon concepts:
docs/proofs/best-learner.md#staircases-between-homes.
"""

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.attacks.optimum.certificate import exponential
from dpjax.attacks.optimum.private_table import TOTAL
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, Claim, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.laws import IntegerWeights
from dpjax.learners import Learner
from dpjax.learners.samples import label_columns

_LONGEST = 1 << 12  # weights


@plan_type
class MarginPlan:
    """weights: of a concept that is 1, 2, ... replaced rows away, ``uint32[j]``, in units of 2^-31; the last one holds
    for all greater distances. claim: the budget. concepts: their number, static."""

    weights: Any
    claim: Claim
    concepts: int = field(metadata=STATIC)


@dataclass(frozen=True)
class MarginRule(Learner):
    """The margin rule for a finite class: for at most 1 + e^epsilon concepts. Proper, pure.

    Ties are broken by the order of the concepts or by the reverse order, with probability 1/2 each.

    Privacy: (epsilon, 0), replace-one, for every sample. `guarantee` compares the plan's whole numbers with rational
      bounds of e^epsilon, as the proof asks.
    Utility: no theorem; the success is computed from the law.
    Reference: our own.
    """

    concepts: Any
    spends: ClassVar[Spends] = "pure"
    proper: ClassVar[bool] = True

    def __post_init__(self):
        require_class(self.concepts, ConceptClass.of_labels, "Finite.of(matrix)")

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> MarginPlan:
        """All of epsilon; InputError for more than 1 + e^epsilon concepts."""
        epsilon, size = down(float(privacy.epsilon)), len(self.concepts.matrix())
        weights = staircase(float(epsilon))
        if not _private(weights, float(epsilon), size):
            least, actual = f"at least ln({size - 1}) for {size} concepts", f"{float(epsilon):g}"
            raise InputError("epsilon", least, actual, "take KLN, which has no such condition")
        return MarginPlan(weights, Claim(epsilon, np.float32(0)), size)

    def _learn(self, key: Array, sample: Sample, plan: MarginPlan) -> Hypothesis:
        """One concept."""
        matrix = jnp.asarray(self.concepts.matrix())
        labels = matrix[:, sample.x[:, -1].astype(jnp.int32)]
        wrong = (labels != label_columns(sample, self.concepts, "MarginRule")) & sample.mask
        errors, order, draw = jnp.sum(wrong, axis=1, dtype=jnp.int32), *jax.random.split(key)
        reverse = IntegerWeights(jnp.ones(2, jnp.uint32)).sample(order)
        before = jnp.tri(len(labels), k=-1, dtype=bool)  # concept i is after concept j < i
        margins = errors[:, None] - errors + jnp.where(reverse == 1, before.T, before)
        margins = jnp.where(jnp.eye(len(labels), dtype=bool), -1, margins)  # a concept is no rival of its own
        steps = jnp.maximum((jnp.max(margins, axis=1) + 1) // 2, 0)
        weights = jnp.append(jnp.uint32(0), jnp.asarray(plan.weights))[jnp.minimum(steps, len(plan.weights))]
        rest = jnp.uint32(TOTAL) - jnp.sum(weights, dtype=jnp.uint32)
        chosen = IntegerWeights(jnp.where(steps == 0, rest, weights)).sample(draw)
        return self.concepts.of_labels(matrix[chosen][None], jnp.zeros(1, jnp.int32))

    def _guarantee(self, plan: MarginPlan) -> Guarantee:
        """The plan's budget, after the inequalities of the proof are verified for its numbers."""
        epsilon = float(plan.claim.epsilon)
        if plan.concepts != len(self.concepts.matrix()) or not _private(plan.weights, epsilon, plan.concepts):
            actual = f"weights {np.asarray(plan.weights)[:3].tolist()}..."
            raise InputError("plan", "weights within its claim", actual, "make it with MarginRule.plan")
        what = f"margin rule over {plan.concepts} concepts"
        return Guarantee(epsilon, 0.0, Neighboring.REPLACE_ONE, what, "whole-number weights, compared exactly")


def staircase(epsilon: float) -> np.ndarray:
    """``uint32[j]``: c e^(-epsilon f) for f = 1, 2, ..., in units of 2^-31, each at least the last one / e^epsilon."""
    factor = exponential(epsilon, up=False)
    weights = [math.ceil(TOTAL / (1 + factor))]
    while weights[-1] > 1 and len(weights) < _LONGEST:
        weights.append(math.ceil(weights[-1] / factor))
    return np.array(weights, np.uint32)


def _private(weights: Any, epsilon: float, concepts: int) -> bool:
    """Whether the inequalities of the proof hold, with a rational number below e^epsilon."""
    factor, whole = exponential(min(epsilon, 32.0), up=False), [int(one) for one in np.asarray(weights)]
    first, others = whole[0], (concepts - 1) * whole[0]
    slow = all(0 < after <= before <= factor * after for before, after in pairwise(whole))
    return (
        slow
        and (1 + factor) * first >= TOTAL
        and first <= factor * (TOTAL - others)
        and (1 + factor) * others <= factor * TOTAL
    )


def margin_laws(errors: np.ndarray, epsilon: float) -> np.ndarray:
    """``float64[..., h]``: the law of the rule for the numbers of errors of the concepts, ``int64[..., h]``."""
    size, c = errors.shape[-1], 1 / (1 + math.exp(-epsilon))
    before, total = np.tri(size, k=-1, dtype=bool), np.zeros(errors.shape)
    for later in (before, before.T):
        margins = errors[..., :, None] - errors[..., None, :] + later
        margins[..., range(size), range(size)] = -1
        steps = np.maximum((margins.max(axis=-1) + 1) // 2, 0)
        laws = np.where(steps > 0, c * np.exp(-epsilon * steps), 0)
        total += np.where(steps > 0, laws, 1 - laws.sum(axis=-1, keepdims=True)) / 2
    return total


def kln_laws(errors: np.ndarray, epsilon: float) -> np.ndarray:
    """``float64[..., h]``: the law of `KLN`."""
    weights = np.exp(-epsilon / 2 * (errors - errors.min(axis=-1, keepdims=True)))
    return weights / weights.sum(axis=-1, keepdims=True)
