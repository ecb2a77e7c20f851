"""Reorder-slice-compute: put the rows in a public order, cut off the first few, hand them to a mechanism, go on.

The length of each slice is random, so that one added row hides in few of them: `accounting.slices` has the theorem.
"""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.random import GeometricTable
from dpjax.laws import Geometric


def cut_slice(
    key: Array, order: tuple[Array, ...], mask: Array, least: Array | int, lengths: GeometricTable
) -> tuple[Array, Array]:
    """The first ``least`` + g of the rows that are left, in the given order, and the others: masks ``bool[capacity]``.

    Args:
      key: consumed.
      order: columns ``[capacity]`` by which rows are put in order, ascending, equal ones by their place. Putting a row
        more into the data must put it into the order and move no other row (beyond the first ``least`` as a set).
      mask: ``bool[capacity]``, the rows that are left.
      least: m >= 1, ``int32[]`` or integer, public.
      lengths: of g, P[g >= k] = exp(-e_g k): `random.geometric_table` (1 / e_g).

    A slice that wants more rows than there are has all of them: **never publish or branch on how many it has**.

    Privacy: tau slices, each read by mechanisms that are together (e_A, delta_A)-private, are private as
      `accounting.slices` says, ADD_OR_REMOVE_ONE; a computation may wait until later rounds are over.
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
