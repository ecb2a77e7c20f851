"""What is measured of a device, in the order of its worth: when the time is up, the rest is left out."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from benchmarks.accelerator.ceiling import Ceiling
from benchmarks.accelerator.command import Command
from benchmarks.accelerator.tile import CASES, Tile
from benchmarks.roofline.ceilings import CEILINGS

ROWS = (1024, 200, 16384)
MANY = 64
BLOCKS = (1024, 16384)
AUDITS = (10**6, 10**8)
STUDY = "configs/ten_million.toml"
_SLOW = (
    "PolygonLearner",
    "UnionLearner(family=dpjax.mechanisms.cover:Pieces(31))",
    "Boosted(KLN)",
    "GenericLearner(Hierarchy(bits=10), composition=zcdp)",
)
NAMES = tuple(
    sorted(
        (name for name in CASES if name != "UnionLearner" and ("composition=" not in name or "zcdp" in name)),
        key=lambda name: name not in _SLOW,
    )
)
"""Every learner once, unions by `Pieces` alone; those that compile longest first."""


class Job(Protocol):
    """One measurement."""

    def record(self) -> dict[str, Any]:
        """What it is: the first part of its line in the results."""

    def measured(self, alone: Callable[[], AbstractContextManager]) -> dict[str, Any]:
        """The other part. alone: entered while the device is timed, so that one process times at once."""


def jobs(platform: str, names: tuple[str, ...] = NAMES) -> Iterator[Job]:
    """On a CPU, which is measured for comparison, ceilings and tiles of the usual sizes alone."""
    yield from (Ceiling(name) for name in CEILINGS)
    yield from (Tile(name, ROWS[0]) for name in names)
    if platform == "cpu":
        yield from (Tile(name, rows) for rows in ROWS[1:] for name in names)
        return
    yield Command(("curve", STUDY, "--formats"))
    yield from (Tile(name, ROWS[0], profile=True) for name in names if name in _SLOW)
    yield from _of_blocks([name for name in names if name in _SLOW])
    yield Command(("audit", "kln-zcdp", "--method", "exact"))
    yield from (Command(("audit", "kln-zcdp", "--method", "statistical", "--trials", str(runs))) for runs in AUDITS)
    yield from (Tile(name, rows) for rows in ROWS[1:] for name in names)
    yield from (Tile(name, ROWS[0], k=MANY) for name in names if CASES[name][1] > 1)
    yield from _of_blocks([name for name in names if name not in _SLOW])


def _of_blocks(names: list[str]) -> Iterator[Job]:
    return (Tile(name, ROWS[0], block=block) for block in BLOCKS for name in names if CASES[name][1] == 1)
