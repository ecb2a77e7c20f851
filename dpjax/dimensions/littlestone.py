"""Psi-Littlestone dimensions of a finite class, exactly: the deepest tree that the class shatters.

The search decides "is the dimension of these rows at least t?" and remembers the bounds of every set of rows that it
has met. A tree of depth t needs 2^t rows, which prunes most questions; the most balanced splits are tried first.
"""

from dpjax.core.matrices import class_matrix
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.matrix import informative
from dpjax.dimensions.psi import Family, Grouping, natarajan, splits
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.witnesses import ShatteredTree

Parts = tuple[int, ...]
"""The sets of rows that a grouping makes of a column."""

_BLOCK = 256  # splits between two looks at the clock


def littlestone_dimension(matrix, seconds: float | None = None) -> Dimension:
    """The Littlestone dimension of a binary class; of a class with more labels the multiclass one.

    matrix ``int[m, N]``: m distinct rows of labels >= 0. seconds: time limit, after which the result has the proved
    bounds. The witness is a `ShatteredTree`. Takes m^{O(log m)} time at worst, seconds for thousands of rows of the
    usual classes. InputError for labels below 0, equal rows or none.

    Reference: Littlestone 1988; Daniely, Sabato, Ben-David, Shalev-Shwartz 2011; Bun, Gaboardi, Sivakumar 2021,
    Definition 2.13 and Lemma 4.5; Yan 2025, Definition 8 and Lemma 2 (labels xor a function have the same).
    """
    clock = Clock(seconds)
    table = class_matrix(matrix)
    name = "Littlestone dimension" if not table.size or table.max() <= 1 else "multiclass Littlestone dimension"
    return _dimension(table, natarajan, clock, name)


def psi_littlestone_dimension(matrix, family: Family, seconds: float | None = None) -> Dimension:
    """The Psi-Littlestone dimension: every node may have its own map of the family (`psi`).

    As `littlestone_dimension`. Reference: Bun, Gaboardi, Sivakumar 2021, Definition 4.4, Claims 4.6 and 4.7.
    """
    clock = Clock(seconds)
    return _dimension(class_matrix(matrix), family, clock, "Psi-Littlestone dimension")


def _dimension(table, family: Family, clock: Clock, name: str) -> Dimension:
    rows = (1 << len(table)) - 1
    try:
        search = Search(table, family, clock)
    except TimeIsUp:
        return Dimension(name, 0, len(table).bit_length() - 1, ShatteredTree(row=0), clock.seconds)
    depth = 0
    try:
        while search.at_least(rows, depth + 1):
            depth += 1
        most = depth
    except TimeIsUp:
        most = search.most(rows)
    clock.release()
    return Dimension(name, depth, most, search.tree(rows, depth), clock.seconds)


class Search:
    """Answers questions about the dimension of sets of rows, bitsets over the rows of the class."""

    def __init__(self, table, family: Family, clock: Clock):
        self._clock = clock
        self.names: dict[Parts, tuple[int, Grouping]] = {}
        for point, grouping, parts in splits(informative(table, clock), family, clock):
            self.names.setdefault(parts, (point, grouping))
        self._splits = list(self.names)
        self._least: dict[int, int] = {}
        self._most: dict[int, int] = {}

    def most(self, rows: int) -> int:
        """The upper bound that has been proved so far."""
        return self._most.get(rows, rows.bit_count().bit_length() - 1)

    def at_least(self, rows: int, depth: int, splits: list[Parts] | None = None) -> bool:
        """Whether the rows shatter a tree of this depth. splits: a superset of those that separate the rows."""
        if depth <= 0:
            return depth < 0 or rows != 0
        if rows.bit_count() < 1 << depth:
            return False
        splits = self._splits if splits is None else splits
        if depth == 1:
            return any(self._separates(rows, parts) for parts in splits)
        if self._least.get(rows, 0) >= depth:
            return True
        if self.most(rows) < depth:
            return False
        alive, candidates = self._split(rows, 1 << depth - 1, splits)
        for _, _, children in candidates:
            if self._pair(children, depth - 1, alive):
                self._least[rows] = depth
                return True
        self._most[rows] = depth - 1
        return False

    @staticmethod
    def _separates(rows: int, parts: Parts) -> bool:
        """Whether two of the parts, at least, have some of the rows."""
        seen = False
        for part in parts:
            if rows & part:
                if seen:
                    return True
                seen = True
        return False

    def _pair(self, children: Parts, depth: int, splits: list[Parts]) -> Parts:
        """Two children, the smaller one first, of at least this depth; empty if there are none.

        children: ascending by size. The smaller child of a pair is asked first, the largest of many children.
        """
        deep: list[int] = []
        if len(children) > 2:  # of two children, `at_least` looks at the clock
            self._clock.tick()
        for number, child in enumerate(children if len(children) == 2 else reversed(children)):
            if self.at_least(child, depth, splits):
                deep.append(child)
                if len(deep) == 2:
                    return tuple(sorted(deep, key=int.bit_count))
            elif len(children) - number + len(deep) < 3:
                break
        return ()

    def _split(self, rows: int, least: int, splits: list[Parts]) -> tuple[list[Parts], list[tuple[int, int, Parts]]]:
        """The splits that separate the rows, and the children of those with two children of ``least`` rows.

        Each with minus the sizes of its second largest and its largest child, the most balanced first; children are
        ascending by size.
        """
        alive: dict[Parts, Parts] = {}
        candidates = []
        for start in range(0, len(splits), _BLOCK):
            self._clock.tick()
            for parts in splits[start : start + _BLOCK]:
                children = _children(rows, parts)
                if len(children) > 1 and children not in alive:
                    alive[children] = parts
                    if (second := children[-2].bit_count()) >= least:
                        if len(children) > 2:
                            children = tuple(child for child in children if child.bit_count() >= least)
                        candidates.append((-second, -children[-1].bit_count(), children))
        candidates.sort()
        return list(alive.values()), candidates

    def tree(self, rows: int, depth: int, splits: list[Parts] | None = None) -> ShatteredTree:
        """A tree of a depth that `at_least` has confirmed."""
        if depth == 0:
            return ShatteredTree(row=(rows & -rows).bit_length() - 1)
        alive, candidates = self._split(rows, 1 << depth - 1, self._splits if splits is None else splits)
        for _, _, children in candidates:
            known = [child for child in children if self._confirmed(child, depth - 1, alive)]
            if len(known) > 1:
                return self._node(rows, (known[0], known[1]), depth, alive)
        raise AssertionError("a depth that was not confirmed")

    def _confirmed(self, rows: int, depth: int, splits: list[Parts]) -> bool:
        """Whether `at_least` has said so, or says so at once."""
        return self._least.get(rows, 0) >= depth if depth > 1 else self.at_least(rows, depth, splits)

    def _node(self, rows: int, children: tuple[int, int], depth: int, splits: list[Parts]) -> ShatteredTree:
        for parts in splits:
            sides = {rows & part: number for number, part in enumerate(parts)}
            if children[0] in sides and children[1] in sides:
                point, grouping = self.names[parts]
                low, high = (self.tree(child, depth - 1, splits) for child in children)
                return ShatteredTree(
                    None, point, (grouping[sides[children[0]]], grouping[sides[children[1]]]), (low, high)
                )
        raise AssertionError("children of no split")


def _children(rows: int, parts: Parts) -> Parts:
    """What the parts have of the rows, without empty sets, ascending by size."""
    if len(parts) == 2:  # the usual case, without a sort
        low, high = rows & parts[0], rows & parts[1]
        few, many = low.bit_count(), high.bit_count()
        if not (few and many):
            return ()
        return (low, high) if few < many or (few == many and low < high) else (high, low)
    return tuple(sorted([child for part in parts if (child := rows & part)], key=lambda bits: (bits.bit_count(), bits)))
