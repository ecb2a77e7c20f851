"""The script of the boundaries, on outlines that are made up."""

import sys
from types import ModuleType

import numpy as np
import pytest
import shapely

from dpjax.core.checks import InputError
from dpjax.plots import read_metadata


@pytest.fixture(scope="module")
def script(scripts):
    return scripts("boundary")


@pytest.fixture
def country(monkeypatch):
    """Two states: an L and a trapezium."""
    corner = shapely.Polygon([(1, 1), (9, 1), (9, 5), (5, 5), (5, 9), (1, 9)])
    convex = shapely.Polygon([(12, 2), (18, 2), (18, 8), (12, 5)])
    states = ModuleType("bokeh_sampledata.us_states")
    states.records = lambda: [{"code": "LL", "geometry": corner}, {"code": "CC", "geometry": convex}]
    monkeypatch.setitem(sys.modules, "bokeh_sampledata", ModuleType("bokeh_sampledata"))
    monkeypatch.setitem(sys.modules, "bokeh_sampledata.us_states", states)


def cases(script):
    union = script.UnionLearner(script.Unions(script.D, 4), 3, 2, script.RELATION, directions=4, bins=6)
    polygon = script.PolygonLearner(script.ConvexPolygons(script.D, 4), 3, 2, script.RELATION)
    return (
        script.Case("LL", "Ell", (0, 0, 10, 10), union, (200,), "boundary"),
        script.Case("CC", "Cee", (10, 0, 20, 10), polygon, (200,), "boundary-convex"),
    )


def test_outlines_are_placed_on_the_grid(script, country):
    ell, cee = (script.outline(case) for case in cases(script))
    assert ell.area == pytest.approx(0.48 * script.D**2)
    np.testing.assert_allclose(np.array(cee.bounds) * 10 / script.D, [2, 2, 8, 8])


def test_the_page_has_the_numbers_of_the_command_line(script):
    assert script.UnionLearner(script.Unions(script.D), neighboring=script.RELATION) == script.UNION
    assert script.PolygonLearner(script.ConvexPolygons(script.D), neighboring=script.RELATION) == script.POLYGON


@pytest.mark.slow
def test_page_and_figures(script, country, tmp_path):
    script.main(tmp_path, 0, 2, cases(script))
    page = (tmp_path / "boundary.md").read_text()
    assert "Ell" in page and "| 200 |" in page and "not copyrighted" in page
    for name in ("boundary", "boundary-convex"):
        assert read_metadata(tmp_path / "figures" / f"{name}.png")["config"]["script"] == "boundary"


def test_rows_are_labelled_by_the_outline(script, country):
    case = cases(script)[0]
    truth = script.outline(case)
    first, second = script.runs(case, truth, 200, script.PRIVACY, 3, 2)
    x = np.asarray(first.sample.x).astype(float)
    inside = [truth.contains(shapely.Point(*row)) for row in x]
    np.testing.assert_array_equal(np.asarray(first.sample.y)[:, 0], inside)
    assert 0.3 < np.mean(inside) < 0.7 and not np.array_equal(x, second.sample.x)


def test_the_package_is_asked_for(script, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh_sampledata", None)
    with pytest.raises(InputError, match=r"dpjax\[maps\]"):
        script.outline(cases(script)[0])
