"""Products of independent laws."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.laws.base import Law, Support


@register_dataclass
@dataclass(frozen=True)
class Product(Law):
    """Independent laws: a batched law whose leading axis is the product, or a tuple of laws."""

    parts: tuple

    def sample(self, key: Array) -> tuple:
        """A draw of each part, each from its own key."""
        keys = jax.random.split(key, len(self.parts))
        return tuple(part.sample(keys[i]) for i, part in enumerate(self.parts))

    def log_prob(self, outcome: tuple) -> Array:
        """The sum over the parts, ``float64[]``."""
        with jax.enable_x64(True):
            pairs = zip(self.parts, outcome, strict=True)
            return jnp.sum(jnp.stack([part.log_prob(value) for part, value in pairs]))

    def support(self, limit: int) -> Support | None:
        """All combinations; None if a part has no support."""
        supports = [part.support(limit) for part in self.parts]
        known = [part for part in supports if part is not None]
        if len(known) < len(supports) or np.prod([float(part.size) for part in known]) > limit:
            return None
        places = np.indices([part.size for part in known]).reshape(len(known), -1)
        with jax.enable_x64(True):
            pairs = list(zip(known, places, strict=True))
            outcomes = tuple(jax.tree.map(lambda leaf, at=at: leaf[at], part.outcomes) for part, at in pairs)
            return Support(outcomes, sum(part.log_mass[at] for part, at in pairs))

    def log_probs(self) -> Array:
        """Joint log-probabilities of finite parts, ``float64[m1, m2, ...]``."""
        with jax.enable_x64(True):
            total = jnp.zeros((), jnp.float64)
            for part in self.parts:
                total = total[..., None] + part.log_probs()
            return total
