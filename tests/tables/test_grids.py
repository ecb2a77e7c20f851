"""Public grids: cells, edges, and sentences in the units of a column."""

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.tables.grids import Grid, Placing, on_cube, on_lines, on_plane, written


def test_a_grid_places_values_and_names_the_edge():
    grid = Grid(0.0, 8.0, 3)
    np.testing.assert_array_equal(grid.place("v", np.array([0.0, 0.99, 1.0, 7.99, 8.0]), False), [0, 0, 1, 7, 7])
    assert grid.edge(3) == 3.0
    flipped = Grid(0.0, 8.0, 3, flip=True)
    np.testing.assert_array_equal(flipped.place("v", np.array([0.0, 8.0, 5.5]), False), [7, 0, 2])
    assert flipped.edge(3) == 5.0


@pytest.mark.parametrize("flip", [False, True])
def test_sentences_say_which_values_have_elements_in_a_range(flip):
    grid = Grid(-1.0, 3.0, 4, flip)
    values = np.linspace(-1, 3, 500)
    elements = Placing(("v",), (grid,)).elements([values])[:, 0]
    assert elements.min() == 1 and elements.max() == 16, "no value has element 0"
    for first in range(17):
        for last in range(17):
            said = grid.sentence("v", first, last)
            inside = (first <= elements) & (elements <= last)
            if not inside.any() or inside.all():
                assert said == f"{int(inside.any())} everywhere"
                continue
            low, high = grid.interval(first, last)
            np.testing.assert_array_equal(inside, (values >= low) & ((values < high) | (high == 3)))
            shown = {"<": low == -1, ">=": high == 3, "in [": low > -1 and high < 3}
            assert [word for word, is_shown in shown.items() if is_shown] == [w for w in shown if f"v {w}" in said]
            assert f"{low:.6g}" in said or f"{high:.6g}" in said


def test_clip_or_refuse():
    grid = Grid(0.0, 1.0, 2)
    with pytest.raises(InputError, match=r"1\.5 in row 2"):
        grid.place("v", np.array([0.5, 1.5]), False)
    np.testing.assert_array_equal(grid.place("v", np.array([0.5, 1.5]), True), [2, 3])


def test_several_lines_and_a_shape():
    values = [np.array([0.0, 1.0]), np.array([9.0, 4.0])]
    lines = on_lines(["a", "b"], ["b=0:8", "a=0:4"], 2, ["b"])
    np.testing.assert_array_equal(lines.elements(values)[..., 0], [[1, 1], [2, 2]])
    assert lines.domain.size == 5 and lines.outside(values) == {"a": 0, "b": 1}
    with pytest.raises(InputError, match=r"column 'b'.*9 in row 1"):
        lines.require(values)
    plane = on_plane(["a", "b"], (0, 0, 4, 8), 2)
    np.testing.assert_array_equal(plane.elements(values), [[0, 3], [1, 2]])
    for placing in (lines, plane):
        assert Placing.of(placing.to_dict()) == placing


@pytest.mark.parametrize(
    ("bounds", "flip", "words"),
    [
        ([], [], "never read from the data"),
        (["a=1:0"], [], "low < high"),
        (["a=0:nan"], [], "low < high"),
        (["a=0:inf"], [], "low < high"),
        (["a=2020-01-01:2021-01-01"], [], "a date is a number of days, in the table and in its bounds"),
        (["a"], [], "name=low:high"),
        (["c=0:1"], [], "categories or flip"),
        (["a=0:1"], ["b"], "categories or flip"),
    ],
)
def test_bad_bounds(bounds, flip, words):
    with pytest.raises(InputError, match=words):
        on_lines(["a"], bounds, 8, flip)


def test_bad_boxes():
    for box in ((0, 0, 0, 1), (0, 1, 1, 0), (0, 0, float("nan"), 1), (0, 0, 1, float("inf")), None):
        with pytest.raises(InputError, match="box"):
            on_plane(["a", "b"], box, 2)
    with pytest.raises(InputError, match="bits"):
        on_plane(["a", "b"], (0, 0, 1, 1), 31)


def test_bounds_without_a_name_say_how_to_write_them():
    with pytest.raises(InputError, match="write age=0:40"):
        on_lines(["age"], ["0:40"], 4, [])


@pytest.mark.parametrize(
    ("low", "high", "bits"),
    [
        (1.5e9, 1.7e9, 16),
        (1.5e9, 1.7e9, 30),
        (20190101, 20260101, 16),
        (-1e-9, 1e-9, 8),
        (0, 1e300, 4),
        (123456.5, 123457, 20),
        (0, 40, 16),
    ],
)
def test_rules_have_the_digits_that_the_grid_needs(low, high, bits):
    """The rule as it is printed labels values as the grid does, except within a tenth of a cell of the edge."""
    grid = Grid(float(low), float(high), bits)
    width = (grid.high - grid.low) / 2**bits
    for cells in np.linspace(1, 2**bits - 1, 37).astype(int).tolist():
        said = grid.sentence("v", 1, cells).removeprefix("1 iff v < ")
        edge = grid.edge(cells)
        assert abs(float(said) - edge) <= width / 10 and ("e" not in said or high == 1e300 or high == 1e-9)
        values = edge + np.array([-0.9, -0.11, 0.11, 0.9]) * width
        if width > 64 * np.spacing(max(abs(grid.low), grid.high)):
            np.testing.assert_array_equal(values < float(said), grid.place("v", values, True) < cells)


def test_numbers_are_written_in_full():
    for value, text in (
        (1.7e9, "1700000000"),
        (20210522.25, "20210522.25"),
        (0.1, "0.1"),
        (-3.0, "-3"),
        (0.0, "0"),
        (1e300, "1e+300"),
        (2.0**-30, "9.313225746154785e-10"),
    ):
        assert written(value) == text
    assert written(15.228271484375, 1e-4) == "15.2283" and written(1577836812.3, 3e4) == "1577840000"
    with pytest.raises(InputError, match=r"bounds 1600000000:1700000000, got 1700000001 in row 1"):
        Grid(1.6e9, 1.7e9, 4).require("v", np.array([1.7e9 + 1]))


def test_bounds_whose_difference_is_infinite_are_refused():
    with pytest.raises(InputError, match="low < high"):
        on_lines(["a"], ["a=-1.7e308:1.7e308"], 8)


def test_a_stored_cube_with_too_many_edges_is_refused_before_they_are_listed():
    stored = on_cube(["a"], ["a=0:1"], 3).to_dict()
    stored["features"][0]["bits"] = 50
    with pytest.raises(InputError, match="dimension"):
        Placing.of(stored)
