"""Trees that ask for the elements of a batch and then reduce what errs little, against the definitions."""

import itertools

import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts import Finite
from dpjax.concepts.versions import Versions
from dpjax.dimensions import families
from dpjax.lists import Irreducibility
from dpjax.lists.reducing_trees import largest_leaves
from dpjax.lists.versions import versions_of
from tests.concepts.test_versions import SMALL
from tests.oracles.irreducible import Stable

RANDOM = np.unique(np.random.default_rng(5).integers(0, 2, (14, 8)), axis=0)
CLASSES = {
    **{name: sizes[-1] for name, sizes in SMALL.items()},
    "intervals": (Finite.of(families.intervals(5)), families.intervals(5)),
    "random": (Finite.of(RANDOM), RANDOM),
}


def members(versions: Versions, rows, space):
    """The concepts of a space: those whose labels lead to a space inside it."""
    labels = np.asarray(rows).astype(int)
    found = []
    for i, row in enumerate(labels):
        side = space
        for x, y in enumerate(row.tolist()):
            side = None if side is None else versions.after(side, x, y)
        found += [i] * (side is not None)
    return frozenset(found)


@pytest.mark.parametrize("name", CLASSES)
def test_leaves_below_all_labelings(name):
    """Their number of concepts, the largest dimension and how they divide what errs little, by enumeration."""
    concepts, rows = CLASSES[name]
    rows = np.asarray(rows).astype(int)
    versions, oracle, generator = versions_of(concepts), Stable(rows), np.random.default_rng(3)
    several = 0
    for depth in (0, 1, 2, 4):
        for _ in range(12):
            asked = generator.choice(rows.shape[1], generator.integers(0, 4), replace=False)
            counts = [(int(x), *map(int, generator.integers(0, 4, 2))) for x in asked]
            most = np.float32(generator.integers(0, 9))
            errors = sum((np.where(rows[:, x] == 1, zeros, ones) for x, zeros, ones in counts), np.zeros(len(rows)))
            near = frozenset(np.flatnonzero(errors <= most).tolist())
            cells = {}
            for i in near:
                cells.setdefault(tuple(rows[i][asked]), set()).add(i)
            least = {labels: oracle.reduced(frozenset(cell), depth) for labels, cell in cells.items()}
            largest = max(least.values(), default=-1)
            leaves = [members(versions, rows, leaf) for leaf in largest_leaves(versions, counts, most, depth)]
            assert all(leaf <= near and oracle.littlestone(leaf) == largest for leaf in leaves)
            assert len(frozenset().union(*leaves)) == sum(map(len, leaves))  # no concept is in two
            reached = {tuple(rows[next(iter(leaf))][asked]) for leaf in leaves}
            assert reached == {labels for labels, one in least.items() if one == largest}
            several += len(reached) > 1
    assert several > 3


@pytest.mark.parametrize("name", CLASSES)
def test_trees_reduce_as_far_as_possible(name):
    """The leaves of one tree divide the space, are at most 2^depth, and have the least possible dimension."""
    concepts, rows = CLASSES[name]
    versions, oracle, generator = versions_of(concepts), Stable(rows), np.random.default_rng(4)
    for depth in (0, 1, 2, 3):
        for _ in range(6):
            space = versions.whole
            for x in generator.choice(np.asarray(rows).shape[1], 2):
                side = versions.after(space, int(x), int(generator.integers(2)))
                space = space if side is None else side
            whole = members(versions, rows, space)
            leaves = [members(versions, rows, leaf) for leaf in versions.leaves(space, depth)]
            assert sum(map(len, leaves)) == len(whole) == len(frozenset().union(*leaves)) and len(leaves) <= 2**depth
            assert max(map(oracle.littlestone, leaves)) == oracle.reduced(whole, depth)


@pytest.mark.parametrize("name", SMALL)
def test_names_of_optimal_predictions(name):
    """Of all spaces that no query reduces: the function with that name has the labels of the optimal prediction."""
    asked = 0
    for concepts, _ in SMALL[name]:
        lists = Irreducibility(concepts)
        versions, points = lists.versions, np.arange(concepts.domain.size, dtype=np.uint32)[:, None]
        reached, left = {versions.whole}, [versions.whole]
        while left:
            space = left.pop()
            sides = {versions.after(space, x, y) for x, y in itertools.product(range(len(points)), (0, 1))}
            left += sides - reached - {None}
            reached |= sides - {None}
        named = {}
        for space in [space for space in reached if not versions.reducible(space, 1)][:40]:
            labels = tuple(versions.prediction(space, x) for x in range(len(points)))
            if (name_ := lists.name(space)) is None:
                continue
            assert named.setdefault(tuple(name_), labels) == labels
            hypothesis = lists.hypothesis(np.asarray(name_, np.uint32), np.int32(0))
            assert tuple(np.asarray(concepts.predict(hypothesis, points))[:, 0].astype(int).tolist()) == labels
            asked += 1
        assert len(set(named.values())) == len(named)  # equal functions have equal names
    assert asked > 10


@pytest.mark.parametrize("ones", [1, 2, 3])
def test_the_longest_list_of_sets(ones):
    """For all rows that a set labels, counts 0 to 3 of four elements, levels and depths: attained, not exceeded."""
    versions, longest = dp.PointSets(dp.Domain(30), ones).versions(), 0
    for depth in (0, 3):
        bound = versions.longest_list(4 + depth)
        for counts in itertools.product(range(4), repeat=4):
            for inside in range(min(ones, 4) + 1):
                rows = [(x, *((0, count) if x < inside else (count, 0))) for x, count in enumerate(counts)]
                for most in (0, 1, 3):
                    longest = max(longest, len(list(largest_leaves(versions, rows, np.float32(most), depth))))
        assert longest == bound
    assert versions.longest_list(25 + 5 - 2 * ones + 1) is None
