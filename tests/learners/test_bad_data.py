"""Data that no concept explains, points that are all alike, one row, none: what learners of many concepts do then."""

import functools

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Domain, Parities, Points, Thresholds
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import (
    KLN,
    EmpiricalLearner,
    GenericLearner,
    HashedPoints,
    Independent,
    ParityLearner,
    PointLearner,
    StablePoints,
    database,
)
from dpjax.sanitizers import Hierarchy, PointCounts

K, CAPACITY, ROWS = 3, 64, 60
ACCURACY = Accuracy(0.2, 0.1)
RICH = Privacy(2000.0, 0.3)
POINTS, THRESHOLDS = Points(Domain(2**20)), Thresholds(Domain(2**20))
AGNOSTIC = {
    "direct sum": Independent(KLN(POINTS), K),
    "resample": EmpiricalLearner(Independent(KLN(POINTS), K), 512),
    "hashed": HashedPoints(POINTS, K, 4, 6),
    "generic points": GenericLearner(POINTS, K, PointCounts(POINTS.domain, 4, 4), "zcdp"),
    "generic thresholds": GenericLearner(THRESHOLDS, K, Hierarchy(20, levels=4)),
}
VOTING = {"points": PointLearner(POINTS), "parities": ParityLearner(Parities(20), 5, 12)}
GENERIC = ("generic thresholds", "generic points")
"""tests/conformance has one row, no row and rows that are all learned of this learner in short."""
ALL = AGNOSTIC | VOTING | {"stable points": StablePoints(POINTS)}


@functools.cache
def program(learner):
    """(predictions at the rows of the sample, outcomes)."""

    def run(key, sample, plan):
        found = learner.learn(key, sample, plan)
        return learner.predict(found, sample.x), found.outcome

    return jax.jit(run)


def learned(name, values, labels, privacy=RICH):
    """(predictions at the rows ``bool[n, K]``, outcomes ``[K]``)."""
    learner = ALL[name]
    sample = database(learner.concepts.domain, values, np.asarray(labels).reshape(len(values), K), CAPACITY)
    says, outcome = program(learner)(jax.random.key(3), sample, learner.plan(privacy, ACCURACY, 1))
    return np.asarray(says)[: len(values)], np.asarray(outcome)


def contradictory():
    """All rows at one point; a third of the labels of every concept says the opposite of the others."""
    labels = np.arange(ROWS)[:, None] % 3 == np.zeros(K, int)
    return [5] * ROWS, labels


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow)
        if name in ("generic thresholds", "generic points", "resample")
        else name
        for name in AGNOSTIC
    ],
)
def test_contradictions_are_learned_as_well_as_they_can_be(name):
    values, labels = contradictory()
    says, outcome = learned(name, values, labels)
    assert not says.any() and not outcome.any()  # the majority's label, whose errors are a third
    says, _ = learned(name, values, ~labels)
    assert says.all()


@pytest.mark.parametrize("name", VOTING)
def test_contradictions_get_no_answer(name):
    values, labels = contradictory()
    says, outcome = learned(name, values, labels if name == "parities" else np.arange(ROWS)[:, None] % 2 == [0] * K)
    assert (outcome == -1).all() and not says.any()


def test_stable_points_believe_ones():
    """Many equal rows with ones release the point, whatever labels its other rows have: no agnostic learner."""
    values, labels = contradictory()
    for own in (labels, ~labels):
        says, outcome = learned("stable points", values, own)
        assert says.all() and not outcome.any()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in GENERIC else name for name in ALL]
)
def test_points_that_are_all_alike(name):
    for label in (False, True):
        says, outcome = learned(name, [5] * ROWS, np.full((ROWS, K), label))
        assert (says == label).all() and not outcome.any()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in GENERIC else name for name in ALL]
)
@pytest.mark.parametrize("rows", [0, 1])
def test_one_row_and_none(name, rows):
    for epsilon, delta in ((2000.0, 0.3), (1.0, 1e-12), (1e-6, 1e-6)):
        says, outcome = learned(name, [5] * rows, np.ones((rows, K), bool), Privacy(epsilon, delta))
        assert says.shape == (rows, K) and set(outcome.tolist()) <= {0, -1}
    if name in VOTING:  # one row decides nothing at an ordinary budget
        says, _ = learned(name, [5] * rows, np.ones((rows, K), bool), Privacy(1.0, 1e-9))
        assert not says.any()


@pytest.mark.parametrize("name", ["direct sum", "generic points"])
def test_more_concepts_than_the_budget_is_for_cost_accuracy_only(name):
    """A thousandth of the budget: hypotheses are nearly random, and the guarantee is what was asked for."""
    values, labels = contradictory()
    privacy = Privacy(1e-3, 1e-6)
    _, outcome = learned(name, values, labels, privacy)
    assert not outcome.any()
    spent = ALL[name].guarantee(ALL[name].plan(privacy, ACCURACY))
    assert 0.999e-3 <= spent.epsilon <= 1e-3 and spent.delta <= 1e-6


@pytest.mark.parametrize(
    "learner",
    [
        dp.SparseAggregate(dp.GloballyStable(dp.Finite.of([[0, 0], [0, 1], [1, 1]])), 4),
        dp.Confident(dp.KLN(dp.Points(dp.Domain(8))), blocks=2),
        dp.KLN(dp.Points(dp.Domain(8))),
        dp.ThresholdInterior(dp.Thresholds(dp.Domain(8)), "exponential", 2),
        dp.Boosted(dp.KLN(dp.Thresholds(dp.Domain(8)))),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_elements_of_each_column_are_for_learners_of_many_columns(learner):
    """Others would pair the elements of all rows with every row."""
    sample = dp.database(learner.concepts.domain, [0, 1, 1], [0, 1, 1])
    plan = learner.plan(dp.Privacy(1.0, 1e-6), dp.Accuracy(0.2, 0.2))
    with pytest.raises(InputError, match=r"sample\.x: expected uint32\[capacity, limbs\]"):
        learner.learn(jax.random.key(0), dp.Sample(sample.x[:, None], sample.y, sample.mask), plan)
