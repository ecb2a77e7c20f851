"""Host: the tree of a class of VC dimension 1, from the class's matrix."""

from dataclasses import dataclass

import numpy as np

from dpjax.concepts.tree.layout import sums_from_root
from dpjax.core import checks
from dpjax.core.checks import InputError

_BLOCK = 1 << 22  # entries of the matrix processed at once


@dataclass(frozen=True)
class Order:
    """The order of a class's points under one of its concepts, f: x above y iff y is 1 wherever x is, in C xor f.

    parent: ``int32[V + 1]``, parent[v] < v; node 0 is the root.
    concept: ``int32[m]``, the node whose path to the root is where concept i differs from f.
    place: ``int32[N]``, the node of each point; 0 for a point on which no concept differs from f.
    flip: ``bool[N]``; concept i labels x by [place[x] is on the path of concept[i]] xor flip[x].

    Points whose columns are equal or complementary share a node.

    Reference: Yan 2025, Definitions 13 and 14, Assumption 1, Observation 1.
    """

    parent: np.ndarray
    concept: np.ndarray
    place: np.ndarray
    flip: np.ndarray


def class_order(matrix: np.ndarray, f: int | None) -> Order:
    """The order under row ``f``, or under the first of the rows with the smallest height.

    All rows give the same tree with another root, so the smallest height is the smallest eccentricity.
    Raises InputError, with two shattered points, for a class of VC dimension 2 or more.

    Reference: Yan 2025, Lemma 3 and Algorithm 1.
    """
    if f is None:
        order = _order(matrix, 0)
        f = int(np.argmin(_eccentricity(order.parent)[order.concept]))
        return order if f == 0 else _order(matrix, f)
    return _order(matrix, checks.integer("f", f, 0, len(matrix) - 1))


def _order(matrix: np.ndarray, f: int) -> Order:
    """Columns in decreasing size have ancestors first; in a tree a point has the same predecessor in all its rows."""
    relative = matrix ^ matrix[f]
    keys = np.ascontiguousarray(np.packbits(relative, axis=0).T)
    _, point, same = np.unique(keys.view(f"V{keys.shape[1]}")[:, 0], return_index=True, return_inverse=True)
    size = relative[:, point].sum(axis=0)
    rank = np.lexsort((point, -size))
    rank = rank[size[rank] > 0]
    number = np.zeros(len(point), np.int32)
    number[rank] = np.arange(1, len(rank) + 1)
    columns = np.zeros((len(matrix), len(rank) + 1), bool)
    columns[:, 1:] = relative[:, point[rank]]
    lowest, highest, concept = _predecessors(columns)
    torn = np.flatnonzero(lowest != highest)
    if len(torn):
        _refuse(columns, matrix, int(torn[0]), int(highest[torn[0]]), np.concatenate([[0], point[rank]]))
    place = number[same]
    return Order(lowest, concept, place, np.where(place == 0, ~matrix[f], matrix[f]))


def _predecessors(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each column the smallest and the largest one before it in a row that has both; each row's last one."""
    rows, width = columns.shape
    index = np.arange(width, dtype=np.int32)
    lowest, highest = np.full(width, width, np.int32), np.zeros(width, np.int32)
    concept = np.empty(rows, np.int32)
    step = max(1, _BLOCK // width)
    for start in range(0, rows, step):
        block = columns[start : start + step]
        latest = np.maximum.accumulate(np.where(block, index, 0), axis=1)
        concept[start : start + step] = latest[:, -1]
        before, inside = latest[:, :-1], block[:, 1:]
        lowest[1:] = np.minimum(lowest[1:], np.where(inside, before, width).min(axis=0))
        highest[1:] = np.maximum(highest[1:], np.where(inside, before, 0).max(axis=0))
    lowest[0] = 0
    return lowest, highest, concept


def _refuse(columns: np.ndarray, matrix: np.ndarray, point: int, other: int, original: np.ndarray) -> None:
    """InputError: ``other`` is at least as large, in a row with ``point`` and not in another: four patterns occur."""
    pair = sorted((int(original[point]), int(original[other])))
    pattern = 2 * matrix[:, pair[0]] + matrix[:, pair[1]]
    rows = [int(np.flatnonzero(pattern == value)[0]) for value in range(4)]
    actual = f"points {pair[0]} and {pair[1]} shattered by concepts {', '.join(map(str, rows))}"
    advice = "leave out points or concepts, or use Finite"
    raise InputError("class matrix", "a class of VC dimension at most 1", actual, advice)


def _eccentricity(parent: np.ndarray) -> np.ndarray:
    """The largest distance from each node to any node: the larger distance to one of the ends of a longest path."""
    depth = sums_from_root(parent, np.ones(len(parent), np.int32))
    first = _distances(parent, depth, int(np.argmax(depth)))
    return np.maximum(first, _distances(parent, depth, int(np.argmax(first))))


def _distances(parent: np.ndarray, depth: np.ndarray, end: int) -> np.ndarray:
    on_path, node = np.zeros(len(parent), np.int32), end
    while node:
        on_path[node], node = 1, int(parent[node])
    return depth + depth[end] - 2 * sums_from_root(parent, on_path)
