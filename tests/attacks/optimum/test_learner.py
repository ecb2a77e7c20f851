"""The table of a program as a learner: its law is the table, for every order of rows, and its claim is exact."""

import dataclasses

import jax
import numpy as np
import pytest

from dpjax import Accuracy, Finite, InputError, Neighboring, Privacy, keys, testing
from dpjax.attacks import TableLearner
from dpjax.attacks.optimum import Databases, exact_success, goal_of
from dpjax.attacks.optimum.compared import learner_table
from dpjax.attacks.optimum.private_table import TOTAL
from dpjax.audit import exact
from dpjax.core.checks import NoTheoremError
from dpjax.evidence.boosting import FirstLabel, FirstLabelPlan
from dpjax.evidence.learners import learner_target
from dpjax.learners import database

LINE = Finite.of([[0, 0], [0, 1], [1, 1]])
ACCURACY = Accuracy(0.3, 0.1)
ADDED = Neighboring.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize(
    ("learner", "n"),
    [
        (TableLearner(LINE, rounds=0), 3),
        (TableLearner(LINE, proper=True, rounds=2), 3),
        (TableLearner(LINE, 2), 2),
        (TableLearner(LINE, rounds=0, neighboring=ADDED), 3),
    ],
    ids=lambda one: str(one)[:60],
)
def test_its_law_is_the_table(learner, n):
    plan = learner.plan(Privacy(1.0), ACCURACY, n)
    goal = learner.goal(0.3)
    databases = Databases(n, goal.cells, learner.neighboring)
    law = learner_table(learner, plan, goal, databases)
    labels = goal.functions[goal.hypotheses]  # [h, k, elements]
    names = np.einsum("hkx,xk->h", labels, 1 << np.arange(goal.elements * goal.k).reshape(goal.elements, goal.k))
    expected = np.zeros_like(law)
    expected[:, names] = np.asarray(plan.weights, float)[databases.full] / TOTAL
    np.testing.assert_allclose(law, expected, rtol=1e-12, atol=0)


def test_rows_come_in_every_order():
    """Randomized response to the first row's label: the mean over orders is linear in the number of ones."""
    learner, goal, right = FirstLabel(), goal_of([[0, 0], [1, 1]], 0.3), np.e / (1 + np.e)
    for n in (1, 3, 5):
        databases = Databases(n, goal.cells)
        law = learner_table(learner, learner.plan(Privacy(1.0), ACCURACY), goal, databases)
        ones = databases.counts[:, 1::2].sum(axis=1) / n
        np.testing.assert_allclose(law[:, 3], ones * right + (1 - ones) * (1 - right), atol=1e-7)
        np.testing.assert_allclose(law[:, 0] + law[:, 3], 1.0)
    for reader in (learner, FirstAndLast()):
        with pytest.raises(InputError, match="depend on the order of rows"):
            learner_table(reader, reader.plan(Privacy(1.0), ACCURACY), goal, Databases(6, goal.cells))


class FirstAndLast(FirstLabel):
    """Reads whether the labels of the first and the last row differ: the same for an order and its reverse."""

    def _learn(self, key, sample, plan: FirstLabelPlan):
        y = sample.y.at[0].set(sample.y[0] ^ sample.y[-1])
        return super()._learn(key, dataclasses.replace(sample, y=y), plan)


def test_it_is_as_successful_as_its_program_says():
    learner = TableLearner(LINE, rounds=0)
    from dpjax.attacks.optimum import optimum

    found = optimum(learner.goal(0.3), 4, Privacy(1.0), everywhere=False)
    plan = learner.plan(Privacy(1.0), ACCURACY, 4)
    own = exact_success(learner, plan, found.goal, found.databases, found.cases)
    assert own == pytest.approx(float(found.achieved), rel=1e-12)


@pytest.mark.parametrize(
    ("learner", "k", "delta"),
    [
        (TableLearner(LINE, rows=3, rounds=0), 1, 0.0),
        (TableLearner(LINE, rows=3), 1, 0.01),
        (TableLearner(LINE, 2, rows=2, rounds=0), 2, 0.0),
    ],
    ids=str,
)
def test_it_is_audited_exactly_at_its_budget(learner, k, delta):
    target = learner_target(learner, "table", k, rows=learner.rows, accuracy=ACCURACY)
    report = exact(target, Privacy(1.0, delta))
    assert not report.violated and report.details["outcomes"] > 2
    assert report.epsilon_found == pytest.approx(1.0, abs=1e-6) and report.delta_found == pytest.approx(delta, abs=1e-6)
    assert exact(
        learner_target(_Claims(LINE, k, rows=learner.rows), "broken", k, rows=learner.rows), Privacy(0.5, delta)
    ).violated


class _Claims(TableLearner):
    """A table for twice the epsilon that it claims."""

    def _plan(self, privacy, accuracy, n=None) -> object:
        return super()._plan(Privacy(2 * float(privacy.epsilon), float(privacy.delta)), accuracy, 2)

    def _guarantee(self, plan):
        found = super()._guarantee(plan)
        return type(found)(found.epsilon / 2, found.delta, found.neighboring, found.what)


def test_databases_of_other_sizes_have_one_law():
    learner = TableLearner(LINE, rows=3, rounds=0)
    plan = learner.plan(Privacy(1.0), ACCURACY)
    many = jax.jit(jax.vmap(lambda key, sample: learner.learn(key, sample, plan), (0, None)))
    drawn = jax.random.split(keys.root(0), 200)
    found = [
        many(drawn, database(LINE.domain, [one] * n, [one] * n, 8)).concept for n in (0, 2, 4, 8) for one in (0, 1)
    ]
    assert all(np.array_equal(found[0], one) for one in found) and len(np.unique(found[0], axis=0)) > 1
    own = [many(drawn, database(LINE.domain, [one] * 3, [one] * 3, 8)).concept for one in (0, 1)]
    assert not np.array_equal(*own)


@pytest.mark.slow
def test_it_passes_the_suite_of_learners():
    learner = TableLearner(LINE, rows=2, rounds=0)
    no_theorem = {"sample sizes move the right way", "it succeeds at its sample size"}
    found = {one.check: one for one in testing.check_learner(learner) if one.check not in no_theorem}
    assert len(found) > 20 and {one.verdict for one in found.values()} <= {"passed", "skipped"}, found


def test_wrong_inputs_are_one_clear_sentence():
    learner = TableLearner(LINE, rounds=0)
    for call, message in (
        (lambda: learner.plan(Privacy(1.0), ACCURACY), "rows: expected the number of rows of the table.*without n"),
        (lambda: learner.plan(Privacy(1.0), ACCURACY, 100), "take n = 28 or less"),
        (lambda: TableLearner(2), "concepts: expected"),
        (lambda: TableLearner(LINE, 0), "k: expected"),
        (lambda: TableLearner(LINE, rows=0), "rows: expected"),
        (lambda: TableLearner(LINE, 9), "k: expected"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    with pytest.raises(NoTheoremError):
        learner.sample_size(Privacy(1.0), ACCURACY)
    plan = learner.plan(Privacy(1.0), ACCURACY, 2)
    broken = type(plan)(np.asarray(plan.weights)[:, ::-1].cumsum(axis=0, dtype=np.uint32), plan.claim, plan.rows)
    with pytest.raises(InputError, match="within its claim"):
        learner.guarantee(broken)
    added = TableLearner(LINE, rounds=0, neighboring=ADDED)
    with pytest.raises(InputError, match="capacity: expected at most 2"):
        added.learn(keys.root(0), database(LINE.domain, [0], [0], 4), added.plan(Privacy(1.0), ACCURACY, 2))


def test_a_large_epsilon_is_spent_up_to_sixteen():
    learner = TableLearner(LINE, rounds=0)
    assert learner.guarantee(learner.plan(Privacy(40.0), ACCURACY, 2)).epsilon == 16.0
