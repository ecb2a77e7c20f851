"""The uniform law on {0, ..., count - 1}."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support, listed


@register_dataclass
@dataclass(frozen=True)
class Uniform(Law):
    """Uniform on {0, ..., count - 1}, each exact to a factor 1 +- 2^-64; a count below 1 is 1.

    count: ``int32[]``, at most ``most``, static, from 1 to 2^31 - 1.
    """

    count: Array
    most: int = field(metadata={"static": True})

    @drawn
    def sample(self, key: Array) -> Array:
        """``int32[]``; integers only."""
        return random.randint_below(key, self._count().astype(jnp.uint32)[None])[0].astype(jnp.int32)

    def log_prob(self, outcome: Array) -> Array:
        """The log mass of an ``int32[]``, ``float64[]``."""
        with jax.enable_x64(True):
            inside = (outcome >= 0) & (outcome < self._count())
            return jnp.where(inside, -jnp.log(self._count().astype(jnp.float64)), -jnp.inf)

    def support(self, limit: int) -> Support | None:
        """All of {0, ..., most - 1}."""
        if self.most > limit:
            return None
        return listed(np.arange(self.most, dtype=np.int32), self.log_prob)

    def _count(self) -> Array:
        return jnp.clip(self.count, 1, self.most)
