"""The binary trie of a sorted database: its branching nodes, its heavy path, and the rows deepest along that path.

A node is a prefix; its weight is the number of rows that begin with it, and its light weight the smaller of its
two children's weights. Rows are ``uint32[capacity, W]``, sorted, the first n (traced) real (see `bits.sort_rows`).

Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023 (heavy path, embedding into depths); statements on neighboring
databases are proved in docs/proofs/heavy-path.md and tested. Neighbors are REPLACE_ONE and ADD_OR_REMOVE_ONE.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core import wide
from dpjax.core.bit_strings import lcp, middle


@register_dataclass
@dataclass(frozen=True)
class Trie:
    """The branching nodes, one for each gap between adjacent rows that differ.

    In a binary trie the rows of a node's child 0 and of its child 1 meet in exactly one gap, so gap i between rows i
    and i + 1 represents their longest common prefix, and every branching node occurs once.

    depth: ``int32[capacity - 1]``, the length of the node's prefix; ``bits`` between equal rows, -1 after the last row.
    left, right: ``int32[capacity - 1]``, the weights of child 0 and child 1; 0 if there is no node.
    """

    depth: Array
    left: Array
    right: Array

    @property
    def light(self) -> Array:
        """Light weights, ``int32[capacity - 1]``; at least 1 at a node, 0 if there is none.

        Between neighbors the light weight of any prefix changes by at most 1, and at most one changes from 0 to 1.
        """
        return jnp.minimum(self.left, self.right)

    @property
    def gamma(self) -> Array:
        """The largest light weight, ``int32[]``; 0 without nodes. It changes by at most 1 between neighbors."""
        return jnp.max(self.light, initial=0)

    def heavy_leaf(self) -> Array:
        """``int32[]``, the first row at the end of the heavy path, which follows the heavier child, child 0 in a tie.

        It is the first row that lies in no light child; row 0 if there are no rows. Gamma is attained on the path.
        """
        count = self.depth.shape[0]
        gap = jnp.arange(count, dtype=jnp.int32)
        to_left = self.left >= self.right
        first = jnp.where(to_left, gap + 1, gap + 1 - self.left)  # the rows of the light child: [first, last)
        last = jnp.where(to_left, gap + 1 + self.right, gap + 1)
        covers = (self.light > 0).astype(jnp.int32)
        change = jnp.zeros(count + 2, jnp.int32).at[first].add(covers).at[last].add(-covers)
        return jnp.argmax(jnp.cumsum(change, dtype=jnp.int32) == 0).astype(jnp.int32)


def trie(rows: Array, n: Array, bits: int) -> Trie:
    """The branching nodes of the first n rows; ``n``: ``int32[]`` in [0, capacity]."""
    depth = neighbor_lcp(rows, n, bits)
    count = depth.shape[0]
    gap = jnp.arange(count, dtype=jnp.int32)
    after = _next_smaller(depth)
    before = jnp.int32(count - 1) - _next_smaller(depth[::-1])[::-1]
    node = (depth >= 0) & (depth < bits)
    return Trie(depth, jnp.where(node, gap - before, 0), jnp.where(node, after - gap, 0))


def neighbor_lcp(rows: Array, n: Array, bits: int) -> Array:
    """The length of the common prefix of rows i and i + 1, ``int32[capacity - 1]``; -1 unless both are real."""
    gap = jnp.arange(rows.shape[0] - 1, dtype=jnp.int32)
    return jnp.where(gap + 1 < n, lcp(rows[:-1], rows[1:], bits), jnp.int32(-1))


def split_points(rows: Array, nodes: Trie, bits: int) -> Array:
    """v0111... of each gap's node v, ``uint32[capacity - 1, W]``: an interior point of the rows if there is a node.

    The point does not depend on which rows below v the database has.
    """
    return middle(rows[:-1], jnp.maximum(nodes.depth, 0), bits)


@register_dataclass
@dataclass(frozen=True)
class Embedding:
    """Rows ordered by (depth, value), split into the last K and the rest; all three fields in the order of the rows.

    depth: ``int32[capacity]``, how many leading bits a row shares with the heavy path, in [0, bits]; -1 if not real.
    deep: ``bool[capacity]``, the K rows of largest (depth, value), or all if there are at most K.
    rest: ``bool[capacity]``, the other real rows.
    """

    depth: Array
    deep: Array
    rest: Array


def embed(rows: Array, n: Array, nodes: Trie, deepest: Array | int, bits: int) -> Embedding:
    """Each row's depth, and the ``deepest`` = K rows separately; K is static or ``int32[]``, public, at least 0.

    Stability: let 2 gamma <= K - 4 and K <= n. For a neighbor under REPLACE_ONE at most one of the deep rows is
    replaced, and at most one of the rest's depths; under ADD_OR_REMOVE_ONE, with a row added, at most one of the deep
    rows is replaced and the rest gets one more depth. For n < K all rows are deep. Without the bound on gamma a
    neighbor can move many rows from one part to the other, so test it privately first.
    Utility: for every y between the smallest and the largest of the rest's depths, all deep rows share their first y
    bits v, and v000..., v0111... or v111... lies between the smallest and the largest row (v itself for y = bits).
    Proofs: docs/proofs/heavy-path.md#stability and docs/proofs/heavy-path.md#three-points.
    """
    capacity = rows.shape[0]
    place = jnp.arange(capacity, dtype=jnp.int32)
    real = place < n
    depth = jnp.where(real, lcp(rows, rows[nodes.heavy_leaf()], bits), jnp.int32(-1))
    # padding comes first (depth -1), so that the last K are the deepest; row numbers order equal depths
    with jax.enable_x64(True):
        every, from_zero = jnp.ones(capacity, bool), (depth + 1).astype(jnp.uint64)
        by_depth, order = wide.sort(from_zero, (place.astype(jnp.uint32),), real=every, below=bits + 2)
        by_depth, order = by_depth.astype(jnp.int32) - 1, order.astype(jnp.int32)
    cut = jnp.int32(capacity) - jnp.clip(jnp.asarray(deepest, jnp.int32), 0, n)
    least = jnp.minimum(cut, jnp.int32(capacity - 1))
    beyond = (depth > by_depth[least]) | ((depth == by_depth[least]) & (place >= order[least]))
    deep = real & beyond & (cut < capacity)
    return Embedding(depth, deep, real & ~deep)


def prefix_weights(rows: Array, n: Array, length: Array, where: Array, bits: int) -> Array:
    """The number of rows with each prefix of ``length`` bits, ``int32[capacity]``, at the first such row; 0 elsewhere.

    length: ``int32[]``. where: ``bool[capacity]``, the rows that count; other rows do not affect the weights.
    If one of the rows that count is replaced, added or removed, each weight changes by at most 1, and at most one from
    0 to 1.
    """
    capacity = rows.shape[0]
    place = jnp.arange(capacity, dtype=jnp.int32)
    counted = (where & (place < n)).astype(jnp.int32)
    fresh = jnp.append(jnp.ones(1, bool), neighbor_lcp(rows, n, bits) < length)
    following = jnp.append(jnp.where(fresh, place, capacity)[1:], jnp.int32(capacity))
    end = jax.lax.cummin(following, reverse=True)
    before = jnp.append(jnp.zeros(1, jnp.int32), jnp.cumsum(counted, dtype=jnp.int32))
    return jnp.where(fresh & (place < n), before[end] - before[:-1], 0)


def _next_smaller(values: Array) -> Array:
    """The index of the next strictly smaller entry, ``int32[m]``; m if there is none.

    O(m log m) memory: minima over windows of 1, 2, 4, ... entries, then descent through them.
    """
    count = values.shape[0]
    lowest = jnp.iinfo(jnp.int32).min
    windows, width = [values], 1
    while 2 * width < count:  # the minimum of values[i : i + width]; windows beyond the end have none, ending descents
        last = windows[-1]
        windows.append(jnp.minimum(last, jnp.append(last[width:], jnp.full(width, lowest, jnp.int32))))
        width *= 2
    place = jnp.arange(count, dtype=jnp.int32) + 1
    for minima in reversed(windows):
        passed = jnp.append(minima, jnp.int32(lowest))[jnp.minimum(place, count)] >= values
        place = jnp.where(passed, place + width, place)
        width //= 2
    return jnp.minimum(place, count)
