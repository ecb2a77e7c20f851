"""Trapezoids of lines: of some slopes, with t between two lines of the (s, t) plane. They are counted and drawn exactly.

A row is a line of this plane, t = y - s x, on one side of which the cuts keep it. A trapezoid that is split along the
lines of rows, and at the slopes where two of them meet, follows the rows at any scale: those of one line meet in one
point, and a triangle with this corner leaves no row undecided that is not between its two sides.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.integers import stack, where, words_of
from dpjax.mechanisms.cover.lines.sweep import below

_DIGITS = 53


@register_dataclass
@dataclass(frozen=True)
class Trapezoids:
    """Lattice points (s, t) with low <= s < high and base[0] - s slope[0] <= t < base[1] - s slope[1].

    low, high: ``integers[...]``. base: ``integers[..., 2]``, slope: ``uint64[..., 2]``, of the lower and the upper side.
    The lower side is not above the upper one at any s from low to high - 1.
    """

    low: Any
    high: Any
    base: Any
    slope: Array

    @staticmethod
    def rectangles(low: Any, high: Any, base: Any) -> "Trapezoids":
        """With sides of slope 0."""
        return Trapezoids(low, high, base, jnp.zeros(base.shape, jnp.uint64))

    @staticmethod
    def point(s: Any, t: Any) -> "Trapezoids":
        """Of one point each."""
        return Trapezoids.rectangles(s, s + 1, stack([t, t + 1], -1))

    def sides(self, s: Any) -> Any:
        """t of both sides at s, ``integers[..., 2]``."""
        return self.base - s[..., None] * unsigned(self.slope, words_of(self.base))

    def height(self, s: Any) -> Any:
        """The number of t at s, ``integers[...]``."""
        sides = self.sides(s)
        return sides[..., 1] - sides[..., 0]

    def log_points(self) -> Array:
        """The log of the number of points, ``float64[...]``, for some slopes; -inf without a point."""
        heights = self.height(self.low) + self.height(self.high - 1)
        return jnp.log((self.high - self.low).astype(jnp.float64)) + jnp.log(0.5 * heights.astype(jnp.float64))

    def draw(self, key: Array) -> "Trapezoids":
        """One uniform point of each, which has some, as a trapezoid.

        Heights are affine in s. Turned by half a turn, a trapezoid fills with itself a parallelogram whose height is
        that of both ends together: each point is two of its points.
        """
        width, heights = self.high - self.low, self.height(self.low) + self.height(self.high - 1)
        inside = below(key, stack([width, heights], -1))
        across, up = inside[..., 0], inside[..., 1]
        here = self.height(self.low + across)
        turned = up >= here
        s = where(turned, self.high - 1 - across, self.low + across)
        return Trapezoids.point(s, self.sides(s)[..., 0] + where(turned, up - here, up))

    def halves(self, split: "Split") -> tuple["Trapezoids", "Trapezoids"]:
        """The points on either side of a split, where both have some: ``split.possible``."""
        lower = jnp.arange(2, dtype=jnp.int32) == 0

        def cut(side: Array) -> tuple[Any, Array]:
            moved = side & split.along[..., None]
            return where(moved, split.at[..., None], self.base), jnp.where(moved, split.slope[..., None], self.slope)

        (below_, below_slope), (above, above_slope) = cut(~lower), cut(lower)
        before = Trapezoids(self.low, where(split.along, self.high, split.at), below_, below_slope)
        return before, Trapezoids(where(split.along, self.low, split.at), self.high, above, above_slope)


@register_dataclass
@dataclass(frozen=True)
class Split:
    """Where to split a trapezoid: below t = at - s slope and from there on, if ``along``; or below s = at.

    along: ``bool[...]``. at: ``integers[...]``. slope: ``uint64[...]``. unsure: ``int64[...]``, how many rows it leaves
    undecided. possible: ``bool[...]``, whether both parts have points.
    """

    along: Array
    at: Any
    slope: Array
    unsure: Array
    possible: Array

    @staticmethod
    def halving(trapezoids: Trapezoids) -> "Split":
        """Of the slopes in the middle."""
        width = trapezoids.high - trapezoids.low
        no = jnp.zeros(width.shape, bool)
        zeros = jnp.zeros(width.shape, jnp.uint64)
        return Split(no, trapezoids.low + (width >> 1), zeros, zeros.astype(jnp.int64), width > 1)


@dataclass(frozen=True)
class Gaps:
    """How far the lines of rows are above the sides of one trapezoid, at its first and its last slope.

    lower, upper: two ``integers[m]`` each. The lines t = base - s slope of rows are just above them: a t below such a
    line is not above its row. base: ``integers[m]``. slope: ``uint64[m]``.
    """

    lower: tuple[Any, Any]
    upper: tuple[Any, Any]
    base: Any
    slope: Array

    @staticmethod
    def of(trapezoid: Trapezoids, base: Any, slope: Array) -> "Gaps":
        """For one trapezoid and rows."""
        lower, upper = [], []
        for s in (trapezoid.low, trapezoid.high - 1):
            t, sides = base - s * unsigned(slope, words_of(base)), trapezoid.sides(s)
            lower.append(t - sides[0])
            upper.append(t - sides[1])
        return Gaps((lower[0], lower[1]), (upper[0], upper[1]), base, slope)

    @property
    def over(self) -> Array:
        """Whether no line of the trapezoid is above the row, ``bool[m]``."""
        return (self.upper[0] >= 0) & (self.upper[1] >= 0)

    @property
    def under(self) -> Array:
        """Whether all lines of the trapezoid are above the row, ``bool[m]``."""
        return (self.lower[0] <= 0) & (self.lower[1] <= 0)

    def split(self, trapezoid: Trapezoids, unsure: Array) -> Split:
        """Of two splits the one that leaves fewer undecided rows in both parts together.

        One is along the line of a row in the middle of those that go from end to end, and not steeper than most. The
        other is at a slope where the line of a row in the middle meets the lower or the upper side, whichever more of
        them meet: if the row of this side is on one line with them, they meet it in the same place. If each goes from
        end to end, the slopes are halved.
        """
        lower, upper = ([end.astype(jnp.float64) for end in side] for side in (self.lower, self.upper))
        heights = jnp.maximum(lower[0] + lower[1] - upper[0] - upper[1], 1.0)
        through = unsure & (lower[0] >= 0) & (lower[1] >= 0) & (upper[0] <= 0) & (upper[1] <= 0)
        row = middle_of([(lower[0] + lower[1]) / heights, (lower[1] - lower[0]) / heights], through)
        by_row = [end - end[row] for end in lower]
        of_along = _left(lower, by_row, unsure) + _left(by_row, upper, unsure)

        meet = [unsure & ((side[0] < 0) != (side[1] < 0)) for side in (lower, [-end for end in upper])]
        by_lower = _count(meet[0]) >= _count(meet[1])
        first, last = (jnp.where(by_lower, *ends) for ends in zip(lower, upper, strict=True))
        place = first / jnp.where(first == last, 1.0, first - last)
        among = jnp.where(by_lower, *meet)
        part = jnp.where(jnp.any(among), place[middle_of([place], among)], 0.5)
        half = [side[0] + part * (side[1] - side[0]) for side in (lower, upper)]
        of_slope = _left([lower[0], half[0]], [upper[0], half[1]], unsure)
        of_slope = of_slope + _left([half[0], lower[1]], [half[1], upper[1]], unsure)

        width = trapezoid.high - trapezoid.low
        along = jnp.any(through) & ((of_along <= of_slope) | (width < 2))
        met = trapezoid.low + 1 + _part(width - 1, part)
        met = where(met < trapezoid.high, met, trapezoid.high - 1)
        base = jax.tree.map(lambda part: part[row], self.base)
        return Split(along, where(along, base, met), self.slope[row], _count(unsure), along | (width > 1))


def unsigned(values: Array, words: int) -> Array:
    """``uint64`` factors as products of integers of so many words take them."""
    return values.astype(jnp.int64) if words == 1 else values


def largest(values: Array) -> Array:
    """The place of the first of the largest numbers along the first axis, ``int32``.

    `jax.lax.argmax` of float64 cannot be lowered where 64-bit types are not the default; that of truth values can.
    """
    return jax.lax.argmax(values == jnp.max(values, axis=0, keepdims=True), 0, jnp.int32)


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


def _count(rows: Array) -> Array:
    return jnp.sum(rows, dtype=jnp.int64)


def _left(lower: list[Array], upper: list[Array], unsure: Array) -> Array:
    """How many lines of ``unsure`` rows are neither above nor below a trapezoid, by their gaps at its ends."""
    above = (upper[0] >= 0) & (upper[1] >= 0)
    return _count(unsure & ~above & ~((lower[0] <= 0) & (lower[1] <= 0)))


def _part(width: Any, fraction: Array) -> Any:
    """About width times a fraction in [0, 1], rounded down, ``integers[]``."""
    words = words_of(width)
    if words == 1:
        return (width.astype(jnp.float64) * fraction).astype(jnp.int64)
    digits = (fraction * 2.0**_DIGITS).astype(jnp.uint64)
    upper = width >> _DIGITS
    return upper * digits + (((width - (upper << _DIGITS)) * digits) >> _DIGITS)
