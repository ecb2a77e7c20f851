"""Random orders of public rows: what deals rows to subsamples, or pairs them."""

import itertools
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import gammaln
from jax.tree_util import register_dataclass

from dpjax import random
from dpjax.draws import drawn


@register_dataclass
@dataclass(frozen=True)
class Shuffle:
    """The uniform law on orders of 0, ..., n - 1.

    n: ``int32[]`` in [0, capacity]. capacity: static.
    """

    n: Array
    capacity: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[capacity]``, whose first n entries are the order, and the others the rest, each at its place."""
        return _order(key, self.n, self.capacity)

    def outcomes(self) -> np.ndarray:
        """Host: every sample for some n, ``int32[o, capacity]``."""
        return np.array(list(itertools.permutations(range(self.capacity))), np.int32)

    def log_probability(self, order: Array) -> Array:
        """log P(order), ``float64[]``; 64-bit types to be enabled."""
        place = jnp.arange(self.capacity, dtype=jnp.int32)
        possible = jnp.all((place < self.n) | (order == place))
        return jnp.where(possible, -gammaln(self.n.astype(jnp.float64) + 1), -jnp.inf)


@register_dataclass
@dataclass(frozen=True)
class Matching:
    """The uniform law on matchings of 0, ..., n - 1 into n // 2 pairs; for odd n one stays alone.

    n: ``int32[]`` in [0, capacity]. capacity: static.
    """

    n: Array
    capacity: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[capacity]``: entries 2 i and 2 i + 1 are a pair for i < n // 2; the others mean nothing."""
        return _order(key, self.n, self.capacity)

    def outcomes(self) -> np.ndarray:
        """Host: one sample for each matching of each n up to the capacity, ``int32[o, capacity]``."""
        found = {
            (*itertools.chain(*pairs), *alone, *range(n, self.capacity))
            for n in range(self.capacity + 1)
            for pairs, alone in _matchings(tuple(range(n)))
        }
        return np.array(sorted(found), np.int32)

    def log_probability(self, order: Array) -> Array:
        """log P of the matching that a row of `outcomes` stands for, ``float64[]``; 64-bit types to be enabled."""
        place, pair = jnp.arange(self.capacity, dtype=jnp.int32), jnp.arange(self.capacity // 2, dtype=jnp.int32)
        pairs = self.n // 2
        first, second = order[0 : 2 * pair.shape[0] : 2], order[1::2]
        own = jnp.all((place < self.n) == (order < self.n)) & jnp.all((place < self.n) | (order == place))
        ascending = jnp.all((pair >= pairs) | (first < second)) & jnp.all(
            (pair[1:] >= pairs) | (first[1:] > first[:-1])
        )
        n, m = self.n.astype(jnp.float64), pairs.astype(jnp.float64)
        return jnp.where(own & ascending, gammaln(m + 1) + m * jnp.log(2.0) - gammaln(n + 1), -jnp.inf)


def _order(key: Array, n: Array, capacity: int) -> Array:
    place = jnp.arange(capacity, dtype=jnp.int32)
    high, low = random.words(key, (capacity,))
    real = place < n
    columns = ((~real).astype(jnp.uint32), *(jnp.where(real, word, jnp.uint32(0)) for word in (high, low)), place)
    return jax.lax.sort(columns, num_keys=4)[3]


def _matchings(rows: tuple[int, ...]):
    """(pairs, rows alone) of all matchings, pairs ascending by their first."""
    if len(rows) < 2:
        yield (), rows
        return
    first, rest = rows[0], rows[1:]
    for i, other in enumerate(rest):
        for pairs, alone in _matchings(rest[:i] + rest[i + 1 :]):
            yield ((first, other), *pairs), alone
    if len(rows) % 2:
        for pairs, _ in _matchings(rest):
            yield pairs, (first,)
