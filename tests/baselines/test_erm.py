"""Empirical risk minimisation: the fewest errors, always."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from dpjax.baselines import ERM
from dpjax.concepts import (
    Conjunctions,
    Disjunctions,
    Domain,
    Finite,
    Hypothesis,
    Multiclass,
    Parities,
    Points,
    ProductCube,
    Thresholds,
    Tree,
    distributions,
)
from dpjax.concepts import tree_generators as trees
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.task import Task
from dpjax.learners import BitReduction, Boosted, Confident, EmpiricalLearner, Independent
from dpjax.theory import generalization
from tests.trials import successes

ACCURACY = Accuracy(0.1, 0.1)
MATRIX = np.random.default_rng(2).random((8, 6)) < 0.5
CLASSES = [Points(Domain(6)), Thresholds(Domain(6)), Finite.of(MATRIX)]


def label(concepts, concept, x):
    if isinstance(concepts, Finite):
        return MATRIX[concept, x]
    return x == concept if isinstance(concepts, Points) else x <= concept


def errors_of(concepts, values, labels):
    return np.array([np.sum(label(concepts, c, values) != labels) for c in range(concepts.size)])


@pytest.mark.parametrize("concepts", CLASSES, ids=lambda c: type(c).__name__)
def test_the_answer_has_the_fewest_errors_in_every_column(concepts):
    generator = np.random.default_rng(1)
    capacity, k = 9, 3
    learn = jax.jit(jax.vmap(lambda s: ERM(concepts).learn(jax.random.key(0), s, None)))
    values = generator.integers(0, 6, (40, capacity))
    labels = generator.random((40, capacity, k)) < 0.5
    mask = np.arange(capacity) < generator.integers(0, capacity + 1, (40, 1))
    x = jnp.asarray(np.stack([concepts.domain.encode(row) for row in values]))
    found = learn(Sample(x, jnp.asarray(labels), jnp.asarray(mask)))
    assert not np.any(found.zero) and not np.any(found.outcome)
    numbers = wide.decode(found.concept).astype(int)
    for i in range(40):
        for j in range(k):
            errors = errors_of(concepts, values[i][mask[i]], labels[i, mask[i], j])
            assert errors[numbers[i, j]] == errors.min()


def test_columns_may_have_points_of_their_own():
    concepts = Thresholds(Domain(100))
    x = jnp.asarray(concepts.domain.encode([[10, 60], [20, 70], [30, 80]]))
    y = jnp.asarray([[1, 1], [1, 1], [0, 0]], bool)
    sample = Sample(x, y, np.ones(3, bool))
    found = jax.jit(ERM(concepts).learn)(jax.random.key(0), sample, None)
    numbers = wide.decode(found.concept).astype(int)
    assert 20 <= numbers[0] < 30 and 70 <= numbers[1] < 80


def test_it_promises_nothing():
    learner = ERM(Points(Domain(5)))
    plan = learner.plan(Privacy(1.0), ACCURACY)
    assert plan is None and learner.guarantee(plan) is None


@pytest.mark.parametrize(
    "concepts",
    [Parities(10), Conjunctions(6), Disjunctions(3), trees.star(40), trees.recursive(300, 1, 0.5), Finite.of(MATRIX)],
    ids=lambda c: type(c).__name__,
)
def test_classes_that_are_not_ordered_are_sized_by_all_their_concepts(concepts):
    """A tree, too, although it has dimension 1: the target's siblings are as many bad concepts as there are. A deep one
    of many concepts needs a row less by its dimension."""
    size = ERM(concepts).sample_size(Privacy(1.0), ACCURACY)
    assert size + (concepts.size == 301) == math.ceil(math.log((concepts.size - 1) / 0.1) / -math.log(0.9))


def test_one_concept_needs_one_row():
    for concepts in (Finite.of(MATRIX[:1]), Tree.of_class(MATRIX[:1]), Points(Domain(1)), Thresholds(Domain(1))):
        assert ERM(concepts).sample_size(Privacy(1.0), ACCURACY) == 1
        assert ERM(concepts).agnostic_sample_size_of(7, Privacy(1.0), ACCURACY) == 1


@pytest.mark.parametrize(
    "concepts",
    [*CLASSES, Points(Domain(2**2048)), Thresholds(Domain(2**2048)), Parities(18), Conjunctions(6), trees.star(40)],
    ids=lambda c: f"{type(c).__name__}-{c.size.bit_length()}",
)
def test_rows_stop_growing_with_k_where_labels_are_right(concepts):
    """And agnostic ones grow with ln k: the two forms of BNS Corollary 2.12."""
    learner, privacy, logs = ERM(concepts), Privacy(1.0), math.log(1e6)
    few, many, more = (learner.sample_size_of(k, privacy, ACCURACY) for k in (1, 10**6, 10**12))
    assert few <= many == more <= few + math.ceil(logs / -math.log(0.9))
    rows = [learner.agnostic_sample_size_of(10**i, privacy, ACCURACY) for i in (0, 6, 12)]
    assert rows[0] == learner.agnostic_sample_size(privacy, ACCURACY) > few
    for less, more in itertools.pairwise(rows):
        assert less < more <= less + 2.2 * math.ceil(logs / -math.log1p(-(0.1**2)))


# --- simulations -------------------------------------------------------------------------------------------------

TRIALS = 400


def hard_siblings(alpha):
    """A node that is no concept, whose last child is the target; each child before it weighs more than alpha.

    A sample that misses one of these children has it as its first concept without errors.
    """
    tree = trees.complete(int(1 / alpha) - 1, 2, improper=1.0)
    node = int(np.flatnonzero(~tree.proper)[0])
    *others, last = tree.child[tree.child_start[node] : tree.child_start[node + 1]].tolist()
    unit, each = 1 << 20, int(np.ceil(1.01 * alpha * (1 << 20)))
    weights = {node: unit - each * len(others)} | dict.fromkeys(others, each)
    place = tree.place.tolist()
    law = distributions.from_weights(tree.domain, [place.index(v) for v in weights], list(weights.values()))
    return tree, law, last, alpha


def hard_literals():
    """An AND of all six coordinates; without one of them it errs on 5^5/6^6 = 0.067 of the cube."""
    return Conjunctions(6), ProductCube.of([5 / 6] * 6), ((1 << 6) - 1) << 6, 0.066


@pytest.mark.statistical
@pytest.mark.parametrize(
    "world",
    [
        pytest.param(lambda: hard_siblings(0.1), id="tree"),
        pytest.param(hard_literals, id="conjunctions", marks=pytest.mark.slow),
    ],
)
def test_success_at_the_sample_size_where_many_concepts_are_bad(world, stats, key):
    """At the size for an ordered class it is about .68 on the tree and .75 on the conjunctions."""
    concepts, law, number, alpha = world()
    learner, beta, capacity = ERM(concepts), 0.1, 256
    n = learner.sample_size(Privacy(1.0), Accuracy(alpha, beta))
    of_line = ERM(Thresholds(Domain(2**20))).sample_size(Privacy(1.0), Accuracy(alpha, beta))
    assert of_line < n <= capacity
    target = Hypothesis.of(jnp.asarray(wide.encode([number])))
    limit = int(alpha * law.total)

    def good(key, rows):
        of_sample, of_learn = jax.random.split(key)
        x = law.draw(of_sample, capacity)
        sample = Sample(x, concepts.predict(target, x), jnp.arange(capacity) < rows)
        found = learner.learn(of_learn, sample, None)
        with jax.enable_x64(True):
            return concepts.error(law, found, target)[0] <= jnp.asarray(np.uint64(limit))

    run = jax.jit(jax.vmap(good, (0, None)))
    successes = int(np.sum(run(jax.random.split(key, TRIALS), n)))
    stats.mostly(successes, TRIALS, beta)
    too_few = int(np.sum(run(jax.random.split(key, TRIALS), of_line)))
    assert binom.cdf(too_few, TRIALS, 1 - beta) < stats.false_alarm


def test_many_labels_are_learned_from_all_bits():
    """k concepts, each from its own bits."""
    concepts = Multiclass.of([[0, 1, 2], [3, 1, 0], [2, 2, 3]])
    learner, rows = ERM(concepts), np.asarray([[1], [2]])
    found = Hypothesis.of(jnp.asarray([[0, 1], [0, 2]], jnp.uint32))
    x = jnp.arange(3, dtype=jnp.uint32)[:, None]
    sample = Sample(x, concepts.predict(found, x), jnp.ones(3, bool))
    assert sample.y.shape == (3, 4)
    assert np.array_equal(learner.learn(jax.random.key(0), sample, None).concept[:, 1:], rows)
    with pytest.raises(InputError, match="2 columns for each concept"):
        learner.learn(jax.random.key(0), Sample(x, sample.y[:, :3], sample.mask), None)


@pytest.mark.parametrize(
    "of",
    [
        lambda erm: erm,
        lambda erm: Independent(erm, 3),
        Confident,
        EmpiricalLearner,
        Boosted,
        lambda erm: BitReduction(Multiclass.of([[0, 1], [2, 0], [1, 2]]), ERM),
    ],
)
def test_nothing_that_is_made_of_it_claims_privacy(of):
    """`spends` is the kind that promises least, and no guarantee follows from it."""
    learner = of(ERM(Thresholds(Domain(16))))
    assert learner.spends == "approximate"
    for delta in (0.0, 1e-6):
        assert learner.guarantee(learner.plan(Privacy(1.0, delta), ACCURACY, 200)) is None
    with pytest.raises(InputError, match="zcdp"):
        Independent(ERM(Thresholds(Domain(16))), 3, "zcdp")


@pytest.mark.statistical
def test_many_thresholds_are_learned_from_the_rows_of_all_at_once(stats):
    """512 targets spread over a uniform line: any gap of alpha between rows is an error, so rows for one are too few,
    and those for all k are nearly needed."""
    concepts, k, alpha, beta = Thresholds(Domain(2**20)), 512, 0.1, 0.1
    task = Task(concepts, distributions.uniform(concepts.domain), concepts.targets(4096))
    learner = ERM(concepts)
    n, one = (learner.sample_size_of(count, Privacy(1.0), Accuracy(alpha, beta)) for count in (k, 1))
    right = {rows: successes(learner, task, rows, None, alpha, TRIALS, k=k, largest=n) for rows in (n, n - 14, one)}
    stats.mostly(right[n], TRIALS, beta)
    for fewer in (n - 14, one):
        assert binom.cdf(right[fewer], TRIALS, 1 - beta) < stats.false_alarm


@pytest.mark.parametrize("k", [1, 50])
def test_agnostic_rows_are_enough_and_nearly_needed(k):
    """Two constant concepts, labels of mean (1 - alpha) / 2 and (1 + alpha) / 2: ties count as failures, exactly."""
    for alpha, beta in ((0.3, 0.1), (0.1, 0.01)):
        n = ERM(Finite.of([[0], [1]])).agnostic_sample_size_of(k, Privacy(1.0), Accuracy(alpha, beta))
        failure = lambda n, a=alpha: -np.expm1(k * np.log1p(-binom.cdf(n // 2, n, (1 + a) / 2)))  # noqa: E731
        assert failure(n) <= beta < failure(n // 4)


@pytest.mark.statistical
def test_success_at_the_agnostic_rows_of_many_columns(stats):
    """Two atoms a little apart, flipped labels: the wrong threshold exceeds the best one by a little more than alpha,
    so each of 64 columns tosses its own coins."""
    alpha, beta, k, noise = 0.3, 0.2, 64, 0.34
    concepts = Thresholds(Domain(2))
    task = Task(concepts, distributions.from_segments(concepts.domain, [(1, 1, 1)]), [0, 1], noise)
    learner = ERM(concepts)
    n = learner.agnostic_sample_size_of(k, Privacy(1.0), Accuracy(alpha, beta))
    one = learner.agnostic_sample_size(Privacy(1.0), Accuracy(alpha, beta))
    right = {rows: successes(learner, task, rows, None, alpha, TRIALS, k=k, largest=n) for rows in (n, one // 2)}
    stats.mostly(right[n], TRIALS, beta)
    assert binom.cdf(right[one // 2], TRIALS, 1 - beta) < stats.false_alarm


def test_agnostic_rows_do_not_grow_with_the_domain():
    """By covers of the class; and all errors of thresholds are near the empirical ones by the growth function."""
    rows = [ERM(Thresholds(Domain(2**bits))).agnostic_sample_size(Privacy(1.0), ACCURACY) for bits in (2, 64, 2048)]
    assert rows[0] < rows[1] == rows[2] == 1742
    n, generator = generalization.agnostic(generalization.line, 1, 0.2, 0.1), np.random.default_rng(0)
    wide = 0
    for _ in range(50):
        x, y = generator.random(n), generator.random(n) < 0.5
        of_all = np.mean(y) - np.cumsum(np.where(y[np.argsort(x)], 1, -1)) / n  # empirical errors; all errors are 1/2
        wide += np.max(np.abs(of_all - 0.5)) > 0.2
    assert wide <= 5
