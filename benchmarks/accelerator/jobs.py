"""What is measured of a device, in the order of its worth: when the time is up, the rest is left out."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "scripts"))  # the list of all learners
from plans import CASES

ROWS = (1024, 200, 16384)
MANY = 64
BLOCKS = (1024, 16384)
_SLOW = ("PolygonLearner", "UnionLearner", "Boosted(KLN)", "GenericLearner(Hierarchy(bits=10), composition=zcdp)")
NAMES = tuple(
    sorted((name for name in CASES if "composition=" not in name or "zcdp" in name), key=lambda name: name not in _SLOW)
)
"""Every learner once; those that compile longest first."""


@dataclass(frozen=True)
class Job:
    """A learner's tile: its rows, the number of concepts and the trials of a block, None for the usual ones.

    profile: time of each kernel, not of the tile.
    """

    learner: str
    rows: int
    k: int | None = None
    block: int | None = None
    profile: bool = False

    def record(self) -> dict[str, Any]:
        """Its part of a line of the results."""
        return asdict(self)


def jobs(platform: str, names: tuple[str, ...] = NAMES) -> Iterator[Job]:
    """On a CPU, which is measured for comparison, the usual sizes alone."""
    for rows in ROWS[: 2 if platform == "cpu" else None]:
        yield from (Job(name, rows) for name in names)
        if platform != "cpu" and rows == ROWS[0]:
            yield from (Job(name, rows, profile=True) for name in names if name in _SLOW)
            yield from (Job(name, rows, k=MANY) for name in names if CASES[name][1] > 1)
            yield from (Job(name, rows, block=block) for block in BLOCKS for name in names if CASES[name][1] == 1)
