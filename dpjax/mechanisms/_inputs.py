"""Trace-time checks of arguments that several mechanisms share, and the conversion of delta."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import down
from dpjax.core.types import as_float, known


def epsilon_of(epsilon: Array | float) -> Array:
    """epsilon as a scalar of its own float dtype; InputError if it is known and not in (0, inf)."""
    known(checks.epsilon, epsilon)
    return as_float(epsilon)


def held(name: str, values: Any, spread: float = 1.0) -> Array:
    """Numbers as an array. InputError for NaN and infinity unless traced, and for host integers outside the range of
    the dtype, which would wrap.

    Fractions may be rounded by 2**-20 of the sensitivity ``spread``, which the contract "ideal" permits.
    """
    if any(isinstance(part, jax.core.Tracer) for part in jax.tree.leaves(values)):
        return jnp.asarray(values)
    host = _host(name, values)
    if not np.all(np.isfinite(host)):
        expected, advice = "finite numbers", "leave candidates out with where, and clip what may be infinite"
        raise InputError(name, expected, f"{np.sum(~np.isfinite(host))} of {host.size} that are not", advice)
    if any(isinstance(part, jax.Array) for part in jax.tree.leaves(values)):
        return jnp.asarray(values)
    with np.errstate(over="ignore", invalid="ignore"):  # inf - inf
        converted = host.astype(jax.dtypes.canonicalize_dtype(host.dtype))
        near = host.dtype.kind == "f" and np.abs(host - converted) <= spread * 2.0**-20
    if np.any((host != converted) & np.logical_not(near)):
        expected = f"numbers that {converted.dtype} represents"
        advice = "subtract a public number, or enable 64-bit types"
        raise InputError(name, expected, f"{host.dtype} up to {np.max(np.abs(host)):g}", advice)
    return jnp.asarray(converted)


def _host(name: str, values: Any) -> np.ndarray:
    try:
        narrow = isinstance(values, jax.Array) and jnp.issubdtype(values.dtype, jnp.floating)
        host = np.asarray(values, np.float64 if narrow else None)  # bfloat16 is no dtype of NumPy's
    except (TypeError, ValueError) as error:  # lists of unequal lengths, keys
        raise InputError(name, "numbers", type(values).__name__, "give an array of numbers") from error
    if host.dtype.kind not in "biuf":
        raise InputError(name, "numbers", str(host.dtype), "give an array of numbers")
    return host


def vector(
    name: str, values: Any, *, integers: bool = True, least: int = 0, unsigned: bool = False, spread: float = 1.0
) -> Array:
    """A one-dimensional array with at least ``least`` entries, by default of signed integers."""
    values = held(name, values, spread)
    if values.ndim != 1 or values.shape[0] < least:
        raise InputError(
            name, f"a vector of {least} or more entries", f"shape {values.shape}", "use vmap over leading axes"
        )
    if integers and not jnp.issubdtype(values.dtype, jnp.integer):
        raise InputError(
            name, "whole numbers", str(values.dtype), "multiply fractions by n: counts keep maxima and gaps exact"
        )
    return values if unsigned else signed(name, values)


def signed(name: str, values: Array) -> Array:
    """InputError for unsigned integers, whose negative differences would wrap."""
    if jnp.issubdtype(values.dtype, jnp.unsignedinteger):
        raise InputError(name, "signed whole numbers", str(values.dtype), "convert them, for example to int32")
    return values


def difference(left: Array, right: Array) -> Array:
    """left - right in their common dtype; a difference outside the range of a signed integer dtype saturates.

    Saturation is monotone and increases no distance between two differences, so sensitivity and monotonicity hold.
    """
    gap = left - right
    if not jnp.issubdtype(gap.dtype, jnp.signedinteger):
        return gap
    ends = jnp.iinfo(gap.dtype)
    end = jnp.where(left < right, jnp.asarray(ends.min, gap.dtype), jnp.asarray(ends.max, gap.dtype))
    return jnp.where((left < right) == (gap < 0), gap, end)


def lag(scores: Array, best: Array, dtype: Any) -> Array:
    """score - best <= 0 in a float dtype; see `difference`."""
    if jnp.issubdtype(scores.dtype, jnp.floating):
        return scores.astype(dtype) - best.astype(dtype)
    return jnp.zeros((), dtype) - difference(best, scores).astype(dtype)


def delta_like(delta: Array | float, like: Array) -> Array:
    """delta in the dtype of ``like``, clipped to [0, 1] so that its logarithms are never NaN; checked if known.

    Numbers given on the host are rounded down to float32.
    """
    known(checks.delta, delta)
    rounded = delta if isinstance(delta, jax.Array) or like.dtype != jnp.float32 else down(float(delta))
    return jnp.clip(as_float(rounded, like).astype(like.dtype), 0, 1)
