"""The generic learner on trees: its budget, its hypotheses at the ends of what a sample can be, and its rows."""

import math

import jax
import numpy as np
import pytest

from dpjax.advice.candidates import candidates
from dpjax.concepts import Domain, Thresholds, Tree
from dpjax.concepts import tree_generators as trees
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.experiments.sweep.hard_tasks import hard_elements
from dpjax.learners import GenericLearner, database
from dpjax.learners.generic import JOINT
from dpjax.sanitizers import Hierarchy, PointCounts, RecursiveQuantiles
from tests.trials import successes

ACCURACY = Accuracy(0.2, 0.1)
TREES = {
    "one node": trees.star(0),
    "star": trees.star(9),
    "path": trees.path(9),
    "prefixes": trees.prefixes(2, 3),
    "binary": trees.complete(2, 3),
    "random": trees.recursive(60, 5, 0.6),
    "flipped": Tree.of_parents([0, 0, 0, 1, 1], [1, 0, 1, 1, 1], place=[4, 2, 0, 1, 3, 1], flip=[1, 0, 0, 1, 0, 1]),
}


def learner(tree, k, composition=JOINT, levels=2, share=None):
    bits = max(1, (tree.size - 1).bit_length())
    return GenericLearner(tree, k, RecursiveQuantiles(bits, levels=levels, ties=0), composition, share)


@pytest.mark.parametrize("k", [1, 4, 300])
@pytest.mark.parametrize("sanitizer", [RecursiveQuantiles(6, levels=8, ties=0), Hierarchy(6, levels=8, counts=0.01)])
def test_joint_budgets_are_spent_and_not_exceeded(k, sanitizer):
    """By the printed tree, whatever the split is; a delta that is none in float32 leaves basic composition."""
    generator = np.random.default_rng(k)
    for i in range(12):
        epsilon, delta = math.exp(generator.uniform(math.log(1e-3), math.log(40))), 10 ** generator.uniform(-14, -2)
        made = GenericLearner(TREES["random"], k, sanitizer, JOINT, float(generator.uniform(0.01, 0.99)))
        plan = made.plan(Privacy(epsilon, delta if i else 1e-60), ACCURACY)
        whole = made.guarantee(plan)
        assert 0.999 * epsilon <= whole.epsilon <= epsilon and 0 <= whole.delta <= delta
        assert (whole.delta > 0) == (float(plan.slack) > 0) and made.spends == "approximate"
        if whole.delta:
            parts = sum(part.rho for part in whole.parts)
            assert whole.rho == pytest.approx(parts) and len(whole.parts) == 2


def test_together_the_sanitizer_costs_little():
    """The choices of many concepts get nearly what they would get alone; of one, no less than by the sum."""
    tree, privacy = TREES["random"], Privacy(1.0, 1e-6)
    per_choice = {
        (k, composition): float(learner(tree, k, composition, 6, 0.3).plan(privacy, ACCURACY).epsilon)
        for k in (1, 1024)
        for composition in ("basic", "zcdp", JOINT)
    }
    assert per_choice[1, JOINT] >= per_choice[1, "basic"] == per_choice[1, "zcdp"]
    assert per_choice[1024, JOINT] > 1.3 * per_choice[1024, "zcdp"] > 1.3 * 1.3 * per_choice[1024, "basic"]
    rows = {name: learner(tree, 256, name, 8).sample_size(privacy, ACCURACY) for name in ("zcdp", JOINT)}
    assert rows[JOINT] < 0.85 * rows["zcdp"]


def often(quick):
    """All trees, most of them among the slow tests."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in TREES]


@pytest.mark.parametrize("name", often(("prefixes",)))
def test_every_sample_has_answers_that_are_concepts(name):
    """None, one row, all at one element, labels that no concept has; rows outside of the mask have no effect."""
    tree = TREES[name]
    points, run = range(tree.domain.size), {}
    samples = {
        "none": ([], np.zeros((0, 3), int)),
        "one": ([tree.domain.size - 1], [[1, 0, 1]]),
        "one element": ([0] * 8, [[0, 1, 1]] * 8),
        "inconsistent": ([0] * 4 + [*points][:4], [[0, 1, 0], [1, 0, 1]] * 4),
    }
    if tree.domain.size < 4:
        samples.pop("inconsistent")
    made = learner(tree, 3)
    learn = jax.jit(lambda keys, sample, plan: jax.vmap(lambda key: made.learn(key, sample, plan))(keys))
    for what, (values, labels) in samples.items():
        sample = database(tree.domain, values, labels, 8)
        rows = np.asarray(sample.mask)
        other = Sample(
            np.where(rows[:, None], sample.x, tree.domain.size - 1).astype(np.uint32), sample.y | ~rows[:, None], rows
        )
        for privacy in (Privacy(1e-3, 1e-12), Privacy(1e6, 1e-12)):
            plan = made.plan(privacy, ACCURACY)
            found, again = (learn(jax.random.split(jax.random.key(1), 32), one, plan) for one in (sample, other))
            jax.tree.map(np.testing.assert_array_equal, found, again)
            assert not np.any(found.outcome) and not np.any(found.zero)
            nodes = wide.decode(found.concept)
            assert nodes.shape == (32, 3) and tree.proper[nodes.astype(int)].all(), what
            run[what, float(privacy.epsilon)] = nodes
    if tree.domain.size > 8:
        assert len(np.unique(run["none", 1e6])) > 1 and len(np.unique(run["one element", 1e-3])) > 1


@pytest.mark.parametrize("name", often(("flipped",)))
def test_a_huge_budget_finds_every_target(name):
    """Two rows at each element, all targets at once: no error, as soon as the quantiles are all elements."""
    tree = TREES[name]
    labels = tree.matrix()
    elements = [x for x in range(tree.domain.size) for _ in range(2)]
    sample = database(tree.domain, elements, labels.T[elements])
    made = learner(tree, len(labels), levels=7 if name == "random" else 5)
    found = jax.jit(made.learn)(jax.random.key(0), sample, made.plan(Privacy(1e6, 1e-12), ACCURACY))
    np.testing.assert_array_equal(np.asarray(made.predict(found, sample.x)), sample.y)


@pytest.mark.statistical
@pytest.mark.parametrize("agnostic", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_success_at_the_sample_size(agnostic, stats):
    tree, privacy, accuracy = TREES["random"], Privacy(8.0, 1e-6), Accuracy(0.3, 0.1)
    made = learner(tree, 4, levels=5)
    n = made.agnostic_sample_size(privacy, accuracy) if agnostic else made.sample_size(privacy, accuracy)
    assert made.agnostic_sample_size(privacy, accuracy) >= made.sample_size(privacy, accuracy)
    task, plan = hard_elements(tree, 0.3), made.plan(privacy, accuracy)
    stats.mostly(successes(made, task, n, plan, 0.3, 48, k=4, largest=n, seed=6), 48, 0.1)
    assert successes(made, task, max(2, n // 200), plan, 0.3, 48, k=4, largest=n, seed=6) < 24


def test_candidates_of_a_tree_have_the_bits_of_its_line():
    """Nine nodes for eight elements; what is asked has the joint composition, too."""
    found = [one.learner for one in candidates(trees.star(8), 2, only=("GenericLearner",)) if one.learner is not None]
    pure = [one for one in found if isinstance(one.sanitizer, RecursiveQuantiles)]
    assert {one.sanitizer.bits for one in found} == {4}
    assert {one.composition for one in pure} == {"basic", "advanced", "optimal", "zcdp", JOINT}
    assert not any(one.composition == JOINT for one in found if one.sanitizer.spends == "approximate")


def test_too_few_levels_are_enough_for_no_number_of_rows():
    with pytest.raises(InputError, match="sample size"):
        learner(TREES["random"], 2, levels=2).sample_size(Privacy(1.0, 1e-6), ACCURACY)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda tree: GenericLearner(tree, 1, RecursiveQuantiles(5)),
        lambda tree: GenericLearner(tree, 1, PointCounts(Domain(64))),
        lambda tree: learner(tree, 1, "whole"),
        lambda tree: GenericLearner(Thresholds(Domain(64)), 2, RecursiveQuantiles(5), JOINT),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt(TREES["random"])
