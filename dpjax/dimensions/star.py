"""The star number of a finite class, exactly."""

import numpy as np

from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.matrix import binary_matrix, bitsets
from dpjax.dimensions.pairing import LongestSequence
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.witnesses import StarSet


def star_number(matrix, seconds: float | None = None) -> Dimension:
    """The largest s with a row h, points x_1, ..., x_s and rows h_i that differ from h at x_i and at no other of them.

    matrix ``bool[m, N]``, m >= 1 distinct rows. seconds: time limit, after which the result has the proved bounds. The
    witness is a `StarSet`. Time is exponential at worst. InputError for other labels than 0 and 1, equal rows or none.

    Reference: Hanneke and Yang 2015, Definition 2.
    """
    clock = Clock(seconds)
    table = binary_matrix(matrix)
    points = (1 << table.shape[1]) - 1
    best, rows = StarSet(0, (), ()), (1 << len(table)) - 1
    for center in range(len(table)):
        search = None
        try:
            search = _around(table, center, clock)
            search.run(rows, points, longer_than=len(best.points))
        except TimeIsUp:
            best = _longer(best, center, search) if search else best
            most = min(len(table) - 1, table.shape[1])
            return Dimension("star number", len(best.points), most, best, clock.seconds)
        best = _longer(best, center, search)
    return Dimension("star number", len(best.points), len(best.points), best, clock.seconds)


def _around(table: np.ndarray, center: int, clock: Clock) -> LongestSequence:
    """Sequences of points in ascending order, with the rows' differences from the center."""
    differs = table ^ table[center]
    ones, holders = bitsets(differs, clock), bitsets(differs.T, clock)
    return LongestSequence(ones, holders, lambda x, c: ~ones[c] & ~((2 << x) - 1), clock)


def _longer(best: StarSet, center: int, search: LongestSequence) -> StarSet:
    if len(search.best) <= len(best.points):
        return best
    return StarSet(center, tuple(x for x, _ in search.best), tuple(c for _, c in search.best))
