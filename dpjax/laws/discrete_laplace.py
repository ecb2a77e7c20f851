"""The two-sided geometric law on integers."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.core.random import GeometricTable
from dpjax.laws.base import Law, Support, total


@register_dataclass
@dataclass(frozen=True)
class DiscreteLaplace(Law):
    """The two-sided geometric law on integers, P(Z = z) proportional to exp(-|z - loc| / scale).

    loc: ``int32[...]``. scale: ``float[]``, the number that the table was built from (float64 if 64-bit types are
    enabled). The sampler uses integers only, so draws are bitwise equal on every backend. Thresholds have 64 bits, so
    below a scale of 1/44 the sampler always returns loc.
    """

    loc: Array
    scale: Array
    table: GeometricTable

    @staticmethod
    def of(loc: Array, scale: float, levels: int | None = None) -> "DiscreteLaplace":
        """Builds the table on the host; ``scale`` > 0 is a plain number."""
        table = random.geometric_table(scale, levels)
        dtype = jax.dtypes.canonicalize_dtype(jnp.float64)
        return DiscreteLaplace(jnp.asarray(loc, jnp.int32), jnp.asarray(scale, dtype), table)

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw per element of loc, ``int32``."""
        return self.loc + random.discrete_laplace(key, self.table, jnp.shape(self.loc))

    def log_prob(self, outcome: Array) -> Array:
        """The joint log mass of all entries, ``float64[]``."""
        with jax.enable_x64(True):
            wide = DiscreteLaplace(self.loc, self.scale.astype(jnp.float64), self.table)
            return total(wide.log_probability(outcome))

    def support(self, limit: int) -> Support | None:
        """None: every integer is possible."""
        return None

    def log_probability(self, value: Array) -> Array:
        """log P(Z = value) of each entry."""
        distance = jnp.abs(value - self.loc).astype(self.scale.dtype)
        return jnp.log(jnp.tanh(0.5 / self.scale)) - distance / self.scale

    def log_survival(self, value: Array) -> Array:
        """log P(Z >= value), exact in both tails."""
        z = (value - self.loc).astype(self.scale.dtype)
        inverse = 1 / self.scale
        normaliser = jnp.log1p(jnp.exp(-inverse))
        upper = -jnp.maximum(z, 1) * inverse - normaliser
        lower = jnp.log1p(-jnp.exp(-(1 - jnp.minimum(z, 0)) * inverse - normaliser))
        return jnp.where(z > 0, upper, lower)
