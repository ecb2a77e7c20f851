"""The rows of one selection in the order of x, and the gaps between them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

GROUP, BLOCK = 16, 8
"""Rows of a group, and groups of a block; rows are padded to a multiple of their product."""
_BEYOND = (1 << 64) - 1


@register_dataclass
@dataclass(frozen=True)
class Ordered:
    """Rows sorted by x and y; ignored rows are last, and there is at least one. Gap i is before row i.

    points: ``uint64[2, m]``, x and y; x of ignored rows is the largest word. target, other: ``bool[m]``.
    real: ``int32[]``, the number of rows that count.
    """

    points: Array
    target: Array
    other: Array
    real: Array

    @staticmethod
    def of(points: Array, target: Array, other: Array) -> "Ordered":
        """From ``uint64[n, 2]`` and disjoint ``bool[n]``."""
        count = target.shape[0]
        spare = GROUP * BLOCK - count % (GROUP * BLOCK)
        code = jnp.pad(target.astype(jnp.int32) + 2 * other.astype(jnp.int32), (0, spare))
        real = code > 0
        x, y = (jnp.pad(column, (0, spare)) for column in points.T)
        x, y = jnp.where(real, x, jnp.uint64(_BEYOND)), jnp.where(real, y, jnp.uint64(0))
        _, x, y, code = jax.lax.sort((~real, x, y, code), num_keys=4)
        return Ordered(jnp.stack([x, y]), code == 1, code == 2, jnp.sum(real, dtype=jnp.int32))

    def gaps(self) -> tuple[Array, Array, Array, Array]:
        """x of the rows before and after each gap, ``uint64[m]``, and whether there is such a row, ``bool[m]``.

        Gaps beyond the last row that counts, but the first of them, have an ignored row before.
        """
        x = self.points[0]
        place = jnp.arange(x.shape[0], dtype=jnp.int32)
        before = jnp.concatenate([jnp.zeros(1, x.dtype), x[:-1]])
        return before, x, place > 0, place < self.real
