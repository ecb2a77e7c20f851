"""Points by one histogram: cells against brute force, what is returned, and the exact sample size."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import jax
import numpy as np
import pytest
from scipy.stats import binom, laplace

from dpjax.concepts import Domain, Points, Thresholds, distributions
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.plans import down
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.sweep.task import Task
from dpjax.learners import PointLearner, StablePoints, database
from dpjax.learners.stable_points import count_cells
from dpjax.theory import points as theory
from tests.learners.test_point_learner import as_words, buffer, random_rows
from tests.trials import successes

LINE = Points(Domain(2**40))
REPLACED, ADDED = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE


@lru_cache
def counted(size):
    return jax.jit(jax.vmap(lambda sample: count_cells(sample, size)))


def stacked(size, cases, k, capacity, generator):
    parts = (buffer(size, rows, k, capacity, generator) for rows in cases)
    return jax.tree.map(lambda *every: np.stack(every), *parts)


@pytest.mark.parametrize(("size", "k"), [(3, 1), (2**64, 2), (2**32 - 1, 33)])
def test_cells_against_brute_force(size, k):
    generator, capacity = np.random.default_rng(k), 14
    cases = [random_rows(generator, size, k, n) for n in [*range(capacity + 1)] * 2]
    cells = jax.tree.map(np.asarray, counted(size)(stacked(size, cases, k, capacity, generator)))
    for i, rows in enumerate(cases):
        expected = sorted(((value, as_words(labels)), count) for (value, labels), count in Counter(rows).items())
        assert not cells.rows[i, len(expected) :].any()
        for slot, ((value, labels), count) in enumerate(expected):
            assert cells.rows[i, slot] == count and int(wide.decode(cells.value[i, slot])) == value
            assert tuple(int(word) for word in cells.labels[i, slot]) == labels


@pytest.mark.parametrize("epsilon", [0.7, 6.0])
def test_a_concept_gets_the_released_value_of_largest_count(epsilon):
    """Also on rows that no points explain; noisy counts are drawn anew with the learner's key."""
    size, k, capacity, trials = 2**33, 3, 14, 60
    generator, learner = np.random.default_rng(5), StablePoints(Points(Domain(size)))
    plan = learner.plan(Privacy(epsilon, 0.3), Accuracy(0.1, 0.1))
    cases = [random_rows(generator, size, k, int(generator.integers(capacity + 1))) for _ in range(trials)]
    samples, keys = stacked(size, cases, k, capacity, generator), jax.random.split(jax.random.key(0), trials)

    def both(key, sample):
        cells = count_cells(sample, size)
        return learner.learn(key, sample, plan), learner.histogram(cells, plan).rounded(capacity, capacity).sample(key)

    found, noisy = jax.tree.map(np.asarray, jax.jit(jax.vmap(both))(keys, samples))
    some = 0
    for i, rows in enumerate(cases):
        pairs = sorted((value, as_words(labels), labels) for value, labels in set(rows))
        for j in range(k):
            told = [
                (-noisy[i, s], value) for s, (value, _, labels) in enumerate(pairs) if labels[j] and noisy[i, s] >= 0
            ]
            assert found.zero[i, j] == (not told) and found.outcome[i, j] == 0
            assert int(wide.decode(found.concept[i, j])) == (min(told)[1] if told else 0)
            some += bool(told)
    assert 20 < some < 3 * trials - 20


@pytest.mark.parametrize("relation", [REPLACED, ADDED])
def test_the_whole_budget_is_spent_and_no_more(relation):
    for epsilon, delta in ((1.0, 1e-6), (0.3, 1e-12), (2000.0, 0.3)):
        learner = StablePoints(LINE, relation)
        whole = learner.guarantee(learner.plan(Privacy(epsilon, delta), Accuracy(0.1, 0.1)))
        assert whole.neighboring is relation
        assert 0.999999 * epsilon < whole.epsilon <= epsilon and 0.999999 * delta < whole.delta <= delta


@pytest.mark.parametrize(("epsilon", "alpha", "n"), [(4.0, 0.2, 72), (1.0, 0.2, 201), (1.0, 0.1, 428), (0.5, 0.1, 771)])
def test_sample_sizes_beside_a_looser_count_and_the_paper(epsilon, alpha, n):
    """n is an independent calculation for one element more, counting those of mass alpha exactly."""
    learner, privacy, accuracy = StablePoints(LINE), Privacy(epsilon, 1e-6), Accuracy(alpha, 0.1)
    found = learner.sample_size(privacy, accuracy)
    assert 0.97 * n <= found <= n
    assert 20 * found < PointLearner(LINE).sample_size(privacy, accuracy)
    assert StablePoints(LINE, ADDED).sample_size(privacy, accuracy) < found


def test_the_sample_size_is_the_least_by_a_sum_of_its_own():
    epsilon, delta, alpha, beta = 1.3, 1e-4, 0.15, 0.05
    found = theory.stable_points(epsilon, delta, alpha, beta, REPLACED)

    def fails(n):
        return 6 * sum(
            binom.pmf(c, n, alpha) * (laplace.cdf(laplace.isf(delta) - epsilon / 2 * (c - 1)) if c else 1.0)
            for c in range(n + 1)
        )

    assert fails(found) <= beta < fails(found - 1)


@pytest.mark.parametrize(
    "arguments",
    [(0.5, 0.9, 0.5, 0.5), (1e4, 1e-6, 0.3, 0.1), pytest.param((1e-4, 1e-12, 0.5, 0.3), marks=pytest.mark.slow)],
)
def test_sample_sizes_at_the_ends(arguments):
    assert theory.stable_points(*arguments, REPLACED) >= 1


def hardest(alpha, k):
    """As many points as there can be of mass just above alpha, which are the targets; the rest is spread."""
    atoms = round(1 / alpha) - 1
    where = distributions.heavy(LINE.domain, atoms, 1.001 * alpha)
    return Task(LINE, where, distributions.spread(LINE.domain, atoms)[:k])


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("epsilon", "trials"), [(4.0, 256), pytest.param(1.0, 2000, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_it_succeeds_at_its_sample_size_and_fails_not_far_below(epsilon, trials, stats):
    learner, privacy, accuracy = StablePoints(LINE), Privacy(epsilon, 1e-6), Accuracy(0.2, 0.1)
    n = learner.sample_size(privacy, accuracy)
    plan, task = learner.plan(privacy, accuracy), hardest(0.2, 4)
    stats.mostly(successes(learner, task, n, plan, 0.2, trials, k=4), trials, 0.1)
    assert successes(learner, task, int(0.8 * n), plan, 0.2, trials, k=4) < 0.9 * trials - 3 * (0.09 * trials) ** 0.5


def test_any_number_of_rows_and_of_concepts():
    learner, run = StablePoints(LINE), jax.jit(lambda key, sample, plan: learner.learn(key, sample, plan))
    plan = learner.plan(Privacy(1e4, 1e-12), Accuracy(0.1, 0.1))
    for n, k in ((0, 1), (1, 1), (5, 2), (8, 70)):
        sample = database(LINE.domain, [7] * n, np.ones((n, k), bool), 8)
        found = run(jax.random.key(1), sample, plan)
        assert found.concept.shape == (k, 2) and found.zero.shape == (k,)
        assert bool(np.all(found.zero)) == (n < 2), "a single row is released with probability 1e-12"
        assert n < 2 or np.all(np.asarray(found.concept) == [0, 7])
    loud = replace(plan, delta=down(0.999999))
    assert not np.any(run(jax.random.key(1), database(LINE.domain, [7], [[1]], 8), loud).zero)


@pytest.mark.parametrize(
    "call",
    [
        lambda: StablePoints(Thresholds(Domain(9))),
        lambda: StablePoints(LINE, "replace-one"),
        lambda: StablePoints(LINE).plan(Privacy(1.0), Accuracy(0.1, 0.1)),
        lambda: StablePoints(LINE).sample_size(Privacy(1.0), Accuracy(0.1, 0.1)),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
