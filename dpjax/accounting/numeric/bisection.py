"""Inversion of a monotone privacy curve on the host, always rounded to the safe side."""

import math
from collections.abc import Callable

from dpjax.core.checks import InputError

MARGIN = 1e-9
"""Relative slack kept below every target delta: a bound (see the tests) on the rounding error of the formulas."""


def largest(holds: Callable[[float], bool], low: float) -> float:
    """The largest float at which ``holds``, a property that is true up to some number and false beyond it.

    Args:
      holds: tested at floats >= ``low`` only; must become false before overflow.
      low: > 0, where it is true.
    """
    if not holds(low):
        raise InputError("low", "a value at which the target is met", repr(low), "relax the target")
    high = 2.0 * low
    while holds(high):
        low, high = high, 2.0 * high
        if math.isinf(high):
            raise InputError(
                "target", "one that some parameter exceeds", "one that all parameters meet", "choose any parameter"
            )
    while (middle := _between(low, high)) not in (low, high):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def smallest(holds: Callable[[float], bool], high: float) -> float:
    """The smallest float >= 0 at which ``holds``, a property that is false below some number and true from it on."""
    if holds(0.0):
        return 0.0
    if not holds(high):
        raise InputError("high", "a value at which the target is met", repr(high), "relax the target")
    low = 0.5 * high
    while low > 0 and holds(low):
        low, high = 0.5 * low, low
    while (middle := _between(low, high)) not in (low, high):
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _between(low: float, high: float) -> float:
    return low + 0.5 * (high - low)
