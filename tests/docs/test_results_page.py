"""The page of results against a study that is measured here: every file, key and column of one is in the other."""

import json
import re
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
import results

from dpjax.core.documents import unsealed
from dpjax.experiments.results import columns
from dpjax.experiments.results.result import Result
from dpjax.experiments.store.store import Store
from dpjax.plots import read_metadata

OWN = """
from dataclasses import dataclass
import dpjax as dp

@dataclass(frozen=True)
class Raises(dp.KLN):
    def _plan(self, privacy, accuracy, n=None):
        raise RuntimeError("no plan")
"""
WORDS = {
    "HH": "[0-9a-f]{2}",
    "HASH": "[0-9a-f]{64}",
    "ROWS": "[0-9]+",
    "NAME": "[0-9a-f]{40}",
    "TIME": "[0-9]+",
    "TABLE": "|".join(results.TABLES),
}
STUDY = """
[task]
concepts = "Points(16)"
distribution = {use = "heavy", atoms = 4, mass = 0.23}
[learners]
good = "KLN"
bad = "raising:Raises"
[sweep]
k = [1, 2]
epsilon = [8, 16]
alpha = 0.2
beta = 0.4
n = [8, 16]
trials = 32
[search]
n_min = 1
n_max = 16
most_trials = 1000
confidence = 0.5
steps_per_doubling = 1
"""

RUN = """
import sys
from pathlib import Path
from dpjax import cli

out = sys.argv[1]
run = "curve", "study.toml", "--import", "raising", "--out", out
assert cli.main([*run, "--learners", "good", "--k", "1", "--formats"]) == 0
assert cli.main([*run, "--formats"]) == 4
next(Path(out, "cells").rglob("*.parquet")).write_bytes(b"broken")
assert cli.main([*run, "--repair"]) == 4
assert cli.main(["export", out, "--between", "epsilon", "--alphas", "0.2"]) == 0
assert cli.main(["export", out, "--between", "epsilon", "--alphas", "0.2", "--format", "parquet"]) == 0
assert cli.main(["export", out, "--format", "netcdf"]) == 0
assert cli.main(["compact", out]) == cli.main(["report", out]) == 0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of a study in which everything has happened that leaves a file."""
    where = tmp_path_factory.mktemp("study")
    (where / "raising.py").write_text(OWN)
    out = where / "results"
    (where / "study.toml").write_text(STUDY)
    (where / "run.py").write_text(RUN)
    # a process of its own: what other tests have imported in this one decides whether its code has a digest
    subprocess.run([sys.executable, where / "run.py", out], check=True, cwd=where)
    return out


def patterns():
    for names in (*results.FILES, *results.EXPORTED):
        for name in names.split(", "):
            yield re.compile(re.sub("[A-Z]+", lambda word: f"({WORDS[word[0]]})", re.escape(name)))


def test_files(folder):
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert not [name for name in found if not any(one.fullmatch(name) for one in patterns())]
    assert not [one.pattern for one in patterns() if not any(one.fullmatch(name) for name in found)]


def test_keys_of_the_result(folder):
    data = json.loads((folder / "result.json").read_text())
    assert data.keys() == results.RESULT.keys() and data["failures"] and data["exponents"]
    assert unsealed((folder / "study.json").read_bytes()) == data["config"]
    names = {table: {one.name for one in own} for table, (_, own) in results.TABLES.items()}
    extra = {
        key: set(re.findall(r"`(\w+)`", text)) - {"curves", "n_star", "success"} for key, text in results.RESULT.items()
    }
    rows = {"points": names["curves"] - {"success"}, "n_star": names["n_star"]}
    for key, own in rows.items():
        assert {name for row in data[key] for name in row} == own | extra[key], key
    for key in ("exponents", "exponents_all_k", "failures"):
        assert {name for row in data[key] for name in row} == names[key.removesuffix("_all_k")], key


def test_columns_of_the_tables(folder):
    result = Result.load(folder)
    tables = {
        name: getattr(result, name) for name in ("curves", "n_star", "n_within", "errors", "exponents", "failures")
    }
    tables |= {"differences": result.differences("epsilon"), "n_star_at": result.n_star_at([0.2])}
    assert tables.keys() == results.TABLES.keys()
    for name, table in tables.items():
        expected = [(one.name, one.type) for one in results.TABLES[name][1]]
        assert [(field.name, field.type) for field in table.schema] == expected, name
        assert (table.num_rows > 0) == (name != "n_within")
        assert pq.read_table(folder / f"{name}.parquet").schema.equals(table.schema, check_metadata=False)
        assert (folder / f"{name}.csv").read_text().splitlines()[0].replace('"', "") == ",".join(table.column_names)
    for row in result.differences("n").to_pylist():
        assert isinstance(row["first"], int) and row.keys() == {one.name for one in columns.differences("n")}


def test_an_empty_table_has_the_same_types(folder):
    empty = Result(json.loads((folder / "result.json").read_text()) | {"failures": [], "points": []})
    assert empty.failures.schema.equals(Result.load(folder).failures.schema)
    assert empty.errors.schema.equals(Result.load(folder).errors.schema) and not empty.errors.num_rows


def test_cells(folder):
    with Store(folder, read_only=True) as store:
        cells = [*store.iter_cells()]
    for cell in cells:
        assert cell.config.keys() == results.CELL.keys() and cell.rows.keys() == {"outcome"}
        assert cell.rows["outcome"].dtype == "uint8"
    path = next((folder / "cells").rglob("*.parquet"))
    about = {key.decode() for key in pq.read_schema(path).metadata}
    said = set(re.findall(r"`(dpjax\.[a-z]+)`", results.pages()["reference/results.md"]))
    assert {name for name in about if name.startswith("dpjax.")} == said
    assert {"curve", "search"} <= {cell.config["trials"]["purpose"] for cell in cells}
    assert any("n" in cell.config["trials"] for cell in cells)


def test_all_trials_in_one_file(folder):
    table = pq.read_table(folder / "trials.parquet")
    assert [(field.name, str(field.type)) for field in table.schema] == [
        (name, kind) for name, (kind, _) in results.TRIALS.items()
    ]


def test_metadata_of_a_figure(folder):
    assert read_metadata(folder / "curve.svg").keys() == results.METADATA.keys() - {"command", "seconds"}


def test_the_page_has_all_of_it():
    (page,) = results.pages().values()
    for table in (results.FILES, results.EXPORTED, results.RESULT, results.CELL, results.TRIALS, results.METADATA):
        for names in table:
            assert f"| `{names.replace(', ', '`, `')}` |" in page
    for name, (_, own) in results.TABLES.items():
        assert f"### {name}\n" in page and all(f"| `{one.name}` | {one.type} | " in page for one in own)
    assert results.pages() == {"reference/results.md": page}
