"""Rows drawn with replacement: bootstrap samples of public size, uniform or weighted."""

import itertools
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random, wide
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support, listed


@register_dataclass
@dataclass(frozen=True)
class Resample(Law):
    """The law of ``draws`` independent uniform numbers of rows in [0, n); for n = 0 all are 0.

    n: ``int32[]`` in [0, capacity]. draws, capacity: static, >= 1.
    """

    n: Array
    draws: int = field(metadata={"static": True})
    capacity: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[draws]``; integers only, each probability within a factor 1 +- 2**-64 of 1 / n."""
        bound = jnp.maximum(self.n, 1).astype(jnp.uint32)[None]
        return random.randint_below(key, bound, (self.draws,))[:, 0].astype(jnp.int32)

    def log_prob(self, rows: Array) -> Array:
        """log P(rows), ``float64[]``."""
        with jax.enable_x64(True):
            n = jnp.maximum(self.n, 1)
            return jnp.where(jnp.all((rows >= 0) & (rows < n)), -self.draws * jnp.log(n.astype(jnp.float64)), -jnp.inf)

    def support(self, limit: int) -> Support | None:
        """All vectors of row numbers below the capacity."""
        if self.capacity**self.draws > limit:
            return None
        return listed(
            np.array(list(itertools.product(range(self.capacity), repeat=self.draws)), np.int32), self.log_prob
        )


@register_dataclass
@dataclass(frozen=True)
class WeightedResample(Law):
    """The law of ``draws`` independent numbers of rows, each with probability weight / total; without weight all are 0.

    weights: ``uint32[capacity, 2]``, whole numbers of two limbs with a total below 2**63; 0 for padding.
    draws: static, >= 1.
    """

    weights: Array
    draws: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[draws]``; integers only, each probability within a factor 1 +- 2**-64 of weight / total."""
        with jax.enable_x64(True):
            ends = jnp.cumsum(wide.join(self.weights))
            bound = wide.split(jnp.maximum(ends[-1], jnp.uint64(1)))
            place = wide.join(random.randint_below(key, bound, (self.draws,)))
            rows = jnp.searchsorted(ends, place, side="right", method="scan").astype(jnp.int32)
            return jnp.where(ends[-1] > 0, rows, 0)

    def log_prob(self, rows: Array) -> Array:
        """log P(rows), ``float64[]``."""
        with jax.enable_x64(True):
            weights = wide.join(self.weights)
            total = jnp.sum(weights)
            inside = (rows >= 0) & (rows < weights.shape[0])
            weight = jnp.where(inside, weights[jnp.clip(rows, 0, weights.shape[0] - 1)], jnp.uint64(0))
            logs = jnp.log(weight.astype(jnp.float64)) - jnp.log(total.astype(jnp.float64))
            return jnp.where(total > 0, jnp.sum(logs), jnp.where(jnp.all(rows == 0), 0.0, -jnp.inf))

    def support(self, limit: int) -> Support | None:
        """All vectors of row numbers below the capacity."""
        capacity = self.weights.shape[0]
        if capacity**self.draws > limit:
            return None
        return listed(np.array(list(itertools.product(range(capacity), repeat=self.draws)), np.int32), self.log_prob)
