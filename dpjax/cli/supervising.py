"""Worker processes that are started again when they die."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from dpjax.cli.watching import LEFT
from dpjax.experiments.queue import MOST_DEATHS

_LOOK = 0.1
_QUICK, _MOST_QUICK = (
    20.0,
    2 * MOST_DEATHS,
)  # ends so soon, one after the other and to no effect, that more are of no use


def supervised(
    start: Callable[[bool], subprocess.Popen], count: int, max_seconds: float | None, ended: Callable[[], int]
) -> dict[str, Any]:  # fmt: skip
    """Runs ``count`` processes until each has ended by itself, and passes SIGTERM and SIGUSR1 on to them.

    One that is killed, crashes or ends with status `LEFT` is started again; not after a signal, after ``max_seconds``,
    or after ten ends in a row, each within 20 seconds, during which no cell was done or failed.

    start: starts one, which prints a line of JSON at its end; called with whether it is started again. ended: the
    number of cells that are done or failed.
    """
    ending, begin = threading.Event(), time.monotonic()
    slots = [_Slot(start, ended) for _ in range(count)]

    def end(number: int, *_: Any) -> None:
        ending.set()
        for slot in slots:
            slot.signal(number)

    numbers = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        while any([slot.look(ending.is_set() or _is_over(begin, max_seconds)) for slot in slots]):
            time.sleep(_LOOK)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for slot in slots:
            slot.end()
    found = {name: sum(slot.counts[name] for slot in slots) for name in ("done", "failed", "trials")}
    states = [slot.status for slot in slots]
    status = 2 if 2 in states else LEFT if LEFT in states else 4 if 4 in states else max(states)
    return found | {"restarts": sum(slot.restarts for slot in slots), "status": status}


def _is_over(begin: float, max_seconds: float | None) -> bool:
    return max_seconds is not None and time.monotonic() - begin > max_seconds


class _Slot:
    """One process at a time."""

    def __init__(self, start: Callable[[bool], subprocess.Popen], ended: Callable[[], int]):
        self.start, self.ended, self.restarts, self.quick = start, ended, 0, 0
        self.counts = {"done": 0, "failed": 0, "trials": 0}
        self.status = LEFT
        self._begin(False)

    def _begin(self, again: bool) -> None:
        self.before = self.ended()
        self.process, self.since, self.output = self.start(again), time.monotonic(), [""]
        pipe, output = self.process.stdout, self.output
        assert pipe is not None
        self.reader = threading.Thread(target=lambda: output.__setitem__(0, pipe.read()), daemon=True)
        self.reader.start()

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def look(self, ending: bool) -> bool:
        """Whether the process goes on, or another one in its place."""
        if (status := self.process.poll()) is None:
            return True
        self.reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        if self.output[0] is not None:
            text, self.output = self.output[0], [""]
            self._count(text)
        finished = status in (0, 2, 3, 4)
        useless = time.monotonic() - self.since < _QUICK and self.ended() == self.before
        self.quick = self.quick + 1 if useless else 0
        if finished or ending or self.quick >= _MOST_QUICK:
            self.status = status if finished else LEFT
            return False
        print(f"dpjax: a worker process ended with status {status} and is started again", file=sys.stderr, flush=True)
        self.restarts += 1
        self._begin(True)
        return True

    def _count(self, text: str) -> None:
        lines = text.strip().splitlines()
        if lines and lines[-1].startswith("{"):
            answer = json.loads(lines[-1])
            for name in self.counts:
                self.counts[name] += answer.get(name, 0)
