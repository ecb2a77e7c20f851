"""How an audit reports its progress: a callback that is told how much of the work is done."""

from typing import Protocol


class Watch(Protocol):
    """What is told of an audit's progress."""

    def __call__(self, done: float, total: float, what: str) -> None:
        """Called before the work with done = 0, after each chunk, and before one where something else took time.

        what: the unit, "runs", "databases" or "pairs".
        """
        ...


def unwatched(done: float, total: float, what: str) -> None:
    """Tells nobody."""


class Work:
    """Counts the units of work that are done, and tells a `Watch`."""

    def __init__(self, watch: Watch, total: float, what: str = "runs"):
        self._watch, self._total, self._done, self._what = watch, total, 0.0, what
        watch(0, total, what)

    def more(self, units: float) -> None:
        """The work turns out to be larger."""
        self._total += units

    def did(self, units: float) -> None:
        """So many units are done."""
        self._done += units
        self._watch(min(self._done, self._total), self._total, self._what)

    def end(self) -> None:
        """Nothing is left, even where less was done than announced: a sequential test stops early."""
        self._done = self._total
        self.did(0)
