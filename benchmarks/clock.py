"""Fair timing: short repetitions in turn, and the best of each."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator

from benchmarks.row import Measured

Work = Callable[[], int]
"""Does a few milliseconds of work, waits for it, and says how many units that was."""

_LEAST_ROUNDS = 5


def race(ours: Work, peer: Work, seconds: float) -> Measured:
    """Units a second of both, from the best of many repetitions that alternate, so that other load hits both alike.

    The first call of each, which may compile, does not count. Both take the cores that they take by themselves; where
    the system allows it, the note says the ratio on one core.
    """
    for work in (ours, peer):
        work()
    value, peer_value, cores = _best(ours, peer, seconds)
    note = f"dpjax on {cores:.2g} cores"
    with one_core() as pinned:
        if pinned:
            alone, peer_alone, _ = _best(ours, peer, seconds / 2)
            note = f"{note}; on one core {alone:.3g} against {peer_alone:.3g}, {alone / peer_alone:.3g} times"
    return Measured(value, peer_value, value / peer_value, note)


def _best(ours: Work, peer: Work, seconds: float) -> tuple[float, float, float]:
    """The best rates, and the cores that our side kept busy."""
    best = {ours: 0.0, peer: 0.0}
    rounds, wall, cpu, end = 0, 0.0, 0.0, time.perf_counter() + seconds
    while rounds < _LEAST_ROUNDS or time.perf_counter() < end:
        for work in best:
            busy, start = time.process_time(), time.perf_counter()
            units = work()
            took = time.perf_counter() - start
            best[work] = max(best[work], units / took)
            if work is ours:
                wall, cpu = wall + took, cpu + time.process_time() - busy
        rounds += 1
    return best[ours], best[peer], cpu / wall


@contextlib.contextmanager
def one_core() -> Iterator[bool]:
    """Keeps all threads of the process on one core meanwhile; False where that cannot be done."""
    try:
        whole, before = os.sched_getaffinity(0), {task: os.sched_getaffinity(task) for task in _tasks()}
        for task in before:
            os.sched_setaffinity(task, {max(whole)})
    except (AttributeError, OSError):
        yield False
        return
    try:
        yield True
    finally:
        for task in _tasks():  # those that began meanwhile, too
            with contextlib.suppress(OSError):
                os.sched_setaffinity(task, before.get(task, whole))


def _tasks() -> list[int]:
    return [int(task) for task in os.listdir("/proc/self/task")]
