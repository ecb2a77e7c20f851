"""What hands a result on: `dpjax report`, `dpjax compact`, and `dpjax export` as netCDF."""

import json

import numpy as np
import pandas as pd
import pytest

from dpjax import cli
from dpjax.experiments.store.store import Store
from tests.reports.conftest import make_audit, make_claim, make_study
from tests.reports.reading import Page


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "a study"
    place.mkdir()
    (place / "result.json").write_text(json.dumps(make_study(("point",), (1,), (1.0,))))
    return place


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store") as store:
        for n, values in ((10, [1, 2, 3]), (20, [4, 5])):
            store.write({"n": n}, {"outcome": np.array(values, np.uint8)})
    return tmp_path / "store"


def test_the_report_of_a_study(folder, capsys):
    assert cli.main(["report", str(folder), "--json"]) == 0
    out = folder / "report.html"
    assert json.loads(capsys.readouterr().out) == {"report": str(out), "bytes": out.stat().st_size}
    page, before = Page(out.read_text()), out.read_bytes()
    assert not page.wrong and f"dpjax trial '{folder}'" in page.text
    assert cli.main(["report", str(folder / "result.json"), "--out", str(folder / "b.html")]) == 0
    assert f"report: {folder / 'b.html'}" in capsys.readouterr().out
    assert (folder / "b.html").read_bytes() == before


def test_the_report_of_an_audit(tmp_path, capsys):
    for name, data in (("audit.json", make_audit(make_claim(curve=[]))), ("one.json", make_claim(curve=[]))):
        (tmp_path / name).write_text(json.dumps(data))
        given = tmp_path if name == "audit.json" else tmp_path / name
        assert cli.main(["report", str(given), "--out", str(tmp_path / "r.html")]) == 0
        assert "Privacy audit" in (tmp_path / "r.html").read_text()
    (tmp_path / "audit.json").write_text('{"reports": [{}]}')
    assert cli.main(["report", str(tmp_path)]) == 2 and "dpjax: audit" in capsys.readouterr().err


def test_what_cannot_be_reported(tmp_path, folder, capsys):
    for given, out, name in (
        (tmp_path, "a.html", "result"),
        (tmp_path / "none", "a.html", "result"),
        (folder, "a.pdf", "out"),
    ):
        assert cli.main(["report", str(given), "--out", str(tmp_path / out)]) == 2
        assert f"dpjax: {name}" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.*"))


def test_the_audit_of_several_rows_says_what_was_asked(tmp_path, capsys):
    assert cli.main(["audit", "ParityLearner", "--out", str(tmp_path), "--seed", "3"]) == 0
    asked = json.loads((tmp_path / "audit.json").read_text())["asked"]
    assert asked["target"] == "ParityLearner" and asked["seed"] == 3 and asked["trials"] == 100_000
    assert cli.main(["report", str(tmp_path)]) == 0
    page = Page((tmp_path / "report.html").read_text())
    assert not page.wrong and "dpjax audit ParityLearner --epsilon 1.0 --delta 1e-06 --method auto" in page.text


def test_a_store_in_one_file(store, capsys):
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    assert cli.main(["compact", str(store), "--json"]) == 0
    answer, out = json.loads(capsys.readouterr().out), store / "trials.parquet"
    assert (answer["rows"], answer["cells"], answer["file"]) == (5, 2, str(out))
    assert answer["bytes"] == out.stat().st_size and answer["bytes_of_cells"] > 0
    assert {path: path.read_bytes() for path in before} == before
    frame = pd.read_parquet(out)
    assert sorted(frame["outcome"]) == [1, 2, 3, 4, 5] and frame["cell"].nunique() == 2
    assert {json.loads(text)["n"] for text in frame["config"]} == {10, 20}
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(out)["outcome"].sum() == 15
    assert cli.main(["compact", str(store), "--out", str(store / "b.parquet")]) == 0
    assert "5 trials of 2 cells" in capsys.readouterr().out


def test_a_store_is_read_by_duckdb(store):
    duckdb = pytest.importorskip("duckdb")
    assert cli.main(["compact", str(store)]) == 0
    query = f"select count(*), count(distinct cell), sum(outcome) from '{store / 'trials.parquet'}'"
    assert duckdb.sql(query).fetchall() == [(5, 2, 15)]


def test_what_cannot_be_compacted(tmp_path, store, capsys):
    for words, name in (([str(tmp_path)], "store"), ([str(store), "--out", "a.csv"], "out")):
        assert cli.main(["compact", *words]) == 2
        assert f"dpjax: {name}" in capsys.readouterr().err
    with Store(tmp_path / "empty"):
        pass
    assert cli.main(["compact", str(tmp_path / "empty")]) == 2 and "at least one cell" in capsys.readouterr().err


def test_arrays_as_netcdf(folder, capsys):
    xarray = pytest.importorskip("xarray")
    data = make_study(("point", "naïve \N{GREEK SMALL LETTER LAMDA}"), (1, 4), (1.0,), seed=2**32 - 1)
    (folder / "result.json").write_text(json.dumps(data))
    assert cli.main(["export", str(folder), "--format", "netcdf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == {"result": len(data["points"])}
    with xarray.open_dataset(folder / "result.nc", engine="scipy") as found:
        assert list(found.learner.values) == list(data["config"]["learners"])
        assert int(found.trials.count()) == len(data["points"]) and found.attrs["seed"] == str(2**32 - 1)
    assert cli.main(["export", str(folder), "--format", "netcdf", "--tables", "curves"]) == 2
    assert cli.main(["export", str(folder), "--format", "xlsx"]) == 2
    assert "netcdf" in capsys.readouterr().err
