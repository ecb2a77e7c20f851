"""A class of one concept: nothing is to be learned, so one row is planned, and whatever comes of it is right."""

import jax
import numpy as np
import pytest

from dpjax.baselines import ERM
from dpjax.concepts import Domain, Finite, Hypothesis, Points, Thresholds, Tree
from dpjax.core import wide
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import KLN, EmpiricalLearner, ImproperVC1, PointLearner, ProperVC1, ThresholdMedian, database

LINE, TREE = Thresholds(Domain(1)), Tree.of_class(np.zeros((1, 4), bool))
ACCURACY, BUDGET = Accuracy(0.1, 0.1), Privacy(1.0, 1e-6)
LEARNERS = [
    ERM(LINE),
    KLN(TREE),
    ThresholdMedian(LINE),
    EmpiricalLearner(KLN(TREE)),
    *(
        pytest.param(one, marks=pytest.mark.slow)
        for one in (
            ERM(TREE),
            KLN(Finite.of(np.ones((1, 4), bool))),
            ImproperVC1(LINE),
            ImproperVC1(TREE),
            ProperVC1(TREE),
        )
    ),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: f"{type(one).__name__}-{type(one.concepts).__name__}")
def test_one_row_is_planned_and_enough(learner):
    assert learner.sample_size(BUDGET, ACCURACY) == 1
    plan = learner.plan(BUDGET, ACCURACY)
    only = Hypothesis.of(np.zeros((1, 2), np.uint32))
    label = bool(learner.concepts.predict(only, learner.concepts.domain.encode([0]))[0, 0])
    sample = database(learner.concepts.domain, [0], [label])
    found = jax.jit(jax.vmap(learner.learn, (0, None, None)))(jax.random.split(jax.random.key(0), 8), sample, plan)
    assert not np.any(found.zero) and set(wide.decode(found.concept).ravel().tolist()) == {0}


def test_one_row_is_not_enough_where_no_answer_is_no_concept():
    """Points on one element: without a heavy value `PointLearner` answers the all-zero function, which always errs."""
    learner = PointLearner(Points(Domain(1)))
    plan, sample = learner.plan(BUDGET, ACCURACY), database(learner.concepts.domain, [0], [1])
    found = jax.jit(jax.vmap(learner.learn, (0, None, None)))(jax.random.split(jax.random.key(0), 8), sample, plan)
    assert np.all(found.zero) and learner.sample_size(BUDGET, ACCURACY) > 1
