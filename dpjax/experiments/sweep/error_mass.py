"""The error of a trial, from a mass of the distribution to the byte that is stored."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core import wide
from dpjax.experiments.store.error_bins import INVALID, SILENT, edges

SHARES = 2**53
"""Number of units per 1 for errors that a class returns as floats."""


def as_mass(error: Any) -> tuple[Array, Array]:
    """Errors of a concept class as whole numbers, ``uint64[k]``, and which of them are valid, ``bool[k]``.

    A class may return masses, unsigned whole numbers in units of the distribution, or probabilities, floats in [0, 1],
    which are rounded to multiples of 1 / `SHARES`. 64-bit types enabled.
    """
    error = jnp.asarray(error)
    if not jnp.issubdtype(error.dtype, jnp.floating):
        return error.astype(jnp.uint64), error >= 0
    valid = (error >= 0) & (error <= 1)
    share = jnp.where(valid, error, 0).astype(jnp.float64)
    return jnp.round(share * float(SHARES)).astype(jnp.uint64), valid


@lru_cache(256)  # of every point of a study and every look of a search
def limits(alpha: float, total: int, scale: Fraction = Fraction(1)) -> NDArray[np.uint32]:
    """``uint32[edges + 1, 2]``: the largest mass, of ``total`` units, whose share times ``scale`` is at most each edge.

    The last one is the total: a mass beyond it is no error.
    """
    masses = [int(edge / scale * total) for edge in edges(alpha)]
    result = wide.encode([min(mass, 2**64 - 1) for mass in (*masses, total)])
    result.flags.writeable = False
    return result


def binned(mass: Array, silent: Array, valid: Array, bounds: Array) -> Array:
    """``uint8[]`` of a trial: the bin of its largest error, ``uint64[k]``, with `SILENT` if any hypothesis abstains.

    `INVALID` if any error is not valid, ``bool[k]``, or beyond the total. 64-bit types enabled; bounds of `limits`.
    """
    most, ends = jnp.max(mass), wide.join(bounds)
    place = jnp.sum(ends[:-1] < most, dtype=jnp.int32)
    place = jnp.where(jnp.all(valid) & (most <= ends[-1]), place, INVALID)
    return (place + jnp.where(jnp.any(silent), SILENT, 0)).astype(jnp.uint8)
