"""Learners of classes of VC dimension 1: their parts against brute force, and what one row can change."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from dpjax import audit, evidence
from dpjax.concepts import Domain, Hypothesis, Points, Thresholds, Tree, distributions
from dpjax.concepts import tree_generators as trees
from dpjax.core.checks import InputError
from dpjax.core.plans import bucket, stack_plans
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners import ImproperVC1, ProperVC1, ThresholdInterior
from dpjax.learners.vc1_improper import FEWEST
from dpjax.mechanisms.median import plan_recprefix
from dpjax.theory import vc1 as theory

TREES = {
    "recursive": trees.recursive(40, 3, 0.7),
    "caterpillar": trees.caterpillar(8, 2, 0.6, 1),
    "prefixes": trees.prefixes(4),
    "star": trees.star(9),
    "path": trees.path(12),
    "figure": trees.figure_one(),
}


ACCURACY = Accuracy(0.1, 0.1)


def improper(concepts, t):
    return ImproperVC1(concepts, "exponential", t)


def proper(tree, t, share, rounds):
    return ProperVC1(tree, "exponential", t, share, rounds, 0.5)


@cache
def program(tree):
    """Labels by a concept, (x, y) as (places, what the path says of them)."""
    labels = jax.jit(lambda target, x: tree.predict(Hypothesis.of(target), x))
    return labels, jax.jit(lambda x, y: (tree.node_of(x), tree.relabel(x, y)))


def random_sample(tree, generator, rows, capacity=None, noise=0.3):
    """Rows labelled by a concept, a share of the labels turned round."""
    capacity = capacity or rows
    x = np.zeros((capacity, 1), np.uint32)
    x[:rows, 0] = generator.integers(0, tree.domain.size, rows)
    target = tree.targets(1000)[int(generator.integers(tree.proper.sum()))][None]
    y = np.asarray(program(tree)[0](target, x)) ^ (generator.random((capacity, 1)) < noise)
    return Sample(x, y, np.arange(capacity) < rows)


def changed(sample, row, x, y):
    """With this element and label in this row."""
    other = Sample(sample.x.copy(), sample.y.copy(), sample.mask)
    other.x[row, 0], other.y[row, 0] = x, y
    return other


# --- theory -----------------------------------------------------------------------------------------------------------


def test_subsample_sizes():
    """alpha = .1, beta = .05, epsilon = 1, delta = 1e-6, with half of delta for the choice."""
    assert theory.subsamples(0.5, 5e-7, 0.05 / 3) == 453
    assert theory.subsample_size(453, 0.1, 0.05 / 3) == 20
    assert theory.printed_subsample_size(453, 0.1, 0.05) == 39583
    learner = ImproperVC1(Thresholds(Domain(2**20)), "recprefix", FEWEST)
    plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.05))
    needed = max(plan_recprefix(20, 0.5, 5e-7, 0.05 / 3).required(1 / 3), 453)
    assert plan.subsamples == needed and plan.most == bucket(needed)
    assert bucket(plan.least - 1) < bucket(plan.least) == plan.most
    assert learner.sample_size(Privacy(1.0, 1e-6), Accuracy(0.1, 0.05)) == theory.improper(needed, 0.1, 0.05)


@pytest.mark.parametrize("t", [1, 7, 60, 453])
def test_the_subsample_size_is_the_least(t):
    m = theory.subsample_size(t, 0.1, 0.02)
    miss = lambda m: binom.sf(np.ceil(t / 6) - 1, t, 0.9**m)  # noqa: E731
    assert miss(m) <= 0.02 < miss(m - 1)


def test_theorems_move_the_right_way():
    assert theory.descent_rounds(0.1) == 20
    rows = lambda walk, test, rounds, children: theory.descent(walk, test, 0.02, rounds, children, 0.1, 0.05)  # noqa: E731
    base = rows(0.1, 2.0, 4, 9)
    assert rows(0.2, 2.0, 4, 9) < base < rows(0.1, 2.0, 8, 9)
    assert rows(0.1, 2.0, 4, 2) < base > rows(0.1, None, 4, 9)
    with pytest.raises(InputError, match="share"):
        theory.descent(0.1, 0.25, 0.07, 4, 9, 0.1, 0.05)


# --- the improper learner ---------------------------------------------------------------------------------------------


@pytest.mark.grid
@pytest.mark.parametrize("name", TREES)
def test_one_row_changes_one_subsample(name):
    """Whatever the labels: a replaced row moves at most one of the t nodes, for the same order of rows."""
    tree, generator = TREES[name], np.random.default_rng(5)
    learner = improper(tree, 6)
    plan = replace(learner.plan(Privacy(1.0, 1e-6), ACCURACY), most=16)
    nodes = jax.jit(lambda key, sample: learner.deterministic(key, sample, plan)[0])
    for trial in range(15):
        rows = int(generator.integers(1, 31))
        sample = random_sample(tree, generator, rows, 30)
        row = int(generator.integers(rows))
        other = changed(sample, row, generator.integers(tree.domain.size), generator.integers(2))
        key = jax.random.key(trial)
        moved = np.any(np.asarray(nodes(key, sample)) != np.asarray(nodes(key, other)), axis=1)
        assert moved.sum() <= 1 and not moved[6:].any()


@pytest.mark.parametrize("name", ["recursive", "prefixes"])
def test_nodes_of_clean_subsamples_are_on_the_path_of_the_target(name):
    """Lemmas 6 and 8: and so a chain."""
    tree, generator, deepest = TREES[name], np.random.default_rng(14), 0
    learner = improper(tree, 6)
    plan = learner.plan(Privacy(1.0, 1e-6), ACCURACY)
    nodes = jax.jit(lambda key, sample: learner.deterministic(key, sample, plan)[0])
    for trial in range(30):
        target = tree.targets(1000)[int(generator.integers(tree.proper.sum()))]
        x = generator.integers(0, tree.domain.size, (60, 1)).astype(np.uint32)
        sample = Sample(x, program(tree)[0](target[None], x), np.ones(60, bool))
        found = np.asarray(nodes(jax.random.key(trial), sample))[:6, -1].astype(int)
        assert np.all((found <= target[1]) & (target[1] < tree.tout[found]))
        deepest = max(deepest, tree.depth[found].max())
    assert deepest > 2


def test_a_subsample_is_bad_as_rarely_as_the_bound_says():
    """Lemma 7, with (1 - alpha)^m for each subsample: 1000 of 8 rows for each of three targets, at 4 deviations."""
    tree, generator, m, many = TREES["recursive"], np.random.default_rng(15), 8, 1000
    every = np.arange(tree.domain.size, dtype=np.uint32)[:, None]
    label = np.array([program(tree)[0](np.array([[0, v]], np.uint32), every)[:, 0] for v in range(tree.size)])
    nodes = jax.jit(tree.deterministic)
    for target in np.flatnonzero(tree.proper & (tree.depth >= tree.height - 1))[:3]:
        x = generator.integers(0, tree.domain.size, (many, m)).astype(np.uint32)
        found = nodes(x[..., None], label[target][x], np.ones((many, m), bool))
        found = np.asarray(found)[:, -1].astype(int)
        error = np.mean(label[found] != label[target], axis=1)
        assert np.any(error > 0)
        for alpha in (0.05, 0.1, 0.2):
            most = (1 - alpha) ** m
            assert np.mean(error > alpha) <= most + 4 * np.sqrt(most * (1 - most) / many)


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize("subsamples", [-1, 0, 1, 2, 5, 6, 7, 1000, 2**31 - 1])
def test_one_row_changes_one_subsample_of_an_edited_plan(subsamples):
    """Whatever t the plan says: also beyond the buffer, and below the bucket's least."""
    tree, generator = TREES["recursive"], np.random.default_rng(6)
    learner = improper(tree, 6)
    plan = replace(learner.plan(Privacy(1.0, 1e-6), ACCURACY), subsamples=np.int32(subsamples))
    nodes = jax.jit(lambda *given: learner.deterministic(*given)[0])
    for trial in range(10):
        sample = random_sample(tree, generator, 40)
        other = changed(sample, trial, generator.integers(tree.domain.size), ~sample.y[trial, 0])
        pair = [np.asarray(nodes(jax.random.key(trial), data, plan)) for data in (sample, other)]
        assert np.any(pair[0] != pair[1], axis=1).sum() <= 1


@pytest.mark.slow
def test_a_bucket_and_a_mask_change_no_answer():
    """The rows of a subsample, the median and the votes are those of the exact size: a larger bucket, equal bits."""
    tree = TREES["recursive"]
    learner = improper(tree, 30)
    plan = learner.plan(Privacy(2.0, 1e-3), ACCURACY)
    assert plan.least == plan.most == 30
    sample = random_sample(tree, np.random.default_rng(8), 90, noise=0.0)
    run = jax.jit(jax.vmap(learner.learn, (0, None, None)))
    keys = jax.random.split(jax.random.key(2), 16)
    found = [run(keys, sample, replace(plan, least=least, most=most)) for least, most in ((30, 30), (17, 40))]
    chex.assert_trees_all_equal(*found)
    assert len(np.unique(np.asarray(found[0].concept)[:, 0, 1])) > 1


def test_implicit_thresholds_are_the_path():
    """Thresholds over 13 elements and the explicit path of 12 nodes determine the same nodes."""
    path, implicit = trees.path(12), Thresholds(Domain(13))
    generator = np.random.default_rng(6)
    x = generator.integers(1, 13, (500, 5)).astype(np.uint32)
    y, mask = generator.random((500, 5)) < 0.5, generator.random((500, 5)) < 0.8
    y[::2] = x[::2] <= generator.integers(0, 13, (250, 1))  # half of them consistent
    ours = jax.jit(implicit.deterministic)(x[..., None], y, mask)
    theirs = jax.jit(path.deterministic)(x[..., None] - 1, y, mask)
    np.testing.assert_array_equal(ours, theirs)
    assert len(np.unique(np.asarray(ours)[:, 1])) == 13
    depth = np.asarray([4], np.uint32)
    np.testing.assert_array_equal(jax.jit(implicit.ancestor)(ours, depth), jax.jit(path.ancestor)(ours, depth))
    assert implicit.height == path.height == 12


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "recursive" else pytest.mark.slow) for name in TREES]
)
def test_without_noise_the_answer_is_an_ancestor_of_the_target(name):
    """Clean data, a huge budget: the node lies on the target's path, and no subsample is less deep than its fewest."""
    tree, generator = TREES[name], np.random.default_rng(7)
    learner = improper(tree, 8)
    plan = learner.plan(Privacy(1e3, 0.5), ACCURACY)

    @jax.jit
    def run(key, sample):
        found = learner.learn(key, sample, plan)
        return tree.predict(found, sample.x) != sample.y, found.outcome

    for trial in range(20):
        sample = random_sample(tree, generator, 60, noise=0.0)
        wrong, outcome = (np.asarray(part) for part in run(jax.random.key(trial), sample))
        labels = np.asarray(program(tree)[1](sample.x, sample.y)[1])[:, 0]
        assert int(outcome[0]) == 0
        assert not np.any(wrong[:, 0] & ~labels), "a node off the target's path labels a zero with 1"


def test_bad_numbers_are_refused():
    tree = TREES["recursive"]
    long = trees.caterpillar(20, 2, 1.0)
    for call, name in (
        (lambda: ProperVC1(long, "exponential", rounds=3).sample_size(Privacy(1.0, 1e-6), ACCURACY), "rounds"),
        (
            lambda: ProperVC1(long, "exponential", share=0.15, rounds=14).sample_size(Privacy(1.0, 1e-6), ACCURACY),
            "share",
        ),
        (lambda: ProperVC1(long, "exponential", subsamples=3).sample_size(Privacy(1.0, 1e-6), ACCURACY), "subsamples"),
        (lambda: improper(tree, "most"), "subsamples"),
        (lambda: improper(tree, 0), "subsamples"),
        (lambda: improper(Points(Domain(4)), 3), "concepts"),
        (lambda: ImproperVC1(tree, "median"), "method"),
        (lambda: ImproperVC1(tree, neighboring=Neighboring.ADD_OR_REMOVE_ONE), "neighboring"),
        (lambda: improper(tree, 3).sample_size(Privacy(1.0, 1e-6), ACCURACY), "subsamples"),
        (lambda: ProperVC1(Thresholds(Domain(8))), "concepts"),
        (lambda: proper(tree, 3, 1.5, 2), "share"),
        (lambda: proper(tree, 3, 0.1, 0), "rounds"),
        (lambda: ProperVC1(tree, "median"), "method"),
        (lambda: ImproperVC1(tree).plan(Privacy(1.0, 0.0), ACCURACY), "delta"),
        (lambda: ProperVC1(tree).plan(Privacy(1.0, 0.0), ACCURACY), "delta"),
        (lambda: ThresholdInterior(Thresholds(Domain(8)), "recprefix").plan(Privacy(1.0, 0.0), ACCURACY), "delta"),
        (lambda: ThresholdInterior(Thresholds(Domain(8)), records=1).sample_size(Privacy(1.0), ACCURACY), "records"),
    ):
        with pytest.raises(InputError) as error:
            call()
        assert error.value.name == name


# --- the proper learner -----------------------------------------------------------------------------------------------


@pytest.mark.grid
@pytest.mark.parametrize("name", TREES)
def test_counts_are_what_they_say(name):
    tree, generator = TREES[name], np.random.default_rng(8)
    learner = proper(tree, 3, 0.1, 2)
    sample = random_sample(tree, generator, 50)
    places, labels = (np.asarray(part) for part in program(tree)[1](sample.x, sample.y))
    zeros = [p for p, one in zip(places, labels[:, 0], strict=True) if not one and p]
    parents = tree.parent

    def path(node):
        found = [node]
        while found[-1]:
            found.append(int(parents[found[-1]]))
        return found

    counts = jax.jit(learner.counts)
    for start in range(tree.size):
        found = jax.tree.map(np.asarray, counts(jnp.int32(start), sample))
        for node in range(start, int(tree.tout[start])):
            way = path(node)
            below = way[: way.index(start)]
            assert found.zeros[node] == sum(node in path(p) for p in zeros)
            assert found.path[node] == sum(p in below for p in zeros)
            inner = [n for n in below[1:] if tree.proper[n]]
            assert found.leaf[node] == (node != start and bool(tree.proper[node]) and not inner)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["recursive", *(pytest.param(name, marks=pytest.mark.slow) for name in ("prefixes", "star"))]
)
def test_the_hypothesis_is_always_in_the_class(name):
    """Every database, clean or not, every budget; and it lies below the improper learner's node."""
    tree, generator = TREES[name], np.random.default_rng(9)
    learner = proper(tree, 4, 0.05, max(1, tree.longest_improper))
    plan = stack_plans([learner.plan(Privacy(float(e), 0.1), ACCURACY) for e in np.geomspace(0.01, 200, 64)])
    run = jax.jit(jax.vmap(learner.learn, (0, None, 0)))
    for trial in range(8):
        sample = random_sample(tree, generator, int(generator.integers(0, 61)), 60, noise=float(trial % 3) / 4)
        keys = jax.random.split(jax.random.key(trial), 64)
        found = run(keys, sample, plan)
        assert bool(jnp.all(jax.vmap(tree.is_member)(found)))


@pytest.mark.parametrize("name", ["recursive", "caterpillar", "prefixes"])
def test_one_row_moves_every_count_by_one(name):
    tree, generator = TREES[name], np.random.default_rng(10)
    learner = proper(tree, 3, 0.1, 2)
    counts = jax.jit(learner.counts)
    for _ in range(30):
        sample, start = random_sample(tree, generator, 20), np.int32(generator.integers(tree.size))
        moved = changed(sample, 7, generator.integers(tree.domain.size), generator.integers(2))
        one, other = (jax.tree.map(np.asarray, counts(start, rows)) for rows in (sample, moved))
        inside = np.arange(tree.size) >= start
        inside &= np.arange(tree.size) < tree.tout[start]
        assert np.abs(one.zeros - other.zeros).max() <= 1
        assert np.abs(one.path - other.path)[inside].max(initial=0) <= 1
        np.testing.assert_array_equal(one.leaf, other.leaf)


def test_without_noise_the_descent_finds_the_target():
    """All zeros lie off the target's path, so its leaf has none on it: every leaf that is found has none."""
    tree, generator = trees.prefixes(4), np.random.default_rng(11)
    learner = proper(tree, 4, 0.001, tree.longest_improper)
    plan = learner.plan(Privacy(1e3, 0.1), ACCURACY)
    loud = replace(plan, test=np.float32(1e5), choice=np.float32(1e5))

    @jax.jit
    def run(key, sample):
        leaf = learner.descend(key, jnp.int32(1), sample, loud)
        return learner.counts(jnp.int32(1), sample).path[leaf]

    inside = np.flatnonzero(tree.proper & (np.arange(tree.size) > 1) & (np.arange(tree.size) < tree.tout[1]))
    for trial in range(20):
        target = int(generator.choice(inside))
        x = generator.integers(0, tree.domain.size, (300, 1)).astype(np.uint32)
        labels = program(tree)[0](np.array([[0, target]], np.uint32), x)
        assert int(run(jax.random.key(trial), Sample(x, labels, np.ones(300, bool)))) == 0


def test_a_maximum_class_needs_no_descent():
    tree = trees.caterpillar(50, 2)
    numbers = Privacy(4.0, 1e-6), Accuracy(0.1, 0.1)
    learner = ProperVC1(tree)
    assert tree.maximum and learner.parts(*numbers)[1] == 0 and learner.plan(*numbers).rounds == 1


def test_the_two_parts_are_in_parallel():
    learner = ProperVC1(trees.caterpillar(20, 2, 1.0))
    for rounds in (1, 3, 100):
        plan = replace(learner, rounds=rounds).plan(Privacy(1.0, 1e-6), Accuracy(0.2, 0.1))
        assert plan.tests is (rounds < 20)
        whole = learner.guarantee(plan)
        assert "parallel" in str(whole) and whole.epsilon <= 1 and whole.delta <= 1e-6
        assert all(0.999 < part.epsilon <= 1 for part in whole.parts)
        assert plan.rounds == rounds and float(plan.slack) <= 1e-6


def test_a_claimed_slack_cannot_raise_what_a_proper_plan_spends():
    """It moves along the curve of the composition: more delta, less epsilon, and the other way."""
    learner = ProperVC1(TREES["recursive"], "exponential", rounds=30)
    plan = learner.plan(Privacy(1.0, 1e-6), ACCURACY)
    spent = [learner.guarantee(replace(plan, slack=np.float32(slack))).parts[1] for slack in (0, 1e-9, 1e-6, 1e-3)]
    assert all(a.epsilon > b.epsilon and a.delta < b.delta for a, b in pairwise(spent))


def test_sample_size_gives_both_parts_their_rows():
    learner, numbers = ProperVC1(TREES["recursive"]), (Privacy(1.0, 1e-6), Accuracy(0.2, 0.1))
    n, first = learner.sample_size(*numbers), float(learner.plan(*numbers).first)
    own, other = learner.parts(*numbers)
    assert n * first >= own and n * (1 - first) >= other and n < 1.01 * (own + other)


def records_of(selected):
    """The real ones of the selected records of a domain of one limb."""
    rows, used = (np.asarray(part) for part in selected)
    return rows[used, 0]


# --- thresholds by an interior point ----------------------------------------------------------------------------------


def test_one_row_replaces_two_records():
    """As multisets; whatever the labels, the mask and how few rows there are."""
    learner = ThresholdInterior(Thresholds(Domain(20)), "exponential", 4)
    plan = learner.plan(Privacy(1.0), ACCURACY)
    plan = replace(plan, most=6)
    selected = jax.jit(lambda sample: learner.selected(sample, plan))
    generator = np.random.default_rng(12)
    for _ in range(300):
        rows = int(generator.integers(1, 11))
        x = generator.integers(0, 20, (10, 1)).astype(np.uint32)
        y, mask = generator.random((10, 1)) < 0.5, np.arange(10) < rows
        other_x, other_y = x.copy(), y.copy()
        row = int(generator.integers(rows))
        other_x[row], other_y[row] = generator.integers(20), generator.integers(2)
        one, other = (
            np.bincount(records_of(selected(Sample(a, b, mask))), minlength=20) for a, b in ((x, y), (other_x, other_y))
        )
        assert one.sum() == other.sum() == 8 and np.abs(one - other).sum() <= 4


def test_an_interior_point_makes_few_errors():
    """z between the records: at most m - 1 errors a side, also where points coincide."""
    domain, m = Domain(30), 5
    learner = ThresholdInterior(Thresholds(domain), "exponential", m)
    plan = learner.plan(Privacy(1.0), ACCURACY)
    selected = jax.jit(lambda sample: learner.selected(sample, plan))
    generator = np.random.default_rng(13)
    for _ in range(100):
        x = generator.integers(0, 30, (60, 1)).astype(np.uint32)
        target = int(generator.integers(30))
        y = x <= target
        records = np.sort(records_of(selected(Sample(x, y, np.ones(60, bool)))))
        for z in range(int(records[0]), int(records[-1]) + 1):
            if min(np.sum(records <= z), np.sum(records >= z)) >= 1:
                assert np.sum((x <= z) != y) <= m - 1


def test_trees_equal_by_value_make_equal_learners():
    again = Tree.of_parents([0, 0, 0, 0, 1, 1, 5, 5])
    assert improper(again, 3) == improper(TREES["figure"], 3)
    assert distributions.uniform(again.domain).total == 7


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("t", [24, None])
def test_hard_neighbors_do_not_refute_the_improper_learner(t):
    """One path against another with a vote for each row, at 1 - 1e-6; 16 times the budget is caught."""
    found = evidence.learner_target(improper(TREES["recursive"], t), "recursive", 1)
    two_paths = replace(found, pairs=lambda: found.pairs()[-3:])
    louder = replace(two_paths, plan=lambda p: two_paths.plan(Privacy(16 * p.epsilon, p.delta)))
    for target, violated in ((two_paths, False), (louder, True)):
        report = audit.statistical(target, Privacy(4.0, 0.1), trials=5000, confidence=1 - 1e-6)
        assert report.violated is violated, str(report)


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "subsamples"), [(2**10, 32), (2**14, 512)])
def test_working_memory_is_a_few_words_a_row_whatever_the_tree(nodes, subsamples):
    """Beside the tree itself: XLA's own account of a compiled trial, for two buffers."""
    tree = trees.recursive(nodes, 0, 0.5)
    learner = improper(tree, subsamples)
    plan = learner.plan(Privacy(1.0, 1e-6), ACCURACY)
    words = []
    for n in (2**12, 2**14):
        sample = Sample(
            *(
                jax.ShapeDtypeStruct(shape, dtype)
                for shape, dtype in (((n, tree.domain.limbs), jnp.uint32), ((n, 1), jnp.bool_), ((n,), jnp.bool_))
            )
        )
        run = jax.jit(learner.learn)
        used = run.lower(jax.random.key(0), sample, plan).compile().memory_analysis().temp_size_in_bytes
        words.append(used / 4 / n)
    assert max(words) < 16
