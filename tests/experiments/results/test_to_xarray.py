"""A result as arrays for xarray, and as tables for polars and pandas."""

import sys

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.experiments.results.result import Result
from tests.reports.conftest import make_study

xarray = pytest.importorskip("xarray")
polars = pytest.importorskip("polars")


@pytest.fixture
def arrays(study):
    return Result(study).to_xarray()


@pytest.fixture(scope="module")
def study():
    return make_study()


def test_every_row_is_at_its_place(study, arrays):
    assert dict(arrays.sizes) == {"learner": 2, "k": 2, "epsilon": 2, "n": arrays.sizes["n"], "quantile": 2}
    assert list(arrays.learner.values) == ["point", "kln-basic"] and np.all(np.diff(arrays.n.values) > 0)
    for row in study["points"]:
        here = arrays.sel({name: row[name] for name in ("learner", "k", "epsilon", "n")})
        assert float(here.success) == row["successes"] / row["trials"] and float(here.upper) == row["upper"]
        assert float(here.error.sel(quantile=0.9)) == 0.25
    for row in study["n_star"]:
        here = arrays.sel({name: row[name] for name in ("learner", "k", "epsilon")})
        assert [int(here[name]) for name in ("n_low", "n_high", "below")] == [row["n_low"], row["n_high"], 31]
    assert int(arrays.trials.count()) == len(study["points"]) < arrays.trials.size


def test_variables_say_what_they_are(arrays):
    assert all("long_name" in arrays[name].attrs for name in arrays.variables)
    assert arrays.n.attrs["units"] == arrays.n_high.attrs["units"] == "examples"
    assert arrays.attrs["alpha"] == 0.2 and arrays.attrs["version_jax"] == "0.10.2" and arrays.attrs["seed"] == 7


def test_open_ends_and_missing_parts(study):
    data = study | {"n_star": [study["n_star"][0] | {"n_high": None}], "points": []}
    arrays = Result(data).to_xarray()
    assert np.isnan(arrays.n_high.values).all() and arrays.sizes["n"] == 0
    assert Result(data | {"n_star": []}).to_xarray().sizes["learner"] == 0


def test_what_is_no_grid_is_refused(study):
    points = study["points"]
    with pytest.raises(InputError, match=r"alpha: expected one value.*use the tables"):
        Result(study | {"points": [*points, points[0] | {"alpha": 0.3, "n": 1}]}).to_xarray()
    with pytest.raises(InputError, match="two rows of point"):
        Result(study | {"points": [*points, points[0]]}).to_xarray()


def test_without_the_package_it_says_what_to_install(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(InputError, match="pip install"):
        Result(study).to_xarray()


def test_tables_are_frames(study):
    result = Result(study)
    for table in (result.curves, result.n_star, result.exponents, result.errors, result.failures):
        frame = polars.from_arrow(table)
        assert frame.shape == (table.num_rows, table.num_columns) == table.to_pandas().shape
    assert polars.from_arrow(result.n_star)["n_low"].to_list() == [row["n_low"] for row in study["n_star"]]
