"""Trapezoids of lines: of some slopes s, with t between two lines of the (s, t) plane, counted and drawn exactly.

A row (x, y) is the line t = y - s x of this plane: cuts with t above it are on one side of the row. Rows on one line
meet in one point here. A trapezoid with sides along the lines of rows follows them at any scale: a triangle with
its corner in this point leaves no row undecided but those between its sides.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.integers import stack, where, words_of
from dpjax.mechanisms.cover.lines.sweep import below


@register_dataclass
@dataclass(frozen=True)
class Trapezoids:
    """Lattice points (s, t) with low <= s < high and base[0] - s slope[0] <= t < base[1] - s slope[1].

    low, high: ``integers[...]``. base: ``integers[..., 2]`` and slope: ``uint64[..., 2]``, of the lower and the upper
    side. The lower side is not above the upper one at any s from low to high - 1.
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
        """The points on either side of a split, which has to be ``possible``."""
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

    along: ``bool[...]``. at: ``integers[...]``. slope: ``uint64[...]``.
    possible: ``bool[...]``, whether there are two parts; a part may have no point.
    """

    along: Array
    at: Any
    slope: Array
    possible: Array

    @staticmethod
    def halving(trapezoids: Trapezoids) -> "Split":
        """Of the slopes in the middle."""
        width, none = trapezoids.high - trapezoids.low, jnp.zeros(trapezoids.slope.shape[:-1], jnp.uint64)
        return Split(none > 0, trapezoids.low + (width >> 1), none, width > 1)


@dataclass(frozen=True)
class Crossed:
    """Lines t = base - s slope across one trapezoid, at its first and its last slope.

    base: ``integers[m]``. slope: ``uint64[m]``. t: ``integers[m]`` for each of both slopes.
    lower, upper: ``integers[]`` for each of both slopes, t of the sides of the trapezoid.
    """

    base: Any
    slope: Array
    t: list[Any]
    lower: list[Any]
    upper: list[Any]

    @staticmethod
    def of(trapezoid: Trapezoids, base: Any, slope: Array) -> "Crossed":
        """For one trapezoid and the lines of rows."""
        ends, across = (trapezoid.low, trapezoid.high - 1), unsigned(slope, words_of(base))
        sides = [trapezoid.sides(s) for s in ends]
        t = [base - s * across for s in ends]
        return Crossed(base, slope, t, [side[0] for side in sides], [side[1] for side in sides])

    @property
    def over(self) -> Array:
        """Whether all t of the trapezoid are below the line, ``bool[m]``."""
        return (self.t[0] >= self.upper[0]) & (self.t[1] >= self.upper[1])

    @property
    def under(self) -> Array:
        """Whether no t of the trapezoid is below the line, ``bool[m]``."""
        return (self.t[0] <= self.lower[0]) & (self.t[1] <= self.lower[1])

    def gaps(self, sides: list[Any]) -> list[Array]:
        """How far the lines are above a side, ``float64[m]`` for each of both slopes."""
        return [(t - side).astype(jnp.float64) for t, side in zip(self.t, sides, strict=True)]


def unsigned(values: Array, words: int) -> Array:
    """``uint64`` factors as products of integers of so many words take them."""
    return values.astype(jnp.int64) if words == 1 else values
