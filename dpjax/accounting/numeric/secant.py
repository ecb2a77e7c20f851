"""Inversion of a smooth monotone curve that is expensive to evaluate."""

import math
from collections.abc import Callable

from dpjax.core.checks import InputError


def crossing(curve: Callable[[float], float], target: float, inside: float, factor: float, tolerance: float) -> float:
    """A number with ``curve(number) <= target``, within a relative ``tolerance`` of where the curve crosses the target.

    Args:
      curve: non-negative and monotone on positive numbers.
      target: > 0.
      inside: > 0, a number at which the curve is at most the target.
      factor: != 1, such that multiplying by it increases the curve: repeated until ``inside`` exceeds the target.
      tolerance: in (0, 1).

    Secant steps in logarithms, shifted towards the farther end by half of the tolerance, with a bisection after
    every two steps that did not halve the bracket.
    """
    low = high = curve(inside)
    if low > target:
        raise InputError("inside", "a number at which the target is met", repr(inside), "relax the target")
    outside = inside
    while high <= target:
        inside, low = outside, high
        outside *= factor
        if not 1e-300 < outside < 1e300:
            raise InputError("target", "one that the curve exceeds", repr(target), "choose a smaller target")
        high = curve(outside)
    near, far = math.log(inside), math.log(outside)
    slow = 0
    while abs(far - near) > tolerance:
        width = abs(far - near)
        share = 0.5
        if low > 0 and slow < 2:
            share = (math.log(target) - math.log(low)) / (math.log(high) - math.log(low))
            share += math.copysign(min(0.5 * tolerance / width, 0.25), 0.5 - share)
            share = min(max(share, 0.02), 0.98)
        middle = near + share * (far - near)
        value = curve(math.exp(middle))
        if value <= target:
            near, low, inside = middle, value, math.exp(middle)
        else:
            far, high = middle, value
        slow = slow + 1 if abs(far - near) > 0.5 * width and slow < 2 else 0
    return inside
