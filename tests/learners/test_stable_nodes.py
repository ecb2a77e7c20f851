"""Nodes by one histogram: what is returned against brute force, the error by height, and the budget."""

import jax
import numpy as np
import pytest

from dpjax.concepts import Domain, Points, Thresholds, Tree, distributions, tree_generators
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.sweep.task import Task
from dpjax.learners import StableNodes, StablePoints, database
from dpjax.theory.points import stable_points
from tests.trials import jit_learn, jit_predict, successes

TREE = tree_generators.recursive(40, 5, 0.6)  # improper nodes, too
REPLACED, ADDED = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize("epsilon", [0.7, 1e4])
def test_a_concept_gets_the_last_released_node_with_its_bit(epsilon):
    """Also on labels that no concepts explain; the release is drawn anew with the learner's key."""
    learner, k, rows = StableNodes(TREE), 3, 14
    generator, plan = np.random.default_rng(3), learner.plan(Privacy(epsilon, 0.3), Accuracy(0.1, 0.1))

    @jax.jit
    def both(key, sample):
        cells = learner.cells(sample)
        released = learner.histogram(cells, plan).rounded(0, 0, TREE.size << k).sample(key) >= 0
        return learner.learn(key, sample, plan), cells.value[:, 1], released

    some = 0
    for key in jax.random.split(jax.random.key(0), 60):
        element, label = generator.integers(0, 6, rows) * 5, generator.integers(0, 2, (rows, k)).astype(bool)
        sample = database(TREE.domain, element, label, rows + 2)
        found, value, released = jax.tree.map(np.asarray, both(key, sample))
        node, bits = TREE.place[element], label ^ TREE.flip[element][:, None]
        every = {(int(v), tuple(int(b) << j for j, b in enumerate(row))) for v, row in zip(node, bits, strict=True)}
        pairs = sorted(every, key=lambda pair: (pair[0], sum(pair[1])))
        assert [v for v, _ in pairs] == value[: len(pairs)].tolist() and not released[len(pairs) :].any()
        for j in range(k):
            told = [v for (v, row), out in zip(pairs, released, strict=False) if out and row[j]]
            assert not found.zero[j] and found.concept[j].tolist() == [0, max(told, default=0)]
            some += bool(told)
    assert some > 30


def test_on_a_star_it_is_the_learner_of_points():
    """A star has one node for each point; the node of the learner of nodes is the point, moved by the root."""
    star, rows = tree_generators.star(7), [0, 0, 0, 1, 2, 2, 2]
    assert star.height == 1
    nodes, points = StableNodes(star), StablePoints(Points(Domain(7)))
    sample = database(star.domain, rows, np.array(rows)[:, None] == [0, 2])
    loud = [one.plan(Privacy(1e4, 1e-12), Accuracy(0.1, 0.1)) for one in (nodes, points)]
    found, other = (
        jit_learn(one, jax.random.key(0), sample, plan) for one, plan in zip((nodes, points), loud, strict=True)
    )
    labels = jit_predict(nodes, found, sample.x), jit_predict(points, other, sample.x)
    np.testing.assert_array_equal(labels[0], labels[1])
    numbers = Privacy(1.0, 1e-6), Accuracy(0.2, 0.1)
    assert nodes.sample_size(*numbers) == points.sample_size(*numbers) == 197


@pytest.mark.parametrize("relation", [REPLACED, ADDED])
def test_the_whole_budget_is_spent_and_no_more(relation):
    for epsilon, delta in ((1.0, 1e-6), (0.3, 1e-12), (2000.0, 0.3)):
        learner = StableNodes(TREE, relation)
        whole = learner.guarantee(learner.plan(Privacy(epsilon, delta), Accuracy(0.1, 0.1)))
        assert whole.neighboring is relation
        assert 0.999999 * epsilon < whole.epsilon <= epsilon and 0.999999 * delta < whole.delta <= delta


@pytest.mark.slow  # tests/conformance/test_utility.py has a short one
@pytest.mark.statistical
@pytest.mark.parametrize("trials", [200, 2000], ids=["short", "long"])
def test_it_pays_for_the_height_whatever_k_is(trials, stats):
    """64 concepts of a chain of eight nodes, each a little above alpha / 8; the rest of the mass is at a leaf."""
    tree = Tree.of_parents([0, 0, 1, 2, 3, 4, 5, 6, 7, 0])
    alpha, k, privacy = 0.3, 64, Privacy(8.0, 1e-6)
    learner, accuracy = StableNodes(tree), Accuracy(alpha, 0.1)
    n = learner.sample_size(privacy, accuracy)
    assert tree.height == 8 and n == stable_points(8.0, 1e-6, alpha / 8, 0.1, REPLACED)
    unit = 2**40
    each = -(-101 * round(unit * alpha) // 800)
    law = distributions.from_weights(tree.domain, np.argsort(tree.place), [*[each] * 8, unit - 8 * each])
    task, plan = Task(tree, law, np.arange(9)), learner.plan(privacy, accuracy)
    stats.mostly(successes(learner, task, n, plan, alpha, trials, k=k), trials, 0.1)
    assert successes(learner, task, n // 16, plan, alpha, trials, k=k) < trials / 2


def test_any_number_of_rows_and_of_concepts():
    run = jax.jit(lambda learner, key, sample, plan: learner.learn(key, sample, plan))
    for tree in (TREE, tree_generators.path(1)):
        learner = StableNodes(tree)
        plan = learner.plan(Privacy(1e4, 1e-12), Accuracy(0.1, 0.1))
        for n, k in ((0, 1), (1, 1), (5, 2), (8, 70)):
            sample = database(tree.domain, [0] * n, np.full((n, k), not tree.flip[0]), 8)
            found = run(learner, jax.random.key(1), sample, plan)
            assert found.concept.shape == (k, 2) and not np.any(found.zero)
            expected = [0, tree.place[0] if n > 1 else 0]  # a single row is released with probability 1e-12
            assert np.all(np.asarray(found.concept) == expected)
        assert learner.sample_size(Privacy(1.0, 1e-6), Accuracy(0.2, 0.1)) >= 197


@pytest.mark.parametrize(
    "call",
    [
        lambda: StableNodes(Thresholds(Domain(9))),
        lambda: StableNodes(TREE, "replace-one"),
        lambda: StableNodes(type(TREE)),
        lambda: StableNodes(TREE).plan(Privacy(1.0), Accuracy(0.1, 0.1)),
        lambda: StableNodes(TREE).sample_size(Privacy(1.0), Accuracy(0.1, 0.1)),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(InputError):
        call()
