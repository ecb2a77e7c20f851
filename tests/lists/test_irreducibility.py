"""The learner by irreducible classes: trees, lists, and the stability theorem in every good sample."""

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Finite
from dpjax.dimensions import families
from dpjax.lists import Cells, Irreducibility
from dpjax.lists.version_spaces import tables_of
from dpjax.papers.simulated_counts import errors_of_labels
from dpjax.theory import irreducibility as theory
from tests.oracles.irreducible import Stable

GOAL = dp.Accuracy(0.1, 0.05)
RANDOM = np.unique(np.random.default_rng(5).integers(0, 2, (14, 8)), axis=0)
CLASSES = {
    "points": families.points(10),
    "thresholds": families.thresholds(12),
    "two points": families.points(5, 2),
    "cube": np.array([[i >> x & 1 for x in range(4)] for i in range(16)]),
    "intervals": families.intervals(5),
    "random": RANDOM,
}


def runner(concepts, depth):
    lists = Irreducibility(concepts, depth)
    plan = lists.plan(GOAL)
    elements = np.arange(concepts.width, dtype=np.uint32)[:, None]
    names = jax.jit(jax.vmap(lambda counts: lists.names(jax.random.key(0), Cells(elements, counts), plan)))
    return lists, plan, names


@pytest.mark.parametrize(
    "name", ["random", *(pytest.param(one, marks=pytest.mark.slow) for one in ("points", "two points"))]
)
def test_leaves_are_those_of_an_optimal_tree(name):
    """They divide the set, and the largest dimension is the least possible."""
    concepts, oracle = Finite.of(CLASSES[name]), Stable(CLASSES[name])
    lists = Irreducibility(concepts)
    generator = np.random.default_rng(6)
    for depth in (0, 1, 2, 4):
        tables = tables_of(concepts, depth)
        leaves = jax.jit(lambda space, depth=depth, tables=tables: lists._leaves(tables, space, depth, concepts.size))
        for space in generator.integers(1, 2**concepts.size, 20).astype(np.uint32):
            found = [int(leaf) for leaf in leaves(space) if leaf]
            assert sum(found) == space and len(found) <= 2**depth
            sets = [frozenset(i for i in range(concepts.size) if leaf >> i & 1) for leaf in found]
            whole = frozenset().union(*sets)
            assert max(oracle.littlestone(one) for one in sets) == oracle.reduced(whole, depth)


def samples(concepts, generator, count, rows):
    """A random distribution and target, and counts of batches whose two halves have that many rows."""
    mass = generator.dirichlet(np.full(concepts.width, 0.3))
    matrix = concepts.matrix()
    target = matrix[generator.integers(len(matrix))]
    drawn = generator.multinomial(rows, mass, (count, 2))
    counts = np.stack([np.where(target, 0, drawn), np.where(target, drawn, 0)], axis=-1).astype(np.int32)
    return (matrix != target) @ mass, counts


def check(name, depth, distributions, count, rows):
    """(good samples, those without the theorem's function), over all distributions."""
    concepts, oracle = Finite.of(CLASSES[name]), Stable(CLASSES[name])
    lists, plan, names = runner(concepts, depth)
    top, gaps = GOAL.alpha / 5, lists.dimension + 1
    levels = [top * (1 - j / gaps) for j in range(gaps + 1)]
    r = depth or concepts.width
    generator = np.random.default_rng(7)
    good = missing = 0
    for _ in range(distributions):
        errors, counts = samples(concepts, generator, count, rows)
        expected = oracle.named(errors, levels, plan.depths, r)
        wrong = (expected >> np.arange(concepts.width) & 1) != concepts.matrix()[np.argmin(errors)]
        empirical = np.sum(np.where(concepts.matrix()[None], counts[:, None, 0, :, 0], counts[:, None, 0, :, 1]), -1)
        below = empirical[..., None] <= np.asarray(plan.cuts) * np.float32(rows)
        sorts = [(errors <= levels[j + 1], errors <= levels[j]) for j in range(gaps)]
        inside = np.stack([(~low | below[..., j]) & (~below[..., j] | high) for j, (low, high) in enumerate(sorts)], -1)
        named, filled = (np.asarray(part) for part in names(counts))
        # the second half only drops candidates: one that errs more than 3 alpha_0 on it, which is rare
        second = np.sum(counts[:, 1], axis=-1) @ wrong > plan.keep * np.float32(rows)
        fit = inside.all((1, 2)) & ~second
        good += int(fit.sum())
        missing += int((fit & ~np.any((named[..., 0] == expected) & filled, axis=1)).sum())
    return good, missing


@pytest.mark.statistical
@pytest.mark.parametrize("depth", [None, pytest.param(1, marks=pytest.mark.slow)])
def test_the_theorems_function_is_on_the_list_of_every_good_sample(depth):
    """Of six classes, 30 distributions each, 20 samples each: 3600."""
    found = [check(name, depth, 30, 20, 100_000) for name in sorted(CLASSES)]
    assert sum(missing for _, missing in found) == 0 and sum(good for good, _ in found) > 3000


def test_lists_of_an_empty_batch_and_of_one_that_no_concept_fits():
    _, plan, names = runner(Finite.of(CLASSES["thresholds"]), None)
    nothing = np.zeros((1, 2, 12, 2), np.int32)
    found, filled = names(nothing)
    assert found.shape == (1, plan.length, 1) and filled.shape == (1, plan.length)
    clash = nothing.copy()
    clash[0, 0, :, :] = 5
    assert not names(clash)[1].any()


def irreducible_of_bit(bit):
    return dp.learners.SparseAggregate(Irreducibility(bit))


@pytest.mark.statistical
def test_labels_bit_by_bit_at_the_planned_rows():
    """Theorem 3.7 for labels whose bits are thresholds, d = 2 for each: 40 trials, none errs above alpha."""
    concepts = dp.Bitwise(Finite.of(families.thresholds(3)), 2)
    learner, each = dp.BitReduction(concepts, irreducible_of_bit), dp.Accuracy(GOAL.alpha / 2, GOAL.beta / 2)
    task = dp.Task(concepts, dp.uniform(concepts.domain), concepts.numbered([6]))
    lists, budget = learner.learners[0].lists, dp.Privacy(1.0, 1e-6)
    rows = lists.rows(each)
    assert lists.dimension == 2 and learner.sample_size(budget, GOAL) == 2 * rows * lists.batches(budget, each)
    assert learner.sample_size(budget, GOAL) <= 2 * theory.rows(
        2, None, None, 1.0, 1e-6, *map(float, (each.alpha, each.beta))
    )
    found = errors_of_labels(learner, task, learner.plan(budget, GOAL), [rows] * 2, 3, 40)
    assert np.max(list(found)) <= GOAL.alpha
