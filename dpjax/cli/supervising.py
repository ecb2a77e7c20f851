"""Worker processes that are started again when they die."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dpjax.cli.statuses import Status
from dpjax.core.logs import say
from dpjax.experiments.store.queue import MOST_DEATHS

_LOOK = 0.1
_MOST_USELESS = 2 * MOST_DEATHS


def supervised(
    start: Callable[[bool], subprocess.Popen], count: int, max_seconds: float | None, stored: Callable[[], Any]
) -> dict[str, Any]:  # fmt: skip
    """Runs ``count`` processes until each has ended by itself; SIGTERM, SIGUSR1 and an interruption stop all of them.

    One that is killed, crashes or ends with status `Status.LEFT` is started again; not after a signal, after
    ``max_seconds``, or after ten ends in a row during which nothing was stored: then the status is `Status.FAULT`.

    start: starts one, which prints a line of JSON at its end; called with whether it is started again. stored: what
    changes when something is stored.
    """
    ending, interrupted, begin = threading.Event(), threading.Event(), time.monotonic()
    slots: list[_Slot] = []

    def end(number: int, *_: Any) -> None:
        ending.set()
        if number == signal.SIGINT:  # a terminal has sent it to the workers, too
            interrupted.set()
        for slot in slots:
            slot.signal(signal.SIGTERM if number == signal.SIGINT else number)

    numbers = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        for _ in range(count):
            if not ending.is_set():
                slots.append(_Slot(start, stored))
        if ending.is_set():  # by a signal that came while they were started
            for slot in slots:
                slot.signal(signal.SIGTERM)
        while any([slot.look(ending.is_set() or _is_over(begin, max_seconds)) for slot in slots]):
            time.sleep(_LOOK)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for slot in slots:
            slot.end()
    found = {name: sum(slot.counts[name] for slot in slots) for name in ("done", "failed", "trials")}
    if interrupted.is_set():
        raise KeyboardInterrupt
    states = [slot.status for slot in slots] or [Status.LEFT]
    order = Status.FAULT, Status.INVALID, Status.LEFT, Status.FAILED
    status = next((one for one in order if one in states), max(states))
    return found | {"restarts": sum(slot.restarts for slot in slots), "status": status}


def _is_over(begin: float, max_seconds: float | None) -> bool:
    return max_seconds is not None and time.monotonic() - begin > max_seconds


class _Slot:
    """One process at a time."""

    def __init__(self, start: Callable[[bool], subprocess.Popen], stored: Callable[[], Any]):
        self.start, self.stored, self.restarts, self.useless = start, stored, 0, 0
        self.counts = {"done": 0, "failed": 0, "trials": 0}
        self.status: int = Status.LEFT
        self._begin(False)

    def _begin(self, again: bool) -> None:
        self.before = self.stored()
        self.process, self.output = self.start(again), [""]
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
        finished = status in (Status.DONE, Status.INVALID, Status.FAULT, Status.FAILED)
        self.useless = self.useless + 1 if self.stored() == self.before else 0
        if finished or ending or self.useless >= _MOST_USELESS:
            self.status = status if finished else Status.LEFT if ending else Status.FAULT
            if self.status == Status.FAULT and not finished:
                what = f"{self.useless} worker processes, one after the other, ended and stored nothing"
                say(f"dpjax: {what}, the last with status {status}; none is started again")
            return False
        say(f"dpjax: a worker process ended with status {status} and is started again")
        self.restarts += 1
        self._begin(True)
        return True

    def _count(self, text: str) -> None:
        lines = text.strip().splitlines()
        with suppress(ValueError):  # a learner may print as well
            answer = json.loads(lines[-1]) if lines else {}
            if isinstance(answer, dict) and self.counts.keys() <= answer.keys():
                for name in self.counts:
                    self.counts[name] += answer[name]
