"""Errors of many hypotheses on many label columns, as one exact matrix product."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.checks import InputError
from dpjax.core.products import exact_dot
from dpjax.core.types import Sample

_CELLS = 1 << 22  # rows x columns per block
MOST_ROWS = 1 << 24


def column_errors(says: Array, sample: Sample) -> Array:
    """``int32[k, h]``: rows on which hypothesis i, ``says[:, i]`` of ``bool[n, h]``, differs from column j.

    Sums of integers are exact in float32 here, so the order of summation does not matter. At most 2**24 rows.
    """
    if sample.capacity > MOST_ROWS:
        raise InputError("capacity", f"at most {MOST_ROWS} rows", str(sample.capacity), "take a part of the sample")
    positive = (says & sample.mask[:, None]).astype(jnp.float32)

    def of_column(labels: Array) -> Array:
        votes = jnp.where(sample.mask, jnp.where(labels, 1.0, -1.0), 0.0).astype(jnp.float32)
        balance = exact_dot(votes, positive)
        return jnp.sum(labels & sample.mask, dtype=jnp.int32) - balance.astype(jnp.int32)

    columns = sample.y.T
    at_once = max(1, _CELLS // sample.capacity)
    if columns.shape[0] <= at_once:
        return jax.vmap(of_column)(columns)
    return jax.lax.map(of_column, columns, batch_size=at_once)
