"""Rows drawn with replacement: a bootstrap sample of public size."""

import itertools
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.laws.base import Support, listed


@register_dataclass
@dataclass(frozen=True)
class Resample:
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
