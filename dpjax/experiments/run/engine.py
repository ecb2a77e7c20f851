"""Runs trials on all local devices.

The number of tiles in flight, their devices and their order affect time only, not the results.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from dpjax.core.checks import InputError
from dpjax.core.compilers import require_sound
from dpjax.core.cores import cores
from dpjax.core.forking import require_not_forked
from dpjax.experiments.run.cells import TileEngine
from dpjax.experiments.run.device import identity_of
from dpjax.experiments.run.loading import Loader
from dpjax.experiments.run.memory import DeviceMemory, bytes_of
from dpjax.experiments.run.tiles import Program, arguments_of, shape_of
from dpjax.experiments.run.trial import Point
from dpjax.experiments.sweep.task import Task

Tile = np.ndarray
_MOST_PROGRAMS, _LEAST_PROGRAMS = 64, 4  # in all, and for each device
_MOST_MAPS = 1 << 15


def device_kind() -> str:
    """`identity_of` the first local device."""
    return identity_of(jax.local_devices()[0])


class Engine(TileEngine):
    """Compiles each program once, loads it on every device that runs it, and streams tiles. Use as a context manager.

    Several threads may ask for tiles at once; each tile goes to the device with the fewest at that moment. Fewer
    run at once where they would not fit into its memory together, and a program that does not fit alone is refused.

    Args:
      in_flight: number of concurrent tiles, by default two per device, so that no device waits for the host.
      devices: by default all local ones.

    The 64 most recent programs are cached, fewer if the process has many memory maps: Linux allows 65530, and a program
    may need hundreds. ``programs`` counts the programs that ran, ``compiled`` those compiled and not loaded,
    ``trials`` the trials, ``tiles_of`` the tiles of each device.
    """

    def __init__(self, in_flight: int | None = None, devices: list | None = None):
        require_not_forked()
        self.devices = list(devices or jax.local_devices())
        if len(kinds := {identity_of(device) for device in self.devices}) > 1:
            raise InputError("devices", "devices of one kind", ", ".join(sorted(kinds)), "choose some of one kind")
        self._kind = kinds.pop()
        require_sound(self.devices[0].platform)
        self.in_flight = in_flight or 2 * len(self.devices)
        self.programs = self.compiled = self.trials = 0
        self.tiles_of = dict.fromkeys(self.devices, 0)
        self._busy = dict.fromkeys(self.devices, 0)
        host = DeviceMemory()
        self._memory = {device: host if device.platform == "cpu" else DeviceMemory() for device in self.devices}
        self._lock = threading.Lock()
        self._programs: OrderedDict = OrderedDict()
        self._pool = ThreadPoolExecutor(max_workers=self.in_flight)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    @property
    def device_kind(self) -> str:
        """Of its devices, see `device.identity_of`."""
        return self._kind

    @property
    def device(self) -> Any:
        """One of its devices, for which programs are made."""
        return self.devices[0]

    def tiles(self, program: Program, task: Task, point: Point, seed: int, first: int, last: int) -> Generator[Tile]:
        """Yields the outcomes ``uint8[...]`` of trials first, ..., last - 1 in order, some at a time.

        first, last: multiples of the program's block.
        """
        arguments = arguments_of(task, point, seed)
        waiting, ready, following = {}, {}, first
        upcoming = self._pieces(program, first, last)
        try:
            for begin, end in self._some(upcoming):
                waiting[self._submit(program, arguments, begin, end)] = begin
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    ready[waiting.pop(future)] = future.result()
                    for begin, end in upcoming:
                        waiting[self._submit(program, arguments, begin, end)] = begin
                        break
                while following in ready:
                    tile = ready.pop(following)
                    following += len(tile)
                    yield tile
        finally:
            for future in waiting:
                future.cancel()

    def _some(self, pieces: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        for _, piece in zip(range(self.in_flight), pieces, strict=False):
            yield piece

    def _pieces(self, program: Program, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Cuts trials into tiles, at least one for each device that may run at the same time."""
        devices = min(len(self.devices), self.in_flight)
        even = -(-(last - first) // (devices * program.block)) * program.block
        size = max(program.block, min(program.tile, even))
        return ((begin, min(begin + size, last)) for begin in range(first, last, size))

    def _submit(self, program: Program, arguments: tuple, first: int, last: int):
        return self._pool.submit(self._run, program, arguments, first, last)

    def _run(self, program: Program, arguments: tuple, first: int, last: int) -> Tile:
        blocks = np.int32((last - first) // program.block)
        with self._free_device() as device, jax.enable_x64(False):
            placed = jax.device_put((*arguments, np.uint32(first), blocks), device)
            run, need = self._compiled(program, placed, device)
            with self._memory[device].taken(need):
                tile = np.asarray(run(*placed))[: last - first]
        with self._lock:
            self.trials += len(tile)
        return tile

    @contextmanager
    def _free_device(self) -> Iterator[Any]:
        """The device with the fewest tiles now, and of these the one with the fewest so far."""
        with self._lock:
            device = min(self.devices, key=lambda candidate: (self._busy[candidate], self.tiles_of[candidate]))
            self._busy[device] += 1
            self.tiles_of[device] += 1
        try:
            yield device
        finally:
            with self._lock:
                self._busy[device] -= 1

    def _compiled(self, program: Program, placed: tuple, device) -> tuple[Callable, int]:
        """The executable on a device, and the bytes that it needs there."""
        key = (program.digest, shape_of(placed))
        with self._lock:
            if key not in self._programs:
                self._programs[key] = _Slot(program, placed)
            slot = self._programs[key]
            self._programs.move_to_end(key)
        with slot.lock:
            if device not in slot.on:
                executable, compiled = slot.loader.on(device)
                if not slot.on:
                    slot.need = bytes_of(executable)
                    self._memory[device].require(slot.need, device, program)
                slot.on[device] = executable
                with self._lock:
                    self.programs += len(slot.on) == 1 or compiled
                    self.compiled += compiled
                    self._make_room(program)
        return slot.on[device], slot.need

    def _make_room(self, own: Program) -> None:
        """Forgets programs that were used longest ago, of others than ``own``; one that runs keeps its reference.

        Half of them if there are many memory maps: those of other code cannot be freed here, and a few are kept.
        """
        least = _LEAST_PROGRAMS * len(self.devices)
        most = max(_MOST_PROGRAMS, least)
        if _memory_maps() > _MOST_MAPS:
            most = max(least, min(most, len(self._programs) // 2))
        old = [key for key, slot in self._programs.items() if slot.on and key[0] != own.digest]
        for key in old[: max(0, len(self._programs) - most)]:
            self._programs.pop(key).run.clear_cache()


class _Slot:
    """A program's executables. run: whose own cache holds the first one, too. on: by device, none until a tile runs."""

    def __init__(self, program: Program, placed: tuple):
        def compile_on(device: Any) -> Any:
            place = SingleDeviceSharding(device)
            specs = jax.tree.map(lambda part: jax.ShapeDtypeStruct(part.shape, part.dtype, sharding=place), placed)
            return program.compiled(self.run, specs)

        self.run = program.run
        self.on: dict[Any, Any] = {}
        self.need = 0
        self.lock = threading.Lock()
        self.loader = Loader(repr((program.digest, shape_of(placed))), compile_on, placed, not program.calls_host)


def _memory_maps() -> int:
    """Of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            return sum(1 for _ in maps)
    except OSError:
        return 0


def host_devices(count: int | None) -> None:
    """Splits the CPU into ``count`` devices, by default one per core; to be called before JAX starts.

    After JAX has started the default changes nothing, and a different count is an InputError.
    """
    try:
        jax.config.update("jax_num_cpu_devices", count or cores())
    except RuntimeError as error:
        if count is not None and count != jax.local_device_count("cpu"):
            expected = f"{jax.local_device_count('cpu')}, the number at JAX's start"
            raise InputError("devices", expected, str(count), "leave it out, or ask for it in a new process") from error
