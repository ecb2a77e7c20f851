"""How a study's cells are divided into the tasks of a job array."""

import math
import re
from dataclasses import dataclass

from dpjax.core import checks
from dpjax.core.checks import InputError

SHORTEST, LONGEST = 15, 60  # minutes of a shard
_DAY = 86400


@dataclass(frozen=True)
class Shards:
    """The division.

    count: number of shards. seconds: estimated wall-clock time of the longest one. cells: number of cells.
    """

    count: int
    seconds: float
    cells: int


def divide(
    cells: int, seconds_per_cell: float | None, total_hours: float | None, workers: int, minutes: float, limit: int
) -> Shards:
    """As many shards as take about ``minutes`` each with ``workers`` cells at a time, at most ``limit`` and ``cells``.

    A shard cannot be shorter than one cell, and at the limit shards become longer.
    """
    checks.integer("cells", cells, 1)
    if (seconds_per_cell is None) == (total_hours is None):
        given = "neither" if seconds_per_cell is None else "both"
        advice = "give one estimate; `dpjax plan STUDY.toml --time` measures it"
        raise InputError("seconds_per_cell", "--seconds-per-cell or --total-hours", given, advice)
    for name, value in (("seconds_per_cell", seconds_per_cell), ("total_hours", total_hours)):
        if value is not None and checks.number(name, value) <= 0:
            raise InputError(name, "a number > 0", repr(value), "give an estimate")
    if not SHORTEST <= checks.number("shard_minutes", minutes) <= LONGEST:
        advice = "schedulers dislike shorter jobs, and longer ones wait longer"
        raise InputError("shard_minutes", f"a number in [{SHORTEST}, {LONGEST}]", repr(minutes), advice)
    checks.integer("array_limit", limit, 1, 1_000_000)
    each = seconds_per_cell if seconds_per_cell is not None else (total_hours or 0) * 3600 / cells
    if not math.isfinite(cells * each):
        raise InputError("total_hours", "an estimate that is a finite number of seconds", "more", "check the estimate")
    rounds = max(1, round(minutes * 60 / each))  # cells that a worker computes one after the other
    count = min(math.ceil(cells / (rounds * workers)), limit)
    longest = math.ceil(math.ceil(cells / count) / workers)
    return Shards(count, longest * each, cells)


def seconds_of(time: str) -> int:
    """Seconds of a time limit, HH:MM:SS or D-HH:MM:SS."""
    if (found := re.fullmatch(r"(?:(\d{1,3})-)?(\d{1,3}):([0-5]\d):([0-5]\d)", time, re.ASCII)) is None:
        raise InputError("time", "HH:MM:SS or D-HH:MM:SS", repr(time), "write for example 02:00:00")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return days * _DAY + hours * 3600 + minutes * 60 + seconds


def time_limit(shards: Shards, grace: int) -> str:
    """Twice the estimate and the grace time, in whole quarters of an hour, from 30 minutes to a day."""
    quarters = min(max(2, math.ceil((2 * shards.seconds + grace) / 900)), 96)
    return "1-00:00:00" if quarters == 96 else f"{quarters // 4:02}:{quarters % 4 * 15:02}:00"
