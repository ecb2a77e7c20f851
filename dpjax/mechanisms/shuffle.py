"""Random orders of public rows, for splitting rows into subsamples or pairing them."""

import itertools
import math
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import gammaln
from jax.tree_util import register_dataclass

from dpjax.core import random, wide
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support, listed

_PLACES, _ATTEMPTS = 20, 1 << 11


@register_dataclass
@dataclass(frozen=True)
class Shuffle(Law):
    """The uniform law on orders of 0, ..., n - 1.

    n: ``int32[]`` in [0, capacity]. capacity: static.
    """

    n: Array
    capacity: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[capacity]``: the first n entries are the order; every other entry is its own index."""
        return _order(key, self.n, self.capacity)

    def log_prob(self, order: Array) -> Array:
        """log P(order), ``float64[]``."""
        with jax.enable_x64(True):
            place = jnp.arange(self.capacity, dtype=jnp.int32)
            possible = jnp.all((place < self.n) | (order == place)) & jnp.all(jnp.sort(order) == place)
            return jnp.where(possible, -gammaln(self.n.astype(jnp.float64) + 1), -jnp.inf)

    def support(self, limit: int) -> Support | None:
        """All orders of the capacity."""
        if math.factorial(self.capacity) > limit:
            return None
        return listed(np.array(list(itertools.permutations(range(self.capacity))), np.int32), self.log_prob)


@register_dataclass
@dataclass(frozen=True)
class Matching(Shuffle):
    """The uniform law on matchings of 0, ..., n - 1 into n // 2 pairs; for odd n one is unmatched.

    In a sample, entries 2 i and 2 i + 1 are a pair for i < n // 2; other entries have no meaning. Each matching has
    equally many orders. The support lists all orders, because a program may read more of an order than its matching.
    """


def _order(key: Array, n: Array, capacity: int) -> Array:
    """Sorts the rows by random keys: distinct keys give a uniform order, equal ones are drawn again."""
    if (most := 1 << _PLACES) < capacity:  # few rows have the order that they have in a small buffer
        few = _order(key, jnp.minimum(n, most), most)
        few = jnp.concatenate([few, jnp.arange(most, capacity, dtype=jnp.int32)])
        return jnp.where(n <= most, few, _slow_order(key, n, capacity))
    stream = random.stream_of(key)
    with jax.enable_x64(True):
        place = jax.lax.iota(jnp.uint64, capacity)
        real = place < n.astype(jnp.uint64)

        def attempt(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            tries = state[0]
            # one operand sorts many times faster than several: 1 padding bit, 43 random bits, 20 bits of row number
            bits = wide.word(*random.words_from(stream, (capacity,), tries << jnp.uint32(_PLACES)))
            bits = (bits >> jnp.uint64(_PLACES + 1) << jnp.uint64(_PLACES)) | place
            ordered = jnp.sort(jnp.where(real, bits, jnp.uint64(1 << 63) | place))
            drawn = ordered >> jnp.uint64(_PLACES)
            again = jnp.any((drawn[1:] == drawn[:-1]) & real[1:])
            return tries + jnp.uint32(1), (ordered & jnp.uint64((1 << _PLACES) - 1)).astype(jnp.int32), again

        start = (jnp.uint32(0), place.astype(jnp.int32), jnp.bool_(True))
        end = jax.lax.while_loop(lambda state: state[2] & (state[0] < jnp.uint32(_ATTEMPTS)), attempt, start)
    return end[1]


def _slow_order(key: Array, n: Array, capacity: int) -> Array:
    """An order of more rows than the packed keys have numbers for."""
    place = jnp.arange(capacity, dtype=jnp.int32)
    real = place < n
    words = (jnp.where(real, word, jnp.uint32(0)) for word in random.words(key, (capacity,)))
    return jax.lax.sort(((~real).astype(jnp.uint32), *words, place), num_keys=4)[3]
