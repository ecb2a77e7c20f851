"""Tiles on two devices of the host against one."""

import time

from dpjax.benchmarks.child import Child
from dpjax.benchmarks.row import Measured, Row

_TILES = 8  # of a request, about 50 ms
_LEAST_ROUNDS = 5


def _measure(seconds: float) -> Measured:
    """One device as it comes, which may use several cores; the note says what it does on one core."""
    with Child(1) as one, Child(2) as two, Child(1, cores=1) as alone:
        best = dict.fromkeys((one, two, alone), 0.0)
        for child in best:
            child.ask(1)  # waits until it has started
        rounds, end = 0, time.perf_counter() + seconds
        while rounds < _LEAST_ROUNDS or time.perf_counter() < end:
            for child in best:
                answer = child.ask(_TILES)
                best[child] = max(best[child], answer["trials"] / answer["seconds"])
            rounds += 1
    note = f"one device on one core: {best[alone]:.3g} trials/s, so two are {best[two] / best[alone]:.2f} times that"
    return Measured(best[two], best[one], best[two] / best[one], note)


ROWS = (Row("devices", "one host device, all cores", "trials/s", 1.7, _measure),)
