"""What several mechanisms check at trace time, and how they read delta."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import as_float


def positive(name: str, value: float) -> float:
    """A static number > 0, such as a sensitivity."""
    if checks.number(name, value) <= 0:
        raise InputError(name, "a number > 0", repr(value), f"state {name} under the neighbouring relation you use")
    return value


def vector(name: str, values: Array, *, integers: bool = True, least: int = 0) -> Array:
    """A one-dimensional array, of whole numbers unless said otherwise, with at least ``least`` entries."""
    values = jnp.asarray(values)
    if values.ndim != 1 or values.shape[0] < least:
        raise InputError(
            name, f"a vector of {least} or more entries", f"shape {values.shape}", "use vmap over leading axes"
        )
    if integers and not jnp.issubdtype(values.dtype, jnp.integer):
        raise InputError(
            name, "whole numbers", str(values.dtype), "multiply fractions by n: counts keep maxima and gaps exact"
        )
    return values


def lag(scores: Array, best: Array, dtype: Any) -> Array:
    """score - best <= 0 in a float dtype; whole numbers that differ by more than their type holds saturate.

    Saturation replaces a score by max(score, best - the largest number), which moves by no more than the scores do and
    in the same direction, so sensitivity and monotonicity hold.
    """
    if jnp.issubdtype(scores.dtype, jnp.floating):
        return scores.astype(dtype) - best.astype(dtype)
    gap = best - scores
    if jnp.issubdtype(scores.dtype, jnp.signedinteger):
        gap = jnp.where(gap < 0, jnp.asarray(jnp.iinfo(scores.dtype).max, scores.dtype), gap)  # it wrapped
    return jnp.zeros((), dtype) - gap.astype(dtype)


def delta_like(delta: Array | float, like: Array) -> Array:
    """delta in the dtype of ``like``, clipped to [0, 1] so that its logarithms are never NaN."""
    return jnp.clip(as_float(delta, like).astype(like.dtype), 0, 1)
