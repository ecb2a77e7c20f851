"""Progress of a running study: finished steps, trials per second, remaining time."""

import math
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from rich import progress as bars

from dpjax.core.logs import LOG
from dpjax.core.screen import Screen
from dpjax.experiments.results import notebooks

_SECONDS = 30.0


class Progress:
    """A context manager with two callbacks: `step` for `run.run`, `trials` for `Cells`.

    A progress bar on a terminal and in a notebook. Otherwise one line at most every 30 seconds, the first after 30
    seconds. enabled: False for no output. say: receives the lines, by default the logger ``dpjax``, which writes to
    standard error.
    """

    def __init__(self, enabled: bool | None = None, say: Callable[[str], None] | None = None):
        quiet = enabled is False
        display = None if quiet or say is not None else notebooks.display()
        self._bar = None if display is None else notebooks.Bar(display)
        terminal = sys.stderr.isatty() and say is None and display is None
        self._lines = not quiet and not terminal and display is None
        self._say = LOG.info if say is None else say
        self._bars = bars.Progress(
            bars.SpinnerColumn(),
            bars.TextColumn("{task.description}", markup=False),
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(),
            bars.TextColumn("left"),
            bars.TimeRemainingColumn(),
            bars.TextColumn("{task.fields[rate]}"),
            console=Screen(stderr=True, soft_wrap=False),
            transient=True,
            disable=quiet or not terminal,
        )
        self._task = self._bars.add_task("starting", total=None, rate="")
        self._count, self._since, self._told = 0, time.monotonic(), time.monotonic()
        self._what, self._done, self._total = "starting", 0, 0

    def __enter__(self) -> "Progress":
        self._bars.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bars.stop()
        if self._bar is not None:
            self._bar.end()

    def step(self, text: str, done: int, total: int) -> None:
        """Reports the current step, and the number of finished steps and of all steps."""
        self._what, self._done, self._total = text, done, total
        self._bars.update(self._task, description=text, completed=done, total=total)
        self._tell()

    def say(self, text: str) -> None:
        """A line at once."""
        self._say(text)

    def trials(self, count: int) -> None:
        """Adds newly computed trials."""
        self._count += count
        seconds = max(time.monotonic() - self._since, 1e-3)
        self._bars.update(self._task, rate=f"{self._count} trials, {self._count / seconds:.0f}/s")
        self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        if self._bar is not None:
            rate = f", {self._count} trials" * bool(self._count)
            self._bar.show(self._done, self._total, f"{self._done} of {self._total}: {self._what}{rate}")
        if not self._lines or now - self._told < _SECONDS:
            return
        self._told, seconds = now, now - self._since
        left = f", about {seconds / self._done * (self._total - self._done):.0f} s left" if self._done else ""
        done = f"{self._done} of {self._total} done" if self._total else "starting"
        rate = f"; {self._count} trials, {self._count / seconds:.0f}/s" if self._count else ""
        self._say(f"{done}; {self._what}{rate}{left}")


class Estimate:
    """Lines about one task: its size and estimated time, then a line every 30 seconds.

    A callback (done, total, unit), called with done = 0 first and after each chunk. The estimate is printed after two
    chunks (the first may include compilation) or a third of the work, and again if the work grows. As a context manager
    it also prints during chunks longer than 30 seconds. say: receives the lines, by default the logger ``dpjax``.
    """

    def __init__(self, say: Callable[[str], None] | None = None, clock: Callable[[], float] = time.monotonic):
        self._say = LOG.info if say is None else say
        self._clock, self._begin, self._told = clock, clock(), clock()
        self._last, self._done, self._total, self._what = self._begin, 0.0, 0.0, "units"
        self._announced, self._chunks, self._fastest = 0.0, 0, math.inf
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "Estimate":
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stop.set()
        self._thread.join()

    def __call__(self, done: float, total: float, what: str) -> None:
        """Reports progress if a line is due."""
        now = self._clock()
        if done > self._done:
            self._fastest = min(self._fastest, (now - self._last) / (done - self._done))
            self._chunks += 1
        self._last, self._done, self._total, self._what = now, done, total, what
        if (self._chunks > 1 or 3 * done >= total) and total > self._announced:
            known = f"{total - self._announced:.0f} more, {total:.0f}" if self._announced else f"{total:.0f}"
            self._announced, self._told = total, now
            self._say(f"{known} {what}, {_about(now - self._begin + self._fastest * (total - done))}")
        self._tell(now)

    def _beat(self) -> None:
        while not self._stop.wait(_SECONDS / 10):
            self._tell(self._clock())

    def _tell(self, now: float) -> None:
        if now - self._told < _SECONDS or self._done >= self._total > 0:
            return
        self._told, spent = now, now - self._begin
        left = f", {_about(spent / self._done * (self._total - self._done))} left" if self._done else ""
        self._say(f"{self._done:.0f} of {self._total:.0f} {self._what} after {spent:.0f} s{left}")


def _about(seconds: float) -> str:
    return "a few seconds" if seconds < 5 else f"about {seconds:.0f} s"  # choosing events takes time, too
