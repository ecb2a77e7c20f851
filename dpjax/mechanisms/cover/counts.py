"""A noisy count whose noise has a traced scale."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import random
from dpjax.core.draws import drawn
from dpjax.laws.base import Law, Support

_DIGITS = 62
_WIDEST = 2.0**56  # 64 scales fit into the digits
_LOW, _HIGH = -(2**31), 2**31 - 1


@register_dataclass
@dataclass(frozen=True)
class NoisyCount(Law):
    """count + Z with P(Z = z) = tanh(1 / (2 scale)) exp(-|z| / scale), clipped to int32.

    count: ``int32[]``. scale: ``float64[]`` > 0. For a scale of 2**56 or more, and for one that is not a positive
    number, the outcome is one of the two ends of int32 with probability 1/2 each, independently of the count, which
    reveals less than the scale permits.

    `laws.DiscreteLaplace` takes a scale that is known on the host and uses integers only.
    """

    count: Array
    scale: Array

    @drawn
    def sample(self, key: Array) -> Array:
        """One draw, ``int32[]``.

        The binary digits of a geometric variable are independent; digit i is 1 with probability 1 / (1 + exp(2**i /
        scale)). A draw compares 127-bit uniforms with these, so probabilities down to 2**-90 are accurate to 1e-13.
        """
        with jax.enable_x64(True):
            u = random.uniform(key, (_DIGITS + 2,), jnp.float64)
            usable = (self.scale > 0) & (self.scale < _WIDEST)
            scale = jnp.where(usable, self.scale, 1.0)
            place = np.arange(_DIGITS)
            ones = u[:_DIGITS] < jax.nn.sigmoid(-(2.0**place) / scale)
            size = 1 + jnp.sum(jnp.where(ones, jnp.asarray(2**place, jnp.int64), 0), dtype=jnp.int64)
            size = jnp.where(u[_DIGITS] <= jnp.tanh(0.5 / scale), 0, size)
            size = jnp.where(usable, size, jnp.int64(2**_DIGITS))
            noise = jnp.where(u[_DIGITS + 1] <= 0.5, -size, size)
            return jnp.clip(self.count.astype(jnp.int64) + noise, _LOW, _HIGH).astype(jnp.int32)

    def log_prob(self, outcome: Array) -> Array:
        """The log mass, ``float64[]``, of ``int32[]``, at any scale."""
        with jax.enable_x64(True):
            usable = (self.scale > 0) & (self.scale < _WIDEST)
            at_end = (outcome == _LOW) | (outcome == _HIGH)
            useless = jnp.where(at_end, -jnp.log(2.0), -jnp.inf)
            law = NoisyCount(self.count, jnp.where(usable, self.scale, 1.0).astype(jnp.float64))
            return jnp.where(usable, law.log_probability(outcome), useless)

    def support(self, limit: int) -> Support | None:
        """None: every ``int32`` is possible."""
        return None

    def log_probability(self, value: Array) -> Array:
        """log P(value), ``float64[...]`` of ``int32[...]``; for a scale in (0, 2**56), 64-bit types enabled."""
        distance = jnp.abs(value.astype(jnp.int64) - self.count.astype(jnp.int64)).astype(jnp.float64)
        atom = jnp.log(jnp.tanh(0.5 / self.scale))
        tail = -jnp.log1p(jnp.exp(-1 / self.scale))  # clipping gives an end the mass beyond it
        return jnp.where((value == _LOW) | (value == _HIGH), tail, atom) - distance / self.scale
