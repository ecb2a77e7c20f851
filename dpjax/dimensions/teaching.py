"""Teaching dimension and recursive teaching dimension of a finite class, exactly."""

import numpy as np

from dpjax.core.matrices import class_matrix
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.matrix import bitsets, members
from dpjax.dimensions.recursion import deep_recursion
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.witnesses import TeachingSets


def teaching_dimension(matrix, seconds: float | None = None) -> Dimension:
    """The most points, over the rows, that are needed to identify a row by its labels on them.

    matrix ``int[m, N]``: m distinct rows of labels >= 0. seconds: time limit, after which the result has the proved
    bounds. The witness is a `TeachingSets` with a smallest set for each row. Time is exponential at worst. InputError
    for labels below 0, equal rows or none.

    Reference: Goldman and Kearns 1995; Shinohara and Miyano 1991.
    """
    clock = Clock(seconds)
    table = class_matrix(matrix)
    everybody = list(range(len(table)))
    sets: list[tuple[int, ...]] = []
    try:
        for row in everybody:
            sets.append(_smallest(_differences(table, row, everybody, clock), clock))
    except TimeIsUp:
        pass
    known = [len(points) for points in sets]
    every = tuple(range(table.shape[1]))
    for row in everybody[len(sets) :]:
        sets.append(every if clock.late else _greedy(table, row, everybody))
    hardest = int(np.argmax(known)) if known else 0
    least, most = max(known, default=0), max(len(points) for points in sets)
    hard = ((hardest, *(row for row in everybody if row != hardest)), least)
    return Dimension("teaching dimension", least, most, TeachingSets(tuple(sets), None, hard), clock.seconds)


def recursive_teaching_dimension(matrix, seconds: float | None = None) -> Dimension:
    """The most points that are needed if rows are taught in an order, each among those that have not been taught.

    As `teaching_dimension`; the witness has an order, in which each row's set identifies it among the later ones, and a
    set of rows of which none has a smaller teaching set than the dimension.

    Reference: Doliwa, Fan, Simon, Zilles 2014; Zilles, Lange, Holte, Zinkevich 2011.
    """
    clock = Clock(seconds)
    table = class_matrix(matrix)
    left, order = list(range(len(table))), list[int]()
    size = min(1, len(table) - 1)  # no point identifies no row but an only one
    hard: tuple[tuple[int, ...], int] = (tuple(left) if size else (), size)
    sets: dict[int, tuple[int, ...]] = {}
    try:
        while left:
            easy = {
                row: points
                for row in left
                if (points := _few(_differences(table, row, left, clock), size, clock)) is not None
            }
            if easy:
                sets |= easy
                order += easy
                left = [row for row in left if row not in easy]
            else:
                size += 1
                hard = (tuple(left), size)
    except TimeIsUp:
        pass
    most = size
    every = tuple(range(table.shape[1]))
    for place, row in enumerate(left):  # only after the time limit
        sets[row] = every if clock.late else _greedy(table, row, left[place:])
        most = max(most, len(sets[row]))
    witness = TeachingSets(tuple(sets[row] for row in range(len(table))), (*order, *left), hard)
    return Dimension("recursive teaching dimension", size, most, witness, clock.seconds)


def _differences(table: np.ndarray, row: int, others: list[int], clock: Clock) -> list[int]:
    """The sets of points on which other rows differ from a row, without supersets, the smallest first."""
    others = [other for other in others if other != row]
    differences = sorted(set(bitsets(table[others] != table[row], clock)), key=int.bit_count)
    kept: list[int] = []
    for points in differences:
        clock.tick()
        if not any(smaller & ~points == 0 for smaller in kept):
            kept.append(points)
    return kept


def _smallest(sets: list[int], clock: Clock) -> tuple[int, ...]:
    """A smallest set of points that meets all the sets."""
    size = _disjoint(sets)
    while (points := _few(sets, size, clock)) is None:
        size += 1
    return points


def _few(sets: list[int], size: int, clock: Clock) -> tuple[int, ...] | None:
    """At most ``size`` points that meet all the sets, or None if there are none."""
    with deep_recursion(size + 64):
        points = _hitting(sets, size, clock)
    return None if points is None else tuple(reversed(points))


def _hitting(sets: list[int], size: int, clock: Clock) -> list[int] | None:
    """The same, the last point first."""
    clock.tick()
    if not sets:
        return []
    if _disjoint(sets) > size:
        return None
    for point in members(sets[0]):
        rest = _hitting([subset for subset in sets if not subset >> point & 1], size - 1, clock)
        if rest is not None:
            rest.append(point)
            return rest
    return None


def _disjoint(sets: list[int]) -> int:
    """A number of pairwise disjoint sets: as many points are needed."""
    seen = count = 0
    for subset in sets:
        if not subset & seen:
            seen |= subset
            count += 1
    return count


def _greedy(table: np.ndarray, row: int, others: list[int]) -> tuple[int, ...]:
    """Points that identify a row among others, each the one that excludes most of them."""
    differs = table[[other for other in others if other != row]] != table[row]
    chosen: list[int] = []
    while len(differs):
        chosen.append(int(differs.sum(axis=0).argmax()))
        differs = differs[~differs[:, chosen[-1]]]
    return tuple(chosen)
