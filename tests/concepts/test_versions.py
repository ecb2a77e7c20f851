"""Version spaces by structure against the definitions: dimensions, optimal predictions, trees of queries."""

import itertools
import random
from dataclasses import dataclass

import numpy as np
import pytest

import dpjax as dp
from dpjax.concepts.versions import Copies, Versions
from dpjax.concepts.versions.ranks import joined
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.lists.versions import versions_of
from tests.oracles.irreducible import Stable

DEPTHS = 5


def mismatches(versions, rows, generator, walks=4, steps=6):
    """(wrong answers, questions) after random labels, consistent or not."""
    rows = np.asarray(rows).astype(int)
    oracle, width, wrong, asked = Stable(rows), rows.shape[1], 0, 0
    assert versions.elements == width
    for _ in range(walks):
        space, true, labels = versions.whole, frozenset(range(len(rows))), {}
        for _ in range(steps):
            exact = [oracle.reduced(true, depth) for depth in range(DEPTHS)]
            predicted = sum(versions.prediction(space, x) << x for x in range(width))
            answers = [
                versions.dimension(space) == exact[0],
                predicted == oracle.prediction(true),
                *(versions.reduced(space, depth) == one for depth, one in enumerate(exact)),
                *(versions.reducible(space, depth) == (one < exact[0]) for depth, one in enumerate(exact)),
            ]
            x, y = int(generator.integers(width)), int(generator.integers(2))
            after, left = versions.after(space, x, y), frozenset(i for i in true if rows[i][x] == y)
            answers.append((after is None) == (not left))
            answers.append(versions.restricted(space, {x: y}) == after)
            wrong, asked = wrong + answers.count(False), asked + len(answers)
            if left:
                space, true, labels[x] = after, left, y
        answers = [versions.restricted(versions.whole, labels) == space]
        wrong, asked = wrong + answers.count(False), asked + len(answers)
    return np.array([wrong, asked])


def spider(legs, bits):
    nodes = [0, *((leg << bits) + step for leg in range(legs) for step in range(1, 1 << bits))]
    return [[x in range((node >> bits << bits) + 1, node + 1) for x in range(legs << bits)] for node in nodes]


SMALL = {
    "thresholds": [(dp.Thresholds(dp.Domain(n)), np.tri(n)) for n in range(1, 10)],
    "points": [(dp.Points(dp.Domain(n)), np.eye(n)) for n in range(1, 8)],
    "point sets": [
        (dp.PointSets(dp.Domain(n), d), families.points(n, d)) for n in range(1, 7) for d in range(1, min(n, 4) + 1)
    ],
    "spiders": [
        (dp.Spider(*size), spider(*size)) for size in ((1, 1), (2, 1), (5, 1), (1, 2), (2, 2), (3, 2), (1, 3), (2, 3))
    ],
}


@pytest.mark.parametrize("kind", SMALL)
def test_every_structured_class_at_small_size(kind):
    """All sizes from the smallest on."""
    generator = np.random.default_rng(1)
    found = sum(mismatches(versions_of(concepts), rows, generator) for concepts, rows in SMALL[kind])
    assert found[0] == 0 and found[1] > 1000


@pytest.mark.parametrize("classes", [80, pytest.param(1000, marks=pytest.mark.slow)])
def test_trees_of_random_classes(vc1, classes):
    """With flips, improper nodes and points at the root."""
    generator = np.random.default_rng(2)
    trees = (dp.Tree.of_class(vc1(generator, 8 if classes > 100 else 7)) for _ in range(classes))
    found = sum(mismatches(versions_of(tree), tree.matrix(), generator, 2) for tree in trees)
    assert found[0] == 0 and found[1] > 20 * classes


@dataclass(frozen=True)
class Histories(Versions):
    """All functions; a space is the labels so far, a pair of earlier ones and a number."""

    elements: int
    whole = ()

    def after(self, space, x, y):
        known = self.known(space)
        return (space if known[x] == y else None) if x in known else (space, 2 * x + y)

    def queries(self, space):
        return [x for x in range(self.elements) if x not in self.known(space)]

    def known(self, space):
        labels = {}
        while space:
            space, last = space
            labels[last // 2] = last % 2
        return labels


def test_spaces_that_are_pairs_with_numbers():
    """What a space and a depth are reduced to is not taken for the dimension of a pair."""
    versions = Histories(3)
    assert [versions.dimension(versions.after((), x, 1)) for x in range(3)] == [2] * 3
    assert [versions.reduced((), depth) for depth in (3, 2, 1, 0)] == [0, 1, 2, 3]


def test_products():
    """Of steady parts by a sum, of a tree and a class from outside by recursion."""
    generator = np.random.default_rng(3)
    three, pairs = dp.Thresholds(dp.Domain(3)), dp.PointSets(dp.Domain(4), 2)
    star = dp.Tree.of_parents([0, 0, 0, 1])
    for parts in ((three, pairs), (pairs,), (star, three)):
        rows = [
            np.concatenate(one)
            for one in itertools.product(
                *(np.asarray(part.matrix()) if part != pairs else families.points(4, 2) for part in parts)
            )
        ]
        product = Copies(tuple(versions_of(part) for part in parts))
        assert product.steady is (star not in parts)
        assert mismatches(product, rows, generator)[0] == 0
    assert np.array_equal(
        families.copies(np.tri(3, dtype=int), 2),
        [np.concatenate(two) for two in itertools.product(np.tri(3, dtype=int), repeat=2)],
    )
    with pytest.raises(InputError, match="parts"):
        Copies(())


@pytest.mark.parametrize("classes", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_matrices(classes):
    generator = np.random.default_rng(4)
    found = np.zeros(2, int)
    for _ in range(classes):
        matrix = np.unique(generator.integers(0, 2, (int(generator.integers(1, 14)), 5)), axis=0)
        found += mismatches(versions_of(dp.Finite.of(matrix)), matrix, generator, 1, 3)
    assert found[0] == 0 and found[1] > 30 * classes


class Plain(Versions):
    """A class that answers nothing but what it has to."""

    rows = families.intervals(4).tolist()
    elements, whole = 4, frozenset(range(11))

    def after(self, space, x, y):
        return frozenset(i for i in space if self.rows[i][x] == y) or None

    def queries(self, space):
        return range(self.elements)


def test_a_class_from_outside_is_answered_by_recursion():
    generator = np.random.default_rng(5)
    assert mismatches(Plain(), families.intervals(4), generator)[0] == 0


def test_large_domains():
    """2^64 elements and more, both ends."""
    last = 2**64 - 1
    line = versions_of(dp.Thresholds(dp.Domain(2**64)))
    assert line.dimension(line.whole) == 64 and [line.reduced(line.whole, k) for k in (1, 63, 64, 10**6)] == [
        63,
        1,
        0,
        0,
    ]
    assert line.dimension(line.after(line.whole, last, 1)) == 0 and line.after(line.whole, 0, 0) is None
    assert versions_of(dp.Thresholds(dp.Domain(2**64 - 1))).dimension((0, last - 1)) == 63
    assert line.prediction(line.whole, 2**63) == 0 and line.prediction(line.whole, 2**63 - 1) == 1
    for d in (1, 3):
        sets = versions_of(dp.PointSets(dp.Domain(2**64), d))
        space = sets.after(sets.whole, last, 1)
        assert sets.dimension(sets.whole) == d and sets.dimension(space) == d - 1
        assert not sets.reducible(sets.whole, 2**64 - 2 * d) and sets.reducible(sets.whole, 2**64 - 2 * d + 1)
        assert sets.prediction(sets.whole, 0) == 0 and sets.prediction(space, last) == 1
    many = versions_of(dp.Spider(2**20, 44))
    assert many.dimension(many.whole) == 44 and not many.reducible(many.whole, 4096)
    few = versions_of(dp.Spider(4, 44))
    leg = few.after(few.whole, 2**44 + 1, 1)
    assert few.dimension(leg) == 43 and few.reduced(leg, 43) == 1 and few.reduced(leg, 44) == 0
    assert few.after(leg, 2**44 + 1, 0) is None and few.after(leg, 5, 1) is None and few.after(leg, 5, 0) == leg


def test_numbers_out_of_range():
    line = versions_of(dp.Thresholds(dp.Domain(2**64)))
    for x in (-1, 2**64, 0.5):
        with pytest.raises(InputError, match="x"):
            line.prediction(line.whole, x)
    with pytest.raises(InputError, match="depth"):
        line.reducible(line.whole, -1)


def test_the_least_number_of_a_node_over_all_ways_to_cut_below_it():
    generator = random.Random(6)
    found = 0
    for _ in range(600):
        allowed, most, root = generator.randint(0, 2), generator.randint(0, 4), generator.random() < 0.6
        parts = [
            generator.randrange(1 << generator.randint(1, allowed + 1 + most)) for _ in range(generator.randint(0, 4))
        ]
        least = joined(parts, root, allowed, most)
        assert least == cheapest(parts, root, allowed + 1, most)
        found += least is not None
    assert 200 < found < 560


def cheapest(parts, root, floor, most):
    """Every child uncut, or cut at every level that it lacks."""
    levels = range(floor, floor + most)
    ways = ([number, *((number >> g << g) | 1 << g for g in levels if not number >> g & 1)] for number in parts)
    numbers = []
    for chosen in itertools.product(*ways):
        cuts = [number >> floor for number in chosen]
        if sum(cuts) == int(np.bitwise_or.reduce([0, *cuts])):  # no level twice
            total, carry = 0, int(root)
            for level in range(floor):
                count = sum(number >> level & 1 for number in chosen) + carry
                total, carry = (0, 1) if count > 1 else (total | count << level, 0)
            if not carry:
                numbers.append((sum(cuts) << floor) + total)
    return min(numbers, default=None)


class Property(dp.Points):
    @property
    def versions(self):
        return Plain()


class NoVersions(dp.Points):
    def versions(self):
        return [0, 1]


def test_classes_of_more_labels_and_without_structure():
    for concepts in (
        dp.Multiclass.of([[0, 1], [2, 0]]),
        dp.Bitwise(dp.Points(dp.Domain(4)), 2),
        dp.PointSets(dp.Domain(9), 1, 2),
    ):
        with pytest.raises(InputError, match="two labels"):
            versions_of(concepts)
    with pytest.raises(InputError, match="bit"):
        dp.PointSets(dp.Domain(9), 1, 2).versions()
    with pytest.raises(InputError, match="versions"):
        dp.Finite.of([[0, 1]]).versions()
    with pytest.raises(InputError, match="distinct"):
        versions_of(dp.Finite.of([[0, 1], [0, 1]])).dimension(1)
    with pytest.raises(InputError, match="concept class"):
        versions_of([[0, 1]])
    with pytest.raises(InputError, match=r"Property\.versions: expected a method"):
        versions_of(Property(dp.Domain(4)))
    with pytest.raises(InputError, match=r"NoVersions\.versions\(\): expected Versions, got list"):
        versions_of(NoVersions(dp.Domain(4)))


def test_the_height_of_a_tree_is_bounded_by_its_dimension():
    """At most 2^(d + 1) - 2, for random trees some of whose nodes are no concepts; paths attain it."""
    generator = np.random.default_rng(5)
    closest = 0.0
    for i in range(400):
        size = int(generator.integers(1, 12))
        parents = [max(0, j - 1 - int(generator.integers(0, 2 if i % 2 else j))) for j in range(1, size + 1)]
        paths = np.zeros((size + 1, size), int)
        for node, parent in enumerate(parents, 1):
            paths[node] = paths[parent]
            paths[node, node - 1] = 1
        kept = generator.random(size + 1) < 0.6
        kept[generator.integers(size + 1)] = True
        tree = dp.Tree.of_class(paths[kept] ^ generator.integers(0, 2, size))
        versions = tree.versions()
        most = 2 ** (versions.dimension(versions.whole) + 1) - 2
        assert tree.height <= most
        closest = max(closest, tree.height / max(most, 1))
    assert closest == 1
    for d in (1, 5, 300):
        line = dp.Thresholds(dp.Domain(2 ** (d + 1) - 1))
        assert line.versions().dimension(line.versions().whole) == d and line.height == 2 ** (d + 1) - 2
