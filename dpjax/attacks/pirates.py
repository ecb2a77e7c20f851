"""Strategies of pirates: how a coalition combines its code words into one. All satisfy the marking assumption.

Every strategy is a function of (key, bits, members): ``bits`` is ``bool[n, k]``, of which only the rows of the
coalition ``members``, ``bool[n]``, are read, and the answer is a word ``bool[k]``; ``key`` is consumed. The coalition
has at least one member. Pure; vmap over codebooks. Any function of this signature is a strategy.
"""

from collections.abc import Callable
from types import MappingProxyType

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random

Pirate = Callable[[Array, Array, Array], Array]


def marked(bits: Array, members: Array) -> tuple[Array, Array]:
    """Columns in which all members have a 0, and those in which all have a 1: ``bool[k]`` each."""
    ones = _ones(bits, members)
    return ones == 0, ones == jnp.sum(members, dtype=jnp.int32)


def first_infeasible(bits: Array, members: Array, word: Array) -> Array:
    """The first column in which no member has the word's bit, ``int32[]``; -1 if there is none."""
    zeros, ones = marked(bits, members)
    wrong = jnp.where(word, zeros, ones)
    return jnp.where(jnp.any(wrong), jnp.argmax(wrong).astype(jnp.int32), -1)


def feasible(bits: Array, members: Array, word: Array) -> Array:
    """Whether the word satisfies the marking assumption for the coalition: ``bool[]``."""
    return first_infeasible(bits, members, word) < 0


def majority(key: Array, bits: Array, members: Array) -> Array:
    """The bit of more than half of the members, 0 at a tie."""
    return 2 * _ones(bits, members) > jnp.sum(members, dtype=jnp.int32)


def minority(key: Array, bits: Array, members: Array) -> Array:
    """The bit of fewer members, where both occur; 1 at a tie."""
    ones, size = _ones(bits, members), jnp.sum(members, dtype=jnp.int32)
    return (ones == size) | ((ones > 0) & (2 * ones <= size))


def coin(key: Array, bits: Array, members: Array) -> Array:
    """A fair coin in each column where both bits occur."""
    zeros, ones = marked(bits, members)
    high, _ = random.words(key, zeros.shape)
    return jnp.where((high & jnp.uint32(1)) == 1, ~zeros, ones)


def ones(key: Array, bits: Array, members: Array) -> Array:
    """1 wherever a member has a 1."""
    return ~marked(bits, members)[0]


def one_user(key: Array, bits: Array, members: Array) -> Array:
    """The code word of one member, chosen at random."""
    return bits[_some(key, members, ())]


def user_a_column(key: Array, bits: Array, members: Array) -> Array:
    """In each column the bit of a member chosen at random."""
    chosen = _some(key, members, (bits.shape[1],))
    return jnp.take_along_axis(bits, chosen[None], axis=0)[0]


STRATEGIES: MappingProxyType[str, Pirate] = MappingProxyType(
    {strategy.__name__: strategy for strategy in (majority, minority, coin, ones, one_user, user_a_column)}
)
"""The six strategies by their names."""


def _ones(bits: Array, members: Array) -> Array:
    return jnp.sum(bits & members[:, None], axis=0, dtype=jnp.int32)


def _some(key: Array, members: Array, shape: tuple[int, ...]) -> Array:
    """Uniform numbers of members, ``int32[shape]``."""
    size = jnp.maximum(jnp.sum(members, dtype=jnp.int32), 1)
    places = random.randint_below(key, size.astype(jnp.uint32)[None], shape)[..., 0].astype(jnp.int32)
    of_place = jnp.argsort(~members, stable=True).astype(jnp.int32)
    return of_place[jax.lax.clamp(0, places, members.shape[0] - 1)]
