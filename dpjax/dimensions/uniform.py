"""Uniform Psi-Littlestone dimensions: all nodes of a level have the same map."""

from dpjax.core.matrices import class_matrix
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.matrix import Cells, informative
from dpjax.dimensions.psi import Family, maps, side
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.witnesses import ShatteredTree, Sides

_NAME = "uniform Psi-Littlestone dimension"
Levels = tuple[int, ...]  # the map of each level, from the root


def uniform_psi_littlestone_dimension(matrix, family: Family, seconds: float | None = None) -> Dimension:
    """The uniform Psi-Littlestone dimension, exactly.

    matrix ``int[m, N]``: m distinct rows of labels >= 0. seconds: time limit, after which the result has the proved
    bounds. The witness is a `ShatteredTree` whose levels have one map each. Time grows as the number of maps to the
    power of the dimension. InputError for labels below 0, equal rows or none.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 4.4.
    """
    clock = Clock(seconds)
    table = class_matrix(matrix)
    try:
        columns = dict(informative(table, clock))
        choices = list(
            maps(family, tuple(sorted({label for column in columns.values() for label, _ in column})), clock)
        )
        search = _Search(_separated(columns, choices, clock), clock)
    except TimeIsUp:
        most = len(table).bit_length() - 1
        return Dimension(_NAME, 0, most, ShatteredTree(row=0), clock.seconds)
    rows = (1 << len(table)) - 1
    levels: list[Levels] = [()]  # those that the class shatters; without its first map a sequence still is one
    best: Levels = ()
    most = 0
    try:
        while levels:
            best = levels[0]
            most = len(best)
            longer = ((number, *rest) for rest in levels for number in range(len(choices)))
            levels = [sequence for sequence in longer if search.shatters(rows, sequence)]
    except TimeIsUp:
        most = len(table).bit_length() - 1
    witness = search.tree(rows, best, choices)
    return Dimension(_NAME, len(best), most, witness, clock.seconds)


def _separated(columns: dict[int, Cells], choices: list[Sides], clock: Clock) -> list[dict[tuple[int, int], int]]:
    """For each map the pairs of sets of rows that it separates at some domain element, and the element."""
    separations: list[dict[tuple[int, int], int]] = [{} for _ in choices]
    for point, column in columns.items():
        rows_of = dict(column)
        for separated, (zeros, ones) in zip(separations, choices, strict=True):
            clock.tick()
            low, high = side(rows_of, zeros), side(rows_of, ones)
            if low and high:
                separated.setdefault((low, high), point)
    return separations


class _Search:
    """Which sequences of maps, one a level, a set of rows shatters."""

    def __init__(self, separated: list[dict[tuple[int, int], int]], clock: Clock):
        self._separated, self._clock = separated, clock
        self._pairs = [list(pairs) for pairs in separated]
        self._known: dict[tuple[int, Levels], bool] = {}

    def shatters(self, rows: int, levels: Levels) -> bool:
        """Whether the rows shatter a tree with these maps."""
        if not levels:
            return rows != 0
        if rows.bit_count() < 1 << len(levels):
            return False
        shattered = self._known.get((rows, levels))
        if shattered is None:
            self._clock.tick()
            shattered = self._known[rows, levels] = self._splits(rows, levels)
        return shattered

    def _splits(self, rows: int, levels: Levels) -> bool:
        below, least = levels[1:], 1 << len(levels) - 1
        for low, high in self._pairs[levels[0]]:
            zeros, ones = rows & low, rows & high
            enough = zeros.bit_count() >= least and ones.bit_count() >= least
            if enough and (not below or (self.shatters(zeros, below) and self.shatters(ones, below))):
                return True
        return False

    def tree(self, rows: int, levels: Levels, choices: list[Sides]) -> ShatteredTree:
        """A tree that the rows shatter."""
        if not levels:
            return ShatteredTree(row=(rows & -rows).bit_length() - 1)
        below = levels[1:]
        for (low, high), point in self._separated[levels[0]].items():
            if self._seen(rows & low, below) and self._seen(rows & high, below):
                children = (self.tree(rows & low, below, choices), self.tree(rows & high, below, choices))
                return ShatteredTree(point=point, map=choices[levels[0]], children=children)
        raise AssertionError("a sequence that was not confirmed")

    def _seen(self, rows: int, levels: Levels) -> bool:
        return self._known.get((rows, levels), False) if levels else rows != 0
