"""0-covers of a finite class on a tree of domain elements, and the Sauer lemma that bounds them."""

from dataclasses import dataclass
from math import comb

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import class_matrix
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.matrix import Cells, informative
from dpjax.dimensions.recursion import deep_recursion
from dpjax.dimensions.result import Dimension

InputTree = tuple
"""A complete binary tree of domain elements: (x,) of depth 1, or (x, left, right)."""


@dataclass(frozen=True)
class Cover:
    """Trees of labels, ``(label,)`` or ``(label, left, right)``: on every path, every row is followed by one of them.

    The 0-cover number on the tree is at most their count.
    """

    tree: InputTree
    labelled: tuple[tuple, ...]

    def holds(self, matrix) -> bool:
        """Whether the sequences of labels that rows have on a path are among those of the trees."""
        table = np.asarray(matrix)
        wanted = {
            (turns, tuple(int(table[row, x]) for x in path))
            for turns, path in _paths(self.tree)
            for row in range(len(table))
        }
        return wanted <= {sequence for tree in self.labelled for sequence in _paths(tree)}


def _paths(tree: tuple) -> list[tuple[tuple[int, ...], tuple]]:
    """(turns, labels of the nodes) of each path from the root to a leaf."""
    if len(tree) == 1:
        return [((), tree)]
    return [((side, *turns), (tree[0], *path)) for side in (0, 1) for turns, path in _paths(tree[1 + side])]


def zero_cover(matrix, tree: InputTree) -> Dimension:
    """The smallest number of trees of labels that cover the class on a tree of domain elements: N(0, H, z), exactly.

    matrix ``int[m, N]``: m distinct rows of labels >= 0. tree: (x,) or (x, left, right) with x in 0..N-1, complete. The
    witness is a `Cover`. A tree whose root says y covers only rows with label y at the root, and the covers of its two
    subtrees can be paired, so the number is a sum over y of the larger one of two. InputError for a tree that is not
    complete or has elements outside the domain.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definitions 5.1 to 5.5; Rakhlin, Sridharan, Tewari 2015.
    """
    table, clock = class_matrix(matrix), Clock(None)
    _require_tree(tree, table.shape[1])
    cover = _covers(table, np.arange(len(table)), tree)
    return Dimension("0-cover number", len(cover), len(cover), Cover(tree, tuple(cover)), clock.seconds)


def _covers(table: np.ndarray, rows: np.ndarray, tree: InputTree) -> list[tuple]:
    labels = table[rows, tree[0]]
    if len(tree) == 1:
        return [(int(label),) for label in np.unique(labels)]
    covers = []
    for label in np.unique(labels):
        sides = [_covers(table, rows[labels == label], below) for below in tree[1:]]
        for i in range(max(map(len, sides))):
            covers.append((int(label), *(side[min(i, len(side) - 1)] for side in sides)))
    return covers


def _require_tree(tree: InputTree, elements: int) -> None:
    def depth(node) -> int:
        well_formed = isinstance(node, tuple) and len(node) in (1, 3)
        if not well_formed or not isinstance(node[0], int | np.integer) or not 0 <= node[0] < elements:
            advice = "write for example (0, (1,), (2,))"
            raise InputError("tree", f"(x,) or (x, left, right) with x in 0..{elements - 1}", repr(node), advice)
        below = {depth(child) for child in node[1:]}
        if len(below) > 1:
            raise InputError(
                "tree", "a complete tree", f"subtrees of depths {sorted(below)}", "give all leaves one depth"
            )
        return 1 + max(below, default=0)

    depth(tree)


def zero_cover_bound(matrix, depth: int, seconds: float | None = None) -> Dimension:
    """The largest of the recursion's bounds of the 0-cover number over trees of a depth: at least N(0, H, depth).

    Each label may continue with its own best subtrees, which makes the bound exact for binary classes; the Sauer lemma
    (`sauer_bound`) bounds this number. seconds: time limit; then ``lower`` is 1 and ``upper`` the Sauer bound for the
    dimension floor(log2 m). The witness is None.

    Reference: Bun, Gaboardi, Sivakumar 2021, proof of Theorem 5.6, Lemma 5.11.
    """
    clock = Clock(seconds)
    table = class_matrix(matrix)
    checks.integer("depth", depth, 0)
    known: dict[tuple[int, int], int] = {}
    try:
        columns = [column for _, column in informative(table, clock)]
        with deep_recursion(min(depth, len(table)) + 64):
            bound = _bound(columns, (1 << len(table)) - 1, depth, known, clock)
        return Dimension(f"0-cover bound at depth {depth}", bound, bound, None, clock.seconds)
    except TimeIsUp:
        most = sauer_bound(depth, len(table).bit_length() - 1, int(table.max(initial=0)))
        return Dimension(f"0-cover bound at depth {depth}", 1, most, None, clock.seconds)


def _bound(columns: list[Cells], rows: int, depth: int, known: dict[tuple[int, int], int], clock: Clock) -> int:
    if depth == 0 or rows & rows - 1 == 0:
        return 1
    if (rows, depth) not in known:
        clock.tick()
        largest = 1
        for column in columns:
            parts = [rows & part for _, part in column if rows & part]
            if len(parts) > 1:  # a constant column says nothing more about the rows
                size = 0
                for part in parts:
                    size += _bound(columns, part, depth - 1, known, clock)
                largest = max(largest, size)
        known[rows, depth] = largest
    return known[rows, depth]


def sauer_bound(depth: int, dimension: int, largest: int) -> int:
    """The sum over i <= dimension of binomial(depth, i) largest^i, for labels 0..largest.

    For depth <= dimension it is (largest + 1)^depth. Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 5.6.
    """
    for name, value in (("depth", depth), ("dimension", dimension), ("largest", largest)):
        checks.integer(name, value, 0)
    return sum(comb(depth, i) * largest**i for i in range(dimension + 1))
