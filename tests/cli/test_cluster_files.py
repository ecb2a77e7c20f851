"""The files of configs/cluster: what a shell, Slurm and Kubernetes read in them, and how a shard ends."""

import os
import shutil
import signal
import subprocess
import time

import pytest

pytestmark = pytest.mark.site

FAKE = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >> "$CALLS"
[[ $(basename "$0") == dpjax ]] || exit 0
trap 'exit 5' USR1 TERM
if [[ $BEHAVIOR == waits ]]; then for _ in {1..200}; do sleep 0.1; done; fi
exit "$BEHAVIOR"
"""


@pytest.fixture
def script(root):
    return root / "configs" / "cluster" / "slurm.sbatch"


def test_bash_and_shellcheck_accept_it(script):
    subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", script], check=True)


@pytest.fixture
def task(script, tmp_path):
    """Starts task 3 of 8, with programs that record how they are called."""
    for name in ("dpjax", "scontrol"):
        (tmp_path / name).write_text(FAKE)
        (tmp_path / name).chmod(0o755)

    def start(behavior):
        environment = os.environ | {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "CALLS": str(tmp_path / "calls"),
            "BEHAVIOR": str(behavior),
            "SLURM_ARRAY_TASK_ID": "3",
            "SLURM_ARRAY_TASK_COUNT": "8",
            "SLURM_ARRAY_JOB_ID": "70",
            "SLURM_CPUS_PER_TASK": "4",
            "TMPDIR": str(tmp_path),
        }
        return subprocess.Popen(["bash", script, "results", "--import", "mine"], env=environment)

    return start


def calls(tmp_path):
    return (tmp_path / "calls").read_text().splitlines() if (tmp_path / "calls").exists() else []


@pytest.mark.parametrize("status", [0, 2, 3, 4, 5, 137])
def test_the_status_of_a_shard(task, tmp_path, status):
    """A shard that ends by itself is not queued again, whatever its status."""
    assert task(status).wait(timeout=30) == status
    assert calls(tmp_path) == ["dpjax curve results --out results --shard 3/8 --import mine"]


@pytest.mark.parametrize(
    ("number", "status", "again"), [(signal.SIGUSR1, 0, ["scontrol requeue 70_3"]), (signal.SIGTERM, 5, [])]
)
def test_a_signal_reaches_the_shard(task, tmp_path, number, status, again):
    """At the time limit it is queued again; who cancels it does not want it back."""
    process, end = task("waits"), time.monotonic() + 20
    while not calls(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    assert process.wait(timeout=20) == status
    assert calls(tmp_path)[1:] == again


def test_kubernetes_accepts_the_manifest(root):
    yaml = pytest.importorskip("yaml")
    text = (root / "configs" / "cluster" / "kubernetes.yaml").read_text()
    job = yaml.safe_load(text)
    spec = job["spec"]
    (worker,) = spec["template"]["spec"]["containers"]
    assert spec["completions"] == spec["maxFailedIndexes"] and f"$JOB_COMPLETION_INDEX/{spec['completions']}" in text
    assert worker["args"][0].startswith("exec dpjax curve")
    validate = pytest.importorskip("kubernetes_validate")
    validate.validate(job, "1.33", strict=True)
