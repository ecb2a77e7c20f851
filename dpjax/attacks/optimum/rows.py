"""How many rows the best private learner needs: a bracket with a certificate at one end and a learner at the other."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpjax.core import checks
from dpjax.core.checks import InputError

_FARTHEST = 4
_CLOSE = 1e-9
_ROUGH = 0.005  # how far the upper bound usually is from the truth


@dataclass(frozen=True)
class Tried:
    """Bounds on the best success with n rows: no private learner has more than ``upper``, one has ``lower``."""

    n: int
    lower: float
    upper: float


@dataclass(frozen=True)
class Needed:
    """n* is at least ``low`` and at most ``high`` (None: no learner was found).

    below: proves low, if that is more than 1 and was not known before. enough: proves high, likewise. tried: all sizes,
    in the order of the search.
    """

    low: int
    high: int | None
    below: Tried | None
    enough: Tried | None
    tried: tuple[Tried, ...]

    @property
    def exact(self) -> bool:
        """Whether n* is known."""
        return self.low == self.high

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low}"
        return str(self.low) if self.exact else f"{self.low} to {self.high}"


def rows_needed(
    solve: Callable[[int], Tried | None],
    level: float,
    *,
    start: int = 2,
    most: int = 1 << 10,
    known: tuple[int, int | None] = (1, None),
) -> Needed:
    """The least n at which the best private learner has success ``level``, from bounds for some n.

    A learner may ignore a row, so the best success does not decrease with n: one n without a learner and a larger one
    with a learner are a bracket. The next n is where ln(1 - success), which is nearly linear in n, reaches the level.

    Args:
      solve: bounds for n rows, None if they cannot be computed. They need not be close if they are on one side of
        ``level``. Called once for each n.
      start: the first n. most: the largest.
      known: a lower bound on n*, and an upper one or None, that are proved elsewhere.
    """
    if not 0 < checks.number("level", level) < 1:
        raise InputError("level", "a success in (0, 1)", repr(level), "take for example 0.9")
    checks.integer("start", start, 1)
    checks.integer("most", most, start)
    tried, left = dict[int, Tried](), set[int]()
    below: Tried | None = None
    enough: Tried | None = None
    while True:
        low = below.n + 1 if below else known[0]
        high = enough.n if enough else known[1]
        open_ = [n for n in range(low, high or low + max(start, low) + _FARTHEST) if n not in left and n <= most]
        if not open_:
            break
        wanted = _predicted(list(tried.values()), level, start)
        if high is None:  # programs grow fast
            wanted = min(wanted, max(start, low + 1 + low // 5))
        else:  # at least a quarter of the bracket is decided
            wanted = min(max(wanted, low + (high - low) // 4), high - 1 - (high - low) // 4)
        n = min(open_, key=lambda n: abs(n - wanted))
        found = solve(n)
        if found is None:
            if high is None:
                most = n - 1
            left.add(n)
            continue
        tried[n] = found
        if found.upper < level:
            below = found
        elif found.lower >= level:
            enough = found
        else:
            left.add(n)
    return Needed(low, high, below, enough, tuple(tried.values()))


def _predicted(tried: list[Tried], level: float, start: int) -> float:
    """Where a line through the two points next to the level, or through one with a usual slope, reaches it."""
    if not tried:
        return start
    wanted = math.log(1 - level)
    points = sorted(
        ((one.n, math.log(max(1 - _estimate(one, level), _CLOSE))) for one in tried),
        key=lambda point: abs(point[1] - wanted),
    )
    (n, value), slope = points[0], None
    if len(points) > 1 and points[1][0] != n:
        slope = (points[1][1] - value) / (points[1][0] - n)
    if slope is None or slope > -1e-3:
        slope = min(value / n, -1e-2)
    return n + (wanted - value) / slope


def _estimate(one: Tried, level: float) -> float:
    """Where the success is: below the level the upper bound is the closer one."""
    return max(one.lower, one.upper - _ROUGH) if one.upper < level else (one.lower + one.upper) / 2
