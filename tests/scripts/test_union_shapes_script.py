"""The page of errors on shapes, on few rows by `Pieces`; shapes, intervals, and what is left out."""

import sys
from types import ModuleType

import numpy as np
import pytest
import shapely


@pytest.fixture
def script(scripts, monkeypatch):
    """The script, on small sizes, with squares for counties, by `Pieces` under three names."""
    module = scripts("union_shapes")
    monkeypatch.setattr(module, "WEIGHTS", {(64, 1.0): 2, (64, 4.0): 1})
    monkeypatch.setattr(module, "LONG", {("wedges", 64, 4.0)})
    for name, value in {"TEST": 32, "RUNS": 2}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "tuned", lambda data, n, d, epsilon, choices: n)
    monkeypatch.setattr(module, "errors", lambda data, n, d, epsilon, choices, runs: np.full((1, runs), n / 100))
    monkeypatch.setattr(module, "FAMILIES", dict.fromkeys(module.FAMILIES, module.FAMILIES["pieces"]))
    counties = ModuleType("bokeh_sampledata.us_counties")
    places = {"Roanoke": shapely.box(-80.2, 37.2, -80, 37.4), "Maui": shapely.box(-157, 20.5, -156, 21)}
    counties.records = lambda: [{"name": name, "geometry": shape} for name, shape in places.items()]
    monkeypatch.setitem(sys.modules, "bokeh_sampledata", ModuleType("bokeh_sampledata"))
    monkeypatch.setitem(sys.modules, "bokeh_sampledata.us_counties", counties)
    module.laws.cache_clear()
    yield module
    module.laws.cache_clear()


def test_the_page(script, tmp_path):
    script.main(["--out", str(tmp_path), "--trials", "1"])
    text = (tmp_path / "union-shapes.md").read_text()
    lines = [line.split(" | ") for line in text.splitlines() if " | 64 | " in line]
    lines, beside = lines[:12], lines[12:]
    assert [line[:4] for line in beside] == [[f"| {one}", "64", e, "2"] for e in "14" for one in script.laws()]
    assert all(line[5] == "0.640" and float(line[6].split()[0]) < 0 for line in beside)
    assert len(lines) == 2 * len(script.laws()) and [line[3] for line in lines[::6]] == ["2", "1"]
    for line in lines:  # the same family has the same errors; what is left out is empty
        assert line[4] == line[6] and line[5] in (line[4], "-") and line[8].startswith("+0.000")
        assert (line[5] == "-") == (line[7] == "-") == (line[2] == "4")


def test_shapes(script):
    areas = {"L": 0.33, "L turned by .5": 0.33, "ring": 2 * np.pi * 0.32 * 0.22, "Maui, three islands": 0.414}
    assert len(script.laws()) == 6
    for name, area in areas.items():
        x, y, label = script.laws()[name](20_000, np.random.default_rng(0))
        assert label.mean() == pytest.approx(area, abs=0.015) and ((x >= 0) & (x < 1) & (y >= 0) & (y < 1)).all()


def test_a_turned_shape_is_turned(script):
    x, y = np.array([0.2, 0.8]), np.array([0.8, 0.8])  # in one bar of the L, and outside of it
    across, up = x - 0.5, y - 0.5
    back = np.cos(0.5) * across - np.sin(0.5) * up + 0.5, np.sin(0.5) * across + np.cos(0.5) * up + 0.5
    assert script.ell(x, y).tolist() == script.turned(*back).tolist() == [True, False]


def test_an_interval(script):
    assert script.interval(np.array([1.0, 2.0, 3.0])) == "+2.000 +- 2.484"
    assert script.interval(np.array([1.0])) == "+1.000 +- inf"
