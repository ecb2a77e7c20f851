"""What a private median answers."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass


@register_dataclass
@dataclass(frozen=True)
class MedianAnswer:
    """An element of the domain, ``uint32[W]``, and an outcome, ``int32[]``: 0, or -1 for no answer (element 0)."""

    element: Array
    outcome: Array

    @staticmethod
    def of(element: Array, answered: Array) -> "MedianAnswer":
        """``element`` where ``answered``, else no answer."""
        found = jnp.where(answered, element, jnp.uint32(0))
        return MedianAnswer(found, jnp.where(answered, jnp.int32(0), jnp.int32(-1)))


def roomy(x: Array, mask: Array) -> tuple[Array, Array]:
    """The same rows in a buffer of two or more: gaps between rows then have a place."""
    lacking = max(0, 2 - x.shape[0])
    return jnp.pad(x, ((0, lacking), (0, 0))), jnp.pad(mask, (0, lacking))


def trimmed(rows: Array, n: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Sorted rows without the ``low`` first and the ``high`` last of the n real ones: (rows, how many are left).

    Neighbors stay neighbors: under REPLACE_ONE one row is replaced at most, under ADD_OR_REMOVE_ONE one is added at
    most, for cuts that do not depend on the data.
    """
    capacity = rows.shape[0]
    low, high = jnp.clip(low, 0, capacity), jnp.clip(high, 0, capacity)
    place = jnp.minimum(jnp.arange(capacity, dtype=jnp.int32) + low, capacity - 1)
    return rows[place], jnp.maximum(n - low - high, 0)
