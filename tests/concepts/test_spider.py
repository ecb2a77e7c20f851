import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Hypothesis, Spider, Thresholds, Tree, distributions
from dpjax.core import keys
from dpjax.core.arithmetic import decode, encode
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import ImproperVC1

SMALL = [(1, 1), (1, 2), (2, 1), (3, 2), (2, 3)]


def nodes_of(spider):
    """All nodes by number, the root first."""
    return [0, *((leg << spider.bits) + step for leg in range(spider.legs) for step in range(1, spider.height + 1))]


def as_tree(spider):
    """(the same class as a table, the node there of each node by number)."""
    nodes = nodes_of(spider)
    place = {node: i for i, node in enumerate(nodes)}
    parent = [0] + [place[node - 1] if node % (1 << spider.bits) > 1 else 0 for node in nodes[1:]]
    points = [place[x] if x % (1 << spider.bits) else 0 for x in range(spider.domain.size)]
    flips = [not point for point in points]
    tree = Tree.of_parents(parent, place=points, flip=flips)
    there = {node: int(tree.place[node]) if node else 0 for node in nodes}
    return tree, there


def concepts(spider, numbers):
    return Hypothesis.of(jnp.asarray(encode(numbers, max(2, spider.domain.limbs))))


@pytest.mark.parametrize(("legs", "bits"), SMALL)
def test_it_is_the_tree_of_its_table(legs, bits):
    spider = Spider(legs, bits)
    tree, there = as_tree(spider)
    nodes = nodes_of(spider)
    assert (spider.size, spider.height, spider.domain.size) == (tree.size, tree.height, tree.domain.size)
    np.testing.assert_array_equal(decode(spider.numbered(range(spider.size))), nodes)

    ours, theirs = concepts(spider, nodes), concepts(tree, [there[node] for node in nodes])
    x = jnp.asarray(spider.domain.encode(range(spider.domain.size)))
    np.testing.assert_array_equal(jax.jit(spider.predict)(ours, x), jax.jit(tree.predict)(theirs, x))
    np.testing.assert_array_equal(jax.jit(spider.depth_of)(ours.concept), jax.jit(tree.depth_of)(theirs.concept))
    climbed, expected = jax.jit(spider.ancestor), jax.jit(tree.ancestor)
    for depth in range(spider.height + 2):
        at = jnp.asarray([depth], jnp.uint32)
        above = [there[int(node)] for node in decode(climbed(ours.concept, at))]
        np.testing.assert_array_equal(above, decode(expected(theirs.concept, at)))


@pytest.mark.parametrize(("legs", "bits"), [(1, 2), (3, 1), (2, 2)])
def test_deterministic_nodes_are_those_of_the_table_for_all_samples(legs, bits):
    spider = Spider(legs, bits)
    tree, there = as_tree(spider)
    rows = list(itertools.product(range(spider.domain.size), (False, True)))
    samples = list(itertools.product(rows, repeat=3))
    x = jnp.asarray(spider.domain.encode([[row[0] for row in sample] for sample in samples]))
    y = jnp.asarray([[row[1] for row in sample] for sample in samples])
    found, expected = jax.jit(spider.deterministic), jax.jit(tree.deterministic)
    for mask in ([True] * 3, [True, False, True], [False] * 3):
        mask = jnp.broadcast_to(jnp.asarray(mask), y.shape)
        ours = decode(found(x, y, mask))
        theirs = decode(expected(x, y, mask))
        np.testing.assert_array_equal([there[int(node)] for node in ours], theirs)


@pytest.mark.parametrize(("legs", "bits"), [(3, 2), (1, 2), (5, 70), (2**70, 40)])
def test_errors_are_masses_of_disagreements(legs, bits):
    spider = Spider(legs, bits)
    step, leg = spider.height, spider.legs - 1
    nodes = [0, 1, step, (leg << bits) + 1, (leg << bits) + step, (leg << bits) + step // 2 + 1]
    places = sorted({*nodes, leg << bits, min(step, 2), (leg << bits) + 1})
    law = distributions.from_segments(spider.domain, [(place, place, i + 1) for i, place in enumerate(places)])
    x = jnp.asarray(spider.domain.encode(places))
    pairs = list(itertools.product(nodes, repeat=2))
    one, two = (concepts(spider, list(column)) for column in zip(*pairs, strict=True))
    with jax.enable_x64(True):
        errors = np.asarray(jax.jit(spider.error)(law, one, two))
    predict = jax.jit(spider.predict)
    differ = np.asarray(predict(one, x)) != np.asarray(predict(two, x))
    np.testing.assert_array_equal(errors, (np.arange(1, len(places) + 1)[:, None] * differ).sum(axis=0))


def test_all_mass_on_one_leg_does_not_wrap():
    spider = Spider(3, 70)
    law = distributions.from_segments(spider.domain, [((1 << 70) + 5, (1 << 70) + 6, 2**63)])
    one, none = concepts(spider, [(1 << 70) + 9]), concepts(spider, [0])
    with jax.enable_x64(True):
        error = jax.jit(spider.error)
        assert int(error(law, one, none)[0]) == 2**64 - 1
        assert int(error(law, concepts(spider, [(1 << 70) + 4]), none)[0]) == 0


def test_the_zero_function_is_the_root():
    spider = Spider(2, 3)
    root = concepts(spider, [3])
    zero = Hypothesis(root.concept, jnp.ones(1, bool), root.outcome)
    x = jnp.asarray(spider.domain.encode(range(16)))
    assert not jax.jit(spider.predict)(zero, x).any()
    error = jax.jit(spider.error)
    with jax.enable_x64(True):
        law = distributions.uniform(spider.domain)
        assert int(error(law, zero, concepts(spider, [0]))[0]) == 0
        assert int(error(law, zero, root)[0]) == int(error(law, concepts(spider, [0]), root)[0]) > 0


def test_words_say_leg_and_steps():
    spider = Spider(3, 4)
    assert spider.describe(concepts(spider, [0, 37])) == ["0 everywhere", "1 iff leg 2, steps 1 to 5"]


@pytest.mark.parametrize(("legs", "bits"), [(0, 3), (2, 0), (2, 2048), (1.5, 3), (2, "3")])
def test_bad_sizes_are_refused(legs, bits):
    with pytest.raises(InputError, match=r"legs|bits"):
        Spider(legs, bits)


@pytest.mark.parametrize("bits", [40, 300, pytest.param(64, marks=pytest.mark.slow)])
def test_one_leg_learns_as_the_thresholds_do(bits):
    spider, line = Spider(1, bits), Thresholds(Domain(2**bits))
    target, rows = 2**bits // 3, 1500
    law = distributions.from_weights(line.domain, [1, target, target + 1, 2**bits - 1], [2, 3, 3, 2])
    x = law.draw(keys.root(1), rows)
    answers = []
    for each in (spider, line):
        sample = Sample(x, each.predict(concepts(spider, [target]), x), jnp.ones(rows, bool))
        learner = ImproperVC1(each, "exponential")
        plan = learner.plan(Privacy(2.0, 1e-6), Accuracy(0.2, 0.2))
        answers.append(jax.jit(learner.learn)(keys.root(2), sample, plan))
    np.testing.assert_array_equal(answers[0].concept, answers[1].concept)
    assert int(answers[0].outcome[0]) == 0
