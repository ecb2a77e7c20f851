"""The figure of a polygon: files with what made them, lines that cross the square, regions that are predictions."""

import jax.numpy as jnp
import pytest

from dpjax.concepts import Hypothesis
from dpjax.concepts.plane import UniformPlane
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.plots import read_metadata
from dpjax.plots.polygons import _across, plot_polygon
from dpjax.types import Sample


@pytest.mark.parametrize(
    ("line", "ends"),
    [((1, 0, 3), {(3, 0), (3, 10)}), ((0, -2, -8), {(0, 4), (10, 4)}), ((1, 1, 10), {(0, 10), (10, 0)}),
     ((1, -1, 5), {(5, 0), (10, 5)}), ((1, 1, 30), set()), ((1, 1, 0), set()), ((2, 1, 30), {(10, 10)})],
)  # fmt: skip
def test_lines_across_the_square(line, ends):
    found = _across(*line, 10)
    assert set(found) == (ends if len(ends) == 2 else set())


def test_a_figure_carries_what_made_it(tmp_path, key):
    concepts, truth = ConvexPolygons(2**12, 6), ConvexPolygons(2**12, 4)
    hypothesis, target = Hypothesis.of(concepts.targets(1)), Hypothesis.of(truth.targets(1, seed=2))
    x = UniformPlane(2**12).draw(key, 300)
    sample = Sample(x, truth.predict(target, x), jnp.arange(300) < 250)
    about = {"seed": 3, "versions": {"dpjax": "0"}}
    paths = plot_polygon((concepts, hypothesis), sample, tmp_path / "p", about, "A polygon", truth=(truth, target))
    assert [path.suffix for path in paths] == [".png", ".svg"]
    assert read_metadata(paths[0]) == about
    again = plot_polygon((concepts, hypothesis), sample, tmp_path / "q", about, "A polygon", truth=(truth, target))
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    plot_polygon((concepts, hypothesis), sample, tmp_path / "alone", about, "A polygon", formats="pdf")
