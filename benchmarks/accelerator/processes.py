"""Compilation is slow and on the host, so that several processes share a GPU, and others measure a core each."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.accelerator.records import KILLED, append

_WORKER = [sys.executable, "-m", "benchmarks.accelerator.work"]
_GRACE = 20.0  # the most seconds that a job may take longer than the time asked for, or a tenth of it
_DEVICE = "import jax; one = jax.local_devices()[0]; print(jax.__version__, one.platform, one.device_kind, sep='|')"


def measure(folder: Path, until: float, processes: int, cores: int) -> None:
    """Runs the workers until ``until``, of `time.time`, and kills those that take a tenth of the time longer.

    A job that is killed is a line with an error, and comes last when the folder is continued. A process keeps the
    device's memory that it once had. For the last tenth of the time there is one process alone, which measures
    again what found too little.
    """
    count = os.cpu_count() or 1
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "claims", ignore_errors=True)
    (folder / "device.json").write_text(json.dumps(device(), indent=1) + "\n")
    usual = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2"}
    shared = ",".join(map(str, range(max(1, count - cores))))
    tenth = (until - time.time()) / 10
    last, grace = until - tenth, min(_GRACE, tenth)

    def worker(cores: str, env: dict[str, str], until: float) -> subprocess.Popen:
        command = ["taskset", "-c", cores, *_WORKER, str(folder), repr(until)]
        return subprocess.Popen(command, env=env, start_new_session=True)

    workers = [worker(shared, usual, last) for _ in range(processes)]
    workers += [worker(str(count - 1 - core), usual | {"JAX_PLATFORMS": "cpu"}, last) for core in range(cores)]
    _wait(workers, last + grace, folder)
    _wait([worker(shared, usual, until) for _ in range(min(1, processes))], until + grace, folder)


def _wait(workers: list[subprocess.Popen], until: float, folder: Path) -> None:
    """Until all have ended; those that are not done at ``until`` are killed, and their jobs written down."""
    for one in workers:
        try:
            one.wait(max(0.0, until - time.time()))
        except subprocess.TimeoutExpired:
            os.killpg(one.pid, signal.SIGKILL)  # with the command that it may be waiting for
            one.wait()
    for claim in (folder / "claims").glob("*.json"):
        if begun := claim.read_text():  # emptied when the job is done
            platform, record = json.loads(begun)
            append(folder / f"{platform}.jsonl", {**record, "error": KILLED})
    shutil.rmtree(folder / "claims", ignore_errors=True)


def device() -> dict[str, Any]:
    """Date, JAX's version, the device and its driver."""
    here = subprocess.run([sys.executable, "-c", _DEVICE], check=True, capture_output=True, text=True)
    version, platform, kind = here.stdout.strip().split("|")
    driver = ""
    if (query := shutil.which("nvidia-smi")) is not None:
        command = [query, "--query-gpu=driver_version,memory.total", "--format=csv,noheader"]
        driver = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return {"date": time.strftime("%Y-%m-%d"), "jax": version, "platform": platform, "device": kind, "driver": driver}
