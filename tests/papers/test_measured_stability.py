"""Counts that are drawn whole, and the measured stability of lists."""

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Finite, distributions
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.experiments.sweep.task import Task
from dpjax.learners import SparseAggregate
from dpjax.lists import GloballyStable, Irreducibility
from dpjax.papers.measured_stability import stability
from dpjax.papers.simulated_counts import Counted, errors

CLASS = Finite.of(families.thresholds(6))
GOAL = dp.Accuracy(0.3, 0.2)


def task(targets=(2,), width=6, **how):
    concepts = Finite.of(families.thresholds(width))
    return Task(concepts, distributions.zipf(concepts.domain, width, 1.0), list(targets), **how)


def test_drawn_counts_are_those_of_the_rows():
    """The mean of each count, and its label; the halves have their rows."""
    drawn = Counted.of(task((2, 5)))
    trials = [drawn.batches([1, 4], 80, 3, 1, trial) for trial in range(300)]
    for counts, target in trials:
        assert counts.shape == (3, 2, 6, 2) and counts.sum((2, 3)).tolist() == [[20, 60]] * 3
        assert not counts[..., range(6), 1 - drawn.labels[target]].any()
    mean = np.mean([counts.sum((0, 3)) for counts, _ in trials], axis=0)
    assert np.allclose(mean, 3 * np.outer([20, 60], drawn.mass), atol=5 * np.sqrt(180 / 300))
    assert {target for _, target in trials} == {0, 1}
    again = drawn.batches([1, 4], 80, 3, 1, 7)[0]
    assert np.array_equal(again, trials[7][0]) and not np.array_equal(again, trials[8][0])


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("kind", [GloballyStable, Irreducibility])
def test_drawn_counts_have_the_errors_of_drawn_rows(kind):
    """The same learner at one n, by rows and by counts: how often it has no error."""
    learner, rows, trials = SparseAggregate(kind(CLASS), 8), 6, 300
    where = task()
    plan = learner.plan(dp.Privacy(1.0, 0.1), GOAL)
    by_counts = np.array(list(errors(learner, where, plan, rows, 3, trials))) == 0

    def run(key):
        sample, target = where.draw(key, 8 * rows)
        found = learner.learn(key, sample, plan)
        return (found.outcome[0] == 0) & (where.error(found, target)[0] == 0)

    by_rows = np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(4), trials)))
    table = np.array([[part.sum(), trials - part.sum()] for part in (by_counts, by_rows)])
    pooled = table.sum(0) / (2 * trials)
    assert pooled.min() > 0.05, table
    distance = np.sum((table - trials * pooled) ** 2 / (trials * pooled))
    assert distance < 20  # 1e-5 for one degree of freedom


def test_stability_is_a_function_of_the_seed():
    lists, where = GloballyStable(Finite.of(families.thresholds(3))), task((1,), 3)
    one, *others = (stability(lists, where, GOAL, 60, 80, seed=seed) for seed in (1, 2, 3, 4))
    assert one == stability(lists, where, GOAL, 60, 80, seed=1) and any(other != one for other in others)
    assert 0 <= one.low <= one.frequency <= one.high <= 1 and one.trials == 40 and one.longest == 1


@pytest.mark.slow
def test_stability_of_lists():
    lists = stability(Irreducibility(CLASS, 1), task(), GOAL, 6000, 40)
    assert lists.mean_length <= lists.longest and lists.functions >= 1


def test_without_rows_every_list_is_the_same():
    found = stability(GloballyStable(Finite.of(families.thresholds(3))), task((1,), 3), GOAL, 0, 200)
    assert found.frequency == 1 and found.functions == 1 and found.empty == 0  # draws of level 1 do not exist


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: stability(GloballyStable(CLASS), task((1, 2)), GOAL),
        lambda: stability(GloballyStable(CLASS), task(noise=0.1), GOAL),
        lambda: stability(GloballyStable(CLASS), task(), GOAL, trials=1),
        lambda: stability(GloballyStable(CLASS), task(), GOAL, rows=-1),
        lambda: stability(GloballyStable(CLASS), task(width=8), GOAL),
        lambda: stability(dp.KLN(CLASS), task(), GOAL),
        lambda: Counted.of(Task(dp.Points(dp.Domain(2**20)), dp.uniform(dp.Domain(2**20)))),
    ],
)
def test_wrong_questions(wrong):
    with pytest.raises(InputError):
        wrong()
