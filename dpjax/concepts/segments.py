"""What distributions of segments share: whole numbers of units, at most 2**64 of them together."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.concepts.example_distribution import ExampleDistribution
from dpjax.core import wide

_FEW = 64  # lookups in up to 64 segments compare with all of them; in more, they use binary search


class Segments(ExampleDistribution):
    """Base class. last: ``uint32[s, 2]``, cumulative mass up to and including each segment, minus 1."""

    last: Array

    @property
    def total(self) -> int:
        """Total mass in units, on the host."""
        return int(wide.decode(self.last)[-1]) + 1

    def units(self) -> Array:
        """Total mass in units, ``float64[]``, traced."""
        with jax.enable_x64(True):
            return wide.join(self.last[-1]).astype(jnp.float64) + 1

    def unit(self, bits: Array) -> Array:
        """The unit, ``uint64[...]``, of random ``uint64[...]``, uniform to within 2**-64; 64-bit types enabled."""
        top = wide.join(self.last[-1]) + jnp.uint64(1)  # 0 stands for 2**64
        return jnp.where(top == 0, bits, jax.lax.mulhi(bits, jnp.broadcast_to(top, bits.shape)))

    def before(self) -> Array:
        """Mass below each segment, ``uint64[s]``; 64-bit types enabled."""
        last = wide.join(self.last)
        return jnp.concatenate([jnp.zeros(1, jnp.uint64), last[:-1] + jnp.uint64(1)])


def count_below(table: Array, value: Array, *, strict: bool) -> Array:
    """The number of entries of the ascending ``uint64`` table that are < value (strict) or <= value, ``int32[...]``."""
    if table.shape[0] <= _FEW:
        entries, value = jnp.broadcast_arrays(table, value[..., None])
        return jnp.sum(entries < value if strict else entries <= value, axis=-1, dtype=jnp.int32)
    side = "left" if strict else "right"
    return jnp.searchsorted(table, value, side=side, method="scan").astype(jnp.int32)
