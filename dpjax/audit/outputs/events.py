"""Events: sets of outputs, as functions of a few features of each output."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

MOST_NUMBERS = 64  # coordinates of an output that are considered individually
INFINITE = float(np.finfo(np.float32).max)
"""Stands for infinity in features; there, infinity stands for what is not a number."""
_LARGEST = 1e18  # of a number whose square a classifier uses


@register_dataclass
@dataclass(frozen=True)
class Features:
    """Features of outputs.

    code: ``uint32[t]``, equal for equal outputs. numbers: ``float32[t, f]``. stated: ``float32[t]``, a score that was
    fixed before any run, see `known.Known`; None if there is none.
    """

    code: Array
    numbers: Array
    stated: Array | None = None


def features(output: Any, bitwise: bool = False) -> Features:
    """Features of one output; vmap it. bitwise: adds the number of low zero bits of each float32."""
    leaves = [jnp.asarray(leaf).reshape(-1) for leaf in jax.tree.leaves(output)]
    words = jnp.concatenate([_words(leaf) for leaf in leaves])
    place = jax.lax.iota(jnp.uint32, words.shape[0])
    code = jnp.sum(_mixed(words ^ (place * jnp.uint32(0x9E3779B9))), dtype=jnp.uint32)
    numbers = [ordered(leaf.astype(jnp.float32)) for leaf in leaves]
    if bitwise:
        numbers += [_low_zeros(leaf) for leaf in leaves if leaf.dtype == jnp.float32]
    return Features(code, jnp.concatenate(numbers)[:MOST_NUMBERS])


def ordered(numbers: Array) -> Array:
    """Numbers that thresholds can tell apart from NaN: it becomes infinity, and infinities `INFINITE`."""
    finite = jnp.clip(numbers, -jnp.float32(INFINITE), jnp.float32(INFINITE))
    return jnp.where(jnp.isnan(numbers), jnp.float32(jnp.inf), finite)


def _low_zeros(value: Array) -> Array:
    """Number of zero bits below the lowest set bit, ``float32``; 32 for zero."""
    bits = jax.lax.bitcast_convert_type(value, jnp.uint32)
    return jax.lax.population_count((bits & (~bits + jnp.uint32(1))) - jnp.uint32(1)).astype(jnp.float32)


def _words(leaf: Array) -> Array:
    if leaf.dtype == jnp.bool_:
        return leaf.astype(jnp.uint32)
    floating = jnp.issubdtype(leaf.dtype, jnp.floating)
    if leaf.dtype.itemsize < 4:
        leaf = leaf.astype(jnp.float32 if floating else jnp.int32)
    if floating:
        leaf = jnp.where(jnp.isnan(leaf), jnp.full_like(leaf, jnp.nan), leaf)  # all NaN are one output
    return jax.lax.bitcast_convert_type(leaf, jnp.uint32).reshape(-1)


def _mixed(word: Array) -> Array:
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        word = (word ^ (word >> jnp.uint32(shift))) * jnp.uint32(factor)
    return word ^ (word >> jnp.uint32(16))


@register_dataclass
@dataclass(frozen=True)
class Event:
    """score(output) >= threshold, or its complement.

    kind: static; "cells" (score is a table's entry, 0 for outputs not in it), "coordinate", "classifier", or "stated"
    (score is `Features.stated`).
    codes ``uint32[c]`` ascending with scores ``float32[c]``; weights ``float32[f, 3]`` for 1, x and x^2 of standardized
    numbers, shift and scale ``float32[f]``; threshold ``float32[]``; complement ``bool[]``. outputs: ``float32[c, f]``,
    the numbers of the outputs with these codes, for their description.
    """

    codes: Array
    scores: Array
    weights: Array
    shift: Array
    scale: Array
    threshold: Array
    complement: Array
    outputs: Array
    kind: str = field(metadata={"static": True})

    def contains(self, seen: Features) -> Array:
        """Membership, ``bool[t]``."""
        return (self.score(seen) >= self.threshold) ^ self.complement

    def score(self, seen: Features) -> Array:
        """Scores, ``float32[t]``."""
        if self.kind == "stated":
            assert seen.stated is not None
            return seen.stated
        if self.kind == "cells":
            at = jnp.minimum(jnp.searchsorted(self.codes, seen.code), self.codes.shape[0] - 1)
            return jnp.where(self.codes[at] == seen.code, self.scores[at], jnp.float32(0))
        x = (seen.numbers - self.shift[None, :]) / self.scale[None, :]
        terms = jnp.stack([jnp.ones_like(x), x, jnp.clip(x, -_LARGEST, _LARGEST) ** 2], axis=-1)
        return jnp.sum(jnp.where(self.weights[None] == 0, 0.0, terms * self.weights[None]), axis=(1, 2))

    @property
    def coordinate(self) -> int:
        """The number that a threshold compares."""
        return int(np.argmax(np.abs(np.asarray(self.weights)[:, 1])))

    def cells(self) -> tuple[np.ndarray, bool]:
        """Of a set of outputs: which of ``codes`` are inside, ``bool[c]``, and whether every other output is."""
        inside = (np.asarray(self.scores) >= float(self.threshold)) ^ bool(self.complement)
        return inside, bool(self.complement) != (float(self.threshold) <= 0)


def by_numbers(weights: np.ndarray, kind: str, shift: Any = None, scale: Any = None) -> Event:
    """An event without a table; weights ``float32[f, 3]``. Its threshold is to be replaced."""
    count = len(weights)
    shift = np.zeros(count, np.float32) if shift is None else shift
    scale = np.ones(count, np.float32) if scale is None else scale
    none = jnp.asarray(np.zeros(0, np.uint32)), jnp.asarray(np.zeros(0, np.float32))
    return Event(
        *none,
        jnp.asarray(weights),
        jnp.asarray(shift),
        jnp.asarray(scale),
        jnp.float32(0),
        jnp.bool_(False),
        jnp.zeros((0, count), jnp.float32),
        kind,
    )


def in_one(members: Sequence[np.ndarray]) -> np.ndarray:
    """Whether exactly one of at most two events contains each output: in both, a rule that guesses abstains."""
    return np.logical_xor.reduce(np.asarray(members, bool), axis=0)


contains, score = jax.jit(Event.contains), jax.jit(Event.score)


@jax.jit
def marks(events: tuple[Event, ...], seen: Features) -> Array:
    """Which of at most eight events hold, one bit each from the lowest, ``uint8[t]``."""
    bits = [event.contains(seen).astype(jnp.uint8) << jnp.uint8(place) for place, event in enumerate(events)]
    return sum(bits[1:], bits[0])
