"""Tiles on two devices of the host against one."""

import functools
import time

from benchmarks.child import Child
from benchmarks.row import Measured, Row

_TILES = 8  # of a request, about 50 ms
_LEAST_ROUNDS = 5


def _against_one(cores: int | None, seconds: float) -> Measured:
    with Child(1, cores) as one, Child(2) as two:
        best = dict.fromkeys((one, two), 0.0)
        for child in best:
            child.ask(1)  # waits until it has started
        rounds, end = 0, time.perf_counter() + seconds
        while rounds < _LEAST_ROUNDS or time.perf_counter() < end:
            for child in best:
                answer = child.ask(_TILES)
                best[child] = max(best[child], answer["trials"] / answer["seconds"])
            rounds += 1
    return Measured(best[two], best[one], best[two] / best[one])


ROWS = (
    Row("devices", "one host device, one core", "trials/s", 1.7, functools.partial(_against_one, 1)),
    Row("devices-all-cores", "one host device, all cores", "trials/s", None, functools.partial(_against_one, None)),
)
