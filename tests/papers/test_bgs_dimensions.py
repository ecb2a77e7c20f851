"""The multiclass paper's inequalities between dimensions, on random classes, extremal ones and a counterexample."""

import itertools

import numpy as np
import pytest
from papers.bgs_dimensions import COUNTEREXAMPLE, inequalities, measure, random_class

from dpjax.dimensions import families, littlestone_dimension, psi_littlestone_dimension, sauer_bound, zero_cover
from dpjax.dimensions.covers import Cover
from dpjax.dimensions.psi import bipartitions


def violated(matrix):
    return {one.source for one in inequalities(measure(matrix)) if not one.holds}


@pytest.mark.parametrize("classes", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_on_random_classes(classes):
    """Theorems 3.4, 5.6 and 7.1, Claims 4.6 and 4.7, Lemma 5.11: only Theorem 7.1 as printed ever fails."""
    generator = np.random.default_rng(1)
    found = [violated(random_class(generator)) for _ in range(classes)]
    assert set().union(*found) <= {"Theorem 7.1, printed"}


def test_on_extremal_classes():
    for matrix in (
        families.one_bit_gap(15),
        families.copies(families.one_bit_gap(5), 2),
        families.independent_bits(2, 1),
        families.independent_bits(3, 1, 4),
    ):
        assert not violated(matrix)


def test_the_counterexample():
    found = measure(COUNTEREXAMPLE)
    assert (found.k, found.multiclass, found.of_bits) == (2, 2, (1, 1))
    assert violated(COUNTEREXAMPLE) == {"Theorem 7.1, printed"}


def test_one_concept():
    assert not violated(np.array([[3, 1]])) and measure(np.array([[0, 0]])).largest_bit == 0


def test_all_three_bounds_of_covers_are_compared():
    """Theorem 5.6: below the dimension every sequence of labels may be needed, and all subsets of 3 points are."""
    cube = families.points(3, 3, exactly=False)
    found = [one for one in inequalities(measure(cube)) if one.source == "Theorem 5.6"]
    assert len({one.words for one in found}) == 3
    assert [one.small for one in found if "n < MLD" in one.words] == [1, 2, 4]
    assert [sauer_bound(n, 3, 4) for n in range(4)] == [5**n for n in range(4)]


def test_the_union_of_two_covers_covers_the_union_of_two_classes():
    """Claim 5.9, for classes that overlap; the union's least cover may be smaller, and is no smaller than either."""
    generator, tree = np.random.default_rng(1), (0, (1, (3,), (2,)), (2, (3,), (1,)))
    smaller = 0
    for _ in range(60):
        every = np.unique(generator.integers(0, 3, (8, 4)), axis=0)
        parts = every[: len(every) - 2], every[2:]
        one, two = (zero_cover(part, tree) for part in parts)
        both = zero_cover(every, tree)
        assert Cover(tree, one.witness.labelled + two.witness.labelled).holds(every)
        assert max(one.value, two.value) <= both.value <= one.value + two.value
        smaller += both.value < one.value + two.value
    assert smaller


def test_the_recursion_of_sauers_bound():
    """Claim 5.10."""
    for n, k in itertools.product(range(2, 9), range(1, 5)):
        for d in range(1, n):
            assert sauer_bound(n - 1, d, k) + k * sauer_bound(n - 1, d - 1, k) == sauer_bound(n, d, k)


def test_at_most_one_label_keeps_the_dimension():
    """Claim 5.7."""
    generator = np.random.default_rng(2)
    for _ in range(150):
        matrix = random_class(generator)
        d = littlestone_dimension(matrix).value
        for column in matrix.T:
            parts = [littlestone_dimension(matrix[column == label]).value for label in np.unique(column)]
            assert max(parts) <= d and parts.count(d) <= 1


def test_a_tree_that_all_maps_shatter_needs_a_cover_for_each_leaf():
    """Lemma 5.11, by the exact cover number of the tree of inputs of the witness."""

    def inputs(node):
        return (node.point, *(inputs(child) for child in node.children if child.children is not None))

    generator, deepest = np.random.default_rng(3), 0
    for _ in range(150):
        matrix = random_class(generator)
        found = psi_littlestone_dimension(matrix, bipartitions)
        if found.value:
            assert zero_cover(matrix, inputs(found.witness)).value >= 2**found.value
            deepest = max(deepest, found.value)
    assert deepest >= 3
