"""The job array of configs/cluster, and Dask, on a real Slurm of one node (scripts/slurm_one_node.sh)."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpjax import cli
from dpjax.experiments.store.standing import standing
from dpjax.experiments.study.clusters import cluster
from tests.experiments import fast
from tests.experiments.run.test_work import contents

INSTALLED = all(map(shutil.which, ("slurmctld", "slurmd", "munged", "sbatch"))) and os.geteuid() == 0
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not INSTALLED, reason="needs slurmctld, slurmd, munge and root")]


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


def until(done, seconds, what):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, what()
        time.sleep(0.5)


@pytest.fixture
def own(root, tmp_path, monkeypatch):
    """Jobs find the tests' modules, and this environment's programs first."""
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.chdir(root)


@pytest.fixture
def submitted(slurm, own, root, tmp_path):
    """Submits the array of a study of some cells, of which each takes a second or more; (store, what logs say)."""

    def submit(shards, cells, seconds, *flags):
        store, config, faults = tmp_path / "store", tmp_path / "study.toml", tmp_path / "faults"
        config.write_text(fast.TOML.format(sizes=list(range(1, cells + 1)), trials=200))
        faults.mkdir()
        for n in range(1, cells + 1):
            (faults / f"slow-{n}").write_text(str(seconds))
        mine = ("--import", "tests.experiments.fast")
        assert cli.main(["curve", str(config), "--out", str(store), "--prepare", *mine]) == 0
        script = (root / "configs" / "cluster" / "slurm.sbatch").read_text()
        (tmp_path / "slurm.sbatch").write_text(script.replace("0-15%50", f"0-{shards - 1}"))
        words = ["--cpus-per-task=1", "--mem=1G", f"--output={tmp_path}/log-%a", *flags]
        environment = f"--export=ALL,DPJAX_TEST_FAULTS={faults}"
        slurm("sbatch", *words, environment, tmp_path / "slurm.sbatch", store, *mine)
        return store, lambda: "".join(f"{path.name}: {path.read_text()}\n" for path in sorted(tmp_path.glob("log-*")))

    return submit


def test_a_study_by_eight_shards(submitted, slurm, tmp_path):
    """The file as it is, with dpjax itself: the same bytes as in one process, also if the node's jobs are requeued."""
    store, logs = submitted(8, 40, 1)
    until(lambda: len(list(store.glob("cells/*/*"))) > 4, 120, logs)
    slurm("scontrol", "requeue", slurm("squeue", "--noheader", "--states=running", "--format=%i").splitlines()[0])
    until(lambda: standing(store).left == 0, 400, lambda: logs() + slurm("squeue"))
    fast.study(40).run(tmp_path / "alone", quiet=True)
    assert contents(store) == contents(tmp_path / "alone")


def test_a_shard_at_its_time_limit_is_queued_again(submitted, slurm, tmp_path):
    """A limit of three minutes, of which the last two are kept: the shard starts again and ends."""
    store, logs = submitted(1, 24, 5, "--time=00:03:00")
    until(lambda: standing(store).left == 0, 500, lambda: logs() + slurm("squeue"))
    assert "work is left" in logs()
    fast.study(24).run(tmp_path / "alone", quiet=True)
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
    with cluster("slurm", workers=2, options=options) as executor:
        study.run(tmp_path / "store", executor=executor, imports=("tests.experiments.fast",), quiet=True)
    assert contents(tmp_path / "store") == contents(tmp_path / "alone")
    assert slurm("scontrol", "show", "jobs").count("JobName=dask-worker") > 2
