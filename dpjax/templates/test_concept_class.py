"""The class and its learner pass the conformance suite of dpjax. Run by pytest."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array

import dpjax as dp
from dpjax import testing
from dpjax.templates.concept_class import Intervals, Learner

CONCEPTS = Intervals(dp.Domain(16))


def test_the_class_passes_every_check():
    """For example: the error is the mass of the disagreement, and the pieces have the errors of all concepts."""
    testing.assert_passed(testing.check_concepts(CONCEPTS))


def test_its_learner_passes_every_check():
    """For example: no small database exceeds the guarantee, and the sample size is sufficient."""
    testing.assert_passed(testing.check_learner(Learner(CONCEPTS), quick=True))


def test_a_learner_of_the_package_learns_it():
    """KLN finds the target from data without noise at a large budget."""
    learner = dp.KLN(CONCEPTS)
    sample = dp.database(CONCEPTS.domain, [2, 3, 4, 8, 9], [0, 1, 1, 1, 0])
    plan = learner.plan(dp.Privacy(100.0), dp.Accuracy(0.1, 0.1))
    assert CONCEPTS.describe(jax.jit(learner.learn)(dp.keys.root(0), sample, plan)) == ["1 iff 3 <= x <= 8"]


@dataclass(frozen=True)
class OneSided(Intervals):
    """An error that counts false positives only."""

    def error(self, distribution: Any, hypothesis: dp.Hypothesis, target: dp.Hypothesis) -> Array:
        """Half of the symmetric difference."""
        elements = jnp.arange(self.domain.size, dtype=jnp.uint32)[:, None]
        extra = self.predict(hypothesis, elements) & ~self.predict(target, elements)
        return jnp.sum(jnp.where(extra, distribution.mass_at(elements), jnp.uint64(0)), axis=0)


def test_an_error_that_counts_one_side_is_found():
    """The checks detect a wrong error."""
    with pytest.raises(AssertionError, match="a symmetric error"):
        testing.assert_passed(testing.check_concepts(OneSided(dp.Domain(16))))
