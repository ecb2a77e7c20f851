"""The reduction of many labels to bits: blocks, plans, inner learners, clipping."""

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Domain, Finite, Multiclass, Points, distributions
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.experiments.hard import hard_bits
from dpjax.experiments.task import Task
from dpjax.learners import KLN, BitReduction, PointLearner
from dpjax.testing import runs
from dpjax.testing.under_test import LearnerUnderTest
from tests.trials import successes

CLASS = Multiclass.of(families.independent_bits(3, 1, 4))
BUDGET, GOAL = dp.Privacy(1.0), dp.Accuracy(0.1, 0.1)


def noisy(concepts):
    """A learner of one bit under another name: made by a function."""
    return KLN(concepts)


def test_each_bit_is_learned_from_its_own_rows():
    """The other rows may say anything."""
    learner = BitReduction(CLASS)
    plan = learner.plan(dp.Privacy(1e4), GOAL)
    sample, _ = Task(CLASS, distributions.uniform(CLASS.domain)).draw(jax.random.key(1), 240, 1)
    found = learner.learn(jax.random.key(2), sample, plan)
    wrong = np.array(sample.y)
    for i in range(3):
        others = np.arange(240) % 3 != i
        wrong[others, i] = ~wrong[others, i]
    again = learner.learn(jax.random.key(2), dp.Sample(sample.x, wrong, sample.mask), plan)
    assert np.array_equal(found.concept, again.concept)


def test_the_inner_learners_and_their_plans():
    learner = BitReduction(CLASS, noisy)
    assert learner == BitReduction(CLASS, noisy) != BitReduction(CLASS)
    plan = learner.plan(BUDGET, GOAL, 100)
    assert [one.concepts for one in learner.learners] == list(CLASS.bits) and len(plan.bits) == 3
    assert learner.guarantee(plan).epsilon == 1.0 and learner.spends == "pure"
    each = KLN(CLASS.bits[0]).sample_size(BUDGET, dp.Accuracy(0.1 / 3, 0.1 / 3))
    assert learner.sample_size(BUDGET, GOAL) == 3 * each


def test_a_tiny_sample_and_an_empty_one_have_answers():
    learner = BitReduction(CLASS)
    plan = learner.plan(BUDGET, GOAL)
    for n, capacity in ((0, 1), (1, 1), (2, 2), (2, 8)):
        sample, _ = Task(CLASS, distributions.uniform(CLASS.domain)).draw(jax.random.key(1), n, 1, capacity)
        found = learner.learn(jax.random.key(3), sample, plan)
        assert np.isin(found.concept, range(8)).all()


def by_points(concepts):
    """Abstains often on 40 rows, whatever the bit is."""
    return PointLearner(Points(Domain(concepts.width)))


def test_a_bit_that_abstains_makes_the_labels_zero():
    subject = LearnerUnderTest(BitReduction(CLASS, by_points), 1)
    found = subject.learn(subject.draw(), 15.0)
    silent = np.asarray(found.outcome[:, 0]) == -1
    assert 0 < silent.sum() < len(silent)
    assert not np.asarray(found.concept)[silent].any() and np.asarray(found.zero)[silent].all()
    assert np.asarray(found.concept)[~silent].any()
    runs.every_database_and_budget_has_an_answer(subject)


def test_what_is_no_binary_learner_is_refused():
    with pytest.raises(InputError, match="a class or function"):
        BitReduction(CLASS, KLN(Finite.of([[0, 1]])))
    with pytest.raises(InputError, match="Learner"):
        BitReduction(CLASS, lambda concepts: concepts)
    with pytest.raises(InputError, match="Multiclass"):
        BitReduction(Finite.of([[0, 1]]))
    with pytest.raises(InputError, match="REPLACE_ONE"):
        BitReduction(CLASS, added)


def added(concepts):
    return KLN(concepts, dp.Neighboring.ADD_OR_REMOVE_ONE)


@pytest.mark.statistical
@pytest.mark.parametrize(("bits", "trials"), [
    (2, 256), *(pytest.param(bits, 2000, marks=pytest.mark.slow) for bits in (2, 4, 6)),
])  # fmt: skip
def test_success_at_the_sample_size(bits, trials, stats):
    """4, 16 and 64 labels; a single wrong bit misses alpha."""
    task = hard_bits(bits, 0.1)
    for learner in (BitReduction(task.concepts), KLN(task.concepts)):
        n = learner.sample_size(BUDGET, GOAL)
        stats.mostly(successes(learner, task, n, learner.plan(BUDGET, GOAL, n), 0.1, trials, k=1, seed=5), trials, 0.1)
