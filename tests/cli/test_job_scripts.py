"""The Slurm files run for real, among programs that record how they are called."""

import os
import subprocess

import pytest

from dpjax import cli
from tests.cli.jobs import SHELLCHECK, TERM, USR1, Cluster


@pytest.fixture
def cluster(tmp_path):
    return Cluster(tmp_path)


def test_bash_and_shellcheck_accept_them(cluster):
    files = sorted(str(path) for path in cluster.jobs.iterdir() if path.is_file())
    assert len(files) == 4
    for file in files:
        subprocess.run(["bash", "-n", file], check=True)
    if SHELLCHECK:
        subprocess.run([SHELLCHECK, "--external-sources", *files], check=True)


def test_a_shard_computes_its_cells(cluster):
    status, output = cluster.run("shard.sbatch")
    assert status == 0 and "shard 3: done" in output
    assert cluster.calls("dpjax") == [f"work {cluster.store} --shard 3/8 --processes 4"]
    assert cluster.calls("sbatch") == []


@pytest.mark.parametrize(("worker", "status", "again"), [
    (0, 0, 0), (4, 4, 0), (5, 0, 1), (1, 1, 0), (2, 2, 0), (3, 3, 0), (127, 127, 0), (137, 0, 1),
])  # fmt: skip
def test_the_status_decides_whether_it_is_submitted_again(worker, status, again, cluster):
    cluster.set(behavior=worker)
    assert cluster.run("shard.sbatch")[0] == status
    assert cluster.calls("sbatch") == [f"--parsable --array=3 {cluster.jobs}/shard.sbatch 1"] * again


def test_resubmissions_are_bounded(tmp_path):
    cluster = Cluster(tmp_path, "--retries", "2")
    cluster.set(behavior=5)
    assert [cluster.run("shard.sbatch", *attempt)[0] for attempt in ((), ("1",))] == [0, 0]
    assert [call[-1] for call in cluster.calls("sbatch")] == ["1", "2"]
    status, output = cluster.run("shard.sbatch", "2")
    assert status == 5 and "stopped 3 times" in output and len(cluster.calls("sbatch")) == 2


def test_where_sbatch_is_refused_the_log_says_what_to_do(cluster):
    cluster.answer("sbatch", "", 1)
    cluster.set(behavior=5)
    status, output = cluster.run("shard.sbatch")
    assert status == 5 and f"bash {cluster.jobs}/submit.sh" in output


@pytest.mark.parametrize("signals", [(USR1,), (TERM,), (USR1, TERM), (USR1, USR1, USR1)])
def test_a_signal_is_passed_on_once(signals, cluster):
    cluster.set(behavior="answers")
    status, output, seconds = cluster.signalled(*signals)
    assert status == 0 and seconds < 10 and cluster.signals == ["USR1"]
    assert cluster.calls("sbatch") == [f"--parsable --array=3 {cluster.jobs}/shard.sbatch 1"], output


def test_a_worker_that_is_not_ready_for_signals_comes_back(cluster):
    cluster.set(behavior="unready")
    assert cluster.signalled(USR1)[0] == 0 and len(cluster.calls("sbatch")) == 1


def test_a_signal_before_the_worker_runs_is_not_lost(tmp_path):
    cluster = Cluster(tmp_path)
    file = cluster.jobs / "environment.sh"
    file.write_text(file.read_text() + "touch $TMPDIR/ready; sleep 1\n")  # as a slow activation
    cluster.set(behavior="unready")
    status, _, seconds = cluster.signalled(USR1)
    assert status == 0 and seconds < 10 and len(cluster.calls("sbatch")) == 1


def test_a_worker_that_does_not_answer_is_killed_in_time(cluster):
    file = cluster.jobs / "shard.sbatch"
    assert "patience=90; else patience=20; fi" in file.read_text()
    file.write_text(file.read_text().replace("patience=90", "patience=2"))
    cluster.set(behavior="deaf")
    status, _, seconds = cluster.signalled(USR1)
    assert status == 0 and 2 <= seconds < 10 and len(cluster.calls("sbatch")) == 1


def test_a_shard_that_a_person_cancels_does_not_come_back(cluster):
    cluster.answer("scontrol", "JobState=COMPLETING PreemptTime=None\n")
    cluster.set(behavior="answers")
    status, output, _ = cluster.signalled(TERM)
    assert status == 5 and "cancelled" in output and not cluster.calls("sbatch")
    assert cluster.calls("scontrol") == ["show job 77_3"] and cluster.signals == ["USR1"]


def environment(cluster):
    return dict(line.split("=", 1) for line in (cluster.fake / "environment").read_text().splitlines())


def test_threads_platform_and_cache_of_a_shard(cluster):
    assert cluster.run("shard.sbatch")[0] == 0
    found = environment(cluster)
    cache = next(cluster.fake.glob("dpjax-programs-*"))
    assert found == {"NPROC": "1", "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "DPJAX_COMPILE_CACHE": str(cache)}
    assert cache.stat().st_mode & 0o777 == 0o700
    cache.rmdir()
    cache.symlink_to(cluster.jobs)
    assert cluster.run("shard.sbatch")[0] == 0
    assert environment(cluster)["DPJAX_COMPILE_CACHE"] != str(cache)


@pytest.mark.parametrize(("visible", "count"), [("0", 1), ("GPU-5e", 1), ("0,1", 2), ("NoDevFiles", 0), ("", 0)])
def test_exactly_one_gpu_is_seen(visible, count, tmp_path):
    cluster = Cluster(tmp_path, "--gpus", "1")
    assert "#SBATCH --gres=gpu:1" in (cluster.jobs / "shard.sbatch").read_text().splitlines()
    status, output = cluster.run("shard.sbatch", CUDA_VISIBLE_DEVICES=visible)
    if count == 1:
        assert status == 0 and cluster.calls("dpjax")[0].endswith("--processes 1")
        assert environment(cluster)["JAX_PLATFORMS"] == "cuda" and environment(cluster)["NPROC"] == "4"
    else:
        assert status == 2 and f"got {count}" in output and not cluster.calls("dpjax")


def test_submission(cluster):
    status, output = cluster.run("submit.sh", "--array=3,5")
    assert status == 0 and "7 cells are left" in output
    assert cluster.calls("sbatch") == [
        f"--parsable --array=3,5 {cluster.jobs}/shard.sbatch",
        f"--parsable --dependency=afterany:4711 {cluster.jobs}/finish.sbatch",
    ]


def test_nothing_is_submitted_twice_or_in_vain(cluster):
    cluster.answer("squeue", "12\n12\n15\n")
    status, output = cluster.run("submit.sh")
    assert status == 1 and "12:15" in output
    cluster.answer("squeue", "")
    cluster.set(left=0)
    assert cluster.run("submit.sh")[0] == 0
    assert cluster.calls("sbatch") == []


def test_the_last_job_makes_the_result(tmp_path):
    cluster = Cluster(tmp_path, "--import", "mine")
    cluster.set(left=0)
    assert cluster.run("finish.sbatch")[0] == 0
    assert cluster.calls("dpjax")[-1] == f"curve {cluster.store} --out {cluster.store} --import mine"


def test_the_last_job_waits_for_shards_that_were_submitted_again(cluster):
    cluster.answer("squeue", "20\n21\n")
    assert cluster.run("finish.sbatch")[0] == 0
    assert cluster.calls("sbatch") == [f"--parsable --dependency=afterany:20:21 {cluster.jobs}/finish.sbatch 1"]
    assert cluster.run("finish.sbatch", "11")[0] == 5
    cluster.answer("squeue", "")
    status, output = cluster.run("finish.sbatch")
    assert status == 5 and "7 cells are left and no shard waits or runs" in output
    assert len(cluster.calls("sbatch")) == 1 and not any(call.startswith("curve") for call in cluster.calls("dpjax"))


@pytest.mark.parametrize("gpus", [0, 1, 2])
def test_a_pod_runs_its_shard(gpus, cluster, tmp_path):
    yaml = pytest.importorskip("yaml")
    words = ["kubernetes", "study", "--out", str(tmp_path / "pods"), "--cells", "256", "--seconds-per-cell", "225"]
    words += ["--image", "me/dpjax", "--volume-claim", "data", "--gpus", str(min(gpus, 1))]
    assert cli.main(["cluster-script", *words]) == 0
    (worker,) = yaml.safe_load((tmp_path / "pods" / "job.yaml").read_text())["spec"]["template"]["spec"]["containers"]
    (cluster.fake / "nvidia-smi").write_text(f"#!/bin/sh\nfor i in $(seq {gpus}); do echo GPU $i; done\n")
    (cluster.fake / "nvidia-smi").chmod(0o755)
    path = {"PATH": f"{cluster.fake}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "2"}
    status = subprocess.run([*worker["command"], *worker["args"]], env=os.environ | path, check=False).returncode
    assert status == (2 if gpus == 2 else 0)
    shards, processes = (32, 1) if gpus else (8, 4)
    called = [f"work /store/study --shard 2/{shards} --processes {processes}"]
    assert cluster.calls("dpjax") == ([] if gpus == 2 else called)
