"""Signals and time limits of commands that compute the items of a study."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dpjax.cli.exit_status import Status
from dpjax.core.logs import say
from dpjax.experiments.run.work import TimeLimit, Worker

_GRACE, _LOOK = 5.0, 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
_MOST_INTERRUPTIONS = 3


@contextmanager
def stopped_by_signals(worker: Worker) -> Iterator[None]:
    """SIGTERM, SIGUSR1 and an interruption end the work at the next tile, which is stored.

    Schedulers send the first two before they kill. After an interruption KeyboardInterrupt is raised at the end; the
    third one ends the process at once, which harms nothing that is stored.
    """
    interruptions = 0

    def stop(number: int, *_: Any) -> None:
        nonlocal interruptions
        interruptions += number == signal.SIGINT
        if interruptions >= _MOST_INTERRUPTIONS:
            os._exit(Status.INTERRUPTED)
        worker.stop()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number in _SIGNALS:
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, stop)
        yield
        if interruptions:
            raise KeyboardInterrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def watched(worker: Worker, max_seconds: float | None = None) -> Iterator[None]:
    """Ends the process if one program runs longer than the time limit of an item, which is recorded as failed.

    A program that runs cannot be interrupted, so the items beside it end, too: the next run takes them up.
    max_seconds: after which no more work is begun.
    """
    ended, begin = threading.Event(), time.monotonic()

    def look() -> None:
        while not ended.wait(_LOOK):
            now = time.monotonic()
            if max_seconds is not None and now - begin > max_seconds:
                worker.stop()
            for item, since in list(worker.running.values()):
                limit: Any = worker.rules.time_limit
                if limit is not None and now - since > limit + _GRACE:
                    text = f"one program of it ran for more than {limit:g} seconds, the time limit of a cell"
                    with suppress(Exception):
                        worker.fail(item, TimeLimit(text), died=True)
                    say(f"dpjax: {item}: {text}; recorded as failed, run again for the others")
                    os._exit(Status.LEFT)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
