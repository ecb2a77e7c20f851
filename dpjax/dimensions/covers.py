"""0-covers of a finite class on a tree of domain elements, and the Sauer lemma that bounds them."""

from collections.abc import Iterable, Iterator, Sequence
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

_SHOWN = 8  # the depth of the deepest witness

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

    Reference: Bun, Gaboardi, Sivakumar 2021, Definitions 5.1 to 5.5, Claims 5.8 and 5.9; Rakhlin, Sridharan, Tewari
      2015.
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


def zero_cover_number(matrix, depth: int, seconds: float | None = None) -> Dimension:
    """The largest number that `zero_cover` has on a tree of domain elements of a depth: N(0, H, depth), exactly.

    The rows of every label at the root continue with the same two subtrees, so the search is over families of sets of
    rows: the largest sum of their cover numbers on one tree is, over elements x and over ways to send each set with one
    label at x to one side, the largest sum of that of both sides. Bounds that give every set a tree of its own, and are
    exact for two labels, cut the search.

    seconds: time limit; then ``lower`` is 1 and ``upper`` the Sauer bound for the dimension floor(log2 m). The witness
    is the smallest `Cover` of a worst tree; None for trees deeper than 8.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 5.5, Theorem 5.6, Lemma 5.11; the search is our own.
    """
    clock = Clock(seconds)
    table = class_matrix(matrix)
    checks.integer("depth", depth, 0)
    name = f"0-cover number at depth {depth}"
    try:
        found = list(informative(table, clock))
        search = _Worst([column for _, column in found], [place for place, _ in found], clock)
        with deep_recursion(2 * min(depth, len(table)) + 64):
            size = search.largest((search.everything(len(table)),), depth)
            tree = search.tree((search.everything(len(table)),), depth) if 0 < depth <= _SHOWN else None
        witness = tree and Cover(tree, tuple(_covers(table, np.arange(len(table)), tree)))
        return Dimension(name, size, size, witness, clock.seconds)
    except TimeIsUp:
        most = sauer_bound(depth, len(table).bit_length() - 1, int(table.max(initial=0)))
        return Dimension(name, 1, most, None, clock.seconds)


class _Worst:
    """The search for a worst tree; sets of rows are bitsets."""

    def __init__(self, columns: Sequence[Cells], places: Sequence[int], clock: Clock):
        self.columns, self.places, self.clock = columns, places, clock
        self.bounds: dict[tuple[int, int], int] = {}
        self.found: dict[tuple[tuple[int, ...], int], tuple[int, int, tuple[int, ...], tuple[int, ...]]] = {}

    @staticmethod
    def everything(rows: int) -> int:
        """The set of all rows."""
        return (1 << rows) - 1

    def largest(self, sets: tuple[int, ...], depth: int) -> int:
        """The largest sum over the sets of their cover numbers on one tree."""
        several = tuple(sorted(rows for rows in sets if rows & rows - 1))
        single = len(sets) - len(several)
        return single + (self._best(several, depth)[0] if several and depth else len(several))

    def tree(self, sets: tuple[int, ...], depth: int) -> InputTree:
        """A tree on which the sum is largest."""
        several = tuple(sorted(rows for rows in sets if rows & rows - 1))
        number, left, right = self._best(several, depth)[1:] if several else (-1, (), ())
        x = self.places[number] if number >= 0 else 0
        return (x,) if depth == 1 else (x, self.tree(left, depth - 1), self.tree(right, depth - 1))

    def _best(self, sets: tuple[int, ...], depth: int) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
        """(sum, number of the column or -1, the sets of both sides)."""
        if (sets, depth) not in self.found:
            self.clock.tick()
            best: tuple[int, int, tuple[int, ...], tuple[int, ...]] = (len(sets), -1, (), ())
            most = sum(self.bound(rows, depth) for rows in sets)
            for number, column in enumerate(self.columns):
                parts = [rows & part for rows in sets for _, part in column if rows & part]
                limit = sum(self.bound(part, depth - 1) for part in parts)
                if len(parts) == len(sets) or limit <= best[0]:
                    continue  # no set is split, or not enough
                several = [part for part in parts if part & part - 1]
                for left, right in self._ways(several, depth - 1):
                    size = len(parts) - len(several) + self.largest(left, depth - 1) + self.largest(right, depth - 1)
                    if size > best[0]:
                        best = size, number, left, right
                    if best[0] == limit:
                        break  # no other way to send the sets gives more
                if best[0] == most:
                    break
            self.found[sets, depth] = best
        return self.found[sets, depth]

    def _ways(self, sets: list[int], depth: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Ways to send sets to the left and to the right, one of which is best for subtrees of a depth."""
        right = np.zeros(len(sets), bool)
        if depth > 1:
            for side in range(1 << max(0, len(sets) - 1)):
                self.clock.tick()
                yield _parted(sets, [side >> i & 1 for i in range(len(sets))])
            return
        if depth == 1 and sets:  # each set goes where the column of that side says more labels
            labels = np.array(
                [[sum(bool(rows & part) for _, part in column) for column in self.columns] for rows in sets]
            )
            most = 0
            for column in labels.T:
                self.clock.tick()
                sums = np.maximum(labels, column[:, None]).sum(axis=0)
                if sums.max() > most:
                    most, right = sums.max(), labels[:, np.argmax(sums)] > column
        yield _parted(sets, right)

    def bound(self, rows: int, depth: int) -> int:
        """At least the cover number of a set on every tree: each label may continue with its own best subtrees."""
        if depth == 0 or rows & rows - 1 == 0:
            return 1
        if (rows, depth) not in self.bounds:
            self.clock.tick()
            sizes = (
                sum(self.bound(rows & part, depth - 1) for _, part in column if rows & part)
                for column in self.columns
                if sum(bool(rows & part) for _, part in column) > 1  # else the column says nothing of the rows
            )
            self.bounds[rows, depth] = max(sizes, default=1)
        return self.bounds[rows, depth]


def _parted(sets: Sequence[int], right: Iterable) -> tuple[tuple[int, ...], tuple[int, ...]]:
    marked = list(zip(sets, right, strict=True))
    return tuple(rows for rows, on in marked if not on), tuple(rows for rows, on in marked if on)


def sauer_bound(depth: int, dimension: int, largest: int) -> int:
    """The sum over i <= dimension of binomial(depth, i) largest^i, for labels 0..largest.

    For depth <= dimension it is (largest + 1)^depth. Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 5.6, Claim 5.10.
    """
    for name, value in (("depth", depth), ("dimension", dimension), ("largest", largest)):
        checks.integer(name, value, 0)
    return sum(comb(depth, i) * largest**i for i in range(dimension + 1))
