"""A partition of the pairs (a, b), 0 <= a <= b <= d, that follows the rows.

A node has the pairs with first <= a <= middle < b <= last, or as a leaf all with first <= a <= b <= last. Any partition
gives the same law; in this one a node's slabs have most of the rows that are in some of them.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.triangles.corners import unit_sum


@register_dataclass
@dataclass(frozen=True)
class Nodes:
    """Nodes that split at medians of x, a binary tree. All leaves ``uint64[k]``, ``bool[k]``.

    exists: whether there is such a node.
    """

    first: Array
    middle: Array
    last: Array
    leaf: Array
    exists: Array

    @staticmethod
    def of(rows: Ordered, d: int, depth: int) -> "Nodes":
        """2**(depth + 1) - 1 nodes, of which some do not exist."""
        x = rows.points[0]
        real = jnp.arange(x.shape[0], dtype=jnp.int32) < rows.real

        def one(first: Array, last: Array, exists: Array, may_split: bool) -> Nodes:
            first, last = jnp.where(exists, first, jnp.uint64(0)), jnp.where(exists, last, jnp.uint64(0))
            within = real & (first <= x) & (x <= last)
            before, count = (jnp.sum(part, dtype=jnp.int32) for part in (real & (x < first), within))
            place = jnp.minimum(before + count // 2, x.shape[0] - 1)
            leaf = ~((count > 0) & (first < last) & may_split)
            middle = jnp.clip(x[place], first, jnp.maximum(last, first + 1) - 1)
            return Nodes(first, middle, last, leaf, exists)

        first, last = jnp.zeros(1, jnp.uint64), jnp.full(1, d, jnp.uint64)
        exists, levels = jnp.ones(1, bool), []
        for level in range(depth + 1):
            made = jax.vmap(one, (0, 0, 0, None))(first, last, exists, level < depth)
            levels.append(made)
            first = jnp.concatenate([made.first, made.middle + 1])
            last = jnp.concatenate([made.middle, made.last])
            exists = jnp.tile(made.exists & ~made.leaf, 2)
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), *levels)

    def log_pairs(self) -> Array:
        """The log of the number of pairs (a, b) of each node, ``float64[k]``; -inf for a node that does not exist."""
        a, b = _length(self.first, self.middle), _length(self.middle + 1, self.last)
        both = _length(self.first, self.last)
        count = jnp.where(self.leaf, 0.5 * both * (both + 1), a * b)
        return jnp.where(self.exists, jnp.log(jnp.where(self.exists, count, 1.0)), -jnp.inf)

    def at(self, place: Array) -> "Nodes":
        """One node, or several."""
        return jax.tree.map(lambda part: part[place], self)


@register_dataclass
@dataclass(frozen=True)
class Spans:
    """The integers that a and b may be in each gap of the rows, for one node: ``uint64[m]``, ends included.

    a is after the row before the gap, and not after the next one; b is before the next row, and not before that one:
    with a in gap i and b in gap j > i, the rows of the slab are i, ..., j - 1. In one gap there are none.
    some_a, some_b: ``bool[m]``, whether there are any; both: the same for pairs a <= b in one gap.
    """

    first_a: Array
    last_a: Array
    first_b: Array
    last_b: Array
    some_a: Array
    some_b: Array
    both: Array

    @staticmethod
    def of(rows: Ordered, node: Nodes) -> "Spans":
        """The spans of a node."""
        low, high, is_low, is_high = rows.gaps()
        whole = Spans.whole(node)
        most_a, least_b = whole.last_a, whole.first_b
        place = jnp.arange(low.shape[0], dtype=jnp.int32)
        open_ = node.exists & (place <= rows.real) & ~(is_low & is_high & (low == high))  # the ends differ
        first_a = jnp.where(is_low & (low >= node.first), low + 1, node.first)
        last_a = jnp.where(is_high, jnp.minimum(high, most_a), most_a)
        some_a = open_ & ~(is_low & (low >= most_a)) & ~(is_high & (high < node.first))
        first_b = jnp.where(is_low, jnp.maximum(low, least_b), least_b)
        last_b = jnp.where(is_high, jnp.minimum(high - 1, node.last), node.last)
        some_b = open_ & ~(is_low & (low > node.last)) & ~(is_high & (high <= least_b))
        return Spans(first_a, last_a, first_b, last_b, some_a, some_b, some_a & some_b & (first_a <= last_b))

    @staticmethod
    def whole(node: Nodes) -> "Spans":
        """All a and b of a node, as if in one gap."""
        last_a, first_b = (
            jnp.where(node.leaf, node.last, node.middle),
            jnp.where(node.leaf, node.first, node.middle + 1),
        )
        return Spans(node.first, last_a, first_b, node.last, node.exists, node.exists, node.exists)

    def pairs(self, leaf: Array) -> Array:
        """The number of pairs a <= b in each gap, ``float64[m]``."""
        a, b = _length(self.first_a, self.last_a), _length(self.first_b, self.last_b)
        alike = _length(self.first_a, self.last_b)  # in a leaf, both are among these
        return jnp.where(self.both, jnp.where(leaf, 0.5 * alike * (alike + 1), a * b), 0.0)


@register_dataclass
@dataclass(frozen=True)
class Widths:
    """What the sums over the pairs of a node need: numbers of a and of b in each gap, ``float64[m]``.

    same, every: ``float64[]``, the number of pairs in one gap, and the log of that of all pairs. after, before:
    ``int32[m]``, the first gap with some a from this one on (m or more if there is none), and the last one before it
    (-1 if there is none).
    """

    a: Array
    b: Array
    same: Array
    every: Array
    after: Array
    before: Array

    @staticmethod
    def of(rows: Ordered, node: Nodes) -> "Widths":
        """The widths of a node."""
        spans = Spans.of(rows, node)
        a = jnp.where(spans.some_a, _length(spans.first_a, spans.last_a), 0.0)
        b = jnp.where(spans.some_b, _length(spans.first_b, spans.last_b), 0.0)
        pairs = spans.pairs(node.leaf)
        top = jnp.maximum(jnp.max(pairs), 1.0)
        count = a.shape[0]
        place = jnp.arange(count, dtype=jnp.int32)
        after = jax.lax.cummin(jnp.where(spans.some_a, place, jnp.int32(count)), reverse=True)
        reached = jax.lax.cummax(jnp.where(spans.some_a, place, jnp.int32(-1)))
        before = jnp.concatenate([jnp.full(1, -1, jnp.int32), reached[:-1]])
        return Widths(a, b, top * unit_sum(pairs / top), node.log_pairs(), after, before)


def _length(first: Array, last: Array) -> Array:
    """last - first + 1, which may be 2**64; for first <= last."""
    return (last - first).astype(jnp.float64) + 1.0
