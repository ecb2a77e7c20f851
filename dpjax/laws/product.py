"""Independent laws side by side."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass


@register_dataclass
@dataclass(frozen=True)
class Product:
    """Independent laws: a batched law whose leading axis is the product, or a tuple of laws."""

    parts: tuple

    def sample(self, key: Array) -> tuple:
        """A draw of each part, each from a key of its own."""
        keys = jax.random.split(key, len(self.parts))
        return tuple(part.sample(keys[i]) for i, part in enumerate(self.parts))

    def log_probs(self) -> Array:
        """Joint log-probabilities of finite parts, ``float64[m1, m2, ...]``."""
        with jax.enable_x64(True):
            total = jnp.zeros((), jnp.float64)
            for part in self.parts:
                total = total[..., None] + part.log_probs()
            return total
