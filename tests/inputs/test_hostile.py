"""Damaged and hostile files of a study: every reader refuses them in words, or gives the right answer.

Bits are flipped, files are cut, emptied and replaced by pipes, folders and other content, and every value of every
document by others. No reader ends with a traceback, waits, or tells another number without a word.
"""

import base64
import json
import random
import shutil
import signal
import zlib
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpjax import cli
from dpjax.cli.arguments.results import MergeCommand, StatusCommand
from dpjax.cli.commands import merge, status
from dpjax.core.checks import InputError
from dpjax.core.documents import unsealed
from dpjax.experiments.config import packed
from dpjax.experiments.config.matrix_file import read_matrix
from dpjax.experiments.results.result import Result
from dpjax.experiments.run.compare_devices import compare_stores
from dpjax.experiments.run.run import run
from dpjax.experiments.run.work import Rules
from dpjax.experiments.store import cell_file, file_schemas, records
from dpjax.experiments.store.standing import standing
from dpjax.experiments.store.store import BrokenCell, Store
from dpjax.experiments.study.study import Study, study_of
from dpjax.experiments.sweep.sweep import Search
from tests.experiments import fast
from tests.inputs import hostile

IMPORTS = ("tests.experiments.fast",)
TABLES = ("curves", "n_star", "errors", "exponents", "failures")
REFUSED = "refused"
SECONDS = 120


def study():
    coins = fast.task()
    named = {"coin a": fast.Coin(coins.concepts, 0), "coin b": fast.Coin(coins.concepts, 1)}
    return Study(coins, named, n=[8, 16], trials=8, search=Search(n_min=4, n_max=16, steps_per_doubling=1))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The folder of a study of two learners."""
    folder = tmp_path_factory.mktemp("hostile") / "source"
    study().run(folder, quiet=True, rules=Rules(code="0" * 64))  # a process of pytest's need not have a digest
    return folder


@pytest.fixture
def folder(source, tmp_path):
    shutil.copytree(source, tmp_path / "study")
    return tmp_path / "study"


@pytest.fixture(scope="module")
def whole(source, tmp_path_factory):
    """What every reader says of the study as it was written."""
    folder = tmp_path_factory.mktemp("whole") / "study"
    shutil.copytree(source, folder)
    said = read(folder, source)
    assert REFUSED not in said.values()
    return said


@pytest.fixture(autouse=True)
def in_time():
    """No reader waits."""

    def late(*_):
        raise TimeoutError(f"more than {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def files(folder):
    """A file of each kind."""
    cell = unsealed((folder / "result.json").read_bytes())["points"][0]["cell"]
    record = min((folder / "queue" / "done").iterdir())
    return [
        folder / "result.json",
        folder / "study.json",
        folder / "format.json",
        folder / "queue" / "items.json",
        folder / "queue" / "code",
        record,
        next(folder.glob(f"cells/*/{cell}-*.parquet")),
    ]


def readers(folder, source):
    """What reads a study, without the times that some tell."""
    yield "result", lambda: known(Result.load(folder).data)
    yield "tables", lambda: [getattr(Result.load(folder), name).to_pylist() for name in TABLES]
    yield "differences", lambda: Result.load(folder).differences("learner").to_pylist()
    yield "n_star_at", lambda: Result.load(folder).n_star_at([0.2]).to_pylist()
    yield "study", lambda: file_schemas.read_study(folder)
    yield "standing", lambda: replace(standing(folder), per_hour=None)
    yield "failures", lambda: records.Records(folder).failures()
    yield "store", lambda: Store(folder, read_only=True).status()
    yield "compact", lambda: Store(folder, read_only=True).compact(folder / "trials")
    yield "compare", lambda: compare_stores(folder, source)
    yield "status", lambda: status.run(StatusCommand(folder))[0] | {"per_hour": None, "seconds_left": None}
    yield "merge", lambda: joined(merge.run(MergeCommand(folder.with_name("merged"), (folder,)))[0])


def known(data):
    """The entries that a result has; others change nothing."""
    return {name: data.get(name) for name in file_schemas.ResultFile.model_fields}


def joined(answer):
    """The answer of a merge, without the names of folders."""
    return answer | {"from": list(answer["from"].values())}


def read(folder, source):
    """What each reader says: a value, or that it refuses; of a broken cell, that it says so."""
    said = {}
    for name, reader in readers(folder, source):
        try:
            said[name] = reader()
        except InputError as error:
            said[name] = REFUSED if error.expected and error.advice else error
    shutil.rmtree(folder.with_name("merged"), ignore_errors=True)
    if said["store"] != REFUSED and said["store"].broken:
        (path,) = said["store"].broken
        into, told = said["merge"], said["status"]
        assert into == REFUSED or path in str(into["from"])
        assert told == REFUSED or told["broken"] == [path]
        said |= dict.fromkeys(("store", "merge", "status"), REFUSED)
    return said


def require_right(folder, source, whole, what):
    """Every reader refuses or is right; returns those that refuse."""
    said = read(folder, source)
    wrong = [name for name in whole if said[name] not in (whole[name], REFUSED)]
    assert not wrong, (what, wrong, [said[name] for name in wrong])
    return {name for name in whole if said[name] == REFUSED}


@pytest.mark.parametrize("flips", [6, pytest.param(48, marks=pytest.mark.slow)])
def test_flipped_bits(folder, source, whole, flips):
    """Of so many flips of one bit of a result and of a study 2 of 3 change a value, and each of these is seen."""
    for path in files(folder):
        data = path.read_bytes()
        seen = 0
        for number, damaged in enumerate(hostile.flips(data, flips, seed=1)):
            path.write_bytes(damaged)
            seen += bool(require_right(folder, source, whole, (path.name, number)))
        path.write_bytes(data)
        assert path.name in ("code", min((folder / "queue" / "done").iterdir()).name) or seen > flips / 5, path


def test_other_content(folder, source, whole):
    for path in files(folder):
        data = path.read_bytes()
        for damaged in (*hostile.OTHERS, *hostile.cuts(data, 1)):
            path.write_bytes(damaged)
            require_right(folder, source, whole, (path.name, damaged[:20]))
        path.write_bytes(data)


def test_pipes_folders_devices_and_sparse_files(folder, source, whole):
    for path in files(folder):
        data = path.read_bytes()
        for what, make in hostile.odd_files():
            path.unlink()
            make(path)
            refused = require_right(folder, source, whole, (path.name, what))
            assert refused or path.parent.name in ("queue", "done")
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
            path.write_bytes(data)


def test_values_of_other_types(folder, source):
    """Without its digest, as somebody else may write it: refused, or read as what it says; never a traceback."""
    tried = 0
    for path in files(folder)[:6]:
        if path.name == "code":
            continue
        data = path.read_bytes()
        for what, document in hostile.replaced(unsealed(data), seed=2, each=1):
            path.write_bytes(hostile.dumped(document))
            said = {}
            for name, reader in readers(folder, source):
                if name in READ_BY.get(path.name, ("standing", "failures", "status")):
                    try:
                        said[name] = reader()
                    except InputError:
                        continue
                    except Exception as error:
                        raise AssertionError((path.name, what, name)) from error
            tried += 1
        path.write_bytes(data)
    assert tried > 250


READ_BY = {
    "result.json": ("result", "tables"),
    "study.json": ("study", "status"),
    "format.json": ("store",),
    "items.json": ("standing",),
}


def test_a_study_goes_on_in_a_damaged_folder(folder, whole):
    """A run beside damaged records computes the same result."""
    for path in (folder / "queue" / "done").iterdir():
        path.write_bytes(random.Random(path.name).choice(hostile.OTHERS))
    (folder / "queue" / "code").write_bytes(b"\xff")
    (folder / "result.json").write_text("null")
    found = run(study(), folder, quiet=True)
    assert {**found.data, "made_by": 0} == {**whole["result"], "made_by": 0}


def foreign(path, table):
    """A table with the digests of a cell, under a cell's name."""
    text, by = cell_file.canonical({"n": 10}), json.dumps({"dpjax": "0"})
    rows = {}
    for name in table.column_names:
        column = table[name].to_numpy()
        rows[name] = column if column.dtype != object else np.zeros(len(column), np.int64)
    about = {"config": text, "versions": by, "content": cell_file._content(text, by, rows)}
    named = path / cell_file.file_name(cell_file.hash_of(text), len(table))
    pq.write_table(table.replace_schema_metadata({f"dpjax.{key}": value for key, value in about.items()}), named)
    return named


@pytest.mark.parametrize(
    "columns",
    [
        {"outcome": pa.nulls(3)},
        {"outcome": pa.array([1, None, 3], pa.int64())},
        {"outcome": pa.array([1.0, 2.0, 3.0])},
        {"outcome": pa.array(["a", "b", "c"])},
        {"outcome": pa.array([[1], [2], [3]])},
        {},
        {"trial": pa.array([1, 2, 3])},
        {"config": pa.array([1, 2, 3])},
        {"outcome": pa.array([], pa.int64())},
    ],
)
def test_foreign_tables(columns, tmp_path):
    with pytest.raises(BrokenCell):
        cell_file.load(foreign(tmp_path, pa.table(columns)))


def test_a_table_that_unpacks_to_gigabytes(tmp_path, monkeypatch):
    path = foreign(tmp_path, pa.table({"outcome": pa.array(np.zeros(1 << 20, np.int64))}))
    assert len(cell_file.load(path)) == 1 << 20
    monkeypatch.setattr(cell_file, "_MOST_BYTES", 1 << 22)
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(BrokenCell, match="bytes of rows"):
        cell_file.load(path)


def test_outcomes_that_no_study_has():
    for rows in ({}, {"outcome": np.zeros(3, np.int64)}, {"outcome": np.array([126], np.uint8)}):
        with pytest.raises(BrokenCell, match="outcome"):
            cell_file.outcomes_of(rows)


@pytest.mark.parametrize(
    "name",
    [
        "mine.parquet",
        "x-3.parquet",
        f"{'0' * 64}-0.parquet",
        f"{'0' * 64}-03.parquet",
        f"{'0' * 64}-٣.parquet",
        f"{'0' * 64}-3.parquet.bak",
    ],
)
def test_foreign_files_are_no_cells(name, tmp_path):
    with Store(tmp_path / "store") as store:
        (tmp_path / "store" / "cells" / "00").mkdir()
        (tmp_path / "store" / "cells" / "00" / name).touch()
        assert store.counts() == (0, 0)


def test_results_that_no_study_has(source):
    data = Result.load(source).data
    for row, change in (
        ("points", {"n": -8}),
        ("points", {"learner": ""}),
        ("points", {"learner": "a\x1b[2J"}),
        ("points", {"successes": 9}),
        ("points", {"lower": 0.9, "upper": 0.1}),
        ("n_star", {"k": True}),
        ("points", {"cell": "../.."}),
        ("n_star", {"n_low": 0}),
        ("failures", {"n": "8"}),
    ):
        first = data[row][0] if data[row] else {**data["n_star"][0], "error": "", "traceback": "", "n": 8}
        with pytest.raises(InputError, match=rf"result\.{row}\.0"):
            Result({**data, row: [{**first, **change}]})


@pytest.mark.parametrize("name", ["", " ", "a\x1b[2J", "a\n", 3, None])
def test_names_of_learners(name):
    coins = fast.task()
    with pytest.raises(InputError, match="learners: expected names of characters"):
        Study(coins, {name: fast.Coin(coins.concepts)}, n=[8])


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_names_of_folders(name):
    with pytest.raises(InputError, match="store: expected the name of a folder"):
        study().run(name, quiet=True)


def zipped(size):
    return base64.b85encode(zlib.compress(bytes(size), 9)).decode()


def test_arrays_that_unpack_to_gigabytes(monkeypatch):
    monkeypatch.setattr(packed, "_MOST_BYTES", 1 << 20)
    bomb = {"array": "|b1", "shape": [1 << 19], "data": zipped(1 << 19)}
    data = {"task": {"concepts": "Points(16)", "targets": bomb}, "learners": ["KLN"]}
    with pytest.raises(InputError, match="target"):  # small enough to be unpacked, and no targets
        study_of(data)
    monkeypatch.setattr(packed, "unpacked", lambda table: pytest.fail("unpacked"))
    with pytest.raises(InputError, match="1572864 bytes"):
        study_of({**data, "learners": {"a": bomb, "b": bomb}})


@pytest.mark.parametrize(
    "table",
    [
        {"array": "|u1", "shape": [1], "data": zipped(1 << 20)},
        {"array": "<u4", "shape": [-1, 2], "data": zipped(8)},
        {"array": "O", "shape": [1], "data": zipped(8)},
        {"array": "x", "shape": [1], "data": ""},
        {"bytes": "x"},
        {"array": "<u4", "shape": [2], "data": zipped(4)},
        {"array": "<u4", "shape": ["2"], "data": zipped(8)},
        {"array": "<u4", "shape": [10**9] * 9, "data": zipped(8)},
        {"bytes": 3},
        {"array": "<u4"},
    ],
)
def test_packed_arrays_that_are_none(table):
    with pytest.raises(InputError):
        packed.unpacked(table)


def test_numpy_files_of_more_numbers_than_they_hold(tmp_path):
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000, 9)}".ljust(117) + b"\n"
    for data in (b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header + bytes(80), b"PK\x03\x04", b"\x80\x04."):
        (tmp_path / "a.npy").write_bytes(data)
        with pytest.raises(InputError, match="NumPy's format"):
            read_matrix(tmp_path / "a.npy")


def test_an_error_shows_nothing_of_a_file_that_is_no_matrix(tmp_path):
    for text in ("secret,word\n", "1,0\n1,secret\n", f"{'9' * 60}\n"):
        (tmp_path / "key.csv").write_text(text)
        with pytest.raises(InputError) as error:
            read_matrix(tmp_path / "key.csv")
        assert "secret" not in str(error.value) and "999" not in str(error.value) and "line" in str(error.value)


NONSENSE = (
    None,
    True,
    -8,
    0,
    2**70,
    10**400,
    1e300,
    float("nan"),
    float("-inf"),
    0.5,
    "",
    "x",
    "a\x1b[2J",
    "\0",
    "a" * 300,
    "x.csv",
    "(" * 300,
    "Points(" * 50,
    "-" * 5000 + "1",
    "Points(" + "-" * 100_000 + "1)",
    "2**64**64",
    [],
    [None],
    [[]],
    {},
    [[1]],
    {"use": 3},
    {"use": "KLN", "arguments": 3},
    {"use": "Points", "domain": [1]},
    {"fields": 1},
    {"use": "Points", "fields": 3},
    {"array": 1},
    {"array": "<u4", "shape": [-1], "data": ""},
    {"bytes": 3},
    {"name": 3},
    {"enum": 3},
    {"set": 3},
    {"set": [{}]},
    {"float": "x"},
    {"by_k": 3},
    {"by_k": {}},
    {"by_k": {"x": "KLN"}},
)


@pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_configurations(source, share):
    """Every value of a study as a person writes it, and as a result holds it, replaced by nonsense of all types."""
    mine = {
        "title": "t",
        "task": {
            "concepts": "Points(16)",
            "distribution": {"use": "heavy", "atoms": 2, "mass": 0.3},
            "targets": [1, 2],
        },
        "learners": {"a": "KLN", "b": {"use": "Independent", "learner": "KLN"}},
        "sweep": {"k": [1], "epsilon": [1.0], "n": [20]},
    }
    tried = 0
    for document, each in ((mine, 12 // share), (Result.load(source).data["config"], 3 // share)):
        for what, changed in hostile.replaced(document, seed=3, each=each, values=NONSENSE):
            tried, long = tried + 1, False
            try:
                study_of(changed, IMPORTS).to_dict()
            except InputError as error:
                long = len(str(error)) > 10_000
            except Exception as error:
                raise AssertionError(what[:300]) from error
            assert not long, what[:300]
    assert tried > 300 // share


def test_commands_refuse_a_pipe_and_a_large_file(tmp_path, capsys):
    for name, words in (
        ("a.toml", ["curve"]),
        ("a.json", ["export"]),
        ("a.png", ["trial"]),
        ("a.svg", ["plan"]),
        ("learned.json", ["predict"]),
        ("a.csv", ["dimension"]),
    ):
        for what, make in hostile.odd_files():
            make(path := tmp_path / name)
            given = [*words, str(path)] + [str(tmp_path / "table.csv")] * (words == ["predict"])
            assert cli.main(given) == 2, (name, what)
            said = capsys.readouterr().err
            assert "Traceback" not in said and "dpjax:" in said, (name, what)
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
