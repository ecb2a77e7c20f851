"""Known dimensions of known classes."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from dpjax.dimensions import (
    dual_vc_dimension,
    families,
    littlestone_dimension,
    psi,
    psi_littlestone_dimension,
    recursive_teaching_dimension,
    star_number,
    teaching_dimension,
    threshold_dimension,
    vc_dimension,
)


def littlestone(matrix):
    return littlestone_dimension(matrix).value


@pytest.mark.parametrize("elements", [1, 2, 3, 6, 7, 8, 31, 50])
def test_thresholds(elements):
    matrix = families.thresholds(elements)
    assert matrix.shape == (elements + 1, elements)
    assert littlestone(matrix) == int(np.log2(elements + 1))
    assert vc_dimension(matrix).value == 1 and recursive_teaching_dimension(matrix).value == 1
    assert threshold_dimension(matrix).value == elements
    assert star_number(matrix).value == teaching_dimension(matrix).value == min(2, elements)


@pytest.mark.parametrize(
    ("elements", "ones"), [(6, 2), (8, 2), (12, 2), (8, 3), (10, 3), (12, 3), (10, 4), (5, 3), (6, 4), (4, 4), (7, 0)]
)
def test_d_points(elements, ones):
    matrix = families.points(elements, ones)
    assert littlestone(matrix) == vc_dimension(matrix).value == min(ones, elements - ones)
    assert (matrix.sum(axis=1) == ones).all()
    fewer = families.points(elements, ones, exactly=False)
    assert littlestone(fewer) == vc_dimension(fewer).value == ones
    assert teaching_dimension(fewer).value == (elements if ones else 0)


def test_spec_table_of_larger_classes():
    assert littlestone(families.thresholds(1024)) == 10
    assert littlestone(families.points(256)) == 1
    assert littlestone(families.points(24, 3)) == 3
    assert littlestone(families.points(16, 4)) == 4
    assert littlestone(families.points(12, 5)) == 5
    assert littlestone(families.intervals(48)) == 9
    assert littlestone(families.rectangles(6, 6)) == 7
    assert littlestone(families.copies(families.thresholds(8), 3)) == 9
    circle = [(round(1000 * np.cos(0.2 * i)), round(1000 * np.sin(0.2 * i))) for i in range(28)]
    assert vc_dimension(families.halfspaces(circle)).value == 3


@pytest.mark.slow
def test_thresholds_of_4096_points():
    found = littlestone_dimension(families.thresholds(4096))
    assert found.value == 12 and found.seconds < 10


def test_intervals_and_rectangles():
    matrix = families.intervals(6)
    assert len(matrix) == 22 and vc_dimension(matrix).value == 2
    assert vc_dimension(families.rectangles(3, 3)).value == 4
    assert dual_vc_dimension(families.thresholds(8)).value == 1


def test_parities():
    matrix = families.parities(3)
    assert vc_dimension(matrix).value == littlestone(matrix) == 3
    assert [
        sum(a * x for a, x in zip(row, element, strict=True)) % 2
        for row in product((0, 1), repeat=3)
        for element in product((0, 1), repeat=3)
    ] == matrix.reshape(-1).tolist()


def separable(points, cut):
    """Whether a <x, y> + b >= 1 on the cut and <= -1 off it has a solution."""
    signs = np.where(cut, 1.0, -1.0)
    rows = -signs[:, None] * np.column_stack([points, np.ones(len(points))])
    free = [(None, None)] * rows.shape[1]
    return linprog(np.zeros(len(free)), rows, -np.ones(len(points)), bounds=free).status == 0


def some_of(generator, count, side, dimension):
    """Distinct points of a grid, at most ``count``."""
    return list({tuple(map(int, generator.integers(0, side, dimension))) for _ in range(count)})


PLANE = [[(x, y) for x in range(3) for y in range(2)], [(x, 2 * x) for x in range(5)], [(0, 0)]]
SPACE = [[(x, 2 * x, 1 - x) for x in range(5)], [(x, y, x + 2 * y) for x in range(3) for y in range(2)], [(4, 4, 4)]]
LINE = [[(3,), (0,), (7,)]]


@pytest.mark.parametrize("seed", range(4))
def test_halfspaces_against_linear_programs(seed):
    generator = np.random.default_rng(seed)
    sets = [some_of(generator, 7, 4, 2), some_of(generator, 8, 3, 3), some_of(generator, 7, 2, 4)]
    for places in sets + (PLANE + SPACE + LINE) * (seed == 0):
        found = {tuple(row) for row in families.halfspaces(places)}
        assert found == {cut for cut in product((0, 1), repeat=len(places)) if separable(np.array(places), cut)}


@pytest.mark.parametrize(("bits", "count"), [(1, 4), (2, 14), (3, 104)])
def test_halfspaces_of_the_cube_are_threshold_functions(bits, count):
    """Their numbers are those of the literature (Muroga 1971)."""
    matrix = families.halfspaces(list(product((0, 1), repeat=bits)))
    assert len(matrix) == len(np.unique(matrix, axis=0)) == count


def covered(left, removed, most):
    """Whether at most so many of the sets have all points that are left."""
    point = np.argmax(left)
    if not left[point]:
        return True
    return most > 0 and any(covered(left & ~one, removed, most - 1) for one in removed if one[point])


@pytest.mark.parametrize("faces", [1, 2, 3, 4])
@pytest.mark.parametrize("places", [*PLANE, *SPACE, list(product(range(3), repeat=2)), list(product((0, 1), repeat=3))])
def test_polyhedra_are_ands_of_halfspaces(places, faces):
    """A cut is one if the points outside of it are those that so many halfspaces around it leave out."""
    halves, found = families.halfspaces(places), {tuple(row) for row in families.polyhedra(places, faces)}
    for cut in product((0, 1), repeat=len(places)):
        removed = halves[(halves >= cut).all(axis=1)] == 0
        most = [one for one in removed if not any((one < other).any() and (one <= other).all() for other in removed)]
        assert covered(np.array(cut) == 0, most, faces) == (cut in found)


def ball(points, cut):
    """Whether |x - m|^2 <= r for the points of the cut alone: |x|^2 - 2 <m, x> + |m|^2 - r is at most 0 there."""
    signs, squares = np.where(cut, 1.0, -1.0), np.sum(points**2, axis=1)
    rows = signs[:, None] * np.column_stack([-2 * points, np.ones(len(points))])
    free = [(None, None)] * rows.shape[1]
    return linprog(np.zeros(len(free)), rows, -signs * squares - 1e-3, bounds=free).status == 0


@pytest.mark.parametrize("seed", range(4))
def test_balls_against_linear_programs(seed):
    """Every cut is a ball or the outside of one, and these are cuts; the slack of 1e-3 is within all of them."""
    generator = np.random.default_rng(seed)
    for places in [some_of(generator, 7, 4, 2), some_of(generator, 6, 3, 3)] + (PLANE + LINE) * (seed == 0):
        points, cuts = np.array(places), list(product((0, 1), repeat=len(places)))
        found = {tuple(row) for row in families.balls(places)}
        assert found == {cut for cut in cuts if ball(points, cut) or ball(points, tuple(1 - bit for bit in cut))}
        assert {tuple(row) for row in families.halfspaces(places)} <= found


@pytest.mark.parametrize("largest", [5, 6, 7, 8, 15, 16, 31, 32, 63, 64, 127, 255])
def test_a_bit_with_a_larger_dimension(largest):
    """Theorem 6.1 for d = 1: the gap is floor(log2(ceil(k / 2)))."""
    matrix = families.one_bit_gap(largest)
    assert matrix.max() <= largest and littlestone(matrix) == 1
    assert littlestone(families.bit(matrix, 0)) == int(np.log2((largest + 1) // 2)) >= np.log2(largest / 4)
    assert np.log2(largest / 4) >= np.log2(largest + 1) / 10


@pytest.mark.parametrize("largest", [1, 2, 3, 4])
def test_few_labels_have_no_gap(largest):
    """Theorem 6.1 for k < 5: a binary class is its own bit, and 1 >= log2(k + 1) / 10."""
    matrix = families.points(3, 3, exactly=False)
    assert littlestone(families.bit(matrix, 0)) == littlestone(matrix) == 3 >= 3 * np.log2(largest + 1) / 10


@pytest.mark.parametrize(("largest", "count"), [(5, 2), (7, 2), (15, 2), (31, 2), (7, 3)])
def test_copies_multiply_dimensions(largest, count):
    """Claim 6.2, and Theorem 6.1 for d = count."""
    matrix = families.copies(families.one_bit_gap(largest), count)
    assert littlestone(matrix) == count
    assert littlestone(families.bit(matrix, 0)) == count * int(np.log2((largest + 1) // 2))


@pytest.mark.parametrize(
    ("bits", "ones", "elements"),
    [(1, 1, 2), (2, 1, 3), (2, 1, 4), (3, 1, 4), (3, 1, 5), (4, 1, 5), (2, 2, 6), (2, 1, None)],
)
def test_independent_bits(bits, ones, elements):
    """Theorem 7.2."""
    matrix = families.independent_bits(bits, ones, elements)
    assert littlestone(matrix) == bits * ones
    assert [littlestone(families.bit(matrix, i)) for i in range(bits)] == [ones] * bits


@pytest.mark.parametrize(
    ("bits", "ones", "elements", "dimension"), [(2, 1, 2, 1), (3, 1, 3, 2), (2, 2, 4, 3), (4, 1, 4, 3), (2, 2, 5, 4)]
)
def test_with_fewer_elements_the_bits_are_not_independent(bits, ones, elements, dimension):
    assert littlestone(families.independent_bits(bits, ones, elements)) == dimension


def test_theorem_7_1_needs_the_ceiling():
    """Three labels: dimension 2, both bits 1, and 2 > 1 * log2(3)."""
    matrix = np.array([[1, 0], [1, 1], [2, 0], [2, 2]])
    bits = [littlestone(families.bit(matrix, i)) for i in range(2)]
    assert littlestone(matrix) == 2 and bits == [1, 1] and max(bits) * np.log2(3) < 2 <= max(bits) * 2


def test_families_of_maps():
    assert psi.natarajan((0, 2, 5)) == [(frozenset([0]), frozenset([2]), frozenset([5]))]
    assert psi.bits((1, 3, 4)) == [
        (frozenset([4]), frozenset([1, 3])),
        (frozenset([1, 4]), frozenset([3])),
        (frozenset([1, 3]), frozenset([4])),
    ]
    assert len(psi.bipartitions((0, 1, 2, 7))) == 7
    matrix = np.arange(8)[:, None]

    def lowest_bit_only(labels):
        return psi.bits(labels)[:1]

    assert psi_littlestone_dimension(matrix, psi.bits).value == 3
    assert psi_littlestone_dimension(matrix, lowest_bit_only).value == 1
