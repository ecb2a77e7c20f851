"""Nearest points of a simplex and of the cone of a family, for many columns at once, without sorting.

Sums over the leading axis are written out, which XLA fuses into one loop; a reduction of all comparisons is slower.
"""

from functools import reduce
from typing import Any

import jax.numpy as jnp
from jax import Array

_WRITTEN_OUT = 16  # entries; longer columns are sorted


def nearest_law(values: Array) -> Array:
    """The nearest point with sum 1 and no negative entry of each column, ``float32[h, ...]``."""
    return jnp.maximum(values - threshold(values, 1), 0)


def threshold(values: Array, mass: Any) -> Array:
    """The theta for which the sum of max(v - theta, 0) over each column is ``mass`` > 0, of ``float32[h, ...]``.

    It is the largest over j of (sum of the v >= v_j, less the mass) / (their number).
    """
    if len(values) > _WRITTEN_OUT:
        ordered, shape = -jnp.sort(-values, axis=0), (-1,) + (1,) * (values.ndim - 1)
        ranks = jnp.arange(1, len(values) + 1, dtype=values.dtype).reshape(shape)
        return jnp.max((jnp.cumsum(ordered, axis=0) - mass) / ranks, axis=0)
    rows = list(values)
    thresholds = []
    for one in rows:
        above = [other >= one for other in rows]
        count = sum(part.astype(values.dtype) for part in above)
        total = sum(jnp.where(part, other, 0) for part, other in zip(above, rows, strict=True))
        thresholds.append((total - mass) / count)
    return reduce(jnp.maximum, thresholds)


def nearest_in_family(values: Array, factor: Array, present: Array | None = None) -> Array:
    """The nearest q with l <= q(a) <= factor l for an l >= 0, of each column v, ``float32[kinds, ...]``.

    present: ``bool[kinds, ...]``, which entries are there, at least one in a column; None for all. Others stay as they
    are.

    The distance for a given l, with q = clip(v, l, factor l), has the derivative 2 F(l),

        F(l) = sum over a of max(l - v(a), 0)  -  factor (sum over a of max(v(a) - factor l, 0)),

    increasing and linear between the numbers v(a) and v(a) / factor. The largest of these with F <= 0 is the left end
    of the piece on which F vanishes.
    """
    rows = list(values)
    there = [None] * len(rows) if present is None else list(present)
    ends = rows + [one / factor for one in rows]
    left = jnp.full_like(rows[0], -jnp.inf)
    for end, known in zip(ends, there + there, strict=True):
        slope = sum(_where(part, jnp.maximum(end - one, 0)) for one, part in zip(rows, there, strict=True))
        slope -= factor * sum(
            _where(part, jnp.maximum(one - factor * end, 0)) for one, part in zip(rows, there, strict=True)
        )
        end = _where(known, end, -jnp.inf)
        left = jnp.maximum(left, jnp.where(slope <= 0, end, -jnp.inf))
    least = reduce(jnp.minimum, [_where(part, end, jnp.inf) for end, part in zip(ends, there + there, strict=True)])
    left = jnp.maximum(left, least)  # F <= 0 there, but for rounding
    total, weight = jnp.zeros_like(left), jnp.zeros_like(left)
    for one, scaled, part in zip(rows, ends[len(rows) :], there, strict=True):
        below, above = (_where(part, both, False) for both in (one <= left, scaled > left))
        total += jnp.where(below, one, 0) + factor * jnp.where(above, one, 0)
        weight += below.astype(values.dtype) + factor**2 * above.astype(values.dtype)
    low = jnp.maximum(total / jnp.maximum(weight, 1), 0)
    nearest = jnp.clip(values, low, factor * low)
    return nearest if present is None else jnp.where(present, nearest, values)


def _where(part: Array | None, value: Array, otherwise: Any = 0) -> Array:
    """The value where an entry is there."""
    return value if part is None else jnp.where(part, value, otherwise)
