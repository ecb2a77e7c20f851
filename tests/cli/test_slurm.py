"""Job arrays and Dask on a real Slurm of one node (scripts/slurm_one_node.sh).

Signals are tried with a worker that only sleeps.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dpjax.experiments.study.dask_cluster import Dask

from dpjax import cli
from tests.experiments import fast
from tests.experiments.run.test_work import contents

INSTALLED = all(map(shutil.which, ("slurmctld", "slurmd", "munged", "sbatch"))) and os.geteuid() == 0
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not INSTALLED, reason="needs slurmctld, slurmd, munge and root")]
SHARDS, CELLS = 8, 60  # cells of a shard, half a second each
WORKER = """#!/usr/bin/env python3
import json, os, pathlib, signal, sys, time

command, store, told = sys.argv[1], pathlib.Path(sys.argv[2]), []
(store / "cells").mkdir(parents=True, exist_ok=True)
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda number, _: told.append(number))
left = SHARDS * CELLS - len(list((store / "cells").iterdir()))
if command == "status":
    print(json.dumps({"left": left, "failed": 0}) if "--json" in sys.argv else f"{left} left")
elif command == "curve":
    (store / "result").write_text(str(left))
else:
    shard, count = sys.argv[sys.argv.index("--shard") + 1].split("/")
    assert int(count) == SHARDS
    (store / f"environment-{shard}").write_text(json.dumps(dict(os.environ)))
    for cell in range(CELLS):
        path = store / "cells" / f"{shard}-{cell}"
        if path.exists():
            continue
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            time.sleep(0.05)
        path.touch()
        if told:
            print("worker stops", told, flush=True)
            sys.exit(5)
"""


@pytest.fixture
def slurm(tmp_path, root, monkeypatch):
    """Runs a program of Slurm, or any other."""
    script, folder = root / "scripts" / "slurm_one_node.sh", tmp_path / "slurm"
    subprocess.run(["bash", script, "start", folder], check=True, timeout=120, stdout=subprocess.DEVNULL)
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))

    def run(*words):
        return subprocess.run([*map(str, words)], check=True, timeout=60, capture_output=True, text=True).stdout.strip()

    yield run
    subprocess.run(["scancel", "--user=root"], check=False, timeout=30)
    subprocess.run(["bash", script, "stop", folder], check=True, timeout=60)


@pytest.fixture
def jobs(tmp_path):
    """The folder of job files, whose shards fill the node."""
    bin_, folder = tmp_path / "bin", tmp_path / "jobs"
    bin_.mkdir()
    (bin_ / "dpjax").write_text(WORKER.replace("SHARDS", str(SHARDS)).replace("CELLS", str(CELLS)))
    (bin_ / "dpjax").chmod(0o755)
    words = ["slurm", str(tmp_path / "store"), "--out", str(folder), "--cells", "8", "--seconds-per-cell", "1800"]
    words += ["--cpus-per-task", "1", "--activate", f"export PATH={bin_}:$PATH"]
    assert cli.main(["cluster-script", *words]) == 0
    return folder


def until(done, seconds, what):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what()
        time.sleep(0.5)


def test_signals_cancellation_preemption_and_the_last_job(slurm, jobs, tmp_path):
    store = tmp_path / "store"

    def logs(pattern="shard-*"):
        return "".join(f"{path.name}: {path.read_text()}\n" for path in sorted((jobs / "logs").glob(pattern)))

    def running():
        return len(slurm("squeue", "--noheader", "--states=running", "--array").splitlines())

    def cells():
        return len(list((store / "cells").iterdir())) if store.exists() else 0

    slurm("bash", jobs / "submit.sh")
    with pytest.raises(subprocess.CalledProcessError):  # its shards are there already
        slurm("bash", jobs / "submit.sh")
    until(lambda: running() == SHARDS and cells() > SHARDS, 60, lambda: slurm("squeue"))
    array = slurm("squeue", "--noheader", "--states=running", "--format=%F").splitlines()[0]

    slurm("scancel", "--signal=USR1", "--batch", f"{array}_2")  # as before the time limit
    slurm("scancel", f"{array}_5")
    until(lambda: "cancelled, not submitted again" in logs("shard-5-*"), 40, logs)
    until(lambda: "goes on as job" in logs("shard-2-*") and running() == SHARDS - 1, 40, logs)
    assert "attempt 1" in logs("shard-2-*") and logs("shard-2-*").count("told to stop") == 1

    slurm("sbatch", "--partition=urgent", "--cpus-per-task=8", "--output=/dev/null", "--wrap=sleep 1")
    until(lambda: logs().count("goes on as job") >= SHARDS - 1, 90, logs)  # one preempted shard at least comes back
    until(lambda: "no shard waits or runs" in logs("finish-*"), 180, lambda: logs("*") + slurm("squeue"))
    left = SHARDS * CELLS - cells()
    assert 0 < left < CELLS and f"{left} cells are left" in logs("finish-*") and not (store / "result").exists()
    assert len(list((jobs / "logs").glob("shard-5-*"))) == 1

    slurm("bash", jobs / "submit.sh")
    until((store / "result").exists, 90, lambda: logs("*") + slurm("squeue"))
    until(lambda: (store / "result").read_text() == "0", 5, logs)
    environment = json.loads((store / "environment-0").read_text())
    assert environment["NPROC"] == "1" and environment["SLURM_CPUS_PER_TASK"] == "1"


@pytest.fixture
def own(root, monkeypatch):
    """Jobs find the tests' modules; `activate` puts this environment's programs first."""
    monkeypatch.setenv("PYTHONPATH", str(root))
    return f"export PATH={Path(sys.executable).parent}:$PATH PYTHONPATH={root}"


def test_a_study_by_eight_shards(slurm, own, tmp_path, root, monkeypatch):
    """The files as written, with dpjax itself: the same bytes as in one process."""
    monkeypatch.chdir(root)
    store, folder, config = tmp_path / "store", tmp_path / "jobs", tmp_path / "study.toml"
    config.write_text(fast.TOML.format(sizes=list(range(1, 41)), trials=200))
    mine = ["--import", "tests.experiments.fast"]
    assert cli.main(["curve", str(config), "--out", str(store), "--prepare", *mine]) == 0
    words = ["slurm", str(store), "--out", str(folder), "--seconds-per-cell", "360", "--cpus-per-task", "1", *mine]
    assert cli.main(["cluster-script", *words, "--activate", own]) == 0

    def logs():
        return "".join(f"{path.name}: {path.read_text()}\n" for path in sorted((folder / "logs").iterdir()))

    slurm("bash", folder / "submit.sh")
    until((store / "curve.png").exists, 400, lambda: logs() + slurm("squeue"))
    assert sum(f"shard {shard}: done" in logs() for shard in range(SHARDS)) == SHARDS
    fast.study(40).run(tmp_path / "alone", quiet=True)
    assert contents(store) == contents(tmp_path / "alone")


def test_a_dask_cluster_whose_jobs_end_at_their_time_limit(slurm, own, tmp_path, monkeypatch):
    """Jobs of a minute, a study of more: workers that end are replaced, and the bytes are the same."""
    study, faults = fast.study(16), tmp_path / "faults"
    faults.mkdir()
    for n in range(1, 17):
        (faults / f"slow-{n}").write_text("10")
    study.run(tmp_path / "alone", quiet=True)
    monkeypatch.setenv("DPJAX_TEST_FAULTS", str(faults))
    options = {"walltime": "00:01:00", "memory": "1GB", "log_directory": str(tmp_path / "logs"), "interface": "lo"}
    elsewhere = Dask("slurm", workers=2, options=options, imports=("tests.experiments.fast",))
    elsewhere(study, tmp_path / "store")
    assert contents(tmp_path / "store") == contents(tmp_path / "alone")
    assert slurm("scontrol", "show", "jobs").count("JobName=dask-worker") > 2
