"""The error of a synthetic database over all thresholds, and the equal parts into which sanitizers cut rows."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.sanitizers.base import Sanitized


def error(sanitized: Sanitized, x: Any, mask: Any) -> Fraction:
    """Host: the largest error over all thresholds, as an exact fraction; 0 without rows."""
    over, under = jax.jit(worst_gap)(sanitized, jnp.asarray(x), jnp.asarray(mask))
    return Fraction(int(np.asarray(over)), int(np.asarray(under)))


def worst_gap(sanitized: Sanitized, x: Array, mask: Array) -> tuple[Array, Array]:
    """`error` as numerator and denominator, ``int64[]`` each, for jitted trials.

    Both step functions are constant between elements that are a row or a point, so no other thresholds are needed;
    equal elements count together, so a value of many rows is one step. n x sum of weights < 2**63.
    """
    width, capacity = x.shape[1], x.shape[0]
    count = sanitized.weights.shape[0]
    elements = jnp.concatenate([x, sanitized.points])
    rows = jnp.concatenate([mask.astype(jnp.int32), jnp.zeros(count, jnp.int32)])
    weights = jnp.concatenate([jnp.zeros(capacity, jnp.int32), sanitized.weights])
    columns = tuple(elements[:, limb] for limb in range(width))
    *limbs, rows, weights = jax.lax.sort((*columns, rows, weights), num_keys=width)
    differ = jnp.stack([limb[1:] != limb[:-1] for limb in limbs])
    last = jnp.append(jnp.any(differ, axis=0), jnp.ones(1, bool))
    with jax.enable_x64(True):
        below, weight = jnp.cumsum(rows.astype(jnp.int64)), jnp.cumsum(weights.astype(jnp.int64))
        gaps = jnp.abs(weight * below[-1] - below * weight[-1])
        largest = jnp.max(jnp.where(last, gaps, jnp.int64(0)))
        return largest, jnp.maximum(below[-1], jnp.int64(1)) * weight[-1]


def boundaries(n: Array, parts: int) -> Array:
    """floor(i n / parts) for i = 0, ..., parts, ``int32[parts + 1]``: n rows in parts whose sizes differ by at most 1.

    parts is static, n (``int32[]``) is public; nothing overflows.
    """
    with jax.enable_x64(True):
        place = jnp.arange(parts + 1, dtype=jnp.int64)
        return (place * n.astype(jnp.int64) // jnp.int64(parts)).astype(jnp.int32)
