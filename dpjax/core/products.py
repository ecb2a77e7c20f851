"""Products of matrices that are exact in any order of summation: of whole numbers that their type holds.

On a CPU XLA sums a product in parts, whose number is that of the process's threads. Other products of floats therefore
have last bits that depend on it, and results that come from them say for how many threads they hold.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

EXACT = frozenset({"exact_dot", "exact_einsum"})
"""Names of the functions below in a traced program."""


@jax.jit
def exact_dot(a: Array, b: Array) -> Array:
    """jnp.dot of whole numbers; every partial sum must be below 2**24 in float32, 2**53 in float64."""
    return jnp.dot(a, b, precision=jax.lax.Precision.HIGHEST)


@partial(jax.jit, static_argnames="subscripts")
def exact_einsum(subscripts: str, *operands: Array) -> Array:
    """jnp.einsum, as `exact_dot`."""
    return jnp.einsum(subscripts, *operands, precision="highest", optimize="optimal")
