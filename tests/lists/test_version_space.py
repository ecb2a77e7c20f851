"""Lists of all concepts that agree with a batch."""

import itertools

import jax
import numpy as np
import pytest
from scipy.stats import binom

import dpjax as dp
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.learners import KLN, SparseAggregate
from dpjax.lists import Cells, VersionSpace
from dpjax.papers.simulated_counts import errors
from dpjax.theory import kln, version_spaces

GOAL, BUDGET = dp.Accuracy(0.1, 0.1), dp.Privacy(1.0, 1e-6)
RANDOM = np.unique(np.random.default_rng(8).integers(0, 2, (1000, 64)), axis=0)


def test_the_list_is_the_version_space():
    generator, matrix = np.random.default_rng(0), RANDOM[:50, :9]
    lists = VersionSpace(dp.Finite.of(matrix))
    elements = np.arange(9, dtype=np.uint32)[:, None]
    run = jax.jit(lambda counts: lists.names(jax.random.key(0), Cells(elements, counts), lists.plan(GOAL)))
    lengths = set()
    for _ in range(60):
        counts = generator.poisson(0.2, (1, 9, 2)).astype(np.int32)
        agrees = [not any(counts[0, x, 1 - int(row[x])] for x in range(9)) for row in matrix]
        names, filled = run(counts)
        assert np.asarray(filled).tolist() == agrees and np.asarray(names)[:, 0].tolist() == [*range(50)]
        lengths.add(sum(agrees))
    assert len(lengths) > 5


STRUCTURED = {
    "points": families.points(7),
    "pairs": families.points(6, 2),
    "thresholds": families.thresholds(9),
    "intervals": families.intervals(5),
    "rectangles": families.rectangles(3, 2),
    "parities": families.parities(3),
    "copies": families.copies(families.thresholds(2), 3),
}


@pytest.mark.parametrize("classes", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_list_against_a_tree_that_queries_everything(classes):
    """Of random classes and of each structured one: the leaves of a full tree are those functions that never err."""
    generator = np.random.default_rng(3)
    drawn = (generator.integers(0, 2, (int(generator.integers(2, 14)), 5)) for _ in range(classes))
    for matrix in (*STRUCTURED.values(), *drawn):
        matrix = np.unique(matrix, axis=0)
        lists, width = VersionSpace(dp.Finite.of(matrix)), matrix.shape[1]
        counts = generator.poisson(0.4, (1, width, 2)).astype(np.int32)
        leaves = [[*range(len(matrix))]]
        for x in range(width):  # both sides of a query, without those that rows of the batch contradict
            sides = ([row for row in leaf if matrix[row, x] == y] for leaf in leaves for y in (0, 1))
            leaves = [side for side in sides if side and not counts[0, x, 1 - matrix[side[0], x]]]
        cells = Cells(np.arange(width, dtype=np.uint32)[:, None], counts)
        names, filled = lists.names(jax.random.key(0), cells, lists.plan(GOAL))
        assert all(len(leaf) == 1 for leaf in leaves)
        assert np.asarray(names)[np.asarray(filled), 0].tolist() == sorted(leaf[0] for leaf in leaves)


@pytest.mark.parametrize("batch_rows", [1, 3, 7])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-6), (1.0, 1e-3), (6.0, 1e-12)])
def test_the_number_of_batches_against_the_exact_law(batch_rows, epsilon, delta):
    """Of two concepts, one of which errs alpha: the failure by the law of the votes is below the bound, and that is the
    least number for which the bound is at most beta."""
    alpha, beta, rate = 0.1, 0.05, epsilon / 2
    q, gate = (1 - alpha) ** batch_rows, 1 + np.log(2 / min(delta, np.expm1(rate))) / rate
    found = version_spaces.batches(2, batch_rows, epsilon, delta, alpha, beta)

    def bound(m):
        return (q + (1 - q) * np.exp(-rate)) ** m + np.exp(rate * (gate - m))

    assert bound(found) <= beta < bound(found - 1)
    votes = np.arange(found + 1)
    weights = np.where(votes > 0, np.exp(rate * (votes - found)), 0) + np.exp(rate * (gate - found))
    exact = np.sum(binom.pmf(votes, found, q) * weights / (1 + weights))
    assert 0.1 * beta < exact <= bound(found)


def test_one_row_for_each_batch_is_best_and_then_it_needs_as_many_as_the_exponential_mechanism():
    for concepts, epsilon in itertools.product((3, 1000, 2**64), (0.1, 1.0, 8.0)):
        rows = [k * version_spaces.batches(concepts, k, epsilon, 1e-3, 0.1, 0.05) for k in range(1, 12)]
        least = kln.realizable(concepts, epsilon, 0.1, 0.05)
        assert least <= rows[0] == min(rows) <= 1.05 * least


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("matrix", "trials"),
    [
        (families.thresholds(16), 40),
        pytest.param(families.thresholds(16), 200, marks=pytest.mark.slow),
        pytest.param(RANDOM, 200, marks=pytest.mark.slow),
    ],
)
def test_success_at_the_planned_rows(matrix, trials):
    """Thresholds of Littlestone dimension 4 and random functions; uniform elements. No trial errs above alpha."""
    concepts = dp.Finite.of(matrix)
    learner = SparseAggregate(VersionSpace(concepts))
    task = dp.Task(concepts, dp.uniform(concepts.domain))
    found = errors(learner, task, learner.plan(BUDGET, GOAL), learner.lists.rows(GOAL), 5, trials)
    assert np.max(list(found)) <= GOAL.alpha
    assert KLN(concepts).sample_size(BUDGET, GOAL) == learner.sample_size(BUDGET, GOAL)


def test_it_is_proper_and_says_nothing_without_votes():
    concepts = dp.Finite.of(families.thresholds(6))
    learner = SparseAggregate(VersionSpace(concepts), 4)
    sample = dp.Task(concepts, dp.uniform(concepts.domain), [3]).draw(jax.random.key(1), 80, 1, 80)[0]
    found = learner.learn(jax.random.key(0), sample, learner.plan(dp.Privacy(50.0, 0.1), GOAL))
    assert found.concept.tolist() == [[0, 3]] and not found.zero[0]
    silent = learner.learn(jax.random.key(0), sample, learner.plan(dp.Privacy(0.1, 1e-9), GOAL))
    assert silent.outcome.tolist() == [-1] and silent.zero[0] and not np.any(concepts.labeling(silent))
    with pytest.raises(InputError, match="Finite"):
        VersionSpace(dp.Points(dp.Domain(8)))
