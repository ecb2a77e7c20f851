"""Geometric lengths that are cut off at a static number."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.core.random import GeometricTable
from dpjax.laws.base import Support, side_by_side, total


@register_dataclass
@dataclass(frozen=True)
class CappedGeometric:
    """``count`` independent variables min(G, most), P(G >= g) = exp(-rate g).

    rate: ``float[]`` > 0. table: `random.geometric_table` of scale 1 / rate, from which the sampler works.
    most, count: static, >= 0.
    """

    rate: Array
    table: GeometricTable
    most: int = field(metadata={"static": True})
    count: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[count]``; integers only, so equal on every backend."""
        return jnp.minimum(random.geometric(key, self.table, (self.count,)), jnp.int32(self.most))

    def log_prob(self, outcome: Array) -> Array:
        """The log mass, ``float64[]``, of ``int32[count]``."""
        with jax.enable_x64(True):
            return total(self._each(outcome))

    def support(self, limit: int) -> Support | None:
        """(most + 1) outcomes an entry, in all combinations."""
        with jax.enable_x64(True):
            values = jnp.arange(self.most + 1, dtype=jnp.int32)
            shape = (self.count, self.most + 1)
            mass = jnp.broadcast_to(self._each(values)[None], shape)
            return side_by_side(jnp.broadcast_to(values[None], shape), mass, (self.count,), limit)

    def _each(self, value: Array) -> Array:
        rate = jnp.asarray(self.rate).astype(jnp.float64)
        stop = jnp.where(value == self.most, 0.0, jnp.log(-jnp.expm1(-rate)))
        inside = (value >= 0) & (value <= self.most)
        return jnp.where(inside, stop - rate * value.astype(jnp.float64), -jnp.inf)
