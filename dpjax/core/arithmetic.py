"""Arithmetic on elements of an ordered domain of any size: one ``uint64`` up to 64 bits, limbs beyond.

`arithmetic` chooses by the static number of limbs, so that a small domain pays nothing for large ones. Values of
`Words` are ``uint64[...]``; values of `Limbs` are ``uint32[..., W]``, most significant limb first. Both index, stack
and concatenate alike along leading axes. Call all methods with 64-bit types enabled.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import bit_strings as B
from dpjax.core import random, wide
from dpjax.core.members import Base

FEWEST = wide.LIMBS
"""Limbs of the number of a concept of a small class."""


@dataclass(frozen=True)
class Arithmetic(Base):
    """Base class of the two. limbs: static, of an element at the interface."""

    limbs: int

    @abstractmethod
    def read(self, x: Array) -> Array:
        """Values of elements ``uint32[..., limbs]``, or of numbers of concepts with leading zero limbs."""

    @abstractmethod
    def element(self, value: Array) -> Array:
        """``uint32[..., limbs]``: the inverse of `read`."""

    def number(self, value: Array) -> Array:
        """``uint32[..., max(limbs, 2)]``: a value as the number of a concept."""
        limbs = self.element(value)
        short = max(FEWEST - self.limbs, 0)
        return jnp.pad(limbs, [(0, 0)] * (limbs.ndim - 1) + [(short, 0)])

    @abstractmethod
    def constant(self, value: int) -> Array:
        """One value, of a plain number."""

    @abstractmethod
    def less(self, a: Array, b: Array) -> Array:
        """a < b, ``bool[...]``; leading axes broadcast."""

    def less_equal(self, a: Array, b: Array) -> Array:
        """a <= b, ``bool[...]``."""
        return ~self.less(b, a)

    def above(self, a: Array, b: Array) -> Array:
        """a > b, ``bool[...]``."""
        return self.less(b, a)

    @abstractmethod
    def equal(self, a: Array, b: Array) -> Array:
        """a == b, ``bool[...]``."""

    def differ(self, a: Array, b: Array) -> Array:
        """a != b, ``bool[...]``."""
        return ~self.equal(a, b)

    @abstractmethod
    def where(self, choice: Array, a: Array, b: Array) -> Array:
        """a where ``choice``, ``bool[...]``, else b."""

    @abstractmethod
    def add(self, value: Array, other: Array) -> Array:
        """value + other, which fits."""

    @abstractmethod
    def subtract(self, value: Array, other: Array) -> Array:
        """value - other >= 0."""

    @abstractmethod
    def count(self, mask: Array) -> Array:
        """How many are true in ``bool[n]``, as one value."""

    @abstractmethod
    def ranks(self, mask: Array) -> Array:
        """How many of ``bool[n]`` are true before each place that is, ``n`` values; elsewhere unspecified."""

    @abstractmethod
    def shortened(self, values: Array, last: Array) -> Array:
        """A list of values, the last one less ``last``."""

    @abstractmethod
    def sort(
        self, values: Array, carried: tuple[Array, ...] = (), *, real: Array, below: int, bits: tuple[int, ...] = ()
    ) -> tuple[Array, ...]:
        """As `wide.sort`: real values in ascending order, padding last, with columns as further sort keys."""

    @abstractmethod
    def ascending(self, values: Array) -> Array:
        """A list of values in ascending order."""

    @abstractmethod
    def log_count(self, span: Array, alive: Array, dtype: Any) -> Array:
        """ln(span + 1), ``dtype[...]``, to a few units in the last place; 0 where not ``alive``, ``bool[...]``."""

    @abstractmethod
    def uniform_up_to(self, key: Array, span: Array) -> Array:
        """A uniform value of {0, ..., span}, for one span; consumes ``key``."""

    @abstractmethod
    def largest(self, values: Array) -> Array:
        """The maximum along the last axis of values, of a list that may be empty: then 0."""

    def greater(self, a: Array, b: Array) -> Array:
        """The larger of a and b."""
        return self.where(self.less(a, b), b, a)

    def lesser(self, a: Array, b: Array) -> Array:
        """The smaller of a and b."""
        return self.where(self.less(a, b), a, b)


@dataclass(frozen=True)
class Words(Arithmetic):
    """At most two limbs: ``uint64[...]``."""

    def read(self, x: Array) -> Array:
        """`wide.join`."""
        return wide.join(x)

    def element(self, value: Array) -> Array:
        """`wide.split`."""
        return wide.split(value, self.limbs)

    def number(self, value: Array) -> Array:
        """`wide.split` to two limbs."""
        return wide.split(value)

    def constant(self, value: int) -> Array:
        """``uint64[]``."""
        return jnp.uint64(value)

    def less(self, a: Array, b: Array) -> Array:
        """a < b."""
        return a < b

    def less_equal(self, a: Array, b: Array) -> Array:
        """a <= b."""
        return a <= b

    def above(self, a: Array, b: Array) -> Array:
        """a > b."""
        return a > b

    def equal(self, a: Array, b: Array) -> Array:
        """a == b."""
        return a == b

    def differ(self, a: Array, b: Array) -> Array:
        """a != b."""
        return a != b

    def where(self, choice: Array, a: Array, b: Array) -> Array:
        """`jnp.where`."""
        return jnp.where(choice, a, b)

    def add(self, value: Array, other: Array) -> Array:
        """value + other."""
        return value + other

    def subtract(self, value: Array, other: Array) -> Array:
        """value - other."""
        return value - other

    def count(self, mask: Array) -> Array:
        """A sum."""
        return jnp.sum(mask, dtype=jnp.uint64)

    def ranks(self, mask: Array) -> Array:
        """Cumulative sums."""
        return jnp.cumsum(mask.astype(jnp.uint64)) - jnp.uint64(1)

    def shortened(self, values: Array, last: Array) -> Array:
        """By adding modulo 2**64."""
        return values.at[-1].add(-last)

    def sort(
        self, values: Array, carried: tuple[Array, ...] = (), *, real: Array, below: int, bits: tuple[int, ...] = ()
    ) -> tuple[Array, ...]:
        """`wide.sort`."""
        return wide.sort(values, carried, real=real, below=below, bits=bits)

    def ascending(self, values: Array) -> Array:
        """`jnp.sort`."""
        return jnp.sort(values)

    def log_count(self, span: Array, alive: Array, dtype: Any) -> Array:
        """Of the span rounded to ``dtype``."""
        width = span.astype(dtype) + jnp.asarray(1.0, dtype)
        return jnp.log(jnp.where(alive, width, jnp.ones_like(width)))

    def uniform_up_to(self, key: Array, span: Array) -> Array:
        """Without rejection: `random.randint_below`."""
        count = wide.split(span + jnp.uint64(1))  # may be 2**64: three limbs
        full = (span == jnp.uint64(2**64 - 1)).astype(jnp.uint32)
        return wide.join(random.randint_below(key, jnp.concatenate([full[None], count]))[1:])

    def largest(self, values: Array) -> Array:
        """`jnp.max`."""
        return jnp.max(values, axis=-1, initial=0)

    def greater(self, a: Array, b: Array) -> Array:
        """`jnp.maximum`."""
        return jnp.maximum(a, b)

    def lesser(self, a: Array, b: Array) -> Array:
        """`jnp.minimum`."""
        return jnp.minimum(a, b)


@dataclass(frozen=True)
class Limbs(Arithmetic):
    """Three limbs or more: ``uint32[..., W]``. Time and memory are linear in W."""

    def read(self, x: Array) -> Array:
        """The limbs themselves."""
        return jnp.asarray(x)

    def element(self, value: Array) -> Array:
        """The limbs themselves."""
        return value

    def constant(self, value: int) -> Array:
        """``uint32[W]``."""
        return jnp.asarray(wide.pack(value, self.limbs))

    def less(self, a: Array, b: Array) -> Array:
        """`bit_strings.less`."""
        return B.less(a, b)

    def equal(self, a: Array, b: Array) -> Array:
        """`bit_strings.equal`."""
        return B.equal(a, b)

    def where(self, choice: Array, a: Array, b: Array) -> Array:
        """`jnp.where` for each limb."""
        return jnp.where(jnp.asarray(choice)[..., None], a, b)

    def add(self, value: Array, other: Array) -> Array:
        """`bit_strings.add`."""
        return B.add(value, other)

    def subtract(self, value: Array, other: Array) -> Array:
        """`bit_strings.subtract`."""
        return B.subtract(value, other)

    def count(self, mask: Array) -> Array:
        """In the last limb."""
        return self._small(jnp.sum(mask, dtype=jnp.uint32))

    def ranks(self, mask: Array) -> Array:
        """In the last limb."""
        return self._small(jnp.cumsum(mask, dtype=jnp.uint32) - jnp.uint32(1))

    def shortened(self, values: Array, last: Array) -> Array:
        """`bit_strings.subtract`."""
        return values.at[-1].set(B.subtract(values[-1], last))

    def sort(
        self, values: Array, carried: tuple[Array, ...] = (), *, real: Array, below: int, bits: tuple[int, ...] = ()
    ) -> tuple[Array, ...]:
        """`bit_strings.sort_order`."""
        order = B.sort_order(values, real, carried)
        return values[order], *(column[order] for column in carried)

    def ascending(self, values: Array) -> Array:
        """`bit_strings.sort_rows`."""
        return B.sort_rows(values, jnp.ones(values.shape[0], bool))

    def log_count(self, span: Array, alive: Array, dtype: Any) -> Array:
        """`bit_strings.log_count`."""
        return jnp.where(alive, B.log_count(span, dtype), jnp.zeros((), dtype))

    def uniform_up_to(self, key: Array, span: Array) -> Array:
        """`bit_strings.uniform_up_to`."""
        return B.uniform_up_to(key, span)

    def largest(self, values: Array) -> Array:
        """By halves."""
        count = max(1, values.shape[-2])
        values = jnp.pad(values, [(0, 0)] * (values.ndim - 2) + [(0, count - values.shape[-2]), (0, 0)])
        while count > 1:
            half = (count + 1) // 2
            values = self.greater(values[..., :half, :], values[..., count - half : count, :])
            count = half
        return values[..., 0, :]

    def _small(self, number: Array) -> Array:
        """Values of ``uint32[...]``."""
        return jnp.pad(number[..., None], [(0, 0)] * number.ndim + [(self.limbs - 1, 0)])


def arithmetic(limbs: int) -> Arithmetic:
    """The arithmetic of elements of so many limbs."""
    return Words(limbs) if limbs <= FEWEST else Limbs(limbs)


def encode(values: Any, limbs: int) -> np.ndarray:
    """Host: whole numbers in [0, 2**(32 limbs)) -> ``uint32[..., limbs]``."""
    return wide.encode(values, limbs) if limbs <= FEWEST else wide.pack(values, limbs)


def decode(elements: Any) -> np.ndarray:
    """Host: ``uint32[..., limbs]`` -> ``uint64[...]`` up to two limbs, else Python integers, ``object[...]``."""
    return wide.decode(elements) if np.shape(elements)[-1] <= FEWEST else wide.unpack(elements)
