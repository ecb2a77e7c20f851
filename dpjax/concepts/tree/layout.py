"""Host: rooted trees as arrays of parents, numbered in preorder."""

import numpy as np

from dpjax.core.checks import InputError

LARGEST = 1 << 30  # nodes; their numbers and twice their numbers fit in int32


def tree_parents(parent) -> np.ndarray:
    """``int32[V + 1]`` from a user's table: node 0 is the root, its own parent and an ancestor of every node.

    Raises InputError otherwise; nodes may be in any order.
    """
    table = np.asarray(parent)
    whole = table.ndim == 1 and 1 <= len(table) <= LARGEST and np.issubdtype(table.dtype, np.integer)
    if not whole or table[0] != 0 or table.min() < 0 or table.max() >= len(table):
        expected = "whole numbers in [0, nodes), the first of them 0"
        advice = "give each node the number of its parent, and the root, node 0, its own"
        raise InputError("tree parents", expected, f"shape {table.shape}", advice)
    table = table.astype(np.int32)
    above, steps = table, len(table).bit_length()
    while steps and above.any():
        above, steps = above[above], steps - 1
    if above.any():
        advice = "let every node lead to node 0"
        raise InputError("tree parents", "a tree", f"a cycle above node {int(np.flatnonzero(above)[0])}", advice)
    return table


def sums_from_root(parent: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The sum of ``value`` over each node and its ancestors except the root, in O(V log height)."""
    total, above = np.where(np.arange(len(parent)) == 0, 0, value), parent
    while above.any():
        total = total + total[above]
        above = above[above]
    return total


def subtree_sizes(parent: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """``int32[V + 1]``, the number of descendants-or-self of each node."""
    size, of = [1] * len(parent), parent.tolist()
    for node in np.argsort(-depth, kind="stable")[:-1].tolist():
        size[of[node]] += size[node]
    return np.array(size, np.int32)


def preorder(parent: np.ndarray) -> np.ndarray:
    """``int32[V + 1]``, each node's number in preorder; the largest subtree comes first, then the lowest number.

    So node v + 1 is the child of v with the largest subtree, and any node is reached from the root
    by a path that leaves such child edges at most log2(V + 1) times.
    """
    size = subtree_sizes(parent, sums_from_root(parent, np.ones(len(parent), np.int32)))
    child = np.lexsort((-size[1:], parent[1:])) + 1
    before = np.cumsum(size[child]) - size[child]
    of = parent[child]
    first = np.concatenate([[True], of[1:] != of[:-1]])[: len(child)]
    before = before - before[np.flatnonzero(first)][np.cumsum(first) - 1]
    offset = np.zeros(len(parent), np.int64)
    offset[child] = before + 1
    return sums_from_root(parent, offset).astype(np.int32)
