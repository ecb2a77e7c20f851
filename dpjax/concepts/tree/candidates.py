"""Few nodes of a tree that stand for all of them: a set of nodes and all lowest common ancestors."""

import jax.numpy as jnp
from jax import Array

from dpjax.concepts.tree.nodes import Nodes
from dpjax.concepts.tree.points import lowest_common_ancestor


def closure(tree: Nodes, nodes: Array, real: Array) -> Array:
    """The root, the real nodes and all their lowest common ancestors, each once, ascending: ``int32[c]``.

    nodes ``int32[r]``, at most the last node; real ``bool[r]``. c = min(2 r, V + 1), at least 1; unused places, at the
    end, hold V + 1. In preorder only neighbors have a common ancestor that no others have.

    For every node v let w be its deepest ancestor-or-self here. The nodes of the path strictly below w down to v lie
    in at most two intervals of preorder numbers without a real node; proof in docs/proofs/one-tree.md.
    """
    size = tree.size
    nodes = jnp.sort(jnp.where(real, nodes, size))
    common = lowest_common_ancestor(tree, jnp.minimum(nodes[:-1], size - 1), jnp.minimum(nodes[1:], size - 1))
    common = jnp.where(nodes[1:] < size, common, 0)
    every = jnp.sort(jnp.concatenate([jnp.zeros(1, jnp.int32), nodes, common]))
    again = jnp.append(jnp.zeros(1, bool), every[1:] == every[:-1])
    return jnp.sort(jnp.where(again, size, every))[: min(every.shape[0], size)]


def first_concepts(tree: Nodes, closed: Array) -> Array:
    """For each node of a `closure` the first proper node whose deepest ancestor-or-self there it is, ``int32[c]``.

    V + 1 if there is none, and at unused places. A proper node is its own. O(c log c + c log V).
    """
    if tree.maximum:
        return closed
    size, here = tree.size, closed < tree.size
    tout, following = jnp.asarray(tree.tout), jnp.asarray(tree.following)
    node = jnp.where(here, closed, 0)
    within = following[node]  # from the node on, up to the next node of the closure
    within = jnp.where(here & (within < jnp.minimum(jnp.append(closed[1:], size), tout[node])), within, size)

    start = tout[node]  # behind a node's subtree, up to the next one or the end of the subtree of the one above
    above = lowest_common_ancestor(tree, jnp.append(node[:1], node[:-1]), node)
    end = jnp.minimum(jnp.append(closed, size)[jnp.searchsorted(closed, start).astype(jnp.int32)], tout[above])
    behind = following[start]
    behind = jnp.where(here & (node > 0) & (behind < end), behind, size)
    return within.at[jnp.searchsorted(closed, above).astype(jnp.int32)].min(behind)
