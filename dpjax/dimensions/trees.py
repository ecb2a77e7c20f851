"""Height, threshold dimension and VC dimension of a class, from its tree or from its matrix."""

from functools import cache

import numpy as np

from dpjax.core.checks import InputError


def height(parent) -> int:
    """The largest depth of a tree, ``int[V + 1]`` with parent[0] = 0 and parent[v] < v."""
    depth = [0]
    for above in _parents(parent)[1:]:
        depth.append(depth[above] + 1)
    return max(depth)


def tree_threshold_dimension(parent, proper) -> int:
    """The threshold dimension of the paths to the root from proper nodes, ``bool[V + 1]``; ``parent`` as in `height`.

    The largest number of points of one path that concepts distinguish; a point that is in no concept does not count. It
    is the height if leaves and all nodes with a single child are proper.

    Reference: Yan 2025, Definition 7, and the claim that height <= threshold dimension of C xor f.
    """
    above, holds = _parents(parent), np.asarray(proper)
    if holds.shape != (len(above),) or not np.isin(holds, (0, 1)).all():
        raise InputError("proper", f"{len(above)} values 0 or 1", f"shape {holds.shape}", "give one for each node")
    below = holds.astype(int).tolist()  # the number of concepts that contain a node's point
    largest = [0] * len(above)
    for node in range(len(above) - 1, 0, -1):
        below[above[node]] += below[node]
        largest[above[node]] = max(largest[above[node]], below[node])
    depth = [0]
    for node in range(1, len(above)):
        depth.append(depth[above[node]] + (below[node] > largest[node]))
    return max(depth)


def threshold_dimension(matrix) -> int:
    """The largest k with points x_1, ..., x_k and rows c_1, ..., c_k where c_i(x_j) = 1 iff j >= i; by search.

    matrix: ``bool[m, N]``, m >= 1, small (a dozen of either). Reference: Yan 2025, Definition 7.
    """
    table = _matrix(matrix)
    rows, points = table.shape
    ones = [sum(1 << x for x in range(points) if table[c, x]) for c in range(rows)]
    holders = [sum(1 << c for c in range(rows) if table[c, x]) for x in range(points)]

    @cache
    def longest(free: int, allowed: int) -> int:
        """The most pairs that can precede those chosen: rows with all chosen points, points in no chosen row."""
        best = 0
        for c in range(rows):
            if allowed >> c & 1:
                for x in range(points):
                    if free & ones[c] & (1 << x):
                        best = max(best, 1 + longest(free & ~ones[c], allowed & holders[x]))
        return best

    return longest((1 << points) - 1, (1 << rows) - 1)


def vc_dimension(matrix) -> tuple[int, tuple[int, ...]]:
    """The VC dimension of ``bool[m, N]``, m >= 1, and the first shattered set of that size, by search.

    Time grows with the number of shattered sets. Reference: Vapnik and Chervonenkis 1971.
    """
    table = _matrix(matrix)
    shattered: list[tuple[int, ...]] = [()]
    while True:
        larger = [
            (*points, x) for points in shattered for x in range(points[-1] + 1 if points else 0, table.shape[1])
            if _patterns(table[:, [*points, x]]) == 2 ** (len(points) + 1)
        ]  # fmt: skip
        if not larger:
            return len(shattered[0]), shattered[0]
        shattered = larger


def _patterns(columns: np.ndarray) -> int:
    return len(np.unique(columns @ (1 << np.arange(columns.shape[1]))))


def _parents(parent) -> list[int]:
    table = np.asarray(parent)
    whole = table.ndim == 1 and len(table) and np.issubdtype(table.dtype, np.integer)
    if not whole or table[0] != 0 or (table < 0).any() or (table[1:] >= np.arange(1, len(table))).any():
        raise InputError(
            "tree parents", "whole numbers with parent[0] = 0 and parent[v] < v", f"shape {table.shape}",
            "number parents before their children, as `Tree.parent` does",
        )  # fmt: skip
    return table.tolist()


def _matrix(matrix) -> np.ndarray:
    table = np.asarray(matrix)
    if table.ndim != 2 or not len(table) or not np.isin(table, (0, 1)).all():
        raise InputError(
            "class matrix", "a two-dimensional table of 0 and 1 with a row or more", f"shape {table.shape}",
            "give one row per concept and one column per domain element",
        )  # fmt: skip
    return table.astype(int)
