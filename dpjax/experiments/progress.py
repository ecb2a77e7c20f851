"""What a person sees while a sweep runs: steps done, trials per second, time left. On standard error only."""

import sys
import time

from rich import progress as bars
from rich.console import Console


class Progress:
    """A context manager with two callbacks: `step` for `sweep.run`, `trials` for `Cells`. Silent off a terminal."""

    def __init__(self, enabled: bool | None = None):
        self._bars = bars.Progress(
            bars.SpinnerColumn(), bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(),
            bars.TimeElapsedColumn(), bars.TextColumn("left"), bars.TimeRemainingColumn(),
            bars.TextColumn("{task.fields[rate]}"), console=Console(stderr=True), transient=True,
            disable=not (sys.stderr.isatty() if enabled is None else enabled),
        )  # fmt: skip
        self._task = self._bars.add_task("starting", total=None, rate="")
        self._count, self._since = 0, time.monotonic()

    def __enter__(self) -> "Progress":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def step(self, text: str, done: int, total: int) -> None:
        """Says what is being done and how many of all steps are behind."""
        self._bars.update(self._task, description=text, completed=done, total=total)

    def trials(self, count: int) -> None:
        """Counts trials that were just computed."""
        self._count += count
        seconds = max(time.monotonic() - self._since, 1e-3)
        self._bars.update(self._task, rate=f"{self._count} trials, {self._count / seconds:.0f}/s")
