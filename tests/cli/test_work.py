"""`dpjax work`, `merge` and `status`: workers that hang, crash and are stopped, as a person starts them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from tests.experiments.test_work import contents

from dpjax import cli
from dpjax.experiments.store.store import Store, versions
from tests.experiments import fast

REPOSITORY = Path(__file__).parents[2]
OWN = ("--import", "tests.experiments.fast")


def start(*words, **environment):
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen([sys.executable, "-m", "dpjax.cli", *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, cwd=REPOSITORY,
                            env=os.environ | {"PYTHONPATH": path} | environment)  # fmt: skip


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


def test_prepare_work_and_draw(tmp_path, config, prepared, capsys):
    before = told(prepared, capsys)
    assert (before["left"], before["total"], before["cells"]) == (6, 6, 0)
    status, output, said = dpjax("work", prepared, "--processes", 2, *OWN)
    assert status == 0, said
    assert "trials computed here by 2 processes" in output
    after = told(prepared, capsys)
    assert (after["left"], after["done"], after["cells"], after["running"]) == (0, 6, 6, [])
    whole = contents(prepared)
    assert cli.main(["curve", str(config), "--out", str(prepared), "--formats", "png", "--json", *OWN]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["computed"]["trials"] == 0 and answer["left"] == 0 and len(answer["points"]) == 6
    assert contents(prepared) == whole and (prepared / "curve.png").exists()


def test_a_cell_that_hangs_and_a_cell_that_kills(tmp_path, prepared, faults, capsys):
    (faults / "hang-2").touch()
    (faults / "exit-5").touch()
    status, _, said = dpjax(
        "work", prepared, "--time-limit", 3, *OWN, DPJAX_TEST_FAULTS=str(faults), DPJAX_TEST_MAY_EXIT="1"
    )
    assert status == 4, said
    assert "ran for more than 3 seconds" in said and "is started again" in said
    found = told(prepared, capsys)
    assert (found["done"], found["failed_cells"], found["left"]) == (4, 2, 0)
    errors = sorted(json.loads(path.read_text())["error"] for path in (prepared / "queue" / "failed").iterdir())
    assert "5 processes, one after the other, ended" in errors[0] and "the time limit" in errors[1]
    status, _, said = dpjax("work", prepared, *OWN)
    assert status == 4, "neither is tried again"
    status, _, said = dpjax("work", prepared, "--retry-failed", *OWN)
    assert status == 0, said
    assert told(prepared, capsys)["done"] == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_ends_work_in_time(prepared, faults, capsys, number):
    for n in range(1, 7):
        (faults / f"slow-{n}").write_text("2")
    process = start("work", prepared, *OWN, DPJAX_TEST_FAULTS=str(faults))
    end = time.monotonic() + 60
    while not list(prepared.glob("queue/claims/*")) and time.monotonic() < end:
        time.sleep(0.05)
    begin = time.monotonic()
    process.send_signal(number)
    output, said = process.communicate(timeout=60)
    assert process.returncode == 5, said
    assert time.monotonic() - begin < 20 and "work is left" in output
    found = told(prepared, capsys)
    assert found["left"] > 0 and found["running"] == [] and not list(prepared.glob("queue/claims/*"))
    assert dpjax("work", prepared, *OWN)[0] == 0


def test_an_interruption_by_a_terminal(prepared, faults, capsys):
    """Which sends it to all processes, here three times: nothing has failed, and no claim is left."""
    for n in range(1, 7):
        (faults / f"slow-{n}").write_text("4")
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-m", "dpjax.cli", "work", str(prepared), "--processes", "2", *OWN]
    program = f"import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv({words[0]!r}, {words!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env=os.environ | {"PYTHONPATH": path, "DPJAX_TEST_FAULTS": str(faults)},
    )  # fmt: skip
    end = time.monotonic() + 60
    while len(list(prepared.glob("queue/claims/*"))) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    for _ in range(2):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.3)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said and "run the same command to continue" in said
    found = told(prepared, capsys)
    assert found["failed_cells"] == 0 and found["left"] > 0 and not list(prepared.glob("queue/claims/*"))


def test_workers_end_with_their_supervisor(prepared, faults):
    """Also if it is killed before they have started."""
    for n in range(1, 7):
        (faults / f"slow-{n}").write_text("5")
    process = start("work", prepared, *OWN, DPJAX_TEST_FAULTS=str(faults))
    supervisor, end = psutil.Process(process.pid), time.monotonic() + 60
    while not (workers := supervisor.children()) and time.monotonic() < end:
        time.sleep(0.01)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(workers, timeout=40)
    assert workers and not alive
    process.stdout.close()
    process.stderr.close()


LOUD = """
import os
from dataclasses import dataclass
from tests.experiments import fast

@dataclass(frozen=True)
class Loud(fast.Coin):
    def learn(self, key, sample, plan):
        print({"n": 2}, flush=True)
        if not os.path.exists(os.environ["ONCE"]):
            open(os.environ["ONCE"], "w").close()
            os._exit(9)
        return super().learn(key, sample, plan)
"""


def test_a_learner_that_prints_and_a_module_that_crashes(tmp_path, config, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "loud.py").write_text(LOUD)
    config.write_text(config.read_text().replace("tests.experiments.fast:Coin", "loud:Loud"))
    store, own = tmp_path / "store", {"PYTHONPATH": str(tmp_path), "ONCE": str(tmp_path / "once")}
    assert dpjax("curve", config, "--out", store, "--prepare", *OWN, "loud", **own)[0] == 0
    status, output, said = dpjax("work", store, *OWN, "loud", **own)
    assert status == 0 and "1 times a process was started again" in output, said
    (tmp_path / "loud.py").write_text("import os\nos._exit(9)")
    status, _, said = dpjax("work", store, *OWN, "loud", **own)
    assert status == 3, said
    assert "10 worker processes, one after the other, ended and stored nothing, the last with status 9" in said


def test_status_lists_what_failed(prepared, faults, capsys):
    (faults / "raise-4").touch()
    assert dpjax("work", prepared, *OWN, DPJAX_TEST_FAULTS=str(faults))[0] == 4
    assert cli.main(["status", str(prepared)]) == 0
    output = capsys.readouterr().out
    assert "failed: coin 0, k = 1, epsilon = 1, n = 4: ArithmeticError: a fault at n = 4" in output
    assert f"no cell is left; the result and its figure: dpjax curve {prepared}" in output
    assert [one["item"] for one in told(prepared, capsys)["failures"]] == ["coin 0, k = 1, epsilon = 1, n = 4"]


def test_max_seconds(prepared, faults):
    for n in range(1, 7):
        (faults / f"slow-{n}").write_text("3")
    status, output, said = dpjax("work", prepared, "--max-seconds", 1, *OWN, DPJAX_TEST_FAULTS=str(faults))
    assert status == 5, said
    assert "work is left" in output


def test_shards_in_stores_of_their_own_are_merged(tmp_path, config, monkeypatch, capsys):
    monkeypatch.chdir(REPOSITORY)
    stores = [tmp_path / f"shard {i}" for i in range(2)]
    for i, store in enumerate(stores):
        assert cli.main(["curve", str(config), "--out", str(store), "--prepare", *OWN]) == 0
        status, _, said = dpjax("work", store, "--shard", f"{i}/2", *OWN)
        assert status == 0, said
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
        (["work", "{empty}"], "a folder with a study"),
        (["work", "{absent}"], "--prepare"),
        (["work", "{store}", "--shard", "2/2"], "shard: expected i/N with 0 <= i < N"),
        (["work", "{store}", "--processes", "0"], "processes: expected a whole number"),
        (["work", "{store}", "--time-limit", "0"], "time_limit: expected a number of seconds > 0"),
        (["work", "{store}", "--lease", "-1"], "lease: expected a number of seconds > 0"),
        (["curve", "{config}", "--workers", "2", *OWN], "workers: expected --cluster beside it"),
        (["curve", "{config}", "--cluster", "nothing", *OWN], "cluster"),
        (["curve", "{config}", "--cluster", "local", "--scheduler", "tcp://a:1", *OWN], "a kind or a scheduler's"),
        (
            ["curve", "{config}", "--cluster", "local", "--cluster-option", "a-b", *OWN],
            "cluster-option: expected name=value",
        ),
        (["curve", "{config}", "--time-limit", "-3", *OWN], "time_limit: expected a number of seconds > 0"),
        (["merge", "{store}", "{empty}"], "a directory with results"),
        (["work", "{config}"], "a folder with a study"),
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
    assert cli.main([*given, "--alone"] if given[0] == "work" else given) == 2
    said = capfd.readouterr().err
    assert message in said and "Traceback" not in said
    assert not (tmp_path / "out" / "cells").exists()
