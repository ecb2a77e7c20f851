"""`dpjax curve --shard`, `merge` and `status`: shards that hang and are stopped, as a person starts them."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dpjax import cli
from dpjax.experiments.store.store import Store, versions
from tests.experiments import fast
from tests.experiments.run.test_work import contents

REPOSITORY = Path(__file__).parents[2]
OWN = ("--import", "tests.experiments.fast")


def start(*words, **environment):
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "dpjax.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": path} | environment,
    )


def dpjax(*words, **environment):
    """(status, standard output, standard error)."""
    process = start(*words, **environment)
    output, said = process.communicate(timeout=300)
    return process.returncode, output, said


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(fast.TOML.format(sizes=list(range(1, 7)), trials=200))
    return path


@pytest.fixture
def prepared(tmp_path, config, monkeypatch):
    """A store with a study of six cells and nothing computed."""
    monkeypatch.chdir(REPOSITORY)
    store = tmp_path / "store"
    assert cli.main(["curve", str(config), "--out", str(store), "--prepare", *OWN]) == 0
    return store


@pytest.fixture
def faults(tmp_path):
    folder = tmp_path / "faults"
    folder.mkdir()
    return folder


def told(store, capsys):
    capsys.readouterr()
    assert cli.main(["status", str(store), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def words_of(store, which="0/1", *words):
    return "curve", str(store), "--out", str(store), "--shard", which, *OWN, *map(str, words)


def shard(store, *words, **environment):
    """In a process of its own, which a person starts."""
    return dpjax(*words_of(store, *words), **environment)


def shard_here(capsys, store, *words):
    """The same in this process."""
    capsys.readouterr()
    status = cli.main([*words_of(store, *words)])
    return status, *capsys.readouterr()


def test_prepare_shards_and_draw(tmp_path, config, prepared, capsys):
    before = told(prepared, capsys)
    assert (before["left"], before["total"], before["cells"]) == (6, 6, 0)
    for run, which in ((shard, "0/2"), (partial(shard_here, capsys), "1/2")):
        status, output, said = run(prepared, which)
        assert status == 0 and "all of it is done" in output, said
    after = told(prepared, capsys)
    assert (after["left"], after["done"], after["cells"]) == (0, 6, 6)
    whole = contents(prepared)
    assert cli.main(["curve", str(config), "--out", str(prepared), "--formats", "png", "--json", *OWN]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["computed"]["trials"] == 0 and answer["left"] == 0 and len(answer["points"]) == 6
    assert contents(prepared) == whole and (prepared / "curve.png").exists()


def test_a_cell_that_hangs(prepared, faults, capsys):
    """Its process ends, and the next one goes on with the others."""
    (faults / "hang-2").touch()
    status, _, said = shard(prepared, "0/1", "--time-limit", 3, DPJAX_TEST_FAULTS=str(faults))
    assert status == 5 and "ran for more than 3 seconds" in said, said
    status, _, said = shard(prepared, "0/1", "--time-limit", 3, DPJAX_TEST_FAULTS=str(faults))
    assert status == 4, said
    found = told(prepared, capsys)
    assert (found["done"], found["failed_cells"], found["left"]) == (5, 1, 0)
    (error,) = (json.loads(path.read_text())["error"] for path in (prepared / "queue" / "failed").iterdir())
    assert "the time limit" in error
    assert shard_here(capsys, prepared)[0] == 4, "it is not tried again"
    status, _, said = shard_here(capsys, prepared, "0/1", "--retry-failed")
    assert status == 0, said
    assert told(prepared, capsys)["done"] == 6


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGUSR1, signal.SIGINT))],
)
def test_a_signal_ends_work_in_time(prepared, faults, capsys, number):
    for n in range(1, 7):
        (faults / f"slow-{n}").write_text(str(n))  # the last ones run for long after the first is done
    process = start("curve", prepared, "--out", prepared, "--shard", "0/1", *OWN, DPJAX_TEST_FAULTS=str(faults))
    end = time.monotonic() + 60
    while not list(prepared.glob("queue/done/*")) and time.monotonic() < end:
        time.sleep(0.05)
    begin = time.monotonic()
    process.send_signal(number)
    output, said = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else 5), said
    assert time.monotonic() - begin < 20 and "Traceback" not in said
    assert ("work is left" in output) if number != signal.SIGINT else ("run the same command to continue" in said)
    found = told(prepared, capsys)
    assert found["left"] > 0 and found["failed_cells"] == 0
    assert shard_here(capsys, prepared)[0] == 0


def test_status_lists_what_failed(prepared, faults, capsys, monkeypatch):
    (faults / "raise-4").touch()
    monkeypatch.setenv("DPJAX_TEST_FAULTS", str(faults))
    assert shard_here(capsys, prepared)[0] == 4
    assert cli.main(["status", str(prepared)]) == 0
    output = capsys.readouterr().out
    assert "failed: coin 0, k = 1, epsilon = 1, n = 4: ArithmeticError: a fault at n = 4" in output
    assert f"no cell is left; the result and its figure: dpjax curve {prepared}" in output
    assert [one["item"] for one in told(prepared, capsys)["failures"]] == ["coin 0, k = 1, epsilon = 1, n = 4"]


def test_max_seconds(prepared, faults, capsys, monkeypatch):
    for n in range(1, 7):
        (faults / f"slow-{n}").write_text("3")
    monkeypatch.setenv("DPJAX_TEST_FAULTS", str(faults))
    status, output, said = shard_here(capsys, prepared, "0/1", "--max-seconds", 1)
    assert status == 5, said
    assert "work is left" in output


def test_shards_in_stores_of_their_own_are_merged(tmp_path, config, monkeypatch, capsys):
    monkeypatch.chdir(REPOSITORY)
    stores = [tmp_path / f"shard {i}" for i in range(2)]
    for i, store in enumerate(stores):
        assert cli.main(["curve", str(config), "--out", str(store), "--shard", f"{i}/2", *OWN]) == 0
    capsys.readouterr()
    counts = [Store(store, read_only=True).counts()[0] for store in stores]
    assert sum(counts) == 6 and all(counts)
    joined = tmp_path / "joined"
    assert cli.main(["merge", str(joined), *map(str, stores)]) == 0
    assert "6 cells" in capsys.readouterr().out
    assert cli.main(["merge", str(joined), *map(str, stores), "--json"]) == 0
    assert all(row["new"] == 0 for row in json.loads(capsys.readouterr().out)["from"].values())
    assert cli.main(["curve", str(joined), "--out", str(joined), "--formats", "--json", *OWN]) == 0
    assert json.loads(capsys.readouterr().out)["computed"]["trials"] == 0


def test_cells_that_cannot_be_joined_are_named_and_the_others_joined(tmp_path, capsys):
    config = {"n": 1, "versions": versions()}
    other = np.arange(8, dtype=np.uint8)
    with Store(tmp_path / "into") as into, Store(tmp_path / "from") as source:
        into.write(config, {"outcome": other})
        source.write(config, {"outcome": other + 1})
        for n in (2, 3, 4, 5):
            source.write(config | {"n": n}, {"outcome": other})
        broken, gone = (source.path(config | {"n": n}) for n in (3, 5))
    broken.write_bytes(broken.read_bytes()[:50])
    gone.unlink()
    gone.symlink_to(tmp_path / "nowhere")
    assert cli.main(["merge", str(tmp_path / "into"), str(tmp_path / "from")]) == 4
    said = capsys.readouterr().out
    assert "2 of 5 cells have new trials" in said and "3 cells, 24 trials" in said
    assert said.count("not joined: cell ") == said.count(f"of {tmp_path / 'from'}") == 3
    assert "other numbers" in said and str(broken) in said
    with Store(tmp_path / "into", read_only=True) as into:
        np.testing.assert_array_equal(into.read(config)["outcome"], other)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["curve", "{store}", "--shard", "2/2", *OWN], "shard: expected i/N with 0 <= i < N"),
        (["curve", "{store}", "--shard", "0/2", "--cluster", "local", *OWN], "shard: expected no cluster beside it"),
        (["curve", "{store}", "--shard", "0/2", "--prepare", *OWN], "shard: expected alone"),
        (["curve", "{config}", "--max-seconds", "0", *OWN], "max_seconds: expected a number of seconds > 0"),
        (["curve", "{config}", "--workers", "2", *OWN], "workers: expected --cluster beside it"),
        (["curve", "{config}", "--cluster", "nothing", *OWN], "cluster"),
        (["curve", "{config}", "--cluster", "local", "--scheduler", "tcp://a:1", *OWN], "a kind or a scheduler's"),
        (
            ["curve", "{config}", "--cluster", "local", "--cluster-option", "a-b", *OWN],
            "cluster-option: expected name=value",
        ),
        (["curve", "{config}", "--time-limit", "-3", *OWN], "time_limit: expected a number of seconds > 0"),
        (["merge", "{store}", "{empty}"], "a directory with results"),
        (["curve", "{config}", "--prepare", "--cluster", "local", *OWN], "prepare: expected no cluster beside it"),
        (["curve", "{config}", "--cluster-option", "a=1", *OWN], "cluster-option: expected --cluster beside it"),
    ],
    ids=lambda value: " ".join(value[:1] + value[2:4]) if isinstance(value, list) else "",
)
def test_wrong_words(tmp_path, prepared, config, capfd, words, message):
    (tmp_path / "empty").mkdir()
    places = {"empty": tmp_path / "empty", "absent": tmp_path / "absent", "store": prepared, "config": config}
    given = [word.format(**places) for word in words]
    if given[0] == "curve":
        given += ["--out", str(tmp_path / "out")]
    assert cli.main(given) == 2
    said = capfd.readouterr().err
    assert message in said and "Traceback" not in said
    assert not (tmp_path / "out" / "cells").exists()
