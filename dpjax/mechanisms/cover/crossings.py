"""Exact integers for crossings of lines: determinants of 64-bit numbers, and whole numbers that order fractions.

64-bit types are to be enabled by the caller.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

_SHORT = 31  # bits of a quotient that one division of 64-bit integers gives
_LONG = 61


@register_dataclass
@dataclass(frozen=True)
class Signed:
    """Whole numbers of sign and 64 bits. negative: ``bool[...]``; size: ``uint64[...]``, the absolute value."""

    negative: Array
    size: Array

    @staticmethod
    def of(value: Array) -> "Signed":
        """From ``int64[...]``."""
        return Signed(value < 0, jnp.abs(value).astype(jnp.uint64))

    @staticmethod
    def difference(left: Array, right: Array) -> "Signed":
        """left - right for ``uint64[...]``."""
        negative = left < right
        return Signed(negative, jnp.where(negative, right - left, left - right))


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
        jnp.where(same, a_negative ^ less, a_negative), jnp.where(same, jnp.uint64(0), carry),
        jnp.where(same, rest_high, sum_high), jnp.where(same, rest_low, sum_low),
    )  # fmt: skip


def cross(u: Array, v: Array) -> Array:
    """u_x v_y - u_y v_x of ``int64[2, ...]`` of any size, ``float64[...]``, relative error at most 2**-52."""
    return determinant(Signed.of(u[0]), Signed.of(u[1]), Signed.of(v[0]), Signed.of(v[1])).as_float()


def fraction_keys(dy: Array, dx: Array, bits: int) -> tuple[Array, ...]:
    """``int64[...]`` arrays whose lexicographic order, ties included, is that of the fractions dy / dx; the first is
    floor(dy / dx).

    dx: ``int64[...]`` in [1, 2**bits]. dy: ``int64[...]``. bits: static, at most 61.
    Two fractions that differ do so by 2**(-2 bits) or more, so that 2 bits binary places tell them apart.
    """
    whole = jnp.floor_divide(dy, dx)
    rest = dy - whole * dx
    if bits < _SHORT:
        first, rest = _places(rest, dx)
        second, _ = _places(rest, dx)
        return whole, (first << _SHORT) | second
    first, rest = _long_division(rest, dx)
    second, _ = _long_division(rest, dx)
    return whole, first, second


def _places(rest: Array, dx: Array) -> tuple[Array, Array]:
    """The next 31 binary places of rest / dx and what is left; rest < dx < 2**32."""
    shifted = rest << _SHORT
    quotient = jnp.floor_divide(shifted, dx)
    return quotient, shifted - quotient * dx


def _long_division(rest: Array, dx: Array) -> tuple[Array, Array]:
    """The next 61 binary places of rest / dx and what is left, bit by bit; rest < dx <= 2**61."""

    def place(_, state):
        quotient, rest = state
        doubled = rest << 1
        one = doubled >= dx
        return (quotient << 1) | one.astype(jnp.int64), jnp.where(one, doubled - dx, doubled)

    return jax.lax.fori_loop(0, _LONG, place, (jnp.zeros_like(rest), rest))
