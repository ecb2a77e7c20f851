"""The convex polygon that no halfplane selected so far hits, and a base measure that favors the lines that meet it.

The polygon is a function of published cuts, so a measure that depends on it is adaptive composition; any function
would be private. Here it matters only that all programs compute the same bits: corners are points of the grid, decided
by integers, and a crossing is rounded to the grid from one quotient and one product of floats.
"""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.integers import clip, constant, sort
from dpjax.mechanisms.cover.lines.cuts import affine

_EDGES = 4


@register_dataclass
@dataclass(frozen=True)
class Favored:
    """Lines that come within ``pad`` of the corners' hull have 1 + extra times the weight of the others.

    offset, slope: as those of `cuts.Rows`, of the corners. extra: ``float64[]`` >= 0. pad: static, in units of t.
    """

    offset: Any
    slope: Array
    extra: Array
    pad: int = field(metadata={"static": True})

    def reach(self, chart: Array, theta: Any, last: Any = None) -> tuple[Any, Any]:
        """(low, high), ``integers[]``: the favored t are those in (low, high].

        last: for all thetas of a cell at once, its last theta: a range that contains that of each of them.
        """
        offset, slope = self.offset[chart], self.slope[chart]
        least = sort(affine(offset, slope, theta if last is None else last))[0]
        return least - (self.pad + 1), sort(affine(offset, slope, theta))[-1] + self.pad

    def marks(self, cuts: Any, chart: Array, theta: Any) -> tuple[Any, Any]:
        """`reach`, clipped to the values that a row may have and one beyond."""
        ends = self.reach(chart, theta)
        first, last = (constant(end, ends[0]) for end in (cuts.first - 1, cuts.last + 1))
        return clip(ends[0], first, last), clip(ends[1], first, last)


def log_favored(width: Any, inside: Any, extra: Array) -> Array:
    """ln(width + extra inside), ``float64[...]``, of numbers of t; -inf where the width is 0."""
    total = width.astype(jnp.float64) + extra * inside.astype(jnp.float64)
    return jnp.where(width > 0, jnp.log(jnp.maximum(total, 1.0)), -jnp.inf)


def square(d: int, rounds: int) -> Array:
    """The corners of {0, ..., d}^2, ``uint64[rounds + 4, 2]``: room for ``rounds`` cuts; the first one is repeated."""
    corners = np.zeros((rounds + _EDGES, 2), np.uint64)
    corners[1:3, 0] = corners[2:4, 1] = d
    return jnp.asarray(corners)


def clipped(corners: Array, gone: Array, before: Any, d: int) -> Array:
    """The polygon without the corners that are ``gone``, ``bool[m]``; unchanged if all are. Corners are in order.

    before: ``integers[m]``, the cut's t minus the value of each corner.
    """
    after = jax.tree.map(lambda part: jnp.roll(part, -1), before)
    crossing = gone != jnp.roll(gone, -1)
    apart = (before - after).astype(jnp.float64)
    part = jnp.clip(before.astype(jnp.float64) / jnp.where(crossing, apart, 1.0), 0.0, 1.0)
    here = corners.astype(jnp.float64)
    there = jnp.roll(here, -1, axis=0)
    point = here + jnp.round(part[:, None] * (there - here))
    most = float(d) if int(float(d)) <= d else np.nextafter(float(d), 0.0)
    point = jnp.clip(point, 0.0, most).astype(jnp.uint64)
    kept = jnp.stack([~gone, crossing], axis=1).reshape(-1)
    place = jnp.cumsum(kept.astype(jnp.int32)) - 1
    room = corners.shape[0]
    points = jnp.stack([corners, point], axis=1).reshape(-1, 2)
    polygon = jnp.zeros_like(corners).at[jnp.where(kept, place, room)].set(points, mode="drop")
    full = jnp.arange(room, dtype=jnp.int32) <= place[-1]
    return jnp.where(jnp.all(gone), corners, jnp.where(full[:, None], polygon, polygon[:1]))


def around(corners: Array) -> Array:
    """The perimeter of the smallest upright rectangle, ``float64[]``: at least that of the corners' hull."""
    return 2 * jnp.sum((jnp.max(corners, axis=0) - jnp.min(corners, axis=0)).astype(jnp.float64))
