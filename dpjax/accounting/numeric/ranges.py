"""Two range checks beyond ``dpjax.core.checks``, at least 0 and more than 0; and equal parts of a budget."""

import math
import sys
from fractions import Fraction

from dpjax.core import checks
from dpjax.core.checks import InputError


def non_negative(name: str, value: float) -> float:
    """A finite number >= 0, as a float."""
    if checks.number(name, value) < 0:
        raise InputError(name, "a number >= 0", repr(value), f"a negative {name} has no meaning here")
    return float(value)


def positive(name: str, value: float) -> float:
    """A finite number > 0, as a float; not subnormal."""
    if checks.number(name, value) < sys.float_info.min:
        raise InputError(name, "a number > 0", repr(value), f"choose a positive {name}")
    return float(value)


def part_of(total: float, count: int) -> float:
    """The largest float x with ``count`` x <= ``total``."""
    part = total / count
    while Fraction(part) * count > Fraction(total):
        part = math.nextafter(part, 0.0)
    return part
