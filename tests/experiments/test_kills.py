"""Processes that are killed at random moments: every cell is computed, nothing is unreadable, bytes are the same."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from dpjax.experiments.results.result import Result
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.run import prepare
from dpjax.experiments.store.standing import standing
from dpjax.experiments.store.store import Store
from dpjax.experiments.study.clusters import cluster
from tests.experiments import fast
from tests.experiments.run.test_work import contents

REPOSITORY = Path(__file__).parents[2]
RUN = """
import sys
from tests.experiments import fast
fast.study({cells}, trials={trials}, learners={learners}).run(sys.argv[1], quiet=True)
"""
SHARD = """
import sys
from tests.experiments import nfs
if {nfs}:
    nfs.install(sys.argv[1], int(sys.argv[2]))
from dpjax.cli import main
sys.exit(main(["curve", sys.argv[1], "--out", sys.argv[1], "--shard", sys.argv[3], "--json", "--devices", "1",
               "--import", "tests.experiments.fast"]))
"""
CLUSTER = """
import sys
from tests.experiments import fast
from dpjax.experiments.study.clusters import cluster
if __name__ == "__main__":
    study = fast.study({cells}, trials={trials}, learners={learners})
    with cluster("local", workers=2) as executor:
        study.run(sys.argv[1], quiet=True, executor=executor, imports=("tests.experiments.fast",))
"""


@pytest.fixture
def slowly(tmp_path, monkeypatch):
    """Makes each cell take some seconds, in which its process may be killed; nothing of it affects results."""

    def switch(cells, seconds):
        folder = tmp_path / "faults"
        folder.mkdir()
        for n in range(1, cells + 1):
            (folder / f"slow-{n}").write_text(str(seconds))
        monkeypatch.setenv("DPJAX_TEST_FAULTS", str(folder))

    return switch


def started(program, root, *arguments, **numbers):
    """A process of the program, which is a file: what was typed in has no digest, and begins with the first cell."""
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    file = Path(root).parent / "program.py"
    if not file.exists():
        file.write_text(program.format(**numbers))
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", file, *map(str, (root, *arguments))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": path},
    )


def ended(process):
    """Its status, with what it said if that is none that a killed or finished process has."""
    _, said = process.communicate()
    assert process.returncode in (0, 5, -signal.SIGKILL), said[-3000:]
    return process.returncode


def undisturbed(folder, **numbers):
    with Engine() as machine:
        fast.study(numbers["cells"], trials=numbers["trials"], learners=numbers["learners"]).run(
            folder, engine=machine, quiet=True
        )
    return contents(folder), Result.load(folder).data


def numbers_of(cells):
    """Few trials in the short runs, whose processes have little to compute between two kills."""
    return {"cells": cells, "trials": 2**15 if cells > 20 else 2**12, "learners": 1}


def counts_of(root):
    """(cells, trials) by the names of the files."""
    return Store(root, read_only=True).counts() if (Path(root) / "cells").is_dir() else (0, 0)


def trials_of(root):
    """(cells, trials) that are stored; a file that cannot be read is an error."""
    found = Store(root, read_only=True).status() if (Path(root) / "cells").is_dir() else None
    assert found is None or found.broken == ()
    return (0, 0) if found is None else (found.cells, found.trials)


SIZES = pytest.mark.parametrize(
    ("kills", "cells"), [(1, 8), pytest.param(100, 800, marks=pytest.mark.slow)], ids=["short", "long"]
)


@SIZES
def test_the_runner_is_killed(tmp_path, slowly, kills, cells):
    """No file is unreadable and no stored trial is lost; the result is that of an undisturbed run."""
    numbers = numbers_of(cells)
    whole, result = undisturbed(tmp_path / "whole", **numbers)
    slowly(cells, 0.3)
    rng, root, stored, killed = random.Random(1), tmp_path / "killed", (0, 0), 0
    while True:
        process = started(RUN, root, **numbers)
        if killed < kills:
            begin = time.monotonic()
            while counts_of(root) == stored and process.poll() is None and time.monotonic() - begin < 60:
                time.sleep(0.02)  # until it computes, so that no kill is wasted on a start
            time.sleep(rng.uniform(0, 0.3))
            killed += process.poll() is None
            process.send_signal(signal.SIGKILL)
        status = ended(process)
        now = trials_of(root)
        assert now >= stored
        stored = now
        if status == 0:
            break
    assert killed == kills, "the study ended before it was disturbed as often as asked for"
    assert contents(root) == whole and Result.load(root).data == result


@pytest.mark.parametrize(
    ("kills", "cells", "shards", "nfs"),
    [
        pytest.param(3, 16, 4, False, marks=pytest.mark.slow),
        (1, 6, 2, True),
        *(pytest.param(20, 160, 8, nfs, marks=pytest.mark.slow) for nfs in (False, True)),
    ],
    ids=["short", "short-nfs", "long", "long-nfs"],
)
def test_shards_are_killed(tmp_path, slowly, kills, cells, shards, nfs):
    """Processes of one shard each, killed and started again, also on a file system that shows files late, empty, or
    not at all."""
    numbers = numbers_of(cells)
    whole, _ = undisturbed(tmp_path / "whole", **numbers)
    slowly(cells, 1.0)
    rng, root = random.Random(2), tmp_path / "shared"
    with Store(root):
        prepare(fast.study(cells, trials=numbers["trials"]), root)
    seeds = iter(range(1000))

    def start(shard):
        return started(SHARD, root, next(seeds), f"{shard}/{shards}", nfs=nfs)

    running = {shard: start(shard) for shard in range(shards)}
    killed, after = 0, None
    while running:
        time.sleep(0.05)
        if after is None and counts_of(root)[0]:  # something is computed
            after = time.monotonic() + rng.uniform(0.1, 1)
        if (
            killed < kills
            and after
            and time.monotonic() > after
            and (alive := [p for p in running.values() if p.poll() is None])
        ):
            rng.choice(alive).send_signal(signal.SIGKILL)
            killed, after = killed + 1, time.monotonic() + rng.uniform(0.1, 2)
        for shard in [shard for shard, process in running.items() if process.poll() is not None]:
            if ended(running.pop(shard)) != 0:
                running[shard] = start(shard)
    assert killed == kills, "the study ended before it was disturbed as often as asked for"
    told = standing(root)
    assert told.left == told.failed == 0
    assert contents(root) == whole


def test_a_worker_of_a_dask_cluster_is_killed(tmp_path, slowly, monkeypatch):
    """The cluster starts another one; the bytes are the same, and no process is left behind."""
    pytest.importorskip("distributed")
    numbers, root, killed = numbers_of(6), tmp_path / "cluster", []
    whole, result = undisturbed(tmp_path / "whole", **numbers)
    slowly(6, 0.5)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    before = {one.pid for one in _below(os.getpid())}

    def kill():
        while counts_of(root)[0] < 2:
            time.sleep(0.05)
        (worker,) = _workers(one for one in _below(os.getpid()) if one.pid not in before)
        worker.kill()
        killed.append(worker.pid)

    killer = threading.Thread(target=kill)
    killer.start()
    with cluster("local", workers=1) as executor:
        study = fast.study(6, trials=numbers["trials"])
        study.run(root, quiet=True, executor=executor, imports=("tests.experiments.fast",))
    killer.join()
    assert len(killed) == 1 and contents(root) == whole and Result.load(root).data == result
    end = time.monotonic() + 15
    while (left := _workers(one for one in _below(os.getpid()) if one.pid not in before)) and time.monotonic() < end:
        time.sleep(0.2)
    assert left == [], "orphans"


@pytest.mark.slow
def test_workers_and_drivers_of_a_dask_cluster_are_killed(tmp_path, slowly):
    """Of a LocalCluster: same bytes, same result, and no process is left behind."""
    pytest.importorskip("distributed")
    kills, drivers, cells = 20, 3, 200
    numbers = numbers_of(cells)
    whole, result = undisturbed(tmp_path / "whole", **numbers)
    slowly(cells, 1.5)
    rng, root, family = random.Random(3), tmp_path / "cluster", set()
    victims = ["worker"] * kills + ["driver"] * drivers
    rng.shuffle(victims)
    moments = sorted(rng.sample(range(1, cells - 2), len(victims)))  # numbers of cells after which something is killed
    while True:
        driver = started(CLUSTER, root, **numbers)
        while driver.poll() is None:
            time.sleep(0.1)
            below = _below(driver.pid)
            family |= {(one.pid, one.create_time()) for one in below}
            if not victims or counts_of(root)[0] < moments[-len(victims)]:
                continue
            if victims[0] == "driver":
                driver.send_signal(signal.SIGKILL)
            elif alive := _workers(below):
                rng.choice(alive).kill()
            else:
                continue
            if victims.pop(0) == "driver":
                break
        if ended(driver) == 0:
            break
    assert contents(root) == whole and Result.load(root).data == result
    assert not victims, "the study ended before it was disturbed as often as asked for"
    end = time.monotonic() + 15
    while (left := [pid for pid, born in family if _lives(pid, born)]) and time.monotonic() < end:
        time.sleep(0.2)
    assert left == [], "orphans"


def _below(pid):
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _workers(processes):
    found = []
    for one in processes:
        try:
            if "spawn_main" in " ".join(one.cmdline()):
                found.append(one)
        except psutil.Error:
            continue
    return found


def _lives(pid, born):
    try:
        one = psutil.Process(pid)
        return one.create_time() == born and one.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
