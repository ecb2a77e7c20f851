"""The pairs whose common prefixes RecPrefix recurses on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.mechanisms.median.recprefix import _common_prefixes

BITS, CAPACITY = 16, 9


@pytest.mark.parametrize("n", [0, 1, 2, 5, 6, CAPACITY])
def test_each_row_is_in_at_most_one_pair_and_others_in_none(n, key):
    """The first n rows are equal, and share fewer bits with the rest: neighbors differ in one pair only if no pair
    holds a row from behind the first n, where trimmed rows are."""
    rows = jnp.asarray(B.encode([2**BITS - 1] * n + [1] * (CAPACITY - n), BITS))
    common = jax.jit(jax.vmap(_common_prefixes, (0, None, None, None)), static_argnums=3)
    shared, real = (np.asarray(part) for part in common(jax.random.split(key, 8), rows, jnp.int32(n), BITS))
    assert (real.sum(axis=1) == n // 2).all() and (shared[real] == BITS).all()
