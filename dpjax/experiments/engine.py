"""Runs tiles of trials on all local devices.

One executable computes a fixed, aligned tile: trials [t B, (t + 1) B). The number of tiles in flight, their devices and
their order affect time only, not the results.
"""

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import SingleDeviceSharding

from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.experiments import program
from dpjax.experiments.task import Task
from dpjax.experiments.trial import Point, Trial

Tile = np.ndarray
_MOST_PROGRAMS, _LEAST_PROGRAMS = 64, 4  # in all, and for each device
_MOST_MAPS = 1 << 15
_TILE_CELLS = 1 << 21  # rows x concepts per tile
_BLOCK_CELLS = 1 << 16  # rows x concepts per block, about the size of a core's cache
CAPACITY_LIMIT = 1 << 20


def capacity(n: int) -> int:
    """The buffer for n rows: the next power of 4 up to 4096, then of 2. It depends on n only and is part of the point.

    Small buffers are cheap and compilation is expensive, so there are few sizes.
    """
    if n > CAPACITY_LIMIT:
        raise InputError(
            "n", f"at most {CAPACITY_LIMIT} rows", str(n), "lower n or n_max, or relax epsilon, alpha or k"
        )
    exponent = max(4, (n - 1).bit_length())
    return 1 << (exponent + exponent % 2 if exponent <= 12 else exponent)


def tile_shape(trial: Trial) -> tuple[int, int]:
    """(trials of a tile, trials of a block in it), functions of the trial and part of a result's identity.

    A learner's ``passes``, if given, is its approximate number of passes over the rows.
    """
    cells = trial.capacity * trial.k * getattr(trial.learner, "passes", 1)
    tile = _power_of_two(_TILE_CELLS // cells, 16, 1024)
    return tile, _power_of_two(_BLOCK_CELLS // cells, 1, tile)  # a block that divides the tile: one program, not two


@dataclass(frozen=True, eq=False)
class Program:
    """The program of a trial's tiles.

    run: jitted, see `tile_program`. digest: of what was traced, see `program`. jaxpr: returns what was traced, None
    once ``run`` has dropped it.

    Compiled programs are found by the digest, not by the learner: learners that compare equal may differ.
    """

    trial: Trial
    run: Any
    digest: str
    jaxpr: Callable[[], Any]

    def compiled(self, run: Any, specs: tuple) -> Any:
        """The executable of ``run``, which is traced again if its trace was dropped: it must be what was digested."""
        found = run.trace(*specs)
        if found.jaxpr is not self.jaxpr() and _digest(self.trial, found.jaxpr) != self.digest:
            raise InputError(
                "learner", "code that stays as it is while it is measured", "another program than a moment ago",
                "do not change the learner, or what it reads, during a run; run the study again",
            )  # fmt: skip
        return found.lower().compile()


def _power_of_two(value: int, low: int, high: int) -> int:
    """The largest power of two up to ``value``, clipped to [low, high]."""
    return 1 << (min(high, max(low, value)).bit_length() - 1)


def device_kind() -> str:
    """What the numbers depend on besides the program: platform and device kind, not how many."""
    return _kind_of(jax.local_devices()[0])


def _kind_of(device: Any) -> str:
    return f"{device.platform}:{device.device_kind}"


class Engine:
    """Compiles each trial once per device and streams its tiles. Use as a context manager.

    Args:
      in_flight: number of concurrent tiles, by default two per device, so that no device waits for the host.
      devices: by default all local ones.

    The 64 most recent programs are cached, fewer if the process has many memory maps: Linux allows 65530, and a program
    may need hundreds. ``programs`` and ``trials`` count what this engine compiled and computed.
    """

    def __init__(self, in_flight: int | None = None, devices: list | None = None):
        self.devices = list(devices or jax.local_devices())
        if len(kinds := {_kind_of(device) for device in self.devices}) > 1:
            raise InputError("devices", "devices of one kind", ", ".join(sorted(kinds)), "choose some of one kind")
        self._kind = kinds.pop()
        self.in_flight = in_flight or 2 * len(self.devices)
        self.programs = 0
        self.trials = 0
        self._lock = threading.Lock()
        self._programs: OrderedDict = OrderedDict()
        self._pool = ThreadPoolExecutor(max_workers=self.in_flight)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    @property
    def device_kind(self) -> str:
        """Of its devices, see `device_kind`."""
        return self._kind

    def tiles(self, program: Program, task: Task, point: Point, seed: int, first: int, last: int) -> Generator[Tile]:
        """Yields the outcomes ``uint8[trials]`` of tiles first, ..., last - 1, in order."""
        arguments = arguments_of(task, point, seed)
        waiting, ready, following = {}, {}, first
        upcoming = iter(range(first, last))
        try:
            for tile in range(first, min(last, first + self.in_flight)):
                waiting[self._submit(program, arguments, next(upcoming))] = tile
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    ready[waiting.pop(future)] = future.result()
                    for tile in upcoming:
                        waiting[self._submit(program, arguments, tile)] = tile
                        break
                while following in ready:
                    self.trials += len(ready[following])
                    yield ready.pop(following)
                    following += 1
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, program: Program, arguments: tuple, tile: int):
        device = self.devices[tile % len(self.devices)]
        return self._pool.submit(self._run, program, arguments, tile, device)

    def _run(self, program: Program, arguments: tuple, tile: int, device) -> Tile:
        size, _ = tile_shape(program.trial)
        with jax.enable_x64(False):
            placed = jax.device_put((*arguments, np.uint32(tile * size)), device)
            return np.asarray(self._compiled(program, placed, device)(*placed))

    def _compiled(self, program: Program, placed: tuple, device) -> Callable:
        key = (program.digest, device, shape_of(placed))
        with self._lock:
            slot = self._programs.setdefault(key, _Slot(program.run))
            self._programs.move_to_end(key)
        with slot.lock:
            if slot.compiled is None:
                place = SingleDeviceSharding(device)
                specs = jax.tree.map(lambda part: jax.ShapeDtypeStruct(part.shape, part.dtype, sharding=place), placed)
                slot.compiled = program.compiled(slot.run, specs)
                with self._lock:
                    self.programs += 1
                    self._make_room(program)
        return slot.compiled

    def _make_room(self, own: Program) -> None:
        """Forgets programs that were used longest ago, of others than ``own``; one that runs keeps its reference.

        Half of them if there are many memory maps: those of other code cannot be freed here, and a few are kept.
        """
        least = _LEAST_PROGRAMS * len(self.devices)
        most = max(_MOST_PROGRAMS, least)
        if _memory_maps() > _MOST_MAPS:
            most = max(least, min(most, len(self._programs) // 2))
        old = [key for key, slot in self._programs.items() if slot.compiled is not None and key[0] != own.digest]
        for key in old[: max(0, len(self._programs) - most)]:
            self._programs.pop(key).run.clear_cache()


@dataclass(eq=False)
class _Slot:
    """run: whose own cache holds the executable, too. compiled: None until the first tile."""

    run: Any
    compiled: Any = None
    lock: Any = field(default_factory=threading.Lock)


def _memory_maps() -> int:
    """Of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            return sum(1 for _ in maps)
    except OSError:
        return 0


def arguments_of(task: Task, point: Point, seed: int) -> tuple:
    """The arguments of a tile's program, except the index of its first trial."""
    root = np.asarray(jax.random.key_data(keys.root(seed)))
    return root, jax.tree.map(np.asarray, task), point


def shape_of(arguments: tuple) -> Any:
    """What determines the program besides the trial: the structure, and each leaf's shape and type."""
    leaves, structure = jax.tree.flatten(arguments)
    return structure, tuple((np.shape(leaf), np.asarray(leaf).dtype.name) for leaf in leaves)


def tile_program(trial: Trial) -> Any:
    """Jitted: (root key data, task, point, first trial) -> the outcomes ``uint8[trials]`` of one tile.

    A new function at each call, so that it is traced anew: a learner may have been edited meanwhile.
    """
    size, block = tile_shape(trial)

    def run(root: Array, task: Task, point: Point, first: Array) -> Array:
        of_point = keys.of_point(jax.random.wrap_key_data(root, impl="threefry2x32"), point.identity)
        trials = first + jnp.arange(size, dtype=jnp.uint32)
        trial_keys = jax.vmap(keys.of_trial, (None, 0))(of_point, trials)
        return jax.lax.map(lambda key: trial(key, task, point), trial_keys, batch_size=block)

    return jax.jit(run)


def traced(trial: Trial, task: Task, point: Point) -> Program:
    """The tile's program, traced as it runs: with 64-bit types off."""
    arguments, run = (*arguments_of(task, point, 0), np.uint32(0)), tile_program(trial)
    with jax.enable_x64(False):
        specs = jax.tree.map(lambda part: jax.ShapeDtypeStruct(np.shape(part), np.asarray(part).dtype), arguments)
        jaxpr = run.trace(*specs).jaxpr
        return Program(trial, run, _digest(trial, jaxpr), weakref.ref(jaxpr))


def _digest(trial: Trial, jaxpr: Any) -> str:
    return program.digest(jaxpr, getattr(trial.learner, "cache_token", None))


def program_digest(trial: Trial, task: Task, point: Point) -> str:
    """`program.digest` of the tile's program."""
    return traced(trial, task, point).digest


def host_devices(count: int | None) -> None:
    """Splits the CPU into ``count`` devices, by default one per core; to be called before JAX starts.

    After JAX has started the default changes nothing, and a different count is an InputError.
    """
    try:
        jax.config.update("jax_num_cpu_devices", count or len(os.sched_getaffinity(0)))
    except RuntimeError as error:
        if count is not None and count != jax.local_device_count("cpu"):
            raise InputError(
                "devices", f"{jax.local_device_count('cpu')}, the number at JAX's start", str(count),
                "leave it out, or ask for it in a new process",
            ) from error  # fmt: skip
