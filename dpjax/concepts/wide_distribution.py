"""Distributions over an ordered domain of more than 2**64 elements, with errors as exact as in smaller domains."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.concepts.segments import Segments, count_below
from dpjax.core import bit_strings as B
from dpjax.core import keys, random, wide
from dpjax.core.arithmetic import decode, encode

FINEST = 63
"""A block of 2**(shift + 63) elements has as many units as there can be."""


@register_dataclass
@dataclass(frozen=True)
class WideDistribution(Segments):
    """Segments of blocks of 2**shift elements, each block with one integer weight; the rest of the domain has mass 0.

    start, end (inclusive): ``uint32[s, W]``, segments ascending and disjoint. shift: ``int32[s]``, elements are uniform
    in a block. weight (per block), last: ``uint32[s, 2]``, as in `concepts.Distribution`. atoms, blocks: static;
    whether every segment is a single element, and whether any shift is above 0.

    Masses are whole numbers of units, and at most 2**64 units together: a part of a block counts as nothing, which is
    below 2**-63 of a segment if `dpjax.uniform` built it. Traced. Build it as a `concepts.Distribution`.
    """

    start: Array
    end: Array
    shift: Array
    weight: Array
    last: Array
    atoms: bool = field(metadata={"static": True})
    blocks: bool = field(metadata={"static": True})

    def single(self) -> np.ndarray:
        """Host: the segments that are single elements, ``object[...]``, ascending."""
        start = decode(self.start)
        return start[np.all(np.asarray(self.start) == np.asarray(self.end), axis=1)]

    def misfit(self, domain: Any) -> str | None:
        """None, or the reason why the distribution is not over the domain."""
        last = decode(self.end)[-1]
        if domain.limbs != self.start.shape[1] or last >= domain.size:
            return f"one with elements up to {last.bit_length()} bits of {self.start.shape[1]} limbs"
        return None

    def draw(self, key: Array, count: int) -> Array:
        """``uint32[count, W]`` independent elements; element i does not depend on ``count``.

        The probability of every interval of the domain is its mass, to within a block and 2**-63.
        """
        of_unit, of_place = keys.streams(key, "unit", "place")
        high, low = random.words(of_unit, (count,))
        width = self.start.shape[1]
        with jax.enable_x64(True):
            unit = self.unit(wide.word(high, low))
            segment = count_below(wide.join(self.last), unit, strict=True)
            start = self.start[segment]
            if self.atoms:
                return start
            block = (unit - self.before()[segment]) // wide.join(self.weight)[segment]
            element = B.add(start, B.shifted_left(block, self.shift[segment], width))
            if not self.blocks:
                return element
            words = random.words(of_place, (count, (width + 1) // 2))
            place = jnp.stack(words, axis=-1).reshape(count, -1)[:, :width]
            return element | (place & B.ones(self.shift[segment], width))

    def mass_at(self, element: Array) -> Array:
        """Mass of single elements ``uint32[..., W]`` -> ``uint64[...]``; 0 in a block of more than one."""
        with jax.enable_x64(True):
            segment = jnp.maximum(self._reached(element) - 1, 0)
            inside = B.less_equal(self.start[segment], element) & B.less_equal(element, self.end[segment])
            return jnp.where(inside & (self.shift[segment] == 0), wide.join(self.weight)[segment], jnp.uint64(0))

    def mass_up_to(self, element: Array) -> Array:
        """Mass of {0, ..., element} modulo 2**64, ``uint32[..., W]`` -> ``uint64[...]``."""
        with jax.enable_x64(True):
            reached = self._reached(element)
            segment = jnp.maximum(reached - 1, 0)
            end, shift = self.end[segment], self.shift[segment]
            inside = B.subtract(jnp.where(B.less(element, end)[..., None], element, end), self.start[segment])
            rest = B.ones(shift, element.shape[-1])
            whole = B.equal(inside & rest, rest).astype(jnp.uint64)  # the element's own block is complete
            covered = B.shifted_right(inside, shift) + whole
            mass = self.before()[segment] + covered * wide.join(self.weight)[segment]
            return jnp.where(reached == 0, jnp.uint64(0), mass)

    def reaches(self, element: Array) -> Array:
        """Whether {0, ..., element} has any mass, ``uint32[..., W]`` -> ``bool[...]``."""
        return self.mass_up_to(element) > 0 if self.blocks else B.less_equal(self.start[0], element)

    def _reached(self, element: Array) -> Array:
        """The number of segments that start at or below the element, ``int32[...]``, by binary search."""
        low = jnp.zeros(element.shape[:-1], jnp.int32)
        high = jnp.full_like(low, self.start.shape[0])

        def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) // 2
            at = jnp.minimum(middle, self.start.shape[0] - 1)
            up = (low < high) & B.less_equal(self.start[at], element)
            return jnp.where(up, middle + 1, low), jnp.where(up, high, middle)

        return jax.lax.fori_loop(0, self.start.shape[0].bit_length(), halve, (low, high))[0]


def of_blocks(limbs: int, segments: list[tuple[int, int, int, int]]) -> WideDistribution:
    """From checked (start, end inclusive, shift, weight per block), ascending; total mass at most 2**64."""
    starts, ends, shifts, weights = zip(*segments, strict=True)
    masses = [((end - start + 1) >> shift) * weight for start, end, shift, weight in segments]
    last = (np.cumsum(np.array(masses, object)) - 1).tolist()
    start, end = (jnp.asarray(encode(column, limbs)) for column in (starts, ends))
    weight, last = (jnp.asarray(wide.encode(column)) for column in (weights, last))
    return WideDistribution(
        start,
        end,
        jnp.asarray(shifts, jnp.int32),
        weight,
        last,
        atoms=starts == ends,
        blocks=any(shift > 0 for shift in shifts),
    )
