"""Memory of a device, planned before programs run on it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpjax.core.checks import InputError
from dpjax.experiments.run.device import memory_of
from dpjax.experiments.run.tiles import Program


def bytes_of(compiled: Any) -> int:
    """The memory of one run, as the compiler knows it: arguments, outcomes and temporary values."""
    sizes = compiled.memory_analysis()
    return sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes


class DeviceMemory:
    """The bytes that programs may take at the same time; what is free is asked when a program is first required."""

    def __init__(self) -> None:
        self.free: int | None = None
        self._used = 0
        self._changed = threading.Condition()

    def require(self, need: int, device: Any, program: Program) -> None:
        """InputError if a program that needs so many bytes can never run."""
        with self._changed:
            if not self._used:
                self.free = memory_of(device)
            if self.free is None or need <= self.free:
                return
            free = self.free
        trial = program.trial
        actual = f"{need >> 20} MiB for {program.block} trials at once of {trial.capacity} rows and {trial.k} concepts"
        advice = "lower n, n_max or k, or use a device with more memory"
        raise InputError("memory", f"at most {free >> 20} MiB, which the device has", actual, advice)

    @contextmanager
    def taken(self, need: int) -> Iterator[None]:
        """Waits until the bytes are free beside what runs."""
        with self._changed:
            while self.free is not None and self._used and self._used + need > self.free:
                self._changed.wait()
            self._used += need
        try:
            yield
        finally:
            with self._changed:
                self._used -= need
                self._changed.notify_all()
