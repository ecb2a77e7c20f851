"""The randomized Littlestone dimension of a finite class, exactly."""

from fractions import Fraction

import numpy as np

from dpjax.core.matrices import class_matrix
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.littlestone import Search
from dpjax.dimensions.matrix import informative
from dpjax.dimensions.psi import natarajan, pairs
from dpjax.dimensions.recursion import deep_recursion
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.witnesses import ShatteredTree, Sides

_NAME = "randomized Littlestone dimension"


def randomized_littlestone_dimension(matrix, seconds: float | None = None) -> Dimension:
    """Half the largest expected depth, under fair coins, of a tree that the class shatters: a fraction.

    It is the optimal expected number of mistakes of a randomized learner on realizable sequences. matrix ``int[m, N]``:
    m distinct rows of labels >= 0. seconds: time limit, after which the result has the proved bounds. The witness is
    a `ShatteredTree` whose leaves have different depths. Time is exponential at worst. InputError for labels below 0,
    equal rows or none.

    Reference: Filmus, Hanneke, Mehalel, Moran 2023, Section 3.
    """
    clock = Clock(seconds)
    table = class_matrix(matrix)
    search = _Search(len(table), clock)
    rows = (1 << len(table)) - 1
    with deep_recursion(4 * len(table) + 64):
        try:
            search.prepare(table)
            depth = Fraction(search.depth(rows), search.unit)
            clock.release()
            return Dimension(_NAME, depth / 2, depth / 2, search.tree(rows), clock.seconds)
        except TimeIsUp:
            tree = search.balanced(rows)
            most = (len(table) - 1).bit_length()  # at least the entropy of the leaf that fair coins reach
            return Dimension(_NAME, tree.expected_depth / 2, Fraction(most, 2), tree, clock.seconds)


class _Search:
    """Expected depths in units of 2^-m, which makes them whole numbers: no leaf is deeper than m - 1."""

    def __init__(self, rows: int, clock: Clock):
        self.unit, self._clock = 1 << rows, clock
        self._names: dict[tuple[int, int], tuple[int, Sides]] = {}
        self._depths: dict[int, int] = {}
        self._tables: list[list[int]] = [[0] * (rows + 1)]

    def prepare(self, table: np.ndarray) -> None:
        """Lists the pairs of parts into which domain elements split; stopped by the clock, some of them."""
        for point, map_, parts in pairs(informative(table, self._clock), natarajan, self._clock):
            self._names.setdefault(parts, (point, map_))
        self._dimensions = Search(table, natarajan, self._clock)

    def bound(self, rows: int) -> int:
        """At least `depth`: the best tree with so many leaves that their Littlestone dimension allows."""
        dimension = 0
        while self._dimensions.at_least(rows, dimension + 1):
            dimension += 1
        return self._table(dimension)[rows.bit_count()]

    def _table(self, dimension: int) -> list[int]:
        """The largest expected depth for each number of leaves."""
        while len(self._tables) <= dimension:
            below, same = self._tables[-1], [0, 0]
            for leaves in range(2, len(below)):
                self._clock.tick()
                same.append(max(self.unit + (below[few] + same[leaves - few]) // 2 for few in range(1, leaves)))
            self._tables.append(same)
        return self._tables[dimension]

    def _children(self, rows: int) -> list[tuple[int, int, int, int, int]]:
        """(bound, its children, the splitter) of each way to split the rows, the largest bound first."""
        candidates: dict[tuple[int, int], tuple[int, int, int, int, int]] = {}
        for number, (low, high) in enumerate(self._names):
            if not number & 255:
                self._clock.tick()
            zeros, ones = rows & low, rows & high
            key = (min(zeros, ones), max(zeros, ones))
            if zeros and ones and key not in candidates:
                candidates[key] = (self.unit + (self.bound(zeros) + self.bound(ones)) // 2, zeros, ones, low, high)
        return sorted(candidates.values(), reverse=True)

    def depth(self, rows: int) -> int:
        """The largest expected depth of a tree that the rows shatter."""
        if rows & rows - 1 == 0:
            return 0
        if rows not in self._depths:
            self._clock.tick()
            most = 0
            for bound, zeros, ones, _, _ in self._children(rows):
                if bound <= most:
                    break
                most = max(most, self.unit + (self.depth(zeros) + self.depth(ones)) // 2)
            self._depths[rows] = most
        return self._depths[rows]

    def tree(self, rows: int) -> ShatteredTree:
        """A tree of the expected depth that `depth` has found."""
        for _, zeros, ones, low, high in self._children(rows):
            if self.unit + (self._known(zeros) + self._known(ones)) // 2 == self.depth(rows):
                return self._node((zeros, ones), (low, high), self.tree)
        return _leaf(rows)

    def _known(self, rows: int) -> int:
        """A depth that `depth` has found; far below all others where it has not looked."""
        return 0 if rows & rows - 1 == 0 else self._depths.get(rows, -len(self._tables[0]) * self.unit)

    def balanced(self, rows: int, names: list[tuple[int, int]] | None = None) -> ShatteredTree:
        """A tree that splits into parts of sizes as equal as possible. names: a superset of the pairs that split.

        Where it is late, a set of rows is not split further.
        """
        if self._clock.late:
            return _leaf(rows)
        alive = [(low, high) for low, high in (self._names if names is None else names) if rows & low and rows & high]
        if not alive:
            return _leaf(rows)
        low, high = max(alive, key=lambda pair: min((rows & pair[0]).bit_count(), (rows & pair[1]).bit_count()))
        return self._node((rows & low, rows & high), (low, high), lambda part: self.balanced(part, alive))

    def _node(self, parts, names, below) -> ShatteredTree:
        point, map_ = self._names[names]
        return ShatteredTree(point=point, map=map_, children=(below(parts[0]), below(parts[1])))


def _leaf(rows: int) -> ShatteredTree:
    return ShatteredTree(row=(rows & -rows).bit_length() - 1)
