"""The Laplace law."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, total


@register_dataclass
@dataclass(frozen=True)
class Laplace(Law):
    """The Laplace law with density exp(-|x - loc| / scale) / (2 scale); scale ``float[...]``, loc float or integer.

    Reference: Kaplan, Mansour, Matias, Stemmer 2019, Definition 2.11.
    """

    loc: Array
    scale: Array

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw per element with exact tails (see `random.laplace`); the sum is rounded, not loc."""
        shape = jnp.broadcast_shapes(jnp.shape(self.loc), jnp.shape(self.scale))
        noise = self.scale * random.laplace(key, shape, jnp.result_type(self.scale))
        with jax.enable_x64(True):
            return (jnp.asarray(self.loc).astype(jnp.float64) + noise.astype(jnp.float64)).astype(noise.dtype)

    def log_prob(self, outcome: Array) -> Array:
        """The joint log density of all entries, ``float64[]``."""
        with jax.enable_x64(True):
            wide = Laplace(*(jnp.asarray(part).astype(jnp.float64) for part in (self.loc, self.scale)))
            return total(wide.log_density(outcome.astype(jnp.float64)))

    def log_density(self, value: Array) -> Array:
        """log f(value)."""
        return -jnp.abs(value - self.loc.astype(self.scale.dtype)) / self.scale - jnp.log(2 * self.scale)

    def log_survival(self, value: Array) -> Array:
        """log P(X >= value), exact in both tails."""
        z = (value - self.loc.astype(self.scale.dtype)) / self.scale
        upper = -jnp.abs(z) - jnp.log(jnp.asarray(2.0, z.dtype))
        return jnp.where(z > 0, upper, jnp.log1p(-jnp.exp(upper)))

    def log_cdf(self, value: Array) -> Array:
        """log P(X <= value), exact in both tails."""
        return Laplace(-self.loc, self.scale).log_survival(-value)

    def log_mass(self, low: Array, high: Array) -> Array:
        """log P(low <= X <= high) for low <= high, which may be infinite; without cancellation."""
        low, high = ((end - self.loc.astype(self.scale.dtype)) / self.scale for end in (low, high))
        above = _one_sided(jnp.maximum(low, 0), jnp.maximum(high, 0))
        below = _one_sided(jnp.maximum(-high, 0), jnp.maximum(-low, 0))
        return jnp.logaddexp(above, below)


def _one_sided(near: Array, far: Array) -> Array:
    """log of (exp(-near) - exp(-far)) / 2 for 0 <= near <= far; -inf if they are equal."""
    width = jnp.where(near < far, far - near, 0)
    return -jnp.where(jnp.isinf(near), 0, near) - jnp.log(jnp.asarray(2.0, near.dtype)) + jnp.log(-jnp.expm1(-width))
