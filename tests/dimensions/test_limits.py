"""Deep classes, time limits from the first step on, large labels, and families that are none."""

import itertools
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from dpjax import dimensions
from dpjax.core.checks import InputError
from dpjax.dimensions import automaton, families, psi
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.summary import summary


def test_trees_as_deep_as_the_class_is_large(monkeypatch):
    """Points alone: a tree with a leaf of every depth, deeper than Python's limit of nested calls."""

    def no_time(search, rows):
        raise TimeIsUp

    monkeypatch.setattr(dimensions.randomized._Search, "depth", no_time)
    found = dimensions.randomized_littlestone_dimension(families.points(600))
    tree = found.witness
    assert len(tree.nodes()) == 2 * 600 - 1 and sum(tree.depths.values()) == 600 and max(tree.depths) == 599
    assert tree.expected_depth == 2 * found.lower and 0 < 1 - found.lower < Fraction(1, 10**6)
    assert "600 leaves" in str(tree) and len(repr(found)) < 1e4 and tree.holds(families.points(600))
    assert tree.expected_depth == sum(Fraction(len(path), 2 ** len(path)) for _, path in tree.leaves())


def test_an_exact_search_as_deep_as_the_class():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(250)
    try:
        found = dimensions.randomized_littlestone_dimension(families.points(60))
        assert found.exact and max(found.witness.depths) == 59
    finally:
        sys.setrecursionlimit(limit)


def test_teaching_sets_with_more_points_than_nested_calls():
    count = sys.getrecursionlimit() + 10
    sets = [1 << x for x in range(count)]
    assert dimensions.teaching._smallest(sets, Clock(None)) == tuple(range(count))


def test_covers_of_trees_deeper_than_the_class():
    assert dimensions.zero_cover_number([[0, 0], [0, 1], [1, 1]], 5000).value == 3
    matrix = np.array([[0, 2, 1], [0, 1, 1], [1, 1, 1], [2, 2, 0]])
    values = [dimensions.zero_cover_number(matrix, depth).value for depth in range(6)]
    assert values == sorted(values) and values[0] == 1 and values[-1] == 4


WIDE = families.one_bit_gap(1199)  # 600 labels at each of 600 elements: 10^8 pairs
BINARY = (np.random.default_rng(3).random((4000, 1000)) < 0.5).astype(np.int64)


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize(
    ("dimension", "matrix"),
    [
        (dimensions.littlestone_dimension, WIDE),
        (dimensions.randomized_littlestone_dimension, WIDE),
        (lambda matrix, seconds: dimensions.psi_dimension(matrix, psi.natarajan, seconds), WIDE),
        (lambda matrix, seconds: dimensions.psi_littlestone_dimension(matrix, psi.bits, seconds), WIDE),
        (lambda matrix, seconds: dimensions.uniform_psi_littlestone_dimension(matrix, psi.natarajan, seconds), WIDE),
        (lambda matrix, seconds: dimensions.zero_cover_number(matrix, 4, seconds), WIDE),
        (dimensions.threshold_dimension, BINARY),
        (dimensions.star_number, BINARY),
        (dimensions.vc_dimension, BINARY),
    ],
)
def test_the_limit_holds_for_the_first_step_too(dimension, matrix):
    """Each took many seconds before its search began."""
    start = time.monotonic()
    found = dimension(matrix, seconds=0.05)
    assert time.monotonic() - start < 3 and found.lower <= found.upper
    if found.witness is not None:
        assert found.witness.holds(matrix)


@pytest.mark.parametrize("ticks", [0, 1, 4, 16, 64])
def test_bounds_of_a_star_search_that_ends_after_some_steps(ticks, monkeypatch):
    """The empty set and five points: a star of all of them."""
    matrix, left = np.vstack([np.zeros((1, 5), int), np.eye(5, dtype=int)]), itertools.count()

    def tick(clock):
        if next(left) == ticks:
            raise TimeIsUp

    monkeypatch.setattr(Clock, "tick", tick)
    found = dimensions.star_number(matrix)
    assert found.lower <= 5 <= found.upper and found.witness.holds(matrix)


def test_columns_with_many_labels_are_read_as_those_with_few():
    column = np.random.default_rng(4).integers(0, 40, 300)
    expected = [(label, sum(1 << int(row) for row in np.flatnonzero(column == label))) for label in np.unique(column)]
    assert len(expected) > 16 and list(dimensions.matrix.cells(column)) == expected


def test_a_chain_of_all_points_is_found_at_once():
    found = dimensions.threshold_dimension(families.thresholds(400))
    assert found.value == 400 and found.seconds < 10


def test_families_with_too_many_maps_are_named_and_left_out():
    found = {one.name: one for one in summary(families.one_bit_gap(399), seconds=0.02)}
    top = "Psi^B-Littlestone dimension"
    for name, words in (("Natarajan dimension", "3980000 pairs of labels"), (top, "200 labels")):
        assert (found[name].lower, found[name].upper) == (0, 7) and words in str(found[name].witness)
    wide = np.random.default_rng(5).integers(0, 17, (200, 40))
    assert "maps of labels" in str({one.name: one for one in summary(wide, 0.02)}[top].witness)


def test_witnesses_of_bits_are_about_the_rows_of_the_class():
    matrix = np.array([[3, 1], [2, 2], [3, 3], [0, 3], [1, 0]])
    for found in summary(matrix):
        if " of bit " in found.name:
            assert found.exact and found.witness.holds(matrix >> int(found.name[-1]) & 1)
    assert families.bit(matrix, 1).tolist() == [[1, 0], [1, 1], [0, 1], [0, 0]]  # in order of their first places


@pytest.mark.parametrize("dtype", [np.uint64, object])
def test_labels_beyond_64_bits_are_refused(dtype):
    matrix = np.array([[2**64 - 1], [0]], dtype)
    for dimension in (
        dimensions.littlestone_dimension,
        lambda one: dimensions.psi_littlestone_dimension(one, psi.bits),
    ):
        with pytest.raises(InputError, match=r"0\.\.2\^63 - 1|whole numbers"):
            dimension(matrix)
    largest = np.array([[2**63 - 1], [0]], np.uint64)
    found = dimensions.psi_littlestone_dimension(largest, psi.bits)
    assert found.value == 1 and found.witness.holds(largest)


def test_automata_that_are_too_large_are_refused_with_an_estimate(monkeypatch):
    with pytest.raises(InputError, match=r"labels 0\.\.10{12}: .*GiB; number the labels"):
        automaton.standard_optimal_algorithm([[10**12], [0]])
    monkeypatch.setattr(automaton, "LARGEST", 100)
    with pytest.raises(InputError, match=r"states, 12 elements .*GiB"):
        automaton.standard_optimal_algorithm(families.thresholds(12))


def overlapping(labels):
    return [(frozenset({0, 1}), frozenset({1, 0}))]


@pytest.mark.parametrize(
    "family", ["bin", None, overlapping, lambda labels: None, lambda labels: [0], lambda labels: [({0}, {1})]]
)
@pytest.mark.parametrize(
    "dimension",
    [dimensions.psi_dimension, dimensions.psi_littlestone_dimension, dimensions.uniform_psi_littlestone_dimension],
)
def test_families_that_are_none(dimension, family):
    with pytest.raises(InputError, match=r"^family: expected .*; (take psi\.natarajan|let every label)"):
        dimension([[0, 0], [1, 1]], family)


def test_a_shattered_set_needs_maps_with_disjoint_sides():
    both = frozenset({0, 1})
    assert not dimensions.ShatteredSet((0,), ((both, both),), (0, 1)).holds([[0, 0], [1, 1]])
    assert dimensions.ShatteredSet((0,), ((frozenset({0}), frozenset({1})),), (0, 1)).holds([[0, 0], [1, 1]])


@pytest.mark.parametrize("exactly", ["no", 0, None])
def test_exactly_is_true_or_false(exactly):
    with pytest.raises(InputError, match="exactly: expected bool"):
        families.points(8, 2, exactly)


@pytest.mark.parametrize(
    "places", [[(0.5, 1), (0, 0)], None, [1, 2], ["ab"], [], [(0, 0), (0, 0)], [(1, 2), (1, 2, 3)]]
)
@pytest.mark.parametrize("family", [families.halfspaces, families.balls, lambda places: families.polyhedra(places, 2)])
def test_halfspaces_need_distinct_points_with_whole_coordinates(places, family):
    with pytest.raises(InputError, match="places: expected distinct points"):
        family(places)
    assert len(families.halfspaces(np.array([(0, 0), (1, 2)]))) == 4


@pytest.mark.parametrize("faces", [0, 1.5, None])
def test_polyhedra_have_a_face_and_a_list(faces):
    with pytest.raises(InputError, match="faces: expected"):
        families.polyhedra([(0, 0), (1, 2)], faces)


def test_polyhedra_that_are_too_many_to_list():
    with pytest.raises(InputError, match="class: expected at most"):
        families.polyhedra([(x, y, z) for x in range(3) for y in range(3) for z in range(3)], 3)
