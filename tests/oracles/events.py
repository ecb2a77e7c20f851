"""The trapezoids of `slabs`, found by sorting the crossings once: O(n**2 log n), and exact for rows below 2**64.

Lines are numbered from below as they are far to the left. Line i crosses line j > i once at most, at the slope
(y_j - y_i) / (x_j - x_i), where the two, neighbors at this moment, change places. A gap is what lies between two
neighbors; a crossing ends a trapezoid in three gaps and begins another in each. Crossings at one point come one
after the other by (i, j), which is an order in which every pair is neighboring when its turn comes, provided that no
two lines are equal. Orders are decided on integers and areas come from exact determinants, so that no cell is lost.
The two sides of the frame are lines, too. Those of an open frame cross no other: they are first and last from the
start, stand at the ends of the domain, and how much farther out they are is added to heights, where nothing cancels.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.checks import InputError
from tests.oracles.crossings import Signed, determinant, fraction_keys
from tests.oracles.slabs import Frame, Trapezoids

_MOST = 2**14  # rows: pairs are counted in int32


def cells(x: Array, target: Array, other: Array, frame: Frame) -> Trapezoids:
    """All trapezoids: charts x (3 N (N - 1) / 2 + N + 1) of them with N = n + 2; unused ones at the end.

    x: ``int32[n, 2]`` or, for d of 2**31 and more, ``uint32[n, 2, 2]``. target, other: ``bool[n]``; rows under
    neither are not looked at. Rows outside of [0, d] are moved to its ends. n at most 16384; mind the memory.
    The relative error of a mass is at most 1e-14. Nothing depends on the order of the rows, nor on padding.
    """
    with jax.enable_x64(True):
        return weighted_cells(x, jnp.stack([target, other], axis=1).astype(jnp.int32), frame)


def weighted_cells(x: Array, weights: Array, frame: Frame) -> Trapezoids:
    """`cells` for sums of any ``int32[n, c]``, the weights of row i; rows of weight 0 are not looked at.

    64-bit types enabled.
    """
    if x.shape[0] > _MOST:
        raise InputError("x", f"at most {_MOST} rows", str(x.shape[0]), "use a sampler by rejection")
    parts = jax.lax.map(lambda rows: _chart(rows, weights, frame), frame.rows(x))
    # charts alternate, so that what is unused is at the end
    slopes, base, height, mass, below = (jnp.swapaxes(part, 0, 1).reshape(-1, *part.shape[2:]) for part in parts)
    chart = jnp.arange(mass.shape[0], dtype=jnp.int32) % frame.charts
    return Trapezoids(chart, slopes, base, height, mass, below, jnp.sum(weights, axis=0, dtype=jnp.int32), frame)


def _chart(rows: Array, weights: Array, frame: Frame) -> tuple[Array, Array, Array, Array, Array]:
    """Slopes, base, height, mass and weights below of one chart's trapezoids."""
    # the weight of the sides tells what lies between them
    low, high = (0, frame.d) if frame.open else (frame.low, frame.high)
    sides = jnp.asarray([[0, low], [0, high]], rows.dtype)
    one = jnp.concatenate([jnp.zeros((2, weights.shape[1]), jnp.int32), jnp.ones((2, 1), jnp.int32)], axis=1)
    none = jnp.zeros((rows.shape[0], 1), jnp.int32)
    weights = jnp.concatenate([one, jnp.concatenate([weights, none], axis=1)])
    lines, weights, count = _distinct(jnp.concatenate([sides, rows]), weights, frame)
    first, second, crossings = _crossings(lines, count, frame)
    rank, after = _ranks(first, second, crossings, weights)
    begin, end, top, bottom, below = _records(first, second, crossings, rank, after, weights, count)

    steps = _steps(lines, first, second, frame)
    u, v, t = steps[begin], steps[end], Signed.difference(lines[top], lines[bottom])
    pairs = (u, v), (u, t), (v, t)
    pq, pt, qt = (determinant(a[:, 0], a[:, 1], b[:, 0], b[:, 1]).as_float() for a, b in pairs)
    place = jnp.arange(lines.shape[0], dtype=jnp.int32)
    farther = jnp.where(place == 0, float(frame.low - low), jnp.where(place == count - 1, float(frame.high - high), 0))
    p, q, foot = u.as_float().T, v.as_float().T, lines[bottom].astype(jnp.float64)
    pt, qt = (part + x * (farther[top] - farther[bottom]) for part, x in ((pt, p[0]), (qt, q[0])))
    mass = jnp.where(below[:, -1] == 1, jnp.maximum(frame.mass(p, q, pq, pt, qt), 0.0), 0.0)
    slopes = jnp.stack([p[1] / p[0], q[1] / q[0]], axis=1)
    height = jnp.stack([pt / p[0], qt / q[0]], axis=1)
    return slopes, (foot[:, 1] + farther[bottom])[:, None] - slopes * foot[:, :1], height, mass, below[:, :-1]


def _distinct(lines: Array, weights: Array, frame: Frame) -> tuple[Array, Array, Array]:
    """Lines of some weight sorted by (x, y), equal ones made one, and their number; 0 behind them.

    The first two lines are the sides: of an open frame the one becomes the first, the other the last.
    """
    size = lines.shape[0]
    place = jnp.arange(size, dtype=jnp.int32)
    kind = jnp.where(jnp.any(weights != 0, axis=1), jnp.int32(1), jnp.int32(3))
    if frame.open:
        kind = jnp.where(place < 2, 2 * place, kind)
    kind, x, y, order = jax.lax.sort((kind, lines[:, 0], lines[:, 1], place), num_keys=4)
    repeated = (kind[1:] == kind[:-1]) & (x[1:] == x[:-1]) & (y[1:] == y[:-1])
    new = (kind < 3) & ~jnp.concatenate([jnp.zeros(1, bool), repeated])
    group = jnp.cumsum(new, dtype=jnp.int32) - 1
    merged = jax.ops.segment_sum(weights[order], group, size)
    at = jnp.where(new, group, jnp.int32(size))
    points = jnp.zeros_like(lines).at[at].set(jnp.stack([x, y], axis=1), mode="drop")
    return points, merged, jnp.sum(new, dtype=jnp.int32)


def _crossings(lines: Array, count: Array, frame: Frame) -> tuple[Array, Array, Array]:
    """All pairs i < j, ``int32[E]`` each, in the order of their crossings, and how many do cross."""
    low, high = (jnp.asarray(part, jnp.int32) for part in np.triu_indices(lines.shape[0], 1))
    step = Signed.difference(lines[high], lines[low])
    crosses = (step.size[:, 0] > 0) & (high < count)
    if frame.open:
        crosses = crosses & (low > 0) & (high < count - 1)
    dx = jnp.where(crosses, step.size[:, 0], jnp.uint64(1))
    keys = fraction_keys(step[:, 1], dx, (frame.d - 1).bit_length())
    pair = jnp.arange(low.shape[0], dtype=jnp.int32)
    *_, pair = jax.lax.sort((~crosses, *keys, pair), num_keys=len(keys) + 2)
    return low[pair], high[pair], jnp.sum(crosses, dtype=jnp.int32)


def _steps(lines: Array, first: Array, second: Array, frame: Frame) -> Signed:
    """(dx, dy), [E + 2, 2]: the slope of every crossing, moved into the frame, and of its left and its right end."""
    step = Signed.difference(lines[second], lines[first])
    wall = jnp.uint64(frame.wall)
    dx, dy = step.size[:, 0], step.size[:, 1]
    outside = (jax.lax.mulhi(dx, wall) == 0) & (dy >= dx * wall)
    size = jnp.where(outside[:, None], jnp.stack([jnp.uint64(1), wall]), step.size)
    ends = jnp.broadcast_to(jnp.stack([jnp.uint64(1), wall]), (2, 2))
    left = jnp.asarray([[False, True], [False, False]])
    return Signed(jnp.concatenate([step.negative, left]), jnp.concatenate([size, ends]))


def _ranks(first: Array, second: Array, crossings: Array, weights: Array) -> tuple[Array, Array]:
    """At each crossing, ``int32[E]`` and ``int32[E, c]``: how many lines are below both, and the weights below i after.

    Row i of a matrix has the crossings of line i in their order: it goes up where j > i and down where j < i.
    """
    size, pairs = weights.shape[0], first.shape[0]
    event = jnp.arange(pairs, dtype=jnp.int32)
    line = jnp.arange(size, dtype=jnp.int32)[:, None]
    table = jnp.full((size, size), pairs, jnp.int32).at[first, second].set(event).at[second, first].set(event)
    table = jnp.sort(table, axis=1)[:, :-1]
    partner = first[table] + second[table] - line
    step = jnp.where(table < crossings, jnp.where(partner > line, 1, -1), 0).astype(jnp.int32)
    weights = jnp.concatenate([jnp.ones((size, 1), jnp.int32), weights], axis=1)
    start = jnp.cumsum(weights, axis=0, dtype=jnp.int32) - weights
    after = start[:, None] + jnp.cumsum(step[..., None] * weights[partner], axis=1, dtype=jnp.int32)
    at = jnp.where(step > 0, table, jnp.int32(pairs))
    after = jnp.zeros((pairs, weights.shape[1]), jnp.int32).at[at].set(after, mode="drop")
    return after[:, 0] - 1, after[:, 1:]


def _records(
    first: Array, second: Array, crossings: Array, rank: Array, after: Array, weights: Array, count: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Trapezoids gap by gap, from left to right: their first and last crossing, line above and below, weights below.

    Crossing E stands for the left end of the frame and E + 1 for the right one. Gap g is below line g of the moment.
    """
    size, pairs = weights.shape[0], first.shape[0]
    bits = pairs.bit_length()
    number = jnp.arange(1, pairs + 1, dtype=jnp.int64)
    gap = jnp.where(number <= crossings.astype(jnp.int64), rank.astype(jnp.int64), size + 1)
    changed = ((gap[None] + jnp.arange(3, dtype=jnp.int64)[:, None]) << bits) | number[None]
    started = jnp.arange(size + 1, dtype=jnp.int64) << bits
    records = jnp.sort(jnp.concatenate([started, changed.reshape(-1)]))
    gap = (records >> bits).astype(jnp.int32)
    event = (records & (2**bits - 1)).astype(jnp.int32) - 1  # -1: the left end
    role = gap - rank[event]  # of the gap: 0 below both lines, 1 between them, 2 above
    i, j = first[event], second[event]
    initial = event < 0
    top = jnp.where(initial, gap, jnp.where(role == 0, j, i))
    bottom = jnp.where(initial, gap - 1, jnp.where(role == 1, j, i))
    # what a record does not change is as in the last one that did
    known = jnp.stack([initial | (role < 2), initial | (role > 0), initial | (role == 1)])
    place = jnp.arange(records.shape[0], dtype=jnp.int32)
    of_top, of_bottom, of_below = jax.lax.cummax(jnp.where(known, place, 0), axis=1)
    under = jnp.concatenate([jnp.zeros((1, weights.shape[1]), jnp.int32), jnp.cumsum(weights, axis=0, dtype=jnp.int32)])
    below = jnp.where(initial[:, None], under[jnp.minimum(gap, size)], after[event])
    below = jnp.where((gap <= count)[:, None], below[of_below], 0)
    same = jnp.concatenate([gap[1:] == gap[:-1], jnp.zeros(1, bool)])
    end = jnp.where(same, jnp.concatenate([event[1:], event[:1]]), jnp.int32(pairs + 1))
    begin = jnp.where(initial, jnp.int32(pairs), event)
    last = jnp.int32(size - 1)
    return begin, end, jnp.clip(top[of_top], 0, last), jnp.clip(bottom[of_bottom], 0, last), below
