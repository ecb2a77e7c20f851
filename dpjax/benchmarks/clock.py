"""Fair timing: short repetitions in turn, and the best of each."""

import time
from collections.abc import Callable

from dpjax.benchmarks.row import Measured

Work = Callable[[], int]
"""Does a few milliseconds of work, waits for it, and says how many units that was."""

_LEAST_ROUNDS = 5


def race(ours: Work, peer: Work, seconds: float) -> Measured:
    """Units a second of both, from the best of many repetitions that alternate, so that other load hits both alike.

    The first call of each, which may compile, does not count. The note says how many cores our side kept busy.
    """
    best = {ours: 0.0, peer: 0.0}
    wall = cpu = 0.0
    for work in best:
        work()
    rounds, end = 0, time.perf_counter() + seconds
    while rounds < _LEAST_ROUNDS or time.perf_counter() < end:
        for work in best:
            busy, start = time.process_time(), time.perf_counter()
            units = work()
            took = time.perf_counter() - start
            best[work] = max(best[work], units / took)
            if work is ours:
                wall, cpu = wall + took, cpu + time.process_time() - busy
        rounds += 1
    value, peer_value = best[ours], best[peer]
    return Measured(value, peer_value, value / peer_value, f"dpjax on {cpu / wall:.2g} cores, best of {rounds}")
