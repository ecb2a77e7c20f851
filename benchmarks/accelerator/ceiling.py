"""A ceiling of the device: how many words, exponentials, keys or bytes a second it computes at most."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.roofline.ceilings import CEILINGS
from benchmarks.roofline.device import sizes
from benchmarks.roofline.timing import rates

_SECONDS = 0.4


@dataclass(frozen=True)
class Ceiling:
    """One of `CEILINGS`, by name."""

    ceiling: str

    def record(self) -> dict[str, Any]:
        """Its name."""
        return asdict(self)

    def measured(self, alone: Callable[[], AbstractContextManager]) -> dict[str, Any]:
        """Units a second of each of its programs."""
        known = CEILINGS[self.ceiling]
        works = [build(sizes()) for build in known.ours.values()]
        for work in works:
            work()  # compiles
        with alone():
            found = rates(works, _SECONDS)
        return {"unit": known.unit, "per_s": max(found), "programs": dict(zip(known.ours, found, strict=True))}
