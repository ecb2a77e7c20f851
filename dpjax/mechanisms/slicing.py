"""Reorder-slice-compute: sort the remaining rows in a public order, cut off the first few for a mechanism, repeat.

The length of each slice is random, so that an added row affects few of them: `accounting.slices` has the theorem.
"""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.random import GeometricTable
from dpjax.laws import Geometric


def cut_slice(
    key: Array, order: tuple[Array, ...], mask: Array, least: Array | int, lengths: GeometricTable
) -> tuple[Array, Array]:
    """The first ``least`` + g of the remaining rows, in the given order, and the others: masks ``bool[capacity]``.

    Args:
      key: consumed.
      order: columns ``[capacity]``, sort keys in ascending order, ties by row number. An additional row in the data
        must be inserted into the order without moving other rows (beyond the first ``least`` as a set).
      mask: ``bool[capacity]``, the remaining rows.
      least: m >= 1, ``int32[]`` or integer, public.
      lengths: of g, P[g >= k] = exp(-e_g k): `random.geometric_table` (1 / e_g).

    A slice longer than the remaining rows has all of them: **never publish or branch on the size of a slice**.

    Privacy: tau slices, each read by mechanisms that are together (e_A, delta_A)-private, are private as
      `accounting.slices` states, ADD_OR_REMOVE_ONE; a slice's mechanism may run after later rounds.
    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023 (reorder-slice-compute); constants derived in this package.
    """
    capacity = mask.shape[0]
    place = jnp.arange(capacity, dtype=jnp.int32)
    spare = (~mask).astype(jnp.uint32)
    ordered = jax.lax.sort((spare, *order, place), num_keys=len(order) + 2)[-1]
    rank = jnp.zeros(capacity, jnp.int32).at[ordered].set(place)
    extra = Geometric(lengths, capacity).sample(key)
    taken = mask & (rank < jnp.asarray(least, jnp.int32) + extra)
    return taken, mask & ~taken
