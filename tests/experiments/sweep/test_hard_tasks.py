"""Hard workloads, planned sizes, and the stages of n*."""

from dataclasses import replace

import numpy as np
import pytest
from papers.hypothesis_counts import judged

from dpjax.baselines import ERM
from dpjax.concepts import ConvexPolygons, Domain, Hypothesis, Plane, Thresholds, tree_generators
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run.n_star import bracket, cells_in, guess, rate
from dpjax.experiments.statistics.sequential_search import geometric_grid
from dpjax.experiments.sweep.hard_polygons import hard_polygon
from dpjax.experiments.sweep.hard_tasks import (
    gapped_thresholds,
    hard_bits,
    hard_chain,
    hard_label,
    hard_threshold_bits,
    hard_thresholds,
    hard_tree,
    low_thresholds,
    nested_thresholds,
    wrong_children,
)
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import ImproperVC1
from dpjax.theory.set_cover import rounds_for
from scripts.vc1_height import NAMES, planned_rows, subsampled_rows


def errors(tree, work):
    """Error of each node as a hypothesis, exactly, as a share."""
    target = int(wide.decode(work.targets)[0])
    every = np.arange(tree.size)[:, None]
    labels = (tree.place <= every) & (every < tree.tout[tree.place])
    starts, weights = wide.decode(work.distribution.start), wide.decode(work.distribution.weight)
    wrong = labels[:, starts] != labels[target, starts]
    return wrong @ (weights / weights.sum()), target


@pytest.mark.parametrize("alpha", [0.4, 0.3, 0.1, 0.05])
def test_a_hard_tree_has_one_good_child(alpha):
    tree = tree_generators.prefixes(2, wrong_children(alpha) + 1)
    error, target = errors(tree, hard_tree(tree, alpha))
    assert tree.proper[target] and error[target] == 0
    good = error <= alpha
    node = int(np.flatnonzero(good)[0])
    children = tree.child[tree.child_start[node] : tree.child_start[node + 1]]
    assert not tree.proper[node] and len(children) == wrong_children(alpha) + 1
    assert good[children].tolist() == [True] + [False] * (len(children) - 1)
    assert set(np.flatnonzero(good)) == {node, target}
    assert error[~good].min() == pytest.approx(1.01 * alpha, rel=1e-6)


def test_any_improper_node_will_do_and_none_will_not():
    for tree in (tree_generators.recursive(200, 3, 0.5), tree_generators.caterpillar(6, 2, 1.0)):
        error, target = errors(tree, hard_tree(tree, 0.3))
        assert error[0] > 0.3 and error[target] == 0 and tree.proper[target]
        assert (error[tree.proper] > 0.3).any() and (error[~tree.proper] == 0).any()
    for tree in (tree_generators.star(5), tree_generators.prefixes(2, 9)):
        with pytest.raises(InputError, match="improper node"):
            hard_tree(tree, 0.3)


@pytest.mark.parametrize(("alpha", "length"), [(0.3, 2), (0.1, 8), (0.05, 18)])
def test_a_hard_chain_has_a_wrong_child_at_each_of_its_nodes(alpha, length):
    tree = tree_generators.caterpillar(length + 1, 1, 1.0)
    error, target = errors(tree, hard_chain(tree, alpha))
    run = np.flatnonzero(~tree.proper)
    assert len(run) == length == wrong_children(alpha) and np.all(error[run] == 0)
    children = [tree.child[tree.child_start[node] : tree.child_start[node + 1]] for node in run]
    assert all(sorted(error[own] > alpha) == [False, True] for own in children)
    assert tree.proper[target] and error[target] == 0 and tree.parent[target] == run[-1] and error[0] > alpha
    assert error[error > 0].min() == pytest.approx(1.01 * alpha, rel=1e-6)


def test_a_hard_chain_is_as_long_as_the_mass_allows():
    tree = tree_generators.caterpillar(12, 2, 1.0)  # two children beside each node
    error, target = errors(tree, hard_chain(tree, 0.1))
    assert np.sum(np.isclose(error, 0.101)) == 8 and error[target] == 0 and error[0] == pytest.approx(1 - 8 * 0.101)
    for other in (tree_generators.star(5), tree_generators.prefixes(2, 3), tree_generators.caterpillar(12, 9, 1.0)):
        with pytest.raises(InputError, match="improper nodes"):
            hard_chain(other, 0.1)


@pytest.mark.parametrize("size", [4, 7, 2**10, 2**64])
def test_low_thresholds_have_one_good_threshold_away_from_the_middle(size):
    """Its neighbors err on an atom above alpha; the atoms are exact."""
    task = low_thresholds(Thresholds(Domain(size)), 0.1)
    target, starts = int(wide.decode(task.targets)[0]), [int(e) for e in wide.decode(task.distribution.start)]
    assert target == max(2, size // 3) - 1 and {target, target + 1} <= {*starts}
    weights = dict(zip(starts, map(int, wide.decode(task.distribution.weight)), strict=True))
    assert min(weights[target], weights[target + 1]) * 10 > sum(weights.values())


@pytest.mark.grid(keep=1, per=["method"])
@pytest.mark.parametrize("method", ["exponential", "recprefix", "treelog"])
@pytest.mark.parametrize("bits", [8, 64])
def test_planned_rows_are_the_learners(method, bits):
    privacy, accuracy = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)
    concepts = Thresholds(Domain(2**bits))
    assert planned_rows(method, bits) == ImproperVC1(concepts, method).sample_size(privacy, accuracy)
    assert planned_rows("exponential", 2000) > planned_rows("recprefix", 2000)
    sizes = [ImproperVC1(concepts, own, "fewest").sample_size(privacy, accuracy) for own in NAMES]
    assert subsampled_rows(bits) == min(sizes)


def test_gapped_thresholds():
    """The good ones are the steps, all of them within 1.01 alpha, and no others by as little as a row."""
    concepts = Thresholds(Domain(64))
    task = gapped_thresholds(concepts, 0.2, 8)
    weights = np.zeros(64)
    for start, end, weight in zip(
        *(wide.decode(getattr(task.distribution, part)) for part in ("start", "end", "weight")), strict=True
    ):
        weights[start : end + 1] = weight
    mass, target = np.cumsum(weights / weights.sum()), int(wide.decode(task.targets)[0])
    error = np.abs(mass - mass[target])
    assert target == 39 and np.flatnonzero(error <= 0.2).tolist() == [*range(32, 63)]
    assert error[31] == pytest.approx(0.202, rel=1e-3)
    for steps in (0, 17):
        with pytest.raises(InputError, match="steps"):
            gapped_thresholds(concepts, 0.2, steps)


def depth(x, y, bits):
    """How many first digits two numbers share."""
    return bits - (x ^ y).bit_length()


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("size", [32, 63, 2**10, 2**64 - 1])
def test_nested_thresholds(size, levels):
    """Half of the elements on either side, at different depths, and only what lies between the outer ones is good."""
    task = nested_thresholds(Thresholds(Domain(size)), 0.2, levels)
    places, weights = (wide.decode(getattr(task.distribution, part)).tolist() for part in ("start", "weight"))
    target, bits = int(wide.decode(task.targets)[0]), size.bit_length() - 1
    assert places[0] == 0 and places[-1] == size - 1
    inner, mass = places[1:-1], np.array(weights, float) / sum(map(int, weights))
    left = [x for x in inner if x <= target]
    assert 2 * len(left) == len(inner)
    assert sum(mass[1 : 1 + len(left)]) == pytest.approx(0.202) == pytest.approx(sum(mass[1 + len(left) : -1]))
    depths = sorted(depth(x, target, bits) for x in inner)
    assert len({*depths}) == len(inner) and depths[0] >= 1 and depths[-1] <= bits - 1
    if levels == 2:
        assert all(abs(d - bits // 2).bit_count() == 1 for d in depths)
    else:
        assert np.ptp(np.diff(depths)) <= 1
    with pytest.raises(InputError, match="levels"):
        nested_thresholds(Thresholds(Domain(size)), 0.2, 3)
    with pytest.raises(InputError, match=r"at most 0\.49"):
        nested_thresholds(Thresholds(Domain(size)), 0.495, levels)


def test_nested_thresholds_need_room():
    with pytest.raises(InputError, match="32 elements"):
        nested_thresholds(Thresholds(Domain(31)), 0.2, 1)


def test_the_stages_of_n_star():
    """ERM errs iff it misses the two middle atoms, and is always in the class; not private, but quick to compile."""
    concepts, alpha = Thresholds(Domain(2**16)), 0.1
    start = Setting(ERM(concepts), hard_thresholds(concepts, alpha), 1, 1, 1.0, 0.0, alpha, 0.1)
    grid = geometric_grid(17, 64)
    with cells_in(None, 2) as cells:
        n = guess(start, cells, grid, 500, 0.9)
        assert n in grid and guess(start, cells, grid[:1], 500, 0.9999) is None
        star = bracket(start, cells, grid, start=n)
        assert star.n_high is not None and star.n_high <= 2 * n
        at = Setting(start.learner, start.task, 1, n, 1.0, 0.0, alpha, 0.1)
        found = rate(at, cells, 700)
    assert found.trials >= 700 and found.lower <= found.successes / found.trials <= found.upper
    assert str(found).startswith(f"{found.successes / found.trials:.4f} [")
    of_members = judged(at, 2, 400)
    assert of_members.members == of_members.trials == 400
    assert abs(of_members.successes / 400 - found.successes / found.trials) < 0.1
    with pytest.raises(InputError, match="noise"):
        judged(replace(at, task=Task(concepts, at.task.distribution, noise=0.1)), 2, 400)


@pytest.mark.parametrize(("bits", "wrong"), [(1, 1), (2, 1), (4, 2), (6, 3), (5, 4)])
def test_hard_bits_are_good_up_to_some_wrong_ones(bits, wrong):
    task = hard_bits(bits, 0.1, wrong)
    matrix = task.concepts.matrix()
    assert len(matrix) == 1 << bits and task.concepts.labels == 1 << bits and task.concepts.columns == bits
    share = wide.decode(task.distribution.weight) / task.total
    errors = (matrix[:, None] != matrix[None]) @ share
    differ = np.bitwise_count(np.arange(1 << bits)[:, None] ^ np.arange(1 << bits))
    assert np.array_equal(errors > 0.1, differ >= wrong)
    assert [bit.size for bit in task.concepts.bit_classes] == [2] * bits


@pytest.mark.parametrize("bits", [1, 2, 8, 16])
def test_a_hard_label_is_good_only_if_right(bits):
    task = hard_label(bits, 0.1)
    matrix = task.concepts.matrix()
    assert len(matrix) == 1 << bits == task.concepts.labels and task.concepts.columns == bits
    share = wide.decode(task.distribution.weight) / task.total
    assert (((matrix[:, None] != matrix[None, :2]) @ share > 0.1) == ~np.eye(len(matrix), 2, dtype=bool)).all()


@pytest.mark.grid
@pytest.mark.parametrize(("bits", "wrong", "elements"), [(1, 1, 15), (2, 1, 15), (3, 2, 15), (4, 2, 15), (2, 2, 6)])
def test_hard_threshold_bits_are_bad_from_some_wrong_ones(bits, wrong, elements):
    task = hard_threshold_bits(bits, 0.1, wrong, elements)
    matrix, number = task.concepts.matrix(), int(wide.decode(task.targets)[0])
    assert len(matrix) == (elements + 1) ** bits and len(task.targets) == 1
    at, weights = wide.decode(task.distribution.start), wide.decode(task.distribution.weight)
    differ = matrix[:, at] ^ matrix[number, at]
    error = (differ > 0) @ (weights / task.total)
    mistaken = sum(((differ >> i & 1) > 0).any(axis=1).astype(int) for i in range(bits))
    assert (error[mistaken >= wrong] > 0.1).all() and (error == 0).sum() == 1 == (mistaken == 0).sum()
    assert error[mistaken == wrong].min() == pytest.approx(0.101, rel=1e-6)
    assert {bit.size for bit in task.concepts.bit_classes} == {elements + 1}


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: hard_label(0, 0.1),
        lambda: hard_label(17, 0.1),
        lambda: hard_label(2, 0.995),
        lambda: hard_threshold_bits(5, 0.1),
        lambda: hard_threshold_bits(2, 0.1, elements=5),
        lambda: hard_threshold_bits(4, 0.15),
        lambda: hard_threshold_bits(2, 0.1, 3),
        lambda: hard_bits(0, 0.1),
        lambda: hard_bits(13, 0.1),
        lambda: hard_bits(4, 0.1, 5),
        lambda: hard_bits(10, 0.1),
        lambda: hard_bits(2, 0.6),
        lambda: hard_bits(2, 1.5),
    ],
)
def test_hard_bits_that_do_not_fit(attempt):
    with pytest.raises(InputError):
        attempt()


@pytest.mark.parametrize(
    ("edges", "alpha", "d"),
    [
        (4, 0.1, 2**16),
        (3, 0.1, 2**64 - 1),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((2, 0.1, 2**12), (7, 0.2, 2**40))),
    ],
)
def test_each_round_is_tempted_on_a_hard_polygon(edges, alpha, d):
    """Labels and masses as said; lines along an edge separate all groups of negatives from all positives."""
    concepts = ConvexPolygons(d, edges)
    task, rounds, width = hard_polygon(concepts, alpha), rounds_for(edges, alpha), max(1, d >> 12)
    law = task.distribution
    x, y = np.asarray(Plane(d).decode(law.points())).astype(object).T
    inside = np.asarray(concepts.predict(Hypothesis.of(task.targets), law.points()))[:, 0]
    mass = np.asarray(law.weights()) / law.total
    baits, groups = inside & (mass < 0.04), mass[~inside]
    assert len(groups) == rounds + 1 and baits.sum() == rounds + 3
    left = groups.sum()
    for one in sorted(groups, reverse=True)[: rounds - 2 * edges]:  # the last ones are smaller than the rest
        assert one == pytest.approx(left / edges)
        left -= one
    share = (1 - 1 / edges) ** rounds
    assert alpha < mass[baits][0] * rounds + share < 1.06 * alpha and np.ptp(mass[baits]) < 1e-9
    low = width + 2
    assert set(y[baits]) == {low, d - low} and set(y[~inside]) == {1, d - 1}
    for a, b in ((0, width), (width, 0), (width // 2, width // 2)):  # heights of a good line at the ends of an edge
        depth = a + (b - a) * x / d + 0.5
        assert np.array_equal(y < low - depth, ~inside & (y == 1))


def test_hard_polygons_need_room():
    for d, edges, alpha in ((16, 4, 0.1), (2**16, 1, 0.1), (2**16, 4, 0.9), (2**16, 2, 1e-13)):
        with pytest.raises(InputError, match="concepts"):
            hard_polygon(ConvexPolygons(d, edges), alpha)
    with pytest.raises(InputError, match="width"):
        hard_polygon(ConvexPolygons(2**16, 4), 0.1, 2**14)
    with pytest.raises(InputError, match="concepts"):
        hard_polygon(Plane(2**16), 0.1)
