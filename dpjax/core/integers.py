"""Signed integers of 64 W bits, W static: ``int64`` arrays for W = 1, `Whole` beyond, by the same operators.

Everything is exact modulo 2**(64 W), as in ``int64``. Code that uses the operators of `Whole` and the functions of
this file runs on both, and for W = 1 it is plain ``int64`` arithmetic. Call all of it under ``jax.enable_x64(True)``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import wide

_HALF = 0xFFFFFFFF
_WORD = (1 << 64) - 1


@register_dataclass
@dataclass(frozen=True, eq=False)
class Whole:
    """Integers in two's complement: W arrays of one shape, most significant first, ``int64`` and then ``uint64``.

    A second operand is a Whole of as many words, a Python integer, or, for ``*``, a ``uint64`` array. Shapes broadcast.
    """

    parts: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of integers."""
        return self.parts[0].shape

    def __getitem__(self, index: Any) -> "Whole":
        return Whole(tuple(part[index] for part in self.parts))

    def __neg__(self) -> "Whole":
        return 0 - self

    def __add__(self, other: "Whole | int") -> "Whole":
        return self._sum(self._same(other), jnp.uint64(0))

    def __sub__(self, other: "Whole | int") -> "Whole":
        return self._sum(Whole(tuple(~part for part in self._same(other).parts)), jnp.uint64(1))

    def __rsub__(self, other: int) -> "Whole":
        return self._same(other) - self

    def _sum(self, other: "Whole", carry: Array) -> "Whole":
        words = []
        for left, right in zip(_low_first(self), _low_first(other), strict=True):
            part = left + right
            total = part + carry
            carry = ((part < left) | (total < carry)).astype(jnp.uint64)
            words.append(total)
        return _of(words)

    def __mul__(self, other: Array | int) -> "Whole":
        if isinstance(other, int):
            digits = [(other >> (64 * i)) & _WORD for i in range(max(1, -(-other.bit_length() // 64)))]
            terms = [(self * jnp.uint64(digit)) << 64 * i for i, digit in enumerate(digits[: len(self.parts)])]
            return sum(terms[1:], start=terms[0])
        carry, words = jnp.uint64(0), []
        for part in _low_first(self):
            high, low = _product(part, other)
            total = low + carry
            carry = high + (total < carry).astype(jnp.uint64)
            words.append(total)
        return _of(words)

    __rmul__ = __mul__

    def __lshift__(self, count: int) -> "Whole":
        words, bits = divmod(count, 64)
        parts = [jnp.zeros_like(self.parts[-1])] * words + _low_first(self)[: max(0, len(self.parts) - words)]
        if bits:
            below = [jnp.zeros_like(parts[0]), *parts[:-1]]
            parts = [(part << bits) | (less >> (64 - bits)) for part, less in zip(parts, below, strict=True)]
        return _of(parts)

    def __rshift__(self, count: int) -> "Whole":
        """Rounded down, as in ``int64``."""
        words, bits = divmod(count, 64)
        sign = (self.parts[0] >> 63).astype(jnp.uint64)
        parts = _low_first(self)[words:] + [sign] * min(words, len(self.parts))
        if bits:
            above = [*parts[1:], sign]
            parts = [(part >> bits) | (more << (64 - bits)) for part, more in zip(parts, above, strict=True)]
        return _of(parts)

    def __lt__(self, other: "Whole | int") -> Array:
        less, same = jnp.bool_(False), jnp.bool_(True)
        for left, right in zip(self.parts, self._same(other).parts, strict=True):
            less, same = less | (same & (left < right)), same & (left == right)
        return less

    def __gt__(self, other: "Whole | int") -> Array:
        return self._same(other) < self

    def __le__(self, other: "Whole | int") -> Array:
        return ~(self > other)

    def __ge__(self, other: "Whole | int") -> Array:
        return ~(self < other)

    def __eq__(self, other: object) -> Any:  # an array, like that of any array
        same = jnp.bool_(True)
        for left, right in zip(self.parts, self._same(other).parts, strict=True):
            same = same & (left == right)
        return same

    __hash__ = None  # type: ignore[assignment]

    def astype(self, dtype: Any) -> Array:
        """float64, to within W units of the last place; or an integer type, its lowest bits."""
        if jnp.dtype(dtype) != jnp.float64:
            return self.parts[-1].astype(dtype)
        negative = self.parts[0] < 0
        total = jnp.float64(0)
        for part in where(negative, -self, self).parts:
            total = total * 2.0**64 + part.astype(jnp.uint64).astype(jnp.float64)
        return jnp.where(negative, -total, total)

    def _same(self, other: Any) -> "Whole":
        return other if isinstance(other, Whole) else integers(other, len(self.parts))


Integers = Array | Whole
"""``int64[...]`` or a `Whole`."""


def _low_first(value: Whole) -> list[Array]:
    return [part.astype(jnp.uint64) for part in value.parts[::-1]]


def _of(low_first: list[Array]) -> Whole:
    return Whole((low_first[-1].astype(jnp.int64), *low_first[-2::-1]))


def _product(left: Array, right: Array) -> tuple[Array, Array]:
    """(high, low) of a product of two ``uint64``."""
    a, b, c, d = left >> 32, left & _HALF, right >> 32, right & _HALF
    lowest, high_low, low_high = b * d, a * d, b * c
    middle = (lowest >> 32) + (high_low & _HALF) + (low_high & _HALF)
    return a * c + (high_low >> 32) + (low_high >> 32) + (middle >> 32), (lowest & _HALF) | (middle << 32)


def words_of(value: Any) -> int:
    """W."""
    return len(value.parts) if isinstance(value, Whole) else 1


def integers(values: Any, words: int) -> Any:
    """Integers of so many words from Python integers on the host, in any nesting."""
    if words == 1:
        return jnp.asarray(np.asarray(values).astype(np.int64))
    whole, size = np.asarray(values, dtype=object), 1 << (64 * words)
    unsigned = np.array([int(value) % size for value in whole.reshape(-1)], object)
    limbs = wide.pack(unsigned.reshape(whole.shape), 2 * words)
    first, *rest = (wide.decode(limbs[..., i : i + 2]) for i in range(0, 2 * words, 2))
    return Whole((jnp.asarray(first.astype(np.int64)), *map(jnp.asarray, rest)))


def widened(values: Array, words: int) -> Any:
    """Integers of so many words from ``uint64[...]``, which for one word are below 2**63."""
    if words == 1:
        return values.astype(jnp.int64)
    zero = jnp.zeros_like(values)
    return Whole((zero.astype(jnp.int64), *[zero] * (words - 2), values))


def encoded(value: Any) -> Array:
    """``uint32[..., 2 W]``, two's complement, upper halves first."""
    return jnp.concatenate([wide.split(part.astype(jnp.uint64)) for part in jax.tree.leaves(value)], axis=-1)


def decoded(limbs: Array) -> Any:
    """The inverse of `encoded`."""
    parts = [wide.join(limbs[..., i : i + 2]) for i in range(0, limbs.shape[-1], 2)]
    first = parts[0].astype(jnp.int64)
    return first if len(parts) == 1 else Whole((first, *parts[1:]))


def on_host(limbs: Any) -> np.ndarray:
    """Host: `encoded` integers -> ``int64[...]``, or Python integers, ``object[...]``, if there are several words."""
    unsigned = wide.unpack(limbs)
    size = 1 << (32 * np.shape(limbs)[-1])
    values = np.where(unsigned >= size // 2, unsigned - size, unsigned)
    return values.astype(np.int64) if size == 1 << 64 else values


def where(condition: Array, left: Any, right: Any) -> Any:
    """``jnp.where``."""
    return jax.tree.map(lambda if_true, if_false: jnp.where(condition, if_true, if_false), left, right)


def minimum(left: Any, right: Any) -> Any:
    """``jnp.minimum``."""
    return where(right < left, right, left)


def maximum(left: Any, right: Any) -> Any:
    """``jnp.maximum``."""
    return where(left < right, right, left)


def clip(value: Any, low: Any, high: Any) -> Any:
    """``jnp.clip``."""
    return minimum(maximum(value, low), high)


def constant(value: int, like: Any) -> Any:
    """One Python integer, of as many words as ``like``."""
    return integers(value, words_of(like))


def concatenate(parts: Sequence[Any], axis: int = 0) -> Any:
    """``jnp.concatenate``."""
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis), *parts)


def stack(parts: Sequence[Any], axis: int = 0) -> Any:
    """``jnp.stack``."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis), *parts)


def sort(values: Any, *carried: Array) -> Any:
    """Sorted along the last axis, with ``carried`` columns in the same order: (values, *carried) if there are some."""
    leaves, kind = jax.tree.flatten(values)
    columns = jax.lax.sort((*leaves, *carried), num_keys=len(leaves))
    ordered = jax.tree.unflatten(kind, columns[: len(leaves)])
    return (ordered, *columns[len(leaves) :]) if carried else ordered
