"""Where to split a trapezoid of lines, so that its parts leave fewer rows undecided. It changes no law."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.integers import where, words_of
from dpjax.mechanisms.cover.slabs.trapezoids import Crossed, Split, Trapezoids

_DIGITS, _SOME = 53, 64
Ends = list[Array]
"""``float64[m]`` at the first and at the last slope of a trapezoid."""


def split_of(trapezoid: Trapezoids, lines: Crossed, unsure: Array) -> Split:
    """Of two splits the one that leaves fewer of the ``unsure`` rows undecided, in both parts together.

    One is along the line of a row, one at a slope where such a line meets a side. Rows on one line meet a side along
    one of them at one slope. Without undecided rows the slopes are halved.
    """
    lower, upper = lines.gaps(lines.lower), lines.gaps(lines.upper)
    through = unsure & (lower[0] >= 0) & (lower[1] >= 0) & (upper[0] <= 0) & (upper[1] <= 0)
    row, of_along = _along(lower, upper, through, unsure)
    part, of_slope = _at_slope(lower, upper, unsure)
    width = trapezoid.high - trapezoid.low
    along = jnp.any(through) & ((of_along <= of_slope) | (width < 2))
    met = trapezoid.low + 1 + _part(width - 1, part)
    met = where(met < trapezoid.high, met, trapezoid.high - 1)
    base = jax.tree.map(lambda column: column[row], lines.base)
    return Split(along, where(along, base, met), lines.slope[row], along | (width > 1))


def some_of(rows: Array, most: int = _SOME) -> tuple[Array, Array]:
    """Up to 64 of the ``rows``, ``bool[m]``: ``int32[64]``, and which places count, ``bool[64]``.

    If there are more, at equal distances; the same with any padding.
    """
    reached = jnp.cumsum(rows, dtype=jnp.int32)
    total, place = reached[-1], jnp.arange(most, dtype=jnp.int32)
    rank = jnp.where(total > most, (place.astype(jnp.int64) * total.astype(jnp.int64) // most).astype(jnp.int32), place)
    row = jnp.searchsorted(reached, rank, side="right").astype(jnp.int32)
    return jnp.minimum(row, rows.shape[0] - 1), place < total


def _along(lower: Ends, upper: Ends, through: Array, unsure: Array) -> tuple[Array, Array]:
    """A row in the middle of those whose lines go ``through`` from end to end, as steep as most, and what it leaves."""
    heights = jnp.maximum(lower[0] + lower[1] - upper[0] - upper[1], 1.0)
    row = middle_of([(lower[0] + lower[1]) / heights, (lower[1] - lower[0]) / heights], through)
    by_row = [end - end[row] for end in lower]
    return row, _left(lower, by_row, unsure) + _left(by_row, upper, unsure)


def _at_slope(lower: Ends, upper: Ends, unsure: Array) -> tuple[Array, Array]:
    """Where a row in the middle meets the side that most rows meet, as a part of the slopes, and what it leaves."""
    meet = [unsure & ((side[0] < 0) != (side[1] < 0)) for side in (lower, [-end for end in upper])]
    by_lower = _count(meet[0]) >= _count(meet[1])
    first, last = (jnp.where(by_lower, lower[i], upper[i]) for i in range(2))
    among = jnp.where(by_lower, meet[0], meet[1])
    place = first / jnp.where(first == last, 1.0, first - last)
    part = jnp.where(jnp.any(among), place[middle_of([place], among)], 0.5)
    half = [side[0] + part * (side[1] - side[0]) for side in (lower, upper)]
    before = _left([lower[0], half[0]], [upper[0], half[1]], unsure)
    return part, before + _left([half[0], lower[1]], [half[1], upper[1]], unsure)


def _left(lower: Ends, upper: Ends, unsure: Array) -> Array:
    """How many lines of ``unsure`` rows are neither above nor below a trapezoid, by their gaps from its sides."""
    above = (upper[0] >= 0) & (upper[1] >= 0)
    return _count(unsure & ~above & ~((lower[0] <= 0) & (lower[1] <= 0)))


def middle_of(places: list[Array], among: Array) -> Array:
    """The row ``among`` those given whose places, in [-1, 1], are next to their means, ``int32``.

    A mean is a sum of integers, so that padding changes no bit.
    """
    unit, away = 2.0**30, jnp.float64(0.0)
    for place in places:
        units = jnp.where(among, (jnp.where(among, place, 0.0) * unit).astype(jnp.int64), 0)
        mean = (jnp.sum(units) // jnp.maximum(_count(among), 1)).astype(jnp.float64) / unit
        away = away + jnp.abs(place - mean)
    return largest(jnp.where(among, -away, -jnp.inf))


def largest(values: Array) -> Array:
    """The place of the first of the largest numbers along the first axis, ``int32``.

    `jax.lax.argmax` of float64 cannot be lowered where 64-bit types are not the default; that of truth values can.
    """
    return jax.lax.argmax(values == jnp.max(values, axis=0, keepdims=True), 0, jnp.int32)


def _count(rows: Array) -> Array:
    return jnp.sum(rows, dtype=jnp.int64)


def _part(width: Any, fraction: Array) -> Any:
    """About width times a fraction in [0, 1], rounded down, ``integers[]``."""
    if words_of(width) == 1:
        return (width.astype(jnp.float64) * fraction).astype(jnp.int64)
    digits, upper = (fraction * 2.0**_DIGITS).astype(jnp.uint64), width >> _DIGITS
    return upper * digits + (((width - (upper << _DIGITS)) * digits) >> _DIGITS)
