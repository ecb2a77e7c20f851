"""The learner passes the conformance suite of dpjax. Run by pytest."""

from dataclasses import dataclass

import jax
import pytest

import dpjax as dp
from dpjax import testing
from dpjax.accounting.guarantee import Guarantee
from dpjax.mechanisms import exponential_guarantee
from dpjax.templates.learner import Learner, Plan


def test_the_learner_passes_every_check():
    """For example: padding, batches and 64-bit mode do not matter, and no small database exceeds the guarantee."""
    learner = Learner(dp.Thresholds(dp.Domain(16)))
    testing.assert_passed(testing.check_learner(learner, quick=True))


def test_a_concept_is_learned():
    """From data without noise at a large budget."""
    concepts = dp.Thresholds(dp.Domain(16))
    learner = Learner(concepts)
    sample = dp.database(concepts.domain, [2, 4, 5, 6, 9], [1, 1, 1, 0, 0])
    plan = learner.plan(dp.Privacy(100.0), dp.Accuracy(0.1, 0.1))
    hypothesis = jax.jit(learner.learn)(dp.keys.root(0), sample, plan)
    assert concepts.describe(hypothesis) == ["1 iff x <= 5"]


@dataclass(frozen=True)
class Overspends(Learner):
    """Claims half of what it spends."""

    def _guarantee(self, plan: Plan) -> Guarantee:
        """Half of the true cost."""
        return exponential_guarantee(float(plan.epsilon) / 2, "half of it", self.neighboring)


def test_a_learner_that_claims_too_little_is_found():
    """The audit detects a wrong guarantee."""
    findings = testing.check_learner(Overspends(dp.Thresholds(dp.Domain(3))), quick=True)
    with pytest.raises(AssertionError, match="no guarantee is exceeded"):
        testing.assert_passed(findings)
