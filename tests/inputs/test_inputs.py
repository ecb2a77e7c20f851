"""Nonsense over flags, configurations, tables, stores and calls: refused in words, before anything runs.

Each refusal has status 2 and says what was expected, what was given and what to do; none is a traceback.
"""

import re
import shutil
from pathlib import Path

import pytest

from dpjax import cli
from dpjax.core.checks import InputError
from dpjax.experiments.study.study import study_of
from tests.inputs.calls import cases as calls
from tests.inputs.calls import welcome
from tests.inputs.files import RESULTS, TABLES, broken_cells, stores, studies
from tests.inputs.flags import TINY
from tests.inputs.flags import cases as flags

LEARN = ("--features", "age", "--target", "ill", "--bounds", "age=0:100")
WORDS = re.compile(r"dpjax: .+: expected .+, got .+; .+", re.DOTALL)
PARSER = re.compile(r"(Unrecognized|Missing|Required) .*|.*For full helptext.*", re.DOTALL)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A small result, a table, what was learned from it, and a folder to write to."""
    out = tmp_path_factory.mktemp("inputs")
    table = out / "table.csv"
    table.write_text("age,ill\n" + "".join(f"{i},{int(i > 50)}\n" for i in range(100)))
    assert cli.main(["curve", *TINY, "--formats", "--out", str(out / "result")]) == 0
    assert cli.main(["learn", str(table), *LEARN, "--trials", "2", "--out", str(out)]) == 0
    return {"result": out / "result", "table": table, "learned": out / "learned.json", "out": out}


def refused(words, capsys):
    """The message of a command that is refused."""
    capsys.readouterr()
    try:
        status = cli.main(list(words))
    except SystemExit as stop:
        status = stop.code
    told = capsys.readouterr()
    assert status == 2, (words, status, told.out[:300])
    assert not told.out and "Traceback" not in told.err and " at 0x" not in told.err, (words, told)
    return told.err


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_flags(places, capsys, monkeypatch, tmp_path, step):
    monkeypatch.chdir(tmp_path)
    found = list(flags())
    assert len(found) > 500
    for words in found[::step]:
        told = refused([word.format(**places) if word.startswith("{") else word for word in words], capsys)
        assert WORDS.match(told) or PARSER.search(told), (words, told)
    assert not list(tmp_path.iterdir()), "nothing is written before everything is checked"


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_configurations(step):
    found = list(studies())
    assert len(found) > 200
    for what, data in found[::step]:
        with pytest.raises(InputError):
            assert study_of(data) is None, what


def test_calls():
    """Of some 1700 calls a few dozen mean something after all, and are listed."""
    found, accepted = 0, []
    for call, argument, given, run in calls():
        found += 1
        try:
            run()
        except InputError as error:
            said = all((error.expected, error.given, error.advice)) and " at 0x" not in str(error)
            accepted += [] if said else [(call, argument, str(error))]
            continue
        if not welcome(call, argument, given):
            accepted.append((call, argument, given))
    assert found > 1000 and not accepted


@pytest.mark.parametrize("what", TABLES)
def test_tables(what, tmp_path, capsys):
    (tmp_path / "table.csv").write_text(TABLES[what])
    assert WORDS.match(refused(["learn", str(tmp_path / "table.csv"), *LEARN, "--trials", "2"], capsys))


@pytest.mark.parametrize("what", [what for what, _ in stores()])
def test_stores(what, places, tmp_path, capsys):
    """A store that is old or broken is neither read nor mixed nor deleted."""
    folder = tmp_path / "store"
    shutil.copytree(places["result"], folder)
    cell = next(iter(folder.glob("cells/*/*.parquet")))
    dict(stores())[what](folder, cell)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    told = refused(["curve", *TINY, "--formats", "--out", str(folder)], capsys)
    assert WORDS.match(told) and str(folder) in told
    kept = {path: path.read_bytes() for path in before if path.name not in ("study.json", "result.json")}
    assert kept.items() <= before.items()
    shutil.rmtree(folder)


@pytest.mark.parametrize("what", [what for what, _ in broken_cells()])
def test_broken_cells(what, places, tmp_path, capsys):
    """A broken cell fails its point and no other; it is kept, and --repair moves it aside."""
    folder = tmp_path / "store"
    shutil.copytree(places["result"], folder)
    cell = next(iter(folder.glob("cells/*/*.parquet")))
    dict(broken_cells())[what](folder, cell)
    assert cli.main(["curve", *TINY, "--formats", "--out", str(folder)]) == 4
    told = capsys.readouterr().out
    assert str(cell) in told and "run again with --repair" in told and cell.exists()
    assert cli.main(["curve", *TINY, "--formats", "--out", str(folder), "--repair", "--retry-failed"]) == 0
    assert cell.is_file() and len(list((folder / "broken").iterdir())) == 1
    shutil.rmtree(folder)


@pytest.mark.parametrize("text", RESULTS)
@pytest.mark.parametrize("command", ["export", "trial", "curve", "plan"])
def test_results(command, text, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("result.json").write_text(text)
    assert WORDS.match(refused([command, "result.json"], capsys))


@pytest.mark.parametrize("name", ["none.toml", "none.png", "none", "none.txt", ".", "/proc/none", "a\nb"])
@pytest.mark.parametrize("command", ["curve", "plan", "trial", "export", "status"])
def test_places_that_are_not_there(command, name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert WORDS.match(refused([command, name], capsys))


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_figures_of_others(kind, tmp_path, capsys):
    for data in (b"", b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", b"<svg/>", b"<svg"):
        (tmp_path / f"figure.{kind}").write_bytes(data)
        assert WORDS.match(refused(["trial", str(tmp_path / f"figure.{kind}"), "--n", "20"], capsys))
