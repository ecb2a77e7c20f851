"""Logarithmic axes with few, round, readable ticks, also over less than a decade."""

import math
from collections.abc import Iterable
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

_STEPS = ((1, 2, 5), (1, 3), (1,))


def log_axis(axes: Axes, which: Literal["x", "y"], low: float, high: float, most: int = 5) -> None:
    """Makes an axis logarithmic over [low, high] with about ``most`` ticks at most."""
    at_values(axes, which, _round_values(low, high, most))
    axes.set(**{f"{which}lim": (low, high)})


def at_values(axes: Axes, which: Literal["x", "y"], values: Iterable[float]) -> None:
    """Makes an axis logarithmic with ticks exactly at these values."""
    places = list(values)
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    powers = any(value >= 1e5 for value in places)
    axis.set_major_locator(FixedLocator(places))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _text(value, powers)))


def _text(value: float, powers: bool) -> str:
    """A number in full, or as a power of ten where its axis needs them."""
    if not powers:
        return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"
    power = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return f"$10^{{{power}}}$" if factor == "1" else f"${factor}\\cdot 10^{{{power}}}$"


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
