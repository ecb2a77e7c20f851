"""Rows in groups of neighbors, and an upper bound of the sum over (a, b) from sums over pairs of groups.

With T targets and O others in [a, b], exp(c min(T - share, -O)) is at most exp(c (T - share)), and at most exp(-c O).
So any choice between both for each pair (a, b) gives an upper bound of their sum. Here pairs of groups choose, and sums
over the a and the b of a group are exact. The choice of `pairs.sums`, the exact sum, differs for few pairs only:
docs/proofs/slab-wedges.md#bounds-by-groups.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.nodes import Nodes, Widths
from dpjax.mechanisms.cover.slabs.ordered import GROUP, Ordered
from dpjax.mechanisms.cover.slabs.recurrences import decayed
from dpjax.mechanisms.cover.triangles.corners import unit_sum

MOST, LEAST = 100 / GROUP, -600.0
"""The largest c within a group, and the log of the least weight of a pair: no product overflows or underflows."""
_LOST = 2.0**-32
"""A difference of two sums is raised by this part of the larger one, which is more than its rounding."""


@register_dataclass
@dataclass(frozen=True)
class Groups:
    """M groups of `GROUP` rows; row g of all groups are together. k nodes.

    points: ``uint64[2, GROUP, M]``. target, other: ``bool[GROUP, M]``.
    a, b: ``float64[k, GROUP, M]``, their numbers in the gap before each row, for each node.
    inner: ``float64[k, M]``, the number of pairs (a, b) in different gaps of one group.
    after, before: ``int32[k, M]``, the first group with some a from this one on (M if there is none), and the last one
    before it (-1). same: ``float64[k]``, the number of pairs in one gap. every: the log of that of all pairs.
    """

    points: Array
    target: Array
    other: Array
    a: Array
    b: Array
    inner: Array
    after: Array
    before: Array
    same: Array
    every: Array

    @staticmethod
    def of(rows: Ordered, nodes: Nodes) -> "Groups":
        """Of all nodes."""
        count = rows.target.shape[0] // GROUP
        place = jnp.arange(count, dtype=jnp.int32)

        def one(node: Nodes) -> tuple[Array, ...]:
            widths = Widths.of(rows, node)
            a, b = _grouped(widths.a), _grouped(widths.b)
            pairs = sum((b[j] * jnp.sum(a[:j], axis=0) for j in range(1, GROUP)), jnp.zeros(count))
            some = jnp.any(a > 0, axis=0)
            after = jax.lax.cummin(jnp.where(some, place, jnp.int32(count)), reverse=True)
            reached = jax.lax.cummax(jnp.where(some, place, jnp.int32(-1)))
            before = jnp.concatenate([jnp.full(1, -1, jnp.int32), reached[:-1]])
            return a, b, pairs, after, before, widths.same, widths.every

        rest = jax.lax.map(one, nodes)
        return Groups(_grouped(rows.points), _grouped(rows.target), _grouped(rows.other), *rest)


class Parts(NamedTuple):
    """What a group has for some rows that count, ``[M]`` each.

    near_a: a by exp(-c targets from the group's first row to a). near_b: b by exp(-c targets from b to the end).
    far_a: a by exp(-c others from a to the end). far_b: b by exp(-c others from the first row to b). within: pairs
    (a, b) in different gaps of the group by exp(-c others between). p, o: ``int32``, targets and others.
    """

    near_a: Array
    near_b: Array
    far_a: Array
    far_b: Array
    within: Array
    p: Array
    o: Array

    @staticmethod
    def of(a: Array, b: Array, target: Array, other: Array, fewer: Array) -> "Parts":
        """From ``[GROUP, M]`` each; fewer: exp(-c), or more, so that no product underflows."""
        none = jnp.zeros(a.shape[1:])
        near_a = near_b = far_a = far_b = within = none
        for j in range(GROUP):
            of_target, of_other = jnp.where(target[j], fewer, 1.0), jnp.where(other[j], fewer, 1.0)
            near_b = (near_b + b[j]) * of_target
            within = within + b[j] * far_a
            far_a = (far_a + a[j]) * of_other
        for j in reversed(range(GROUP)):
            of_target, of_other = jnp.where(target[j], fewer, 1.0), jnp.where(other[j], fewer, 1.0)
            near_a = a[j] + of_target * near_a
            far_b = b[j] + of_other * far_b
        p, o = (jnp.sum(rows, axis=0, dtype=jnp.int32) for rows in (target, other))
        return Parts(near_a, near_b, far_a, far_b, within, p, o)


def log_bound(groups: Groups, node: Array, parts: Parts, score: Score) -> Array:
    """At least the log of the sum over all (a, b) of a node, but for rounding, ``float64[]``; -inf without pairs.

    The log of a pair counts as `LEAST` or more.
    """
    c, share = score.coefficient, score.share
    place = jnp.arange(parts.p.shape[0], dtype=jnp.int32)
    p, o = (part.astype(jnp.float64) for part in (parts.p, parts.o))
    both = parts.p.astype(jnp.int64) + (parts.o.astype(jnp.int64) << 32)
    with_own = jnp.cumsum(both)
    both = with_own - both
    above = (both & 0xFFFFFFFF).astype(jnp.float64), (both >> 32).astype(jnp.float64)  # p and o of the groups before
    rank = above[0] + above[1]
    start = jnp.minimum(jnp.searchsorted(rank, rank - share, side="right").astype(jnp.int32), place)
    first, final = groups.after[node, start], groups.before[node, start]
    is_near, is_far = first < place, final >= 0
    first, final = jnp.minimum(first, place), jnp.maximum(final, 0)
    kept = jnp.exp(-c * jnp.stack([p[::-1], o]))
    after, before = decayed(jnp.stack([parts.near_a[::-1], parts.far_a]), kept)
    after = after[::-1]
    gained, lost = above[0] - above[0][first], above[1] - (with_own[final] >> 32).astype(jnp.float64)
    window = (1 + _LOST) * after[first] - jnp.exp(-c * gained) * after
    near = parts.near_b * window * jnp.exp(jnp.minimum(c * (gained + p - share), -LEAST))
    far = parts.far_b * before[final] * jnp.exp(-c * lost)
    inside = jnp.minimum(parts.within, groups.inner[node] * jnp.exp(c * jnp.minimum(p - share, 0.0)))
    sums = jnp.stack([jnp.where(is_near, near, 0.0), jnp.where(is_far, far, 0.0), inside])
    same = groups.same[node] * jnp.exp(-c * share)
    top = jnp.maximum(jnp.max(sums), same)
    top = jnp.where(top > 0, top, 1.0)
    log = _log(unit_sum(sums / top) + same / top) + jnp.log(top)
    return jnp.logaddexp(log, groups.every[node] + jnp.maximum(score.log_least, LEAST))


def _grouped(values: Array) -> Array:
    """``[..., m]`` as ``[..., GROUP, M]``."""
    return jnp.swapaxes(values.reshape(*values.shape[:-1], -1, GROUP), -1, -2)


def _log(values: Array) -> Array:
    return jnp.where(values > 0, jnp.log(jnp.where(values > 0, values, 1.0)), -jnp.inf)
