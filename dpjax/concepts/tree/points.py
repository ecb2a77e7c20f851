"""Ancestors in a tree, and the deepest node that a sample determines. Integers only; all functions are total."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.concepts.tree.nodes import Nodes


def ancestor_at_depth(tree: Nodes, node: Array, depth: Array) -> Array:
    """The ancestor-or-self of ``node`` at ``depth``, ``int32[...]`` each, in O(log V).

    The node itself if depth is at least its own; the root if depth <= 0.
    """
    head, parent, level = jnp.asarray(tree.head), jnp.asarray(tree.parent), jnp.asarray(tree.depth)
    depth = jnp.maximum(depth, 0)

    def climb(_, node):
        top = head[node]
        return jnp.where(level[top] > depth, parent[top], node)

    node = jax.lax.fori_loop(0, tree.turns, climb, node)
    return node - jnp.maximum(level[node] - depth, 0)


def lowest_common_ancestor(tree: Nodes, left: Array, right: Array) -> Array:
    """The deepest node that is an ancestor-or-self of both, ``int32[...]`` each, in O(log V)."""
    head, parent, tout = jnp.asarray(tree.head), jnp.asarray(tree.parent), jnp.asarray(tree.tout)

    def climb(node, other):  # to the part of its path above `other`
        top = head[node]
        return jnp.where((top <= other) & (other < tout[top]), node, parent[top])

    def step(_, nodes):
        left, right = nodes
        return climb(left, right), climb(right, left)

    return jnp.minimum(*jax.lax.fori_loop(0, tree.turns, step, (left, right)))


def deterministic_points(tree: Nodes, nodes: Array, labels: Array, mask: Array) -> Array:
    """The node whose path is the deterministic points, for each of t samples, ``int32[t]``.

    A concept of the class is consistent with a sample if its path contains all of the sample's 1-labeled nodes and
    none of its 0-labeled ones. The result is the lowest common ancestor of the consistent concepts' nodes, or the
    root if there are none. Examples at the root are ignored.

    Args:
      nodes: ``int32[t, m]``, from `Tree.node_of`.
      labels: ``bool[t, m]``, from `Tree.relabel`.
      mask: ``bool[t, m]``; examples where mask is False are ignored.

    O(m log m + log V) time and O(m) memory per sample; a replaced row changes one result.
    Reference: Yan 2025, Definition 15, Lemmas 6 and 8; the case without a consistent concept is our own.
    """
    tout, size = jnp.asarray(tree.tout), tree.size
    real = mask & (nodes > 0) & (nodes < size)
    nodes = jnp.where(real, nodes, 0)
    ones, zeros = real & labels, real & ~labels
    deepest = jnp.max(jnp.where(ones, nodes, 0), axis=-1, initial=0)  # the last in preorder: the deepest if on one path
    low, high = deepest[..., None], tout[deepest][..., None]
    above = (nodes <= low) & (low < tout[nodes])
    refuted = jnp.any(jnp.where(above, zeros, ones), axis=-1)
    if tree.maximum:
        return jnp.where(refuted, 0, deepest)

    # the descendants-or-self of `deepest` that are not below a zero: the gaps between the zeros' intervals
    cut = jnp.sort(jnp.where(zeros, nodes, size), axis=-1)
    covered = jax.lax.cummax(jnp.where(cut < size, tout[jnp.minimum(cut, size - 1)], 0), axis=cut.ndim - 1)
    start = jnp.concatenate([low, jnp.maximum(covered, low)], axis=-1)
    end = jnp.concatenate([jnp.minimum(cut, high), high], axis=-1)
    first = jnp.asarray(tree.following)[start]
    nonempty = first < end
    first = jnp.min(jnp.where(nonempty, first, size), axis=-1)
    last = jnp.max(jnp.where(nonempty, jnp.asarray(tree.preceding)[end - 1], 0), axis=-1)
    common = lowest_common_ancestor(tree, jnp.minimum(first, last), last)  # the root if there is none: last is 0
    return jnp.where(refuted, 0, common)
