"""Sums that decay along the rows, with the same bits however many ignored rows follow or precede."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.mechanisms.cover.slabs.ordered import BLOCK


def decayed(values: Array, kept: Array) -> Array:
    """r with r[i] = values[i] + kept[i] r[i - 1], ``float64[..., m]``, m a multiple of `BLOCK`.

    All blocks at the same time, row by row, then block by block. Rows with value 0 and kept 1 change no bit of others.
    """
    shape = values.shape
    rows, decay = (jnp.moveaxis(part.reshape(*shape[:-1], -1, BLOCK), -1, 0) for part in (values, kept))

    def within(carry: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        (value, keep), (total, product) = row, carry
        made = value + keep * total, keep * product
        return made, made

    none = jnp.zeros_like(rows[0])
    _, (total, product) = jax.lax.scan(within, (none, jnp.ones_like(none)), (rows, decay))

    def across(carry: Array, block: tuple[Array, Array]) -> tuple[Array, Array]:
        return block[0] + block[1] * carry, carry

    ends = jnp.moveaxis(total[-1], -1, 0), jnp.moveaxis(product[-1], -1, 0)
    _, before = jax.lax.scan(across, jnp.zeros_like(ends[0][0]), ends)
    whole = total + product * jnp.moveaxis(before, 0, -1)[None]
    return jnp.moveaxis(whole, 0, -1).reshape(shape)
