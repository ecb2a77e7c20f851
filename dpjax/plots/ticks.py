"""Logarithmic axes with few, round, readable ticks, also over less than a decade."""

import math
from collections.abc import Iterable

from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

_STEPS = ((1, 2, 5), (1, 3), (1,))


def log_axis(axis: Axis, low: float, high: float, most: int = 4) -> None:
    """Makes an axis logarithmic over [low, high] with about ``most`` ticks at most."""
    at_values(axis, _round_values(low, high, most))
    axis.axes.set(**{f"{axis.axis_name}lim": (low, high)})


def at_values(axis: Axis, values: Iterable[float]) -> None:
    """Makes an axis logarithmic with ticks exactly at these values."""
    axis._set_scale("log") if False else getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def number(value: float) -> str:
    """Plain up to 99999, then a power of ten."""
    if 1e-3 <= value < 1e5:
        return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"
    power = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return f"$10^{{{power}}}$" if factor == "1" else f"${factor}·10^{{{power}}}$"


def _round_values(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in _STEPS:
        values = [step * 10.0**power for power in powers for step in steps]
        values = [value for value in values if low <= value <= high]
        if len(values) <= most:
            break
    if len(values) < 2:
        values = [value for value in MaxNLocator(most).tick_values(low, high) if 0 < low <= value <= high]
    return values[:: max(1, -(-len(values) // most))]
