"""Progress of an audit: a callback that receives the amount of finished work."""

from typing import Protocol


class Watch(Protocol):
    """Callback for an audit's progress."""

    def __call__(self, done: float, total: float, what: str) -> None:
        """Called before the work with done = 0, after each chunk, and before one if other work took time.

        what: the unit, "runs", "databases" or "pairs".
        """
        ...


def unwatched(done: float, total: float, what: str) -> None:
    """Ignores progress."""


class Work:
    """Counts finished units of work and reports them to a `Watch`."""

    def __init__(self, watch: Watch, total: float, what: str = "runs"):
        self._watch, self._total, self._done, self._what = watch, total, 0.0, what
        watch(0, total, what)

    def more(self, units: float) -> None:
        """Increases the total."""
        self._total += units

    def did(self, units: float) -> None:
        """Adds finished units."""
        self._done += units
        self._watch(min(self._done, self._total), self._total, self._what)

    def end(self) -> None:
        """Reports completion, also if less was done than announced, as when a sequential test stops early."""
        self._done = self._total
        self.did(0)
