"""Axes with few, round, readable ticks, also on logarithmic axes of less than a decade."""

import math
from collections.abc import Iterable
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

_STEPS = ((1, 2, 5), (1, 3), (1,))


def axis(
    axes: Axes,
    which: Literal["x", "y"],
    scale: str,
    low: float,
    high: float,
    most: int = 5,
    values: Iterable[float] = (),
) -> None:
    """Sets an axis's scale, "log" or "linear", its limits, and at most about ``most`` ticks.

    values: positions of the ticks instead; those outside the limits or too close to the previous one are left
    out.
    """
    log = scale == "log"
    if places := [value for value in values if low <= value <= high]:
        places = _apart(places, low, high, log, most)
    else:
        places = _round_values(low, high, most) if log else _even_values(low, high, most)
    at_values(axes, which, places, scale)
    axes.set(**{f"{which}lim": (low, high)})


def at_values(axes: Axes, which: Literal["x", "y"], values: Iterable[float], scale: str = "log") -> None:
    """Sets an axis's scale, with ticks exactly at these values."""
    places = list(values)
    axes.set(**{f"{which}scale": scale})
    axis = axes.xaxis if which == "x" else axes.yaxis
    powers = any(abs(value) >= 1e5 or 0 < abs(value) < 1e-4 for value in places)
    axis.set_major_locator(FixedLocator(places))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _text(value, powers)))


def _text(value: float, powers: bool) -> str:
    """A number in full, or as a power of ten if its axis uses powers."""
    if not powers or value == 0:
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    power = math.floor(math.log10(abs(value)) + 1e-9)
    factor = f"{value / 10**power:.3g}"
    return f"$10^{{{power}}}$" if factor == "1" else f"${factor}\\cdot 10^{{{power}}}$"


def _apart(values: Iterable[float], low: float, high: float, log: bool, most: int) -> list[float]:
    """Values in ascending order, at least 1 / (most + 1) of the axis apart."""
    place = math.log if log else float
    ordered, least = sorted(set(values)), (place(high) - place(low)) / (most + 1)
    kept = [ordered[-1]]
    for value in ordered[-2::-1]:  # the largest is kept, and the smallest replaces a value too close to it
        if place(kept[-1]) - place(value) >= least:
            kept.append(value)
    if kept[-1] != ordered[0] and len(kept) > 1:
        kept[-1] = ordered[0]
    return kept[::-1]


def _even_values(low: float, high: float, most: int) -> list[float]:
    values = [float(value) for value in MaxNLocator(max(2, most)).tick_values(low, high)]
    return [value for value in values if low <= value <= high]


def _round_values(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [
        [value for power in powers for step in steps if low <= (value := step * 10.0**power) <= high]
        for steps in _STEPS
    ]
    for values in choices:
        if 2 <= len(values) <= most:
            return values
    if len(choices[-1]) > most:  # decades
        return choices[-1][:: -(-len(choices[-1]) // most)]
    if len(choices[0]) > most:
        return _apart(choices[0], low, high, True, most)
    return _even_values(low, high, most)
