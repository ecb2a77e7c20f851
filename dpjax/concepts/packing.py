"""Rows of bits in 32-bit words."""

import jax.numpy as jnp
from jax import Array


def pack(bits: Array) -> Array:
    """``bool[n, k]`` -> ``uint32[n, ceil(k / 32)]``, column j in bit j % 32 of word j // 32."""
    rows, k = bits.shape
    padded = jnp.concatenate([bits, jnp.zeros((rows, -k % 32), bool)], axis=1).reshape(rows, -(-k // 32), 32)
    weights = (jnp.uint32(1) << jnp.arange(32, dtype=jnp.uint32)).reshape(1, 1, 32)
    return jnp.sum(jnp.where(padded, weights, jnp.uint32(0)), axis=-1, dtype=jnp.uint32)


def unpack(words: Array, k: int) -> Array:
    """``uint32[n, ceil(k / 32)]`` -> ``bool[n, k]``, the inverse of `pack`."""
    column = jnp.arange(k, dtype=jnp.int32)
    return ((words[:, column // 32] >> (column % 32).astype(jnp.uint32)[None]) & jnp.uint32(1)).astype(bool)
