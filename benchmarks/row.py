"""What a row of the table is."""

import functools
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measured:
    """Two numbers of one run, and how many times better ours is."""

    value: float
    peer_value: float
    ratio: float
    note: str = ""


@functools.cache
def processor() -> str:
    """The processor's name and the number of cores that this process may use."""
    name, features = platform.processor() or platform.machine() or "unknown", ""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        lines = [line.partition(":") for line in information.read_text().splitlines()]
        found = {key.strip(): value.strip() for key, _, value in lines}
        name = found.get("model name", name)
        features = ", AVX-512" if "avx512f" in found.get("flags", "").split() else ""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{name}{features}, {cores} cores"


@dataclass(frozen=True)
class Row:
    """One comparison.

    Args:
      name: as on the command line.
      peer: what dpjax is compared with, in words.
      unit: of the two numbers.
      goal: the least ratio that passes; None for information.
      measure: seconds to spend -> Measured.
      needs: optional packages, of the extra dpjax[bench].
    """

    name: str
    peer: str
    unit: str
    goal: float | None
    measure: Callable[[float], Measured]
    needs: tuple[str, ...] = ()

    def run(self, seconds: float) -> dict[str, Any]:
        """The row as plain values; ``passed`` is None where there is no goal."""
        found = self.measure(seconds)
        passed = None if self.goal is None else bool(found.ratio >= self.goal)
        return {
            "name": self.name,
            "value": float(found.value),
            "peer": self.peer,
            "peer_value": float(found.peer_value),
            "ratio": float(found.ratio),
            "goal": self.goal,
            "unit": self.unit,
            "passed": passed,
            "note": found.note,
            "processor": processor(),
        }
