"""Compilation is slow and on the host, so that several processes share a GPU, and others measure a core each."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_GRACE = 20  # seconds that a job may take longer than the time asked for
_DEVICE = "import jax; one = jax.local_devices()[0]; print(jax.__version__, one.platform, one.device_kind, sep='|')"


def measure(folder: Path, until: float, processes: int, cores: int) -> None:
    """Runs the workers, and kills those that are not done soon after ``until``, of `time.time`."""
    count = os.cpu_count() or 1
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "claims", ignore_errors=True)
    (folder / "device.json").write_text(json.dumps(device(), indent=1) + "\n")
    usual = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, "-m", "benchmarks.accelerator.work", str(folder), repr(until)]
    shared = ",".join(map(str, range(max(1, count - cores))))
    workers = [subprocess.Popen(["taskset", "-c", shared, *command], env=usual) for _ in range(processes)]
    for core in range(cores):
        cpu = usual | {"JAX_PLATFORMS": "cpu"}
        workers.append(subprocess.Popen(["taskset", "-c", str(count - 1 - core), *command], env=cpu))
    for worker in workers:
        try:
            worker.wait(max(0.0, until + _GRACE - time.time()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
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
