"""The families of trees: their shapes, and how many nodes are improper."""

import numpy as np
import pytest

from dpjax.concepts import tree_generators as families
from dpjax.concepts.tree.tree import Tree
from dpjax.core.checks import InputError


def children(tree):
    return np.diff(tree.child_start)


@pytest.mark.parametrize("nodes", [0, 1, 2, 30])
def test_paths_are_thresholds_and_stars_are_points(nodes):
    path, star = families.path(nodes), families.star(nodes)
    assert path.height == nodes and path.size == star.size == nodes + 1 and star.height == min(nodes, 1)
    assert path.maximum and star.maximum
    if nodes:
        np.testing.assert_array_equal(path.matrix(), np.tri(nodes + 1, nodes, -1, dtype=bool))
        np.testing.assert_array_equal(star.matrix()[1:], np.eye(nodes, dtype=bool))


@pytest.mark.parametrize(("branching", "height"), [(1, 6), (2, 0), (2, 4), (3, 3), (7, 1)])
def test_complete_trees(branching, height):
    tree = families.complete(branching, height)
    assert np.bincount(tree.depth).tolist() == [branching**level for level in range(height + 1)]
    assert np.all(np.isin(children(tree), (0, branching))) and tree.maximum


@pytest.mark.parametrize(("length", "alphabet"), [(1, 2), (4, 2), (3, 5)])
def test_prefix_classes(length, alphabet):
    tree = families.prefixes(length, alphabet)
    assert tree.proper.sum() == alphabet**length + 1 and tree.height == length
    np.testing.assert_array_equal(tree.matrix().sum(axis=1), [0] + [length] * alphabet**length)


def test_caterpillars():
    assert np.bincount(families.caterpillar(5, 3).depth).tolist() == [1, 1, 4, 4, 4, 4, 3]
    assert families.caterpillar(5, 0).parent.tolist() == [0, 0, 1, 2, 3, 4]


def test_figure_one():
    tree = families.figure_one()
    assert tree.domain.size == 7 and tree.maximum and tree.height == 3
    sets = {frozenset(np.flatnonzero(row)) for row in tree.matrix()}
    assert sets == set(map(frozenset, [[0], [1], [2], [0, 3], [0, 4], [0, 4, 5], [0, 4, 6], []]))
    assert Tree.of_class(tree.matrix(), f=0) == tree


FALSE_ALARM = 1e-6


@pytest.mark.statistical
def test_random_recursive_trees_have_uniform_parents(stats):
    """A parent lies in the older half of the nodes there were as often as there are such nodes."""
    assert stats.false_alarm == FALSE_ALARM
    tree = families.recursive(3000, 5)
    assert tree.size == 3001 and tree == families.recursive(3000, 5) and tree != families.recursive(3000, 6)
    assert 12 <= tree.height <= 40 and tree.maximum  # about e ln 3000 = 22
    born = np.argsort(tree.place) + 1  # of each node but the root, its number before numbering anew
    number = np.concatenate([[0], born])
    older = number[tree.parent[1:]]
    assert np.all(older < born)
    halves = older[born >= 100] < born[born >= 100] / 2
    even = np.mean(np.ceil(born[born >= 100] / 2) / born[born >= 100])
    stats.frequency(int(halves.sum()), len(halves), float(even))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(
    "make",
    [
        lambda share, seed: families.complete(2, 7, share, seed),
        lambda share, seed: families.recursive(500, 3, share) if seed == 3 else families.recursive(500, seed, share),
        lambda share, seed: families.caterpillar(50, 2, share, seed),
    ],
    ids=["complete", "recursive", "caterpillar"],
)
def test_shares_of_improper_nodes(make, share):
    tree = make(share, 3)
    may = children(tree) >= 2
    may[0] = False
    assert (~tree.proper).sum() == round(share * may.sum()) and np.all(may[~tree.proper])
    assert tree == make(share, 3)
    if 0 < share < 1 and may.sum() > 10:
        assert tree != make(share, 4)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: families.path(-1),
        lambda: families.star(2.0),
        lambda: families.complete(0, 3),
        lambda: families.complete(2, 60),
        lambda: families.prefixes(3, 1),
        lambda: families.recursive(5, -1),
        lambda: families.recursive(5, 2**32),
        lambda: families.caterpillar(0, 3),
        lambda: families.complete(2, 3, improper=1.5),
        lambda: families.complete(2, 3, improper=float("nan")),
    ],
)
def test_what_is_no_family_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
