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
    """Three states: an L, a trapezium, and one with a straight border in the place of Nevada's."""
    corner = shapely.Polygon([(1, 1), (9, 1), (9, 5), (5, 5), (5, 9), (1, 9)])
    convex = shapely.Polygon([(12, 2), (18, 2), (18, 8), (12, 5)])
    states = ModuleType("bokeh_sampledata.us_states")
    slanted = shapely.Polygon([(-120.4, 39.3), (-114.4, 34.8), (-114.4, 42), (-120.4, 42)])
    of = {"LL": corner, "CC": convex, "NV": slanted}
    states.records = lambda: [{"code": code, "geometry": shape} for code, shape in of.items()]
    monkeypatch.setitem(sys.modules, "bokeh_sampledata", ModuleType("bokeh_sampledata"))
    monkeypatch.setitem(sys.modules, "bokeh_sampledata.us_states", states)


def cases(script):
    union = script.UnionLearner(script.Unions(script.D, 4), 3, 2, script.RELATION, family=script.Pieces(script.D, 4, 6))
    polygon = script.PolygonLearner(script.ConvexPolygons(script.D, 4), 3, 2, script.RELATION)
    return (
        script.Case("LL", "Ell", (0, 0, 10, 10), union, (200,), "boundary", "Pieces"),
        script.Case("CC", "Cee", (10, 0, 20, 10), polygon, (200,), "boundary-convex", "a polygon", script.BUDGETS[:1]),
    )


def test_outlines_are_placed_on_the_grid(script, country):
    ell, cee = (script.outline(case) for case in cases(script))
    assert ell.area == pytest.approx(0.48 * script.D**2)
    np.testing.assert_allclose(np.array(cee.bounds) * 10 / script.D, [2, 2, 8, 8])


def test_the_page_has_the_numbers_of_the_command_line(script):
    assert script.UnionLearner(script.Unions(script.D), neighboring=script.RELATION) == script.UNION
    assert script.PolygonLearner(script.ConvexPolygons(script.D), neighboring=script.RELATION) == script.POLYGON


def test_locations_beside_the_border(script, country):
    x, y = script.beside(0.02, 3000, np.random.default_rng(0))
    from_, to = (
        script.in_box(shapely.Point(end), script.BORDER.box, script.D) for end in ((-120.4, 39.3), (-114.4, 34.8))
    )
    line = shapely.LineString([from_, to])
    away = shapely.distance(line, shapely.points(x))
    assert away.max() <= 0.02 * script.D * np.sqrt(2) + 1 and x.max() <= script.D and 0.45 < y.mean() < 0.55
    above = (x[:, 0] - from_.x) * (to.y - from_.y) < (x[:, 1] - from_.y) * (to.x - from_.x)
    assert (above == y)[away > 1e-6].all()


def test_errors_beside_the_border(script, country, monkeypatch):
    same = dict.fromkeys(script.FAMILIES, script.Pieces(script.D))
    for name, value in {"BESIDE": (60,), "PROBES": 50, "RUNS": 2, "FAMILIES": same}.items():
        monkeypatch.setattr(script, name, value)
    lines = list(script.by_family(0))
    assert [line[:2] for line in lines] == [(0.005, 60), (0.02, 60)]
    assert all(line[2] == line[3] == line[4] for line in lines)


@pytest.mark.slow
def test_page_and_figures(script, country, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "by_family", lambda seed: [(0.005, 60, "0.4, 0.5", "0.1, 0.2", "0.2, 0.2")])
    script.main(tmp_path, 0, 2, cases(script))
    page = (tmp_path / "boundary.md").read_text()
    assert "| Ell | Pieces | 200 | 10 |" in page and "| Cee | a polygon | 200 | 10 |" not in page
    assert "| 60 | 0.4, 0.5 | 0.1, 0.2 |" in page and "not copyrighted" in page
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
