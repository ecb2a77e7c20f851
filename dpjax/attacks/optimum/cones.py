"""Nearest points of a simplex and of the cone of a family, for many columns at once, without sorting.

Sums over the leading axis are written out, which XLA fuses into one loop; a reduction of all comparisons is slower.
"""

from functools import reduce

import jax.numpy as jnp
from jax import Array

_WRITTEN_OUT = 16  # entries; longer columns are sorted


def nearest_law(values: Array) -> Array:
    """The nearest point with sum 1 and no negative entry of each column, ``float32[h, ...]``.

    It is max(v - theta, 0) with theta the largest over j of (sum of the v >= v_j, less 1) / (their number).
    """
    if len(values) > _WRITTEN_OUT:
        ordered, shape = -jnp.sort(-values, axis=0), (-1,) + (1,) * (values.ndim - 1)
        ranks = jnp.arange(1, len(values) + 1, dtype=values.dtype).reshape(shape)
        return jnp.maximum(values - jnp.max((jnp.cumsum(ordered, axis=0) - 1) / ranks, axis=0), 0)
    rows = list(values)
    thresholds = []
    for one in rows:
        above = [other >= one for other in rows]
        count = sum(part.astype(values.dtype) for part in above)
        total = sum(jnp.where(part, other, 0) for part, other in zip(above, rows, strict=True))
        thresholds.append((total - 1) / count)
    return jnp.maximum(values - reduce(jnp.maximum, thresholds), 0)


def nearest_in_family(values: Array, factor: Array) -> Array:
    """The nearest q with l <= q(a) <= factor l for an l >= 0, of each column v, ``float32[kinds, ...]``.

    The distance for a given l, with q = clip(v, l, factor l), has the derivative 2 F(l),

        F(l) = sum over a of max(l - v(a), 0)  -  factor (sum over a of max(v(a) - factor l, 0)),

    increasing and linear between the numbers v(a) and v(a) / factor. The largest of these with F <= 0 is the left end
    of the piece on which F vanishes.
    """
    rows = list(values)
    ends = rows + [one / factor for one in rows]
    left = jnp.full_like(rows[0], -jnp.inf)
    for end in ends:
        slope = sum(jnp.maximum(end - one, 0) for one in rows)
        slope -= factor * sum(jnp.maximum(one - factor * end, 0) for one in rows)
        left = jnp.maximum(left, jnp.where(slope <= 0, end, -jnp.inf))
    left = jnp.maximum(left, reduce(jnp.minimum, ends))  # F <= 0 there, but for rounding
    total, weight = jnp.zeros_like(left), jnp.zeros_like(left)
    for one, scaled in zip(rows, ends[len(rows) :], strict=True):
        below, above = one <= left, scaled > left
        total += jnp.where(below, one, 0) + factor * jnp.where(above, one, 0)
        weight += below.astype(values.dtype) + factor**2 * above.astype(values.dtype)
    low = jnp.maximum(total / jnp.maximum(weight, 1), 0)
    return jnp.clip(values, low, factor * low)
