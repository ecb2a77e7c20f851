"""Exact integers for crossings of lines: determinants of 64-bit numbers, and whole numbers that order fractions.

64-bit types are to be enabled by the caller.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

_SHORT = 31  # bits of a quotient that one division of 64-bit integers gives
_LONG = 64


@register_dataclass
@dataclass(frozen=True)
class Signed:
    """Whole numbers of sign and 64 bits. negative: ``bool[...]``; size: ``uint64[...]``, the absolute value."""

    negative: Array
    size: Array

    @staticmethod
    def difference(left: Array, right: Array) -> "Signed":
        """left - right, ``int64[...]`` both or ``uint64[...]`` both, of any size."""
        negative = left < right
        return Signed(negative, jnp.where(negative, right - left, left - right).astype(jnp.uint64))

    def __getitem__(self, index) -> "Signed":
        return Signed(self.negative[index], self.size[index])

    def as_float(self) -> Array:
        """``float64[...]``, relative error at most 2**-53."""
        return jnp.where(self.negative, -1.0, 1.0) * self.size.astype(jnp.float64)


@register_dataclass
@dataclass(frozen=True)
class Determinant:
    """Whole numbers of sign and 129 bits: top 2**128 + high 2**64 + low. negative: ``bool[...]``; else ``uint64[...]``.

    0 may carry either sign.
    """

    negative: Array
    top: Array
    high: Array
    low: Array

    def sign(self) -> Array:
        """-1, 0 or 1, ``int32[...]``."""
        zero = (self.top | self.high | self.low) == 0
        return jnp.where(zero, jnp.int32(0), jnp.where(self.negative, jnp.int32(-1), jnp.int32(1)))

    def as_float(self) -> Array:
        """``float64[...]``, relative error at most 2**-52; 0 only for 0."""
        parts = (part.astype(jnp.float64) for part in (self.top, self.high, self.low))
        size = sum((part * scale for part, scale in zip(parts, (2.0**128, 2.0**64, 1.0), strict=True)), jnp.float64(0))
        return jnp.where(self.negative, -size, size)


def determinant(ux: Signed, uy: Signed, vx: Signed, vy: Signed) -> Determinant:
    """ux vy - uy vx, exact: twice the area of the triangle that two integer vectors span, positive if v is to the left.

    The coordinates may have any sign and 64 bits: differences of two ``uint64``.
    """
    a_high, a_low = jax.lax.mulhi(ux.size, vy.size), ux.size * vy.size
    b_high, b_low = jax.lax.mulhi(uy.size, vx.size), uy.size * vx.size
    a_negative, b_negative = ux.negative ^ vy.negative, uy.negative ^ vx.negative
    # one sign: the difference of the sizes
    less = (a_high < b_high) | ((a_high == b_high) & (a_low < b_low))
    large_high, large_low = jnp.where(less, b_high, a_high), jnp.where(less, b_low, a_low)
    small_high, small_low = jnp.where(less, a_high, b_high), jnp.where(less, a_low, b_low)
    rest_low = large_low - small_low
    rest_high = large_high - small_high - (large_low < small_low).astype(jnp.uint64)
    # two signs: their sum
    sum_low = a_low + b_low
    partial = a_high + b_high
    sum_high = partial + (sum_low < a_low).astype(jnp.uint64)
    carry = ((partial < a_high) | (sum_high < partial)).astype(jnp.uint64)
    same = a_negative == b_negative
    return Determinant(
        jnp.where(same, a_negative ^ less, a_negative),
        jnp.where(same, jnp.uint64(0), carry),
        jnp.where(same, rest_high, sum_high),
        jnp.where(same, rest_low, sum_low),
    )


def fraction_keys(dy: Signed, dx: Array, bits: int) -> tuple[Array, ...]:
    """Arrays whose lexicographic order, ties included, is that of the fractions dy / dx.

    dy: at most 2**63 - 1 in size if bits is less than 31. dx: ``uint64[...]`` in [1, 2**bits] and below 2**64. bits:
    static, at most 64. Fractions that differ do so by 2**(-2 bits) or more, so that 2 bits binary places are enough.
    """
    if bits < _SHORT:
        divisor = dx.astype(jnp.int64)
        above = jnp.where(dy.negative, -1, 1) * dy.size.astype(jnp.int64)
        whole = jnp.floor_divide(above, divisor)
        first, rest = _places(above - whole * divisor, divisor)
        second, _ = _places(rest, divisor)
        return whole, (first << _SHORT) | second
    whole = dy.size // dx
    first, rest = _long_division(dy.size - whole * dx, dx)
    second, _ = _long_division(rest, dx)
    # the larger the size, the less a negative one
    return ~dy.negative, *(jnp.where(dy.negative, ~part, part) for part in (whole, first, second))


def _places(rest: Array, dx: Array) -> tuple[Array, Array]:
    """The next 31 binary places of rest / dx and what is left; rest < dx < 2**32."""
    shifted = rest << _SHORT
    quotient = jnp.floor_divide(shifted, dx)
    return quotient, shifted - quotient * dx


def _long_division(rest: Array, dx: Array) -> tuple[Array, Array]:
    """The next 64 binary places of rest / dx and what is left, bit by bit; rest < dx, ``uint64[...]``."""

    def place(_, state):
        quotient, rest = state
        doubled = rest << 1
        one = (doubled < rest) | (doubled >= dx)  # where doubling overflows it is larger than dx
        return (quotient << 1) | one.astype(jnp.uint64), jnp.where(one, doubled - dx, doubled)

    return jax.lax.fori_loop(0, _LONG, place, (jnp.zeros_like(rest), rest))
