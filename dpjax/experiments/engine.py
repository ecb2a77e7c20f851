"""Runs tiles of trials on all local devices.

One executable computes a fixed, aligned tile: trials [t B, (t + 1) B). How many tiles are in flight, on which device
and in which order, changes only when a number is computed, never what it is.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import SingleDeviceSharding

from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.experiments.experiment import Experiment, Point, Workload

_MOST_PROGRAMS = 64
_TILE_CELLS = 1 << 21  # rows x concepts of a tile
_BLOCK_CELLS = 1 << 16  # rows x concepts worked on at once, about what a core's cache holds
CAPACITY_LIMIT = 1 << 20


def capacity(n: int) -> int:
    """The buffer for n rows: the next power of 4 up to 4096, then of 2. A function of n alone, so part of the point.

    Small buffers cost little and compiling costs much, so there are few of them.
    """
    if n > CAPACITY_LIMIT:
        raise InputError(
            "n", f"at most {CAPACITY_LIMIT} rows", str(n), "lower n or n_max, or relax epsilon, alpha or k"
        )
    exponent = max(4, (n - 1).bit_length())
    return 1 << (exponent + exponent % 2 if exponent <= 12 else exponent)


def tile_shape(experiment: Experiment) -> tuple[int, int]:
    """(trials of a tile, trials of a block inside it): functions of the experiment, part of a result's identity.

    A learner may say in ``passes`` how often it goes through its rows, if that is often.
    """
    cells = experiment.capacity * experiment.k * getattr(experiment.learner, "passes", 1)
    tile = _power_of_two(_TILE_CELLS // cells, 16, 1024)
    return tile, _power_of_two(_BLOCK_CELLS // cells, 1, tile)  # a block that divides the tile: one program, not two


def _power_of_two(value: int, low: int, high: int) -> int:
    """The largest power of two up to ``value``, within [low, high]."""
    return 1 << (min(high, max(low, value)).bit_length() - 1)


def device_kind() -> str:
    """What the numbers depend on besides the program: platform and device kind, not how many."""
    device = jax.local_devices()[0]
    return f"{device.platform}:{device.device_kind}"


class Engine:
    """Compiles each experiment once a device and streams its tiles. Use as a context manager.

    Args:
      in_flight: tiles under way at once, by default two a device, so that none waits for the host.
      devices: by default all local ones.

    The 64 programs last used are kept: each maps memory a hundred times, and a process may do so 65530 times.
    ``programs`` and ``trials`` count what this engine compiled and computed.
    """

    def __init__(self, in_flight: int | None = None, devices: list | None = None):
        self.devices = list(devices or jax.local_devices())
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

    def tiles(
        self, experiment: Experiment, workload: Workload, point: Point, seed: int, first: int, last: int
    ) -> Generator[np.ndarray, None, None]:
        """Yields the counts ``int64[4]`` of tiles first, ..., last - 1, in order."""
        root = jax.random.key_data(keys.root(seed))
        arguments = (np.asarray(root), jax.tree.map(np.asarray, workload), point)
        size, _ = tile_shape(experiment)
        waiting, ready, following = {}, {}, first
        upcoming = iter(range(first, last))
        try:
            for tile in range(first, min(last, first + self.in_flight)):
                waiting[self._submit(experiment, arguments, next(upcoming))] = tile
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    ready[waiting.pop(future)] = future.result()
                    for tile in upcoming:
                        waiting[self._submit(experiment, arguments, tile)] = tile
                        break
                while following in ready:
                    self.trials += size
                    yield ready.pop(following)
                    following += 1
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, experiment: Experiment, arguments: tuple, tile: int):
        device = self.devices[tile % len(self.devices)]
        return self._pool.submit(self._run, experiment, arguments, tile, device)

    def _run(self, experiment: Experiment, arguments: tuple, tile: int, device) -> np.ndarray:
        size, _ = tile_shape(experiment)
        placed = jax.device_put((*arguments, np.uint32(tile * size)), device)
        return np.asarray(self._program(experiment, placed, device)(*placed)).astype(np.int64)

    def _program(self, experiment: Experiment, placed: tuple, device) -> Callable:
        shapes = jax.tree.map(lambda part: (part.shape, part.dtype.name), placed)
        key = (experiment, device, jax.tree.structure(placed), tuple(jax.tree.leaves(shapes)))
        with self._lock:
            slot = self._programs.setdefault(key, [threading.Lock(), None])
            self._programs.move_to_end(key)
            while len(self._programs) > _MOST_PROGRAMS:
                self._programs.popitem(last=False)  # who runs it keeps it until the end
        with slot[0]:
            if slot[1] is None:
                place = SingleDeviceSharding(device)
                specs = jax.tree.map(lambda part: jax.ShapeDtypeStruct(part.shape, part.dtype, sharding=place), placed)
                slot[1] = jax.jit(tile_program(experiment)).lower(*specs).compile()
                with self._lock:
                    self.programs += 1
        return slot[1]


def tile_program(experiment: Experiment) -> Callable:
    """(root key data, workload, point, first trial) -> counts ``int32[4]`` of one tile."""
    size, block = tile_shape(experiment)

    def run(root: Array, workload: Workload, point: Point, first: Array) -> Array:
        of_point = keys.of_point(jax.random.wrap_key_data(root, impl="threefry2x32"), point.identity)
        trials = first + jnp.arange(size, dtype=jnp.uint32)
        trial_keys = jax.vmap(keys.of_trial, (None, 0))(of_point, trials)
        counts = jax.lax.map(lambda key: experiment.trial(key, workload, point), trial_keys, batch_size=block)
        return jnp.sum(counts, axis=0, dtype=jnp.int32)

    return run


def host_devices(count: int | None) -> None:
    """Splits the CPU into ``count`` devices, by default one a core; for programs, before JAX has started.

    Where JAX has started already, the default leaves its devices as they are, and another count is an InputError.
    """
    try:
        jax.config.update("jax_num_cpu_devices", count or len(os.sched_getaffinity(0)))
    except RuntimeError as error:
        if count is not None and count != jax.local_device_count("cpu"):
            raise InputError(
                "devices", f"{jax.local_device_count('cpu')}, as JAX has started with so many", str(count),
                "leave it out, or ask for it in a new process",
            ) from error  # fmt: skip
