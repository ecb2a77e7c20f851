"""Witnesses of dimensions; each verifies itself against the class's matrix in a few lines.

``holds(matrix)`` of each takes ``int[m, N]`` and returns whether the witness proves what its docstring says.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

Sides = tuple[frozenset[int], frozenset[int]]
"""A collapsing map: the labels that it maps to 0 and those that it maps to 1; it maps all other labels to *."""


@dataclass(frozen=True)
class ShatteredSet:
    """Points and a row for each of their patterns: the VC dimension, or a Psi-dimension, is at least len(points).

    ``maps[i]`` collapses the labels of points[i]; rows[b] has value (b >> i) & 1 at points[i].
    """

    points: tuple[int, ...]
    maps: tuple[Sides, ...]
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"{_listed('points', self.points)} shattered by {_listed('rows', self.rows)}"

    def in_rows(self, numbers: np.ndarray) -> "ShatteredSet":
        """The same witness for a matrix whose row numbers[i] is row i of this one."""
        return replace(self, rows=tuple(int(numbers[row]) for row in self.rows))

    def holds(self, matrix) -> bool:
        """Whether all patterns occur, and no map has a label on both sides."""
        table, count = np.asarray(matrix), len(self.points)
        distinct = len(set(self.points)) == count and not any(zeros & ones for zeros, ones in self.maps)
        return (
            distinct
            and len(self.rows) == 2**count
            and all(
                int(table[row, self.points[i]]) in self.maps[i][pattern >> i & 1]
                for pattern, row in enumerate(self.rows)
                for i in range(count)
            )
        )


@dataclass(frozen=True)
class ShatteredTree:
    """A tree of points whose every path is realized by a row: leaves carry a row, inner nodes a point and a map.

    The Psi-Littlestone dimension is at least the smallest depth of a leaf; twice the randomized Littlestone dimension
    is at least the expected depth of a leaf under fair coins.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definitions 2.10 to 2.12 and 4.1 to 4.3.
    """

    row: int | None = None
    point: int | None = None
    map: Sides | None = None
    children: "tuple[ShatteredTree, ShatteredTree] | None" = field(default=None, repr=False)

    def __str__(self) -> str:
        count = sum(self.depths.values())
        return f"a tree with {count} leaves, point {self.point} at the root" if count > 1 else f"row {self.row}"

    def in_rows(self, numbers: np.ndarray) -> "ShatteredTree":
        """The same witness for a matrix whose row numbers[i] is row i of this one; for trees of small depth."""
        if self.children is None:
            return replace(self, row=int(numbers[self.row]))
        low, high = self.children
        return replace(self, children=(low.in_rows(numbers), high.in_rows(numbers)))

    def leaves(self) -> Iterator[tuple[int, tuple]]:
        """(row, its path as triples of point, map, side) of each leaf, from left to right."""
        waiting: list[tuple[ShatteredTree, tuple]] = [(self, ())]
        while waiting:
            node, path = waiting.pop()
            if node.children is None:
                yield node.row, path  # type: ignore[misc]
            else:
                low, high = node.children
                waiting += [(high, (*path, (node.point, node.map, 1))), (low, (*path, (node.point, node.map, 0)))]

    def nodes(self) -> list[tuple["ShatteredTree", tuple[int, ...]]]:
        """(node, numbers of its children in this list) of each node, level by level; number 0 is the root."""
        listed: list[tuple[ShatteredTree, tuple[int, ...]]] = []
        trees = [self]
        for node in trees:  # grows while it is read
            listed.append((node, tuple(range(len(trees), len(trees) + len(node.children or ())))))
            trees += node.children or ()
        return listed

    @property
    def depths(self) -> Counter[int]:
        """The number of leaves of each depth."""
        counts: Counter[int] = Counter()
        level, depth = [self], 0
        while level:
            counts[depth] = sum(node.children is None for node in level)
            level, depth = [child for node in level for child in node.children or ()], depth + 1
        return +counts

    def holds(self, matrix) -> bool:
        """Whether the row of each leaf realizes the leaf's path."""
        table = np.asarray(matrix)
        disjoint = all(not (zeros & ones) for _, path in self.leaves() for _, (zeros, ones), _ in path)
        return disjoint and all(
            int(table[row, point]) in sides[side] for row, path in self.leaves() for point, sides, side in path
        )

    @property
    def depth(self) -> int:
        """The smallest depth of a leaf."""
        return min(self.depths)

    @property
    def expected_depth(self) -> Fraction:
        """The expected depth of the leaf that fair coins reach."""
        depths = self.depths
        most = max(depths)
        return Fraction(sum(count * depth << most - depth for depth, count in depths.items()), 1 << most)


@dataclass(frozen=True)
class NoSearch:
    """For the trivial bounds of a dimension that was not searched for."""

    reason: str

    def __str__(self) -> str:
        return f"no search: {self.reason}"

    def holds(self, matrix) -> bool:
        """True: a class with a row has dimension 0 or more."""
        return len(matrix) > 0


@dataclass(frozen=True)
class Chain:
    """Points x_1, ..., x_t and rows c_1, ..., c_t with c_i(x_j) = 1 iff j >= i.

    The threshold dimension is at least t.
    """

    points: tuple[int, ...]
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"{_listed('points', self.points)} and {_listed('rows', self.rows)}"

    def holds(self, matrix) -> bool:
        """Whether the rows cut the points as thresholds do."""
        part = np.asarray(matrix)[np.ix_(self.rows, self.points)]
        return len(self.rows) == len(self.points) and np.array_equal(part, np.triu(np.ones_like(part)))


@dataclass(frozen=True)
class StarSet:
    """A center and rows that each differ from it at exactly one of the points.

    The star number is at least the count of the points.
    """

    center: int
    points: tuple[int, ...]
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"center row {self.center}, {_listed('points', self.points)}, {_listed('rows', self.rows)}"

    def holds(self, matrix) -> bool:
        """Whether row i differs from the center at point i, and at no other of the points."""
        table = np.asarray(matrix)[:, list(self.points)]
        differs = table[list(self.rows)] != table[self.center]
        return len(self.rows) == len(self.points) and np.array_equal(differs, np.eye(len(self.points), dtype=bool))


@dataclass(frozen=True)
class TeachingSets:
    """Points that identify each row among the rows that come after it in ``order``, and a class that needs as many.

    If ``order`` is None each row is identified among all rows: the teaching dimension is at most the largest set. An
    order bounds the recursive teaching dimension. ``hard`` (rows, size) proves the other direction: no ``size - 1``
    points identify any of its rows (for the teaching dimension, its first row) among them, which takes a search.
    """

    sets: tuple[tuple[int, ...], ...]
    order: tuple[int, ...] | None
    hard: tuple[tuple[int, ...], int]

    def __str__(self) -> str:
        row = max(range(len(self.sets)), key=lambda number: len(self.sets[number]))
        return f"row {row} identified by {_listed('points', self.sets[row])}"

    def holds(self, matrix) -> bool:
        """Whether each set identifies its row, and the hard rows need as many points."""
        table = np.asarray(matrix)
        order = range(len(table)) if self.order is None else self.order
        for place, row in enumerate(order):
            others = list(order[place + 1 :]) if self.order is not None else [r for r in order if r != row]
            if not (table[others][:, list(self.sets[row])] != table[row, list(self.sets[row])]).any(axis=1).all():
                return False
        return sorted(order) == list(range(len(table))) and self._hard(table)

    def _hard(self, table: np.ndarray) -> bool:
        rows, size = list(self.hard[0]), self.hard[1]
        for row in rows[:1] if self.order is None else rows:
            differs = table[[r for r in rows if r != row]] != table[row]
            fewer = combinations(range(table.shape[1]), size - 1) if size else ()
            if any(differs[:, list(points)].any(axis=1).all() for points in fewer):
                return False
        return True


def _listed(noun: str, numbers: tuple[int, ...], most: int = 8) -> str:
    shown = ", ".join(map(str, numbers[:most])) or "none"
    noun = noun.removesuffix("s") if len(numbers) == 1 else noun
    return f"{noun} {shown}" + f" and {len(numbers) - most} more" * (len(numbers) > most)
