"""Rates that other load disturbs little: repetitions in turn, the best of each; CPU time of one core on a CPU."""

import contextlib
import time
from collections.abc import Iterator, Sequence

import jax

from benchmarks.clock import Work, one_core

_LEAST_ROUNDS = 5


def on_cpu() -> bool:
    """Whether programs run on the CPU, where seconds are CPU time."""
    return jax.default_backend() == "cpu"


@contextlib.contextmanager
def measuring() -> Iterator[str]:
    """Keeps the process on one core if that is what computes; what a second is, in words."""
    if not on_cpu():
        yield "wall time"
        return
    with one_core() as pinned:
        yield "CPU time of one core" if pinned else "CPU time of all cores together"


def rates(works: Sequence[Work], seconds: float) -> list[float]:
    """Units a second of each, the best of repetitions in turn. The first call of each, which may compile, is left out.

    seconds: of wall time for all together, at least five rounds.
    """
    clock = time.process_time if on_cpu() else time.perf_counter
    for work in works:
        work()
    best, rounds, end = [0.0] * len(works), 0, time.perf_counter() + seconds
    while rounds < _LEAST_ROUNDS or time.perf_counter() < end:
        for i, work in enumerate(works):
            start = clock()
            units = work()
            best[i] = max(best[i], units / (clock() - start))
        rounds += 1
    return best
