"""Which pieces of a union belong to a large connected part of it."""

import jax.numpy as jnp
import numpy as np
from jax import Array

SIDE = 64


def probes(d: int) -> np.ndarray:
    """Host: the ``SIDE`` x ``SIDE`` points of {0, ..., d}^2 in which pieces are compared, rows of pairs of integers."""
    axis = [(2 * i + 1) * d // (2 * SIDE) for i in range(SIDE)]
    return np.array([(x, y) for x in axis for y in axis], object)


def mainland(inside: Array, least: Array) -> Array:
    """Which pieces are in a part of the union that has at least a fraction ``least`` of the probes, ``bool[m]``.

    Pieces are connected if they have a probe in common, or adjacent ones. The largest part is always included, and
    everything for ``least`` <= 0.

    Args:
      inside: ``bool[m, SIDE**2]``, which pieces hit which of `probes`. least: ``float[]``.
    """
    m = inside.shape[0]
    near = jnp.pad(inside.reshape(m, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)))
    near = near[:, :-2] | near[:, 1:-1] | near[:, 2:]
    near = (near[:, :, :-2] | near[:, :, 1:-1] | near[:, :, 2:]).reshape(m, -1)
    linked = _product(near, inside.T) | jnp.eye(m, dtype=bool)
    linked = linked | linked.T
    for _ in range(max(1, (m - 1).bit_length())):  # paths of 2, 4, ... links
        linked = _product(linked, linked)
    sizes = jnp.sum(_product(linked, inside), axis=1, dtype=jnp.int32)
    return (sizes.astype(least.dtype) >= least * float(SIDE * SIDE)) | (sizes == jnp.max(sizes)) | (least <= 0)


def _product(one: Array, other: Array) -> Array:
    """The product of two matrices of bits, ``bool[i, j]`` and ``bool[j, k]``, where a sum is an or."""
    return jnp.matmul(one.astype(jnp.int32), other.astype(jnp.int32)) > 0
