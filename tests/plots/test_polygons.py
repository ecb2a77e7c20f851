"""The figure of a shape: files with what made them, lines and triangles of the rounds, true shapes, other units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shapely
from matplotlib.figure import Figure

from dpjax.concepts import Hypothesis, Unions
from dpjax.concepts.plane import UniformPlane
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.core.types import Sample
from dpjax.plots import read_metadata
from dpjax.plots.polygons import _across, _draw, plot_polygon


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ((1, 0, 3), {(3, 0), (3, 10)}),
        ((0, -2, -8), {(0, 4), (10, 4)}),
        ((1, 1, 10), {(0, 10), (10, 0)}),
        ((1, -1, 5), {(5, 0), (10, 5)}),
        ((1, 1, 30), set()),
        ((1, 1, 0), set()),
        ((2, 1, 30), {(10, 10)}),
    ],
)
def test_lines_across_the_square(line, ends):
    found = _across(*line, 10)
    assert set(found) == (ends if len(ends) == 2 else set())


def labelled(concepts, target, plane, key, rows, real):
    """So many rows, the first of which are real, with the labels of the target."""
    x = jax.jit(lambda key: plane.draw(key, rows))(key)
    return Sample(x, jax.jit(concepts.predict)(target, x), np.arange(rows) < real)


@pytest.mark.parametrize("d", [pytest.param(2**12, marks=pytest.mark.slow), 2**64 - 1])
def test_a_figure_carries_what_made_it(tmp_path, key, d):
    concepts, truth = ConvexPolygons(d, 6), ConvexPolygons(d, 4)
    hypothesis, target = Hypothesis.of(concepts.targets(1)), Hypothesis.of(truth.targets(1, seed=2))
    sample = labelled(truth, target, UniformPlane(d), key, 300, 250)
    about = {"seed": 3, "versions": {"dpjax": "0"}}
    paths = plot_polygon((concepts, hypothesis), sample, tmp_path / "p", about, "A polygon", truth=(truth, target))
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert read_metadata(paths[0]) == about
    (again,) = plot_polygon(
        (concepts, hypothesis), sample, tmp_path / "q", about, "A polygon", truth=(truth, target), formats="svg"
    )
    assert paths[1].read_bytes() == again.read_bytes()
    (alone,) = plot_polygon(
        (concepts, hypothesis), sample, tmp_path / "alone", about, "", formats="pdf", width="column"
    )
    assert b"/MediaBox [ 0 0 237.6 " in alone.read_bytes()


def drawn(learned, sample, truth=None, box=(0.0, 0.0, 100.0, 100.0)):
    axes = Figure().subplots()
    _draw(axes, learned, sample, truth, box)
    numbers = [text.get_text() for text in axes.texts]
    return axes, numbers, [np.column_stack(line.get_data()) for line in axes.lines]


def test_triangles_of_a_union_are_numbered_and_empty_ones_left_out(key):
    concepts = Unions(100, 3)
    words = concepts.of_polygons(
        [[(10, 10), (60, 10), (10, 60)], [(100, 90), (100, 91), (99, 90)], [(50, 50), (90, 50), (90, 90)]]
    )
    learned = concepts, Hypothesis.of(jnp.asarray(words)[None])
    sample = labelled(*learned, UniformPlane(100), key, 50, 50)
    hole = shapely.box(20, 20, 80, 80).difference(shapely.box(40, 40, 60, 60))
    axes, numbers, lines = drawn(learned, sample, hole, (-10.0, 0.0, 10.0, 50.0))
    assert numbers == ["1", "3"]
    assert axes.get_xlim() == (-10, 10) and axes.get_ylim() == (0, 50)
    triangle = next(line for line in lines if len(line) == 4)
    assert {tuple(np.round(corner, 6)) for corner in triangle} == {(-8, 5), (2, 5), (-8, 30)}
    inner = {tuple(np.round(corner, 6)) for line in lines if len(line) == 5 for corner in line}
    assert {(-6, 10), (6, 40), (-2, 20), (2, 30)} <= inner and len(inner) == 8  # the hole and what is around it
    assert not [line for line in drawn(learned, sample)[2] if len(line) == 5]


def test_rows_and_rounds_of_a_polygon_are_where_the_box_says():
    concepts = ConvexPolygons(100, 2)
    words = concepts.of_lines([(1, 0), (0, 1)], [50, 300])  # the second line misses the square
    x = jnp.asarray([[0, 100], [100, 0], [50, 25]], jnp.uint32)
    sample = Sample(x, jnp.asarray([[True], [True], [True]]), jnp.asarray([True, True, False]))
    _, numbers, lines = drawn((concepts, Hypothesis.of(jnp.asarray(words)[None])), sample, box=(0.0, 0.0, 1.0, 2.0))
    assert numbers == ["1"]
    np.testing.assert_allclose(next(line for line in lines if len(line) == 2 and line[0, 0] == 0), [[0, 2], [1, 0]])
    assert any(np.allclose(line, [[0.5, 0], [0.5, 2]]) for line in lines if len(line) == 2)
