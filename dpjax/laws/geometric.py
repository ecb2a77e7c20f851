"""The geometric law on {0, 1, ..., most}: the random extra length of a slice of rows."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.core.random import GeometricTable
from dpjax.laws.base import Law, Support, listed


@register_dataclass
@dataclass(frozen=True)
class Geometric(Law):
    """The law of min(G, most) with P(G = g) = (1 - q) q**g, up to the rounding of the table's thresholds.

    most: static, >= 0; larger values are clipped, for example at the number of rows of a buffer.
    """

    table: GeometricTable
    most: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[]``; integers only."""
        return jnp.minimum(random.geometric(key, self.table), jnp.int32(self.most))

    def log_prob(self, outcome: Array) -> Array:
        """The log mass of an ``int32[]``, ``float64[]``."""
        with jax.enable_x64(True):
            yes = self.table.digits[:, 0].astype(jnp.float64) * 2.0**-32
            yes = yes + self.table.digits[:, 1].astype(jnp.float64) * 2.0**-64
            places = jnp.arange(yes.shape[0], dtype=jnp.int32)
            digits = lambda value: ((value >> places) & 1).astype(bool)  # noqa: E731
            agree = lambda value: jnp.where(digits(value), jnp.log(yes), jnp.log1p(-yes))  # noqa: E731
            largest = np.int32(2 ** yes.shape[0] - 1)
            log_mass = jnp.where((outcome >= 0) & (outcome <= largest), jnp.sum(agree(outcome)), -jnp.inf)
            # P(G >= most): equal, or larger at some digit and equal at all higher ones
            end = agree(jnp.int32(self.most))
            higher = jnp.append(jnp.cumsum(end[::-1])[::-1][1:], 0.0)
            above = jnp.where(digits(jnp.int32(self.most)), -jnp.inf, jnp.log(yes) + higher)
            tail = jax.scipy.special.logsumexp(jnp.append(above, jnp.sum(end)))
            tail = jnp.where(self.most <= largest, tail, -jnp.inf)
            return jnp.where(outcome == self.most, tail, jnp.where(outcome < self.most, log_mass, -jnp.inf))

    def support(self, limit: int) -> Support | None:
        """All of {0, ..., most}."""
        if self.most >= limit:
            return None
        return listed(np.arange(self.most + 1, dtype=np.int32), self.log_prob)
