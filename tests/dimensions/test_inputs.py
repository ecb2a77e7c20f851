"""What has no dimension is refused, what takes too long has proved bounds."""

import numpy as np
import pytest

from dpjax import dimensions
from dpjax.core.checks import InputError
from dpjax.dimensions import families, psi

ANY_LABELS = (
    dimensions.littlestone_dimension,
    dimensions.randomized_littlestone_dimension,
    dimensions.teaching_dimension,
    dimensions.recursive_teaching_dimension,
    lambda matrix, **rest: dimensions.psi_dimension(matrix, psi.bits, **rest),
    lambda matrix, **rest: dimensions.psi_littlestone_dimension(matrix, psi.bits, **rest),
    lambda matrix, **rest: dimensions.uniform_psi_littlestone_dimension(matrix, psi.bits, **rest),
)
BINARY = (dimensions.vc_dimension, dimensions.dual_vc_dimension, dimensions.threshold_dimension, dimensions.star_number)


@pytest.mark.parametrize("dimension", ANY_LABELS + BINARY)
@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([0, 1], "two-dimensional"),
        ([[0.5]], "column 0: expected a whole"),
        (np.zeros((0, 3), int), "a row or more"),
        ([["a"]], "whole numbers"),
        ([[0, 1], [1, 1], [0, 1]], "row 2 equal to row 0"),
        ([[0, -1]], "row 0, column 1"),
    ],
    ids=["flat", "fractions", "empty", "text", "equal rows", "negative"],
)
def test_what_is_no_class_is_refused(dimension, matrix, words):
    with pytest.raises(InputError, match=words):
        dimension(matrix)


@pytest.mark.parametrize("dimension", BINARY)
def test_binary_dimensions_of_more_labels_are_refused(dimension):
    with pytest.raises(InputError, match=r"label in row 1, column 0: expected a whole number in 0\.\.1, got 2"):
        dimension([[0, 1], [2, 1]])


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "1"])
def test_time_limits_that_are_none(seconds):
    with pytest.raises(InputError, match="seconds"):
        dimensions.vc_dimension([[0]], seconds=seconds)


@pytest.mark.parametrize("dimension", ANY_LABELS + BINARY)
def test_one_row_and_no_column(dimension):
    assert dimension([[0]]).value == 0
    if dimension is not dimensions.dual_vc_dimension:
        assert dimension(np.zeros((1, 0), int)).value == 0


def test_classes_that_are_too_large_are_refused_with_an_estimate():
    with pytest.raises(InputError, match=r"2\^28"):
        dimensions.vc_dimension(np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (1 << 20, 1 << 10), (0, 0)))
    with pytest.raises(InputError, match=r"33 rows.*GiB"):
        dimensions.subset_tables(families.thresholds(32))
    with pytest.raises(InputError, match=r"2\^17 maps"):
        dimensions.psi_littlestone_dimension(np.arange(18)[:, None], psi.bipartitions)
    for attempt in (
        lambda: families.thresholds(1 << 20),
        lambda: families.points(100, 9),
        lambda: families.intervals(5000),
        lambda: families.copies(families.thresholds(30), 6),
        lambda: families.independent_bits(6, 3),
        lambda: families.rectangles(100, 100),
        lambda: families.parities(20),
    ):
        with pytest.raises(InputError):
            attempt()


@pytest.mark.parametrize("tree", [(), (3,), (-1,), (0, (1,)), (0, (1,), (1, (0,), (0,))), (0.5,), [0], ("0",)])
def test_trees_that_are_none(tree):
    with pytest.raises(InputError, match="tree"):
        dimensions.zero_cover(families.thresholds(3), tree)


def large(labels):
    return np.unique(np.random.default_rng(1).integers(0, labels, (400, 40)), axis=0)


@pytest.mark.parametrize(
    "dimension",
    [
        dimensions.vc_dimension,
        dimensions.threshold_dimension,
        dimensions.star_number,
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (
                dimensions.teaching_dimension,
                dimensions.recursive_teaching_dimension,
                dimensions.randomized_littlestone_dimension,
            )
        ),
    ],
)
def test_a_time_limit_leaves_proved_bounds(dimension):
    """The witness proves the lower one; the upper one is at least the value, which a longer search brackets."""
    matrix = large(2)
    short, longer = dimension(matrix, seconds=1e-3), dimension(matrix, seconds=0.3)
    assert not short.exact and short.lower <= longer.upper and longer.lower <= short.upper
    with pytest.raises(InputError, match="allow more seconds"):
        _ = short.value
    assert "between" in str(short) and "stopped" in str(short)
    if isinstance(short.witness, dimensions.TeachingSets):
        assert len(short.witness.sets) == len(matrix)
    else:
        assert short.witness.holds(matrix)


def test_a_time_limit_of_uniform_and_cover_bounds():
    matrix = large(6)
    uniform = dimensions.uniform_psi_littlestone_dimension(matrix, psi.natarajan, seconds=0.05)
    assert not uniform.exact and uniform.witness.holds(matrix) and uniform.witness.depth == uniform.lower
    cover = dimensions.zero_cover_number(matrix, 9, seconds=0.05)
    assert not cover.exact and cover.lower == 1
    assert cover.upper == dimensions.sauer_bound(9, 8, 5) >= dimensions.zero_cover_number(matrix, 2).value
    littlestone = dimensions.littlestone_dimension(families.thresholds(2000), seconds=0.01)
    assert littlestone.lower <= 10 <= littlestone.upper and littlestone.witness.holds(families.thresholds(2000))


@pytest.mark.parametrize(
    "dimension",
    [
        dimensions.vc_dimension,
        dimensions.dual_vc_dimension,
        dimensions.star_number,
        dimensions.teaching_dimension,
        dimensions.recursive_teaching_dimension,
        dimensions.randomized_littlestone_dimension,
    ],
)
def test_the_time_limit_is_kept_on_large_classes(dimension):
    found = dimension(families.thresholds(700), seconds=0.2)
    assert found.seconds < 3 and 0 < found.lower <= found.upper


@pytest.mark.parametrize(
    ("numbers", "name"), [((-1, 2, 3), "depth"), ((2, -1, 3), "dimension"), ((2, 1, 0.5), "largest")]
)
def test_numbers_of_the_sauer_bound(numbers, name):
    with pytest.raises(InputError, match=f"{name}: expected a whole number >= 0"):
        dimensions.sauer_bound(*numbers)


def test_the_dual_dimension_of_a_class_without_columns():
    with pytest.raises(InputError, match=r"at least one column, got shape \(1, 0\)"):
        dimensions.dual_vc_dimension(np.zeros((1, 0), int))
