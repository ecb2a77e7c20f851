"""A time limit for searches."""

import time
from math import inf

from dpjax.core import checks
from dpjax.core.checks import InputError


class TimeIsUp(Exception):
    """Raised by `Clock.tick`; every search catches it and returns the bounds that it has proved."""


class Clock:
    """Counts the seconds of one search. ``limit`` in seconds, or None for no limit."""

    def __init__(self, limit: float | None):
        if limit is not None and checks.number("seconds", limit) <= 0:
            raise InputError("seconds", "a number > 0 or None", repr(limit), "give a time limit, for example 60")
        self._start, self._limit, self._released = time.monotonic(), limit, False

    def release(self) -> None:
        """Ends the limit: what follows is short, or heeds `late` itself."""
        self._released = True

    def tick(self) -> None:
        """Called inside a search; raises `TimeIsUp` when the limit is reached."""
        if self._limit is not None and self.seconds > self._limit and not self._released:
            raise TimeIsUp

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0; infinity without a limit, or after `release`."""
        return inf if self._limit is None or self._released else max(0.0, self._limit - self.seconds)

    @property
    def late(self) -> bool:
        """Whether twice the limit has passed: what is still missing is then replaced by what is known at once."""
        return self._limit is not None and self.seconds > 2 * self._limit

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._start
