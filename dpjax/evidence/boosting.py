"""A weak learner that meets its claim with equality, to audit boosting with."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts import Finite, Hypothesis
from dpjax.core.plans import Positive, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import Learner
from dpjax.learners.samples import single_column
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
