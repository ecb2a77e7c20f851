"""A process that runs tiles on request: the number of devices, cores and peak memory belong to a process.

For every line N on its standard input it runs N tiles of the threshold learner and answers with a line of JSON.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import dpjax
from benchmarks import resident as memory
from benchmarks.tile import threshold_tile
from dpjax.experiments.run.engine import Engine, host_devices
from dpjax.experiments.run.tiles import traced


class Child:
    """The process, from outside: a context manager.

    cores: to run on, all by default. platform: of JAX, its own choice if None.
    """

    def __init__(self, devices: int, cores: int | None = None, platform: str | None = "cpu"):
        chosen = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if platform is None else {"JAX_PLATFORMS": platform}
        path = os.pathsep.join([str(Path(dpjax.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from benchmarks import child; child.serve({devices}, {cores})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=os.environ | {"PYTHONPATH": path} | chosen,
        )

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, tiles: int) -> dict[str, float]:
        """Of one request, {"trials", "seconds", "peak_mib", "peak_since_mib", "held_mib", "device_peak_mib"}.

        The peak of the process so far, that since the request began, and what it holds after it; the device's peak so
        far, 0 where it shares the host's memory.
        """
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(f"{tiles}\n")
        answer = answers.readline()
        if not answer:
            raise RuntimeError(f"the benchmark's process ended with status {self._process.wait()}")
        return json.loads(answer)


def serve(devices: int, cores: int | None) -> None:
    """Answers requests until standard input ends."""
    if cores is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    host_devices(devices)
    experiment, workload, point = threshold_tile()
    with Engine() as engine:
        program = traced(experiment, workload, point)
        list(engine.tiles(program, workload, point, 0, 0, devices * program.tile))  # compiles
        for line in sys.stdin:
            memory.forget_peak()
            before, start = engine.trials, time.perf_counter()
            for _ in engine.tiles(program, workload, point, 0, 0, int(line) * program.tile):
                pass
            seconds = time.perf_counter() - start
            answer = {"trials": engine.trials - before, "seconds": seconds, **memory.of_process()}
            print(json.dumps(answer), flush=True)
