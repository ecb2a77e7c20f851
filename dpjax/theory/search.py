"""The smallest integer that satisfies a monotone condition."""

from collections.abc import Callable

from dpjax.core.checks import InputError

_LIMIT = 1 << 62


def smallest(enough: Callable[[int], bool]) -> int:
    """The smallest n >= 1 with ``enough(n)``, which must be monotone in n; InputError beyond 2**62."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _LIMIT:
            raise InputError("sample size", "a number below 2**62", "more", "relax epsilon, alpha or beta")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
