"""Dask clusters as they are configured. That they compute is seen in test_kills.py, on Slurm in cli/test_slurm.py."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.experiments.run.items import first_items
from dpjax.experiments.run.run import prepare
from dpjax.experiments.run.work import Rules
from dpjax.experiments.store.records import Records
from dpjax.experiments.study import clusters, remote
from dpjax.experiments.study.clusters import cluster, options_of, slurm_cluster
from dpjax.experiments.study.remote import taking
from tests.experiments import fast


def script(*words):
    made = slurm_cluster(options_of(("interface=lo", *words)))
    try:
        return made.job_script().splitlines()
    finally:
        made.close()


def test_the_job_script_of_a_worker():
    """dask-jobqueue's own: one process with one thread, which ends before the job does."""
    lines = script()
    assert {"#SBATCH -n 1", "#SBATCH --cpus-per-task=1", "#SBATCH --mem=4G", "#SBATCH -t 01:00:00"} <= set(lines)
    command = lines[-1].split()
    assert "--nthreads 1" in lines[-1] and "--nworkers" not in lines[-1]
    assert {"--lifetime=3300s", "--lifetime-stagger=240s"} <= set(command)


def test_the_job_script_of_a_gpu_and_options():
    gpu = "job_extra_directives=['--gres=gpu:1']"
    lines = script(gpu, "walltime=1-00:00:00", "queue=short", "memory=16GiB", "job_cpu=4", "account=me")
    wanted = {"--gres=gpu:1", "-t 1-00:00:00", "-p short", "--mem=16G", "--cpus-per-task=4", "-A me"}
    assert {f"#SBATCH {one}" for one in wanted} <= set(lines)
    assert "--lifetime=79200s" in lines[-1]
    assert "--lifetime=60s" in script('worker_extra_args=["--lifetime=60s"]')[-1], "what is given counts"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("10:30", 630), ("02:00:00", 7200), ("1-12", 129600), ("1-12:30", 131400), ("2-00:00:30", 172830)],
)
def test_times_of_slurm(text, seconds):
    assert clusters._seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "two hours", "1:2:3:4", "-5", "1-", "0", "00:00:30", "1d"])
def test_no_times_of_slurm(text):
    with pytest.raises(InputError, match="walltime"):
        clusters._seconds(text)


def test_processes_of_another_kind_of_device_are_refused(tmp_path):
    study = fast.study(2)
    prepare(study, tmp_path)
    session = taking(study, tmp_path, ("tests.experiments.fast",), Rules(threads=5))(next(first_items(study)))[1][0]
    with pytest.raises(InputError, match="expected processes on gpu:H100"):
        remote._opened(replace(session, device="gpu:H100"))
    opened, worker = remote._opened(session)
    assert len(opened.curves) == 1 and worker.rules.threads == 1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({}, "neither"),
        ({"kind": "local", "address": "a:1"}, "both"),
        ({"kind": "pbs"}, "pbs"),
        ({"address": "nowhere"}, "host:port"),
        ({"kind": "local", "workers": 0}, "workers"),
        ({"kind": "local", "options": {"n_workers": 3}}, "--workers"),
    ],
)
def test_what_is_no_cluster(given, what):
    with pytest.raises(InputError, match=what), cluster(**given):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("where", ["process", "cluster"])
def test_the_overhead_of_cells_of_one_second(where, tmp_path, monkeypatch):
    """From the first cell to the last, two at a time by threads of this process or by workers of a LocalCluster: they
    are idle for at most 5% of the time, and most cells take at most 5% more than the second that they sleep."""
    faults, cells = tmp_path / "faults", 60
    faults.mkdir()
    for n in range(1, cells + 1):
        (faults / f"slow-{n}").write_text("1")
    monkeypatch.setenv("DPJAX_TEST_FAULTS", str(faults))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    study, options = fast.study(cells), {"imports": ("tests.experiments.fast",), "quiet": True}
    with cluster("local", workers=2) if where == "cluster" else nullcontext() as executor:
        study.run(tmp_path / "out", executor=executor, **options)
    told = Records(tmp_path / "out")
    records = [told.done(name) for name in told.names()[0]]
    spent = [one["seconds"] for one in records]  # the first cells compile
    span = max(one["at"] for one in records) - min(one["at"] - one["seconds"] for one in records)
    assert len(records) == cells and 2 * span / sum(spent) - 1 <= 0.05 and np.median(spent) <= 1.05
