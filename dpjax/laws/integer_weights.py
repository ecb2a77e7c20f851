"""A law on finitely many outcomes with integer weights, sampled exactly."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support


@register_dataclass
@dataclass(frozen=True)
class IntegerWeights(Law):
    """A law on {0, ..., m-1} with probabilities ``weights[i] / sum(weights)``.

    weights: ``uint32[m]``, of a sum from 1 to 2^32 - 1. If the sum is a power of two, `sample` has exactly this law;
    otherwise each probability is exact to a factor 1 +- 2^-64.
    """

    weights: Array

    def log_prob(self, outcome: Array) -> Array:
        """The log mass of an ``int32[]``, ``float64[]``."""
        with jax.enable_x64(True):
            size = self.weights.shape[0]
            inside = (outcome >= 0) & (outcome < size)
            weight = self.weights[jnp.clip(outcome, 0, size - 1)].astype(jnp.float64)
            total = jnp.sum(self.weights, dtype=jnp.uint32).astype(jnp.float64)
            return jnp.where(inside & (weight > 0), jnp.log(jnp.maximum(weight, 1.0)) - jnp.log(total), -jnp.inf)

    def support(self, limit: int) -> Support | None:
        """All outcomes, in order."""
        if self.weights.shape[0] > limit:
            return None
        with jax.enable_x64(True):
            outcomes = jnp.arange(self.weights.shape[0], dtype=jnp.int32)
            return Support(outcomes, jax.vmap(self.log_prob)(outcomes))

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw, ``int32[]``."""
        ends = jnp.cumsum(self.weights, dtype=jnp.uint32)
        place = random.randint_below(key, ends[-1:])[0]
        return jnp.sum(ends <= place, dtype=jnp.int32)
