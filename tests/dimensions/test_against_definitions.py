"""Every dimension of random classes against its definition, and every witness against the class."""

import numpy as np
import pytest

from dpjax import dimensions
from dpjax.dimensions import psi
from tests.dimensions.classes import random_class
from tests.oracles import dimensions as naive

FAMILIES = [
    (psi.natarajan, naive.pairs_of_labels),
    (psi.bits, naive.bits_of_labels),
    (psi.bipartitions, naive.all_maps),
]


def check(found, value, matrix):
    assert found.exact and found.value == found.lower == found.upper == value
    assert found.witness.holds(matrix)


@pytest.mark.parametrize(("family", "maps"), FAMILIES)
def test_psi_littlestone_dimensions(family, maps):
    generator = np.random.default_rng(1)
    for _ in range(250):
        matrix = random_class(generator, 12, 5, 4 if maps is naive.all_maps else 6)
        found = dimensions.psi_littlestone_dimension(matrix, family)
        check(found, naive.littlestone(matrix, maps), matrix)
        assert found.witness.depth == found.value


@pytest.mark.parametrize(("family", "maps"), FAMILIES)
def test_uniform_psi_littlestone_dimensions(family, maps):
    generator = np.random.default_rng(2)
    for _ in range(100):
        matrix = random_class(generator, *((6, 3, 3) if maps is naive.all_maps else (9, 4, 4)))
        found = dimensions.uniform_psi_littlestone_dimension(matrix, family)
        check(found, naive.uniform(matrix, maps), matrix)
        levels = {}
        for _, path in found.witness.leaves():
            for level, (_, map_, _) in enumerate(path):
                levels.setdefault(level, set()).add(map_)
        assert len(levels) == found.value and all(len(maps) == 1 for maps in levels.values())


@pytest.mark.parametrize(("family", "maps"), FAMILIES)
def test_psi_dimensions(family, maps):
    generator = np.random.default_rng(3)
    for _ in range(100):
        matrix = random_class(generator, 10, *((3, 3) if maps is naive.all_maps else (4, 4)))
        found = dimensions.psi_dimension(matrix, family)
        check(found, naive.psi(matrix, maps), matrix)
        assert len(found.witness.points) == found.value


def test_vc_and_dual_vc_dimensions():
    generator = np.random.default_rng(4)
    for _ in range(300):
        matrix = random_class(generator, 20, 6, 2)
        found = dimensions.vc_dimension(matrix)
        check(found, naive.psi(matrix, naive.pairs_of_labels), matrix)
        dual = dimensions.dual_vc_dimension(matrix)
        check(dual, naive.psi(np.unique(matrix.T, axis=0), naive.pairs_of_labels), matrix.T)


def test_threshold_dimension_and_star_number():
    generator = np.random.default_rng(5)
    for _ in range(300):
        matrix = random_class(generator, 10, 6, 2)
        chain, star = dimensions.threshold_dimension(matrix), dimensions.star_number(matrix)
        check(chain, naive.threshold(matrix), matrix)
        check(star, naive.star(matrix), matrix)
        assert len(chain.witness.points) == chain.value and len(star.witness.points) == star.value
        littlestone = dimensions.littlestone_dimension(matrix).value
        if littlestone:  # Yan 2025, Theorem 4
            assert int(np.log2(littlestone)) <= chain.value <= 2 ** (littlestone + 1)


def test_teaching_dimensions():
    generator = np.random.default_rng(6)
    for _ in range(300):
        matrix = random_class(generator, 10, 5, 4)
        everybody = range(len(matrix))
        found = dimensions.teaching_dimension(matrix)
        check(found, max(naive.teaching_set_size(matrix, row, everybody) for row in everybody), matrix)
        assert max(map(len, found.witness.sets)) == found.witness.hard[1] == found.value
        found = dimensions.recursive_teaching_dimension(matrix)
        check(found, naive.recursive_teaching(matrix), matrix)
        assert max(map(len, found.witness.sets)) == found.witness.hard[1] == found.value


def test_randomized_littlestone_dimension():
    generator = np.random.default_rng(7)
    for _ in range(200):
        matrix = random_class(generator, 9, 5, 4)
        found = dimensions.randomized_littlestone_dimension(matrix)
        check(found, naive.randomized_littlestone(matrix), matrix)
        assert found.witness.expected_depth == 2 * found.value
        deterministic = dimensions.littlestone_dimension(matrix).value
        assert deterministic / 2 <= found.value <= deterministic


def test_zero_covers():
    generator = np.random.default_rng(8)

    def tree(depth, elements):
        x = int(generator.integers(elements))
        return (x,) if depth == 1 else (x, tree(depth - 1, elements), tree(depth - 1, elements))

    for _ in range(60):
        matrix = random_class(generator, 6, 4, 3)
        one = tree(int(generator.integers(1, 3 if matrix.max() > 1 else 4)), matrix.shape[1])
        found = dimensions.zero_cover(matrix, one)
        check(found, naive.zero_cover(matrix, one), matrix)


@pytest.mark.parametrize("labels", [2, 3, 4])
def test_the_largest_cover_over_all_trees(labels):
    """With a worst tree."""
    generator = np.random.default_rng(9)

    def trees(depth, elements):
        below = trees(depth - 1, elements) if depth > 1 else []
        return (
            [(x,) for x in range(elements)]
            if depth == 1
            else [(x, left, right) for x in range(elements) for left in below for right in below]
        )

    for _ in range(40):
        matrix = random_class(generator, 8, 3, labels)
        for depth in (1, 2, 3) if matrix.shape[1] < 3 else (1, 2):
            found = dimensions.zero_cover_number(matrix, depth)
            largest = max(dimensions.zero_cover(matrix, tree).value for tree in trees(depth, matrix.shape[1]))
            assert found.value == largest and found.witness.holds(matrix)
            assert dimensions.zero_cover(matrix, found.witness.tree).value == largest
            assert dimensions.sauer_bound(depth, dimensions.littlestone_dimension(matrix).value, labels - 1) >= largest
            assert own_trees(matrix, depth) >= largest


def own_trees(table, depth):
    """The recursion in which every label continues with its own best subtrees."""
    if depth == 0:
        return 1
    return max(sum(own_trees(table[column == y], depth - 1) for y in set(column.tolist())) for column in table.T)


def test_labels_that_need_three_subtrees_share_two():
    """Where giving every label its own best subtrees is too much: label y at element 0 frees element y + 1."""
    matrix = np.array([[y, *(free * (i == y) for i in range(3))] for y in range(3) for free in (0, 1)])
    found = dimensions.zero_cover_number(matrix, 2)
    assert found.value == dimensions.zero_cover(matrix, found.witness.tree).value == 5 < own_trees(matrix, 2) == 6


def test_tables_over_all_sets_of_rows():
    generator = np.random.default_rng(10)
    for _ in range(20):
        matrix = random_class(generator, 8, 5, 2)
        tables = dimensions.subset_tables(matrix)
        members = [[r for r in range(len(matrix)) if rows >> r & 1] for rows in range(1 << len(matrix))]
        exact = [naive.littlestone(matrix[rows], naive.pairs_of_labels) if rows else -1 for rows in members]
        assert tables.littlestone.tolist() == exact
        for rows, chosen in enumerate(members):
            sides = [
                [sum(1 << r for r in chosen if matrix[r, x] == label) for label in (0, 1)]
                for x in range(matrix.shape[1])
            ]
            larger = [exact[ones] > exact[zeros] for zeros, ones in sides]
            assert [bool(tables.prediction[rows] >> x & 1) for x in range(matrix.shape[1])] == larger
