"""A learner's tile: compiles it, runs it, and says what it took."""

import contextlib
import gzip
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

sys.path.append(str(Path(__file__).parents[2] / "scripts"))  # the list of all learners
from plans import CASES, learner_of

from benchmarks.roofline.demand import demand
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.run import tiles
from dpjax.experiments.run.trial import Trial, point
from dpjax.experiments.store.capacity import capacity
from dpjax.testing.samples import task_for

COMPARED = 256  # trials whose outcomes are kept, for a comparison with another device
_RUNS, _SECONDS = 8, 0.4
_KERNELS = 12
Alone = Callable[[], AbstractContextManager]


@dataclass(frozen=True)
class Tile:
    """A learner's tile: its rows, the number of concepts and the trials of a block, None for the usual ones.

    profile: time of each kernel, not of the tile.
    """

    learner: str
    rows: int
    k: int | None = None
    block: int | None = None
    profile: bool = False

    def record(self) -> dict[str, Any]:
        """Its fields."""
        return asdict(self)

    def measured(self, alone: Alone = contextlib.nullcontext) -> dict[str, Any]:
        """Sizes, seconds of compilation, and what is `timed` or `profiled`."""
        built = Built(self)
        found = profiled(built) if self.profile else timed(built, alone)
        sizes = {"concepts": built.k, "trials_of_tile": built.shape[0], "trials_of_block": built.shape[1]}
        return {**sizes, "traced_s": built.traced, "compiled_s": built.compiled, **found}


class Built:
    """A compiled tile; ``run(first, blocks)`` computes some of its blocks. demand: of a trial, see `demand`."""

    def __init__(self, job: Tile):
        k = job.k or CASES[job.learner][1]
        learner = learner_of(job.learner, k)
        task = task_for(learner.concepts)
        plan = learner.plan(Privacy(1.0, 1e-6), Accuracy(0.1, 0.1), job.rows)
        trial = Trial(learner, k, capacity(job.rows))
        usual = tiles.tile_shape(trial)
        self.k, self.shape = k, usual if job.block is None else (max(job.block, usual[0]), job.block)
        begin = time.perf_counter()
        given = tiles.arguments_of(task, point(bytes(8), job.rows, plan, 0.1, task), 0)
        lowered = tiles.tile_program(trial, shape=self.shape).lower(*given, np.uint32(0), np.int32(1))
        self.traced = time.perf_counter() - begin
        self.program = lowered.compile()
        self.compiled = time.perf_counter() - begin - self.traced
        block = tiles.tile_program(trial, shape=(self.shape[1], self.shape[1]))
        self.demand = demand(block, *given, np.uint32(0), np.int32(1), units=self.shape[1])
        self.run = lambda first, blocks: np.asarray(self.program(*given, np.uint32(first), np.int32(blocks)))


def timed(built: Built, alone: Alone) -> dict[str, Any]:
    """Trials a second of whole tiles, what compilation took, and the first outcomes. Seconds are of a monotonic clock.

    On a CPU some blocks of a tile are run: they take proportionally long.
    """
    tile, block = built.shape
    blocks = tile // block
    if jax.default_backend() == "cpu":
        blocks = min(blocks, max(1, COMPARED // block))
    first = built.run(0, min(tile // block, max(1, COMPARED // block)))[:COMPARED]
    best, spent, runs = float("inf"), 0.0, 0
    with alone():
        while runs < 2 or (spent < _SECONDS and runs < _RUNS):
            begin = time.perf_counter()
            built.run((runs + 1) * tile, blocks)
            took = time.perf_counter() - begin
            best, spent, runs = min(best, took), spent + took, runs + 1
    memory, text = built.program.memory_analysis(), built.program.as_text()
    return {
        "trials_per_s": blocks * block / best,
        "seconds": best,
        "blocks": blocks,
        "demand": built.demand,
        "temporary_bytes": memory.temp_size_in_bytes,
        "loops": text.count(" while("),
        "sorts": text.count(" sort("),
        "outcomes": first[: blocks * block].tobytes().hex(),
    }


def profiled(built: Built) -> dict[str, Any]:
    """The kernels of one block that take the most time: name, number, seconds."""
    built.run(0, 1)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            begin = time.perf_counter()
            built.run(built.shape[0], 1)
            wall = time.perf_counter() - begin
        (path,) = Path(folder).rglob("*.trace.json.gz")
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    process = {one["pid"]: one["args"]["name"] for one in events if one.get("name") == "process_name"}
    thread = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one.get("name") == "thread_name"}
    kernels: dict[str, list[float]] = defaultdict(lambda: [0, 0.0])
    for one in events:
        stream = thread.get((one.get("pid"), one.get("tid")), "").startswith("Stream")
        if one.get("ph") == "X" and stream and "GPU" in process.get(one["pid"], ""):
            kernels[one["name"]][0] += 1
            kernels[one["name"]][1] += one["dur"] / 1e6
    slowest = sorted(kernels.items(), key=lambda item: -item[1][1])[:_KERNELS]
    return {
        "wall_s": wall,
        "busy_s": sum(seconds for _, seconds in kernels.values()),
        "launches": sum(int(count) for count, _ in kernels.values()),
        "kernels": [[name, *how] for name, how in slowest],
    }
