"""The learner by irreducible classes: trees, lists, and the stability theorem in every good sample."""

import dataclasses
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Finite
from dpjax.concepts.versions import Versions
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.lists import Irreducibility
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
    "from outside": np.tri(11, 10, -1, dtype=bool)[:, ::-1],
    "intervals": families.intervals(5),
    "random": RANDOM,
}


@dataclass(frozen=True)
class Cuts(Versions):
    """Thresholds 0..elements from outside, with what has to be there alone."""

    elements: int

    @property
    def whole(self):
        return 0, self.elements

    def after(self, space, x, y):
        low, high = space
        side = (low, min(high, x)) if y else (max(low, x + 1), high)
        return side if side[0] <= side[1] else None

    def queries(self, space):
        return range(*space)


@dataclass(frozen=True)
class OutsideLine(Finite):
    """A matrix that is asked by another structure; see `Cuts`."""

    def versions(self):
        return Cuts(self.width)

    @staticmethod
    def of(matrix):
        return OutsideLine(**vars(Finite.of(matrix)))


def runner(concepts, depths=None):
    lists = Irreducibility(concepts)
    plan = lists.plan(GOAL)
    if depths is not None:
        plan = dataclasses.replace(plan, depths=depths, lengths=(50,) * len(depths))
    elements = np.arange(concepts.width, dtype=np.uint32)[:, None]

    def names(counts):
        return arrays(lists, [(elements, one) for one in counts], plan)

    return lists, plan, names


def arrays(lists, batches, plan):
    """Names ``uint32[b, length, words]`` and which are filled, padded."""
    function, numbers = lists.listing(plan)
    filled = np.zeros((len(batches), plan.length), bool)
    padded = np.zeros((*filled.shape, lists.words), np.uint32)
    for i, cells in enumerate(batches):
        listed = [*function.names(*cells, *numbers)]
        filled[i, : len(listed)], padded[i, : len(listed)] = True, np.reshape(listed, (-1, lists.words))
    return padded, filled


def samples(concepts, generator, count, rows, few):
    """A random distribution on few elements and a target, and counts of batches whose two halves have so many rows."""
    mass = np.zeros(concepts.width)
    some = generator.choice(concepts.width, min(few, concepts.width), replace=False)
    mass[some] = generator.dirichlet(np.full(len(some), 0.3))
    matrix = concepts.matrix()
    target = matrix[generator.integers(len(matrix))]
    drawn = generator.multinomial(rows, mass, (count, 2))
    counts = np.stack([np.where(target, 0, drawn), np.where(target, drawn, 0)], axis=-1).astype(np.int32)
    return (matrix != target) @ mass, counts


def check(name, few, distributions, count, rows):
    """(good samples, those without the theorem's function, how many functions no concept of its class is), over all
    distributions on few elements, with r = 1."""
    kind = OutsideLine if name == "from outside" else Finite
    concepts, oracle, r = kind.of(CLASSES[name]), Stable(CLASSES[name]), 1
    gaps = Irreducibility(concepts).dimension + 1
    _, plan, names = runner(concepts, tuple((2**j - 1) * (few + r) for j in range(gaps)))
    top = GOAL.alpha / 5
    levels = [top * (1 - j / gaps) for j in range(gaps + 1)]
    generator = np.random.default_rng(7)
    good = missing = improper = 0
    for _ in range(distributions):
        errors, counts = samples(concepts, generator, count, rows, few)
        expected = oracle.named(errors, levels, plan.depths, r, few)
        labels = expected >> np.arange(concepts.width) & 1
        improper += not np.any(np.all(labels == concepts.matrix(), axis=1))
        wrong = labels != concepts.matrix()[np.argmin(errors)]
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
    return good, missing, improper


@pytest.mark.statistical
@pytest.mark.parametrize("few", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(12, marks=pytest.mark.slow)])
def test_the_theorems_function_is_on_the_list_of_every_good_sample(few):
    """Of seven classes, 30 distributions each, 20 samples each: 4200. On few elements the function is often not in the
    class; on all it always is."""
    found = np.array([check(name, few, 30, 20, 100_000) for name in sorted(CLASSES)])
    assert found[:, 1].sum() == 0 and found[:, 0].sum() > 3500
    assert (found[:, 2].sum() > 20) == (few < 12)


def test_reducible_leaves_are_left_out():
    """Of thresholds with label 1 at element x there are x + 1: a query reduces them unless they are 1, 3 or 7."""
    _, _, names = runner(Finite.of(CLASSES["thresholds"]), (0,) * 4)
    counts = np.zeros((12, 2, 12, 2), np.int32)
    counts[np.arange(12), :, np.arange(12), 1] = 100
    assert np.flatnonzero(names(counts)[1].sum(axis=1)).tolist() == [0, 2, 6]


def test_lists_of_an_empty_batch_and_of_one_that_no_concept_fits():
    _, plan, names = runner(Finite.of(CLASSES["thresholds"]))
    nothing = np.zeros((1, 2, 12, 2), np.int32)
    found, filled = names(nothing)
    assert found.shape == (1, plan.length, 1) and filled.shape == (1, plan.length)
    clash = nothing.copy()
    clash[0, 0, :, :] = 5
    assert not names(clash)[1].any()


def one_list(lists, elements, labels):
    """The list of a batch with a row for each element in its first half, and the same in its second."""
    plan = lists.plan(dp.Accuracy(0.5, 0.1))
    counts = np.zeros((2, len(elements), 2), np.int32)
    counts[:, np.arange(len(elements)), labels] = 1
    words = lists.concepts.domain.encode(elements)
    names, filled = arrays(lists, [(words, counts)], plan)
    return [lists.hypothesis(jnp.asarray(name), jnp.int32(0)) for name in names[filled]]


@pytest.mark.parametrize("elements", [5, 5000])
def test_many_different_elements(elements):
    """Without a 1 the zero function, which is no concept; with two no concept labels them, and there is no list."""
    lists = Irreducibility(dp.Points(dp.Domain(2**64)))
    some = np.arange(elements, dtype=np.uint64) * np.uint64(2**40)
    (nothing,) = one_list(lists, some, np.zeros(elements, int))
    assert nothing.zero.tolist() == [True]
    assert not one_list(lists, some, (np.arange(elements) < 2).astype(int))
    (one,) = one_list(lists, some, (np.arange(elements) == 3).astype(int))
    if elements == 5:  # of many rows a single one may be wrong
        assert one.concept.tolist() == lists.concepts.domain.encode(some[3:4]).tolist()
    assert one.zero.tolist() == [elements > 5]


def test_matrices_with_many_elements():
    lists = Irreducibility(Finite.of(np.eye(1000)))
    elements = np.arange(20, dtype=np.uint64)
    assert one_list(lists, elements, (elements == 7).astype(int))
    assert not one_list(lists, elements, (elements < 2).astype(int))


@dataclass(frozen=True)
class Nameless(dp.Points):
    def versions(self):
        return Cuts(self.domain.size)


def test_functions_need_names():
    with pytest.raises(InputError, match="expected one with function, got Cuts"):
        Irreducibility(Nameless(dp.Domain(8)))
    for concepts, words in (
        (Finite.of([[0] * 4097]), "at most 4096 elements, got 4097"),
        (dp.Conjunctions(5), "a finite class"),
        (dp.Multiclass.of([[0, 1], [2, 0]]), "a finite class of binary functions"),
        ([[0, 1]], "a concept class"),
    ):
        with pytest.raises(InputError, match=words):
            Irreducibility(concepts)
    with pytest.raises(InputError, match="override dimension and reduced"):
        Irreducibility(OutsideLine.of(np.tri(2000, 2000, dtype=bool))).plan(GOAL)


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
