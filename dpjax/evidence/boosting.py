"""Boosting under test: a weak learner that meets its claim with equality, a planted bug, and adversaries."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts import Finite, Hypothesis
from dpjax.core import wide
from dpjax.core.plans import Positive, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import Boosted
from dpjax.learners.base import Learner
from dpjax.learners.samples import single_column
from dpjax.mechanisms.projection import projected
from dpjax.mechanisms.randomized_response import randomized_response, randomized_response_guarantee

_CONSTANTS = Finite.of([[0, 0], [1, 1]])


@plan_type
class FirstLabelPlan:
    """epsilon: of randomized response, ``float32[]``."""

    epsilon: Positive


@dataclass(frozen=True)
class FirstLabel(Learner):
    """The constant function of the first row's label, by randomized response; of label 0 for an empty sample.

    Privacy: (epsilon, 0), replace-one, for every sample, with equality: what it is boosted to is as sharp as its
      accounting.
    Utility: none.
    """

    concepts: Finite = _CONSTANTS
    neighboring: ClassVar[Neighboring] = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "bounded range"
    proper: ClassVar[bool] = True

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> FirstLabelPlan:
        """All of epsilon."""
        return FirstLabelPlan(down(float(privacy.epsilon)))

    def _learn(self, key: Array, sample: Sample, plan: FirstLabelPlan) -> Hypothesis:
        """Concept 0 or 1."""
        first = (single_column(sample, "FirstLabel")[0] & sample.mask[0]).astype(jnp.int32)
        answer = randomized_response(first, plan.epsilon).sample(key).astype(jnp.uint32)
        return Hypothesis.of(jnp.stack([jnp.uint32(0), answer])[None])

    def _guarantee(self, plan: FirstLabelPlan) -> Guarantee:
        """Randomized response."""
        return randomized_response_guarantee(float(plan.epsilon))

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """1: it reads one row."""
        return 1


@dataclass(frozen=True)
class OneLabelAnElement(Boosted):
    """Boosting with a bug: rows are compared with the most frequent label of their element, not with their own."""

    def right(self, predicted: Array, labels: Array, sample: Sample) -> Array:
        """Where a hypothesis predicts the most frequent label of the row's element, 1 for a tie."""
        votes = jnp.where(sample.mask, jnp.where(labels, jnp.int32(1), jnp.int32(-1)), 0)
        same = jnp.all(sample.x[:, None] == sample.x[None], axis=-1)
        return predicted == (jnp.sum(jnp.where(same, votes[None], 0), axis=1) >= 0)


Pick = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""The order of the rows in which an adversary errs, from counts of right votes, weights and the round."""


def _scrambled(rows: int, turn: int) -> np.ndarray:
    """Numbers without visible order, ``uint64[rows]``."""
    word = (np.arange(rows, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(turn * 40503)) % np.uint64(2**32)
    word = (word ^ (word >> np.uint64(15))) * np.uint64(2246822519) % np.uint64(2**32)
    return word ^ (word >> np.uint64(13))


PICKS: dict[str, Pick] = {
    "fewest right votes first": lambda correct, weight, turn: np.argsort(correct, kind="stable"),
    "most right votes first": lambda correct, weight, turn: np.argsort(-correct, kind="stable"),
    "lightest first": lambda correct, weight, turn: np.argsort(weight, kind="stable"),
    "the same rows": lambda correct, weight, turn: np.arange(len(correct)),
    "another order each time": lambda correct, weight, turn: np.argsort(_scrambled(len(correct), turn), kind="stable"),
    "a fifth always": lambda correct, weight, turn: np.append(
        np.arange(len(correct) // 5), len(correct) // 5 + np.argsort(correct[len(correct) // 5 :], kind="stable")
    ),
}

_projected = jax.jit(projected, static_argnums=4)


def wrong_rows(kappa: float, gamma: float, turns: int, n: int, pick: Pick) -> int:
    """Rows on which at most half of the hypotheses are right, against a weak learner as bad as it may be.

    In every round it errs on rows of total weight at most 1/2 - gamma, in the order of ``pick``; a row that does not
    fit is skipped. By `theory.boosting.rounds` fewer than kappa n rows remain wrong.
    """
    correct, shrink = np.zeros(n, np.int32), np.float32(math.exp(-4 * gamma))
    for turn in range(turns):
        units = _projected(jnp.asarray(correct), jnp.ones(n, bool), shrink, jnp.int32(int(kappa * n)), turns)
        weight = wide.decode(units) / 2**62
        wrong, room = np.zeros(n, bool), 0.5 - gamma
        for row in pick(correct, weight, turn):
            if weight[row] <= room:
                wrong[row], room = True, room - weight[row]
        correct += ~wrong
    return int(np.sum(2 * correct <= turns))
