"""The smallest integers that satisfy monotone conditions."""

from collections.abc import Callable, Iterable
from functools import partial
from math import log

from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.host import host_functions

ROUNDING = 1e-12
"""More than the rounding error of a lower bound in float64: it excludes a number of rows only by a larger margin."""
_LIMIT = 1 << 62


def smallest(enough: Callable[[int], bool]) -> int:
    """The smallest n >= 1 with ``enough(n)``, which must be monotone in n; NoTheoremError beyond 2**62."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _LIMIT:
            advice = "relax epsilon, alpha or beta; leave numbers of the learner out; or search for n"
            raise NoTheoremError("sample size", "a number of rows below 2**62 that is enough", "none", advice)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def log_over(count: int, part: float) -> float:
    """ln(count / part) for a whole number and a part of any size."""
    short = count.bit_length() <= 500 and part > 1e-150
    return log(count / part) if short else log(count) - log(part)


def least(enough: Callable[[float], bool], low: float, high: float) -> float:
    """A real x in [low, high] with ``enough(x)``, the least up to rounding; monotone, and true at ``high``."""
    if enough(low):
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def fewest_rows(tried: Iterable[int], enough: Callable[[int, int], bool]) -> tuple[int, int]:
    """(rows, draws): the draws, one of ``tried``, that need the fewest rows for ``enough(draws, rows)``.

    ``enough`` is monotone in rows. Of equal numbers the first; NoTheoremError if no number of rows is enough for any.
    """
    best, refusal = None, None
    for draws in tried:
        if best is not None and (best[0] == 1 or not enough(draws, best[0] - 1)):
            continue  # another candidate needs no more rows
        try:
            best = smallest(partial(enough, draws)), draws
        except InputError as error:  # no number of rows gives the budget that so few draws need
            refusal = error
    if best is None:
        raise refusal or InputError("tried", "one number of draws or more", "none", "give the numbers to compare")
    return best


host_functions(globals())
