"""Psi-dimensions of a finite class, exactly: the largest set that the class shatters. VC, dual VC, Natarajan."""

from typing import NamedTuple

import numpy as np

from dpjax.core.checks import InputError
from dpjax.core.matrices import class_matrix, first_rows
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.matrix import binary_matrix, columns_of
from dpjax.dimensions.psi import Family, natarajan, pairs
from dpjax.dimensions.result import Dimension
from dpjax.dimensions.witnesses import ShatteredSet, Sides

Parts = list[int]  # the rows of each pattern, bit i of the index for the i-th point

_BLOCK = 1024  # options between two looks at the clock


class Option(NamedTuple):
    """A point of a set with one of its maps, and the rows that the map sends to 0 and to 1."""

    zeros: int
    ones: int
    point: int
    map: Sides


def vc_dimension(matrix, seconds: float | None = None) -> Dimension:
    """The VC dimension of ``bool[m, N]``, m >= 1 distinct rows; the witness is a `ShatteredSet`.

    seconds: time limit, after which the result has the proved bounds. Time grows with the number of shattered sets.
    InputError for other labels than 0 and 1, equal rows or none. Reference: Vapnik and Chervonenkis 1971; Bun,
    Nissim, Stemmer 2016, Definition 2.5; Kaplan, Mansour, Matias, Stemmer 2019, Definition 2.3; Yan 2025, Definition 5.
    """
    clock = Clock(seconds)
    return _dimension(binary_matrix(matrix), natarajan, clock, "VC dimension")


def dual_vc_dimension(matrix, seconds: float | None = None) -> Dimension:
    """The VC dimension of the transposed class, whose concepts are the domain elements; equal columns count once.

    As `vc_dimension`, with at least one column; the witness shatters rows, and holds for the transposed matrix.
    Reference: Assouad 1983.
    """
    clock = Clock(seconds)
    table = binary_matrix(matrix).T
    if not len(table):
        actual, advice = f"shape {table.T.shape}", "give a column for each domain element"
        raise InputError("class matrix", "at least one column", actual, advice)
    kept = first_rows(table)
    dimension = _dimension(binary_matrix(table[kept]), natarajan, clock, "dual VC dimension")
    return dimension.in_rows(kept)


def psi_dimension(matrix, family: Family, seconds: float | None = None) -> Dimension:
    """The Psi-dimension of ``int[m, N]``: each point of the set may have its own map of the family (`psi`).

    As `vc_dimension`, for labels >= 0. With `psi.natarajan` it is the Natarajan dimension.
    Reference: Ben-David, Cesa-Bianchi, Haussler, Long 1995.
    """
    clock = Clock(seconds)
    return _dimension(class_matrix(matrix), family, clock, "Psi-dimension")


def _dimension(table: np.ndarray, family: Family, clock: Clock, name: str) -> Dimension:
    search = _Search(table, clock)
    try:
        search.extend([(1 << len(table)) - 1], _options(table, family, clock), ())
        most = len(search.best)
    except TimeIsUp:
        most = min(len(table).bit_length() - 1, table.shape[1])
    return Dimension(name, len(search.best), most, search.witness(), clock.seconds)


class _Search:
    """Depth first, over sets of options (point, map); an option that does not split all parts now never will."""

    def __init__(self, table: np.ndarray, clock: Clock):
        self._clock = clock
        self.best: tuple[Option, ...] = ()
        self._parts: Parts = [(1 << len(table)) - 1]

    def extend(self, parts: Parts, options: list[Option], chosen: tuple[Option, ...]) -> None:
        """Looks for larger sets than the best among those that add some of the options to the chosen ones."""
        self._clock.tick()
        if len(chosen) > len(self.best):
            self.best, self._parts = chosen, parts
        useful: list[tuple[Option, Parts]] = []
        for start in range(0, len(options), _BLOCK):
            self._clock.tick()
            halved = ((option, self._halves(parts, option, len(chosen))) for option in options[start : start + _BLOCK])
            useful += [(option, halves) for option, halves in halved if halves]
        for number, (option, halves) in enumerate(useful):
            later = [other for other, _ in useful[number + 1 :] if other.point != option.point]
            if len(chosen) + len(useful) - number <= len(self.best):
                return
            if min(part.bit_count() for part in halves) >= self._least(len(chosen)):  # the best may be larger by now
                self.extend(halves, later, (*chosen, option))

    def _least(self, chosen: int) -> int:
        """The rows that each part needs after one more point for a set larger than the best."""
        return 1 << max(0, len(self.best) - chosen)

    def _halves(self, parts: Parts, option: Option, chosen: int) -> Parts | None:
        """The parts after one more point, or None if one of them has too few rows."""
        least = self._least(chosen)
        low = [part & option.zeros for part in parts]
        if any(part.bit_count() < least for part in low):
            return None
        high = [part & option.ones for part in parts]
        return None if any(part.bit_count() < least for part in high) else low + high

    def witness(self) -> ShatteredSet:
        """The points, maps and rows of the best set."""
        rows = tuple((part & -part).bit_length() - 1 for part in self._parts)
        return ShatteredSet(
            tuple(option.point for option in self.best), tuple(option.map for option in self.best), rows
        )


def _options(table: np.ndarray, family: Family, clock: Clock) -> list[Option]:
    """The options of all points, a point's together; points whose only option is another's only one are left out."""
    of_point: dict[int, list[Option]] = {}
    columns = ((point, column) for point, column in enumerate(columns_of(table, clock)) if len(column) > 1)
    for point, map_, (zeros, ones) in pairs(columns, family, clock):
        of_point.setdefault(point, []).append(Option(zeros, ones, point, map_))
    kept: dict[object, list[Option]] = {}
    for point, options in of_point.items():
        kept.setdefault(frozenset(options[0][:2]) if len(options) == 1 else point, options)
    balanced = sorted(
        kept.values(), key=lambda group: -max(min(o.zeros.bit_count(), o.ones.bit_count()) for o in group)
    )
    return [option for options in balanced for option in options]
