"""The representation dimension of tiny classes, exactly: a game between families of functions and distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import ceil

import numpy as np

from dpjax.core.checks import InputError
from dpjax.core.matrices import class_matrix
from dpjax.dimensions.clock import Clock, TimeIsUp
from dpjax.dimensions.result import Dimension

_NEAR, _GOOD = Fraction(1, 4), Fraction(7, 8)
_LARGEST_DETERMINANT = (1, 1, 1, 2, 3, 5, 9)  # of a matrix of 0 and 1 with so many rows
_MOST_ELEMENTS, _MOST_FUNCTIONS = 5, 1 << 8
_TOLERANCE, _BLOCK = 1e-7, 256  # rows between two looks at the clock
_OUT_OF_TIME = 1  # status of `scipy.optimize.milp` and `linprog`

Function = tuple[int, ...]


@dataclass(frozen=True)
class Families:
    """A random family: families of functions, each function by its labels, with probabilities that sum to 1.

    It holds for a class if for every concept and every distribution a member errs at most 1/4 with probability 7/8, up
    to 1e-7: so the representation dimension is at most ln of the size of the largest.
    """

    families: tuple[tuple[Function, ...], ...]
    probabilities: tuple[float, ...]

    def holds(self, matrix) -> bool:
        """For every concept by all distributions that can be worst."""
        functions, cuts = _game(class_matrix(matrix), Clock(None))
        numbers = {function: i for i, function in enumerate(map(tuple, functions.tolist()))}
        families = [[numbers[function] for function in one] for one in self.families]
        return bool(np.min(_served(cuts, families) @ np.array(self.probabilities)) >= float(_GOOD) - _TOLERANCE)


def representation_size(matrix, seconds: float | None = None) -> Dimension:
    """The least N such that a random family of at most N functions has, for every concept and every distribution, a
    member of error at most 1/4 with probability 7/8. ln N is the representation dimension.

    matrix ``int[m, X]``: m distinct rows of labels >= 0, for at most 5 elements and 256 functions to the labels of the
    class. seconds: time limit; then ``lower`` is the least N that was not excluded, and ``upper`` is ceil(7 m / 8), for
    random concepts. The witness is `Families` of the size ``upper``.

    Distributions: of those that give each of some sets of elements more than 1/4, one that maximizes the least mass of
    these sets has masses w / T for whole numbers w and T, the determinant of a matrix of 0 and 1 with at most X + 1
    rows, by the kernel of the game (Shapley and Snow): T <= 9 for X = 5. So all w with such sums are listed, and of the
    sets of functions that are good for one of them and a concept, those without a smaller one. Families: a linear
    program over those found so far, and an integer program (HiGHS) for the family that adds most. N is excluded if that
    family serves less than 7/8 of some random concepts and distributions.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 8.2 (Beimel, Nissim, Stemmer 2019); the search is our own.
    """
    clock, table = Clock(seconds), class_matrix(matrix)
    _require_small(table)
    rows = list(map(tuple, table.tolist()))
    most = ceil(_GOOD * len(rows))
    windows = tuple(tuple(rows[(i + j) % len(rows)] for j in range(most)) for i in range(len(rows)))
    name, witness, count = "size of the smallest representation", None, 1
    try:
        functions, cuts = _game(table, clock)
        while count < most and (witness := _representation(functions, cuts, count, clock)) is None:
            count += 1
    except TimeIsUp:
        most = max(count, most)
    else:
        most = count
    witness = witness or Families(windows, (1 / len(rows),) * len(rows))
    return Dimension(name, count, most, witness, clock.seconds)


def _require_small(table: np.ndarray) -> None:
    labels, elements = np.unique(table), table.shape[1]
    if elements > _MOST_ELEMENTS or len(labels) ** elements > _MOST_FUNCTIONS:
        expected = f"at most {_MOST_ELEMENTS} elements and {_MOST_FUNCTIONS} functions"
        raise InputError("class", expected, f"{len(labels)} labels on {elements} elements", "take a smaller class")


def _game(table: np.ndarray, clock: Clock) -> tuple[np.ndarray, np.ndarray]:
    """All functions ``int[functions, X]``, and which are good for each cut, a concept and a distribution,
    ``bool[cuts, functions]``: without cuts for which more functions are good than for another."""
    _require_small(table)
    labels, elements = np.unique(table), table.shape[1]
    functions = np.array(list(product(labels.tolist(), repeat=elements)), np.int64)
    sets = np.array(list(product((0, 1), repeat=elements)), np.int64)
    light = {tuple((_NEAR.denominator * (sets @ w) <= _NEAR.numerator * w.sum()).tolist()) for w in _weights(elements)}
    by_set = _least(np.array(sorted(light)), clock)
    place = (functions != table[:, None]) @ (1 << np.arange(elements)[::-1])  # the number of the set of wrong elements
    return functions, _least(np.concatenate([by_set[:, row] for row in place]), clock)


def _weights(elements: int) -> list[np.ndarray]:
    """All whole numbers >= 0, one for each element, whose sum is a determinant that can occur, >= 1."""
    sums = range(1, max(_LARGEST_DETERMINANT[: elements + 2]) + 1)
    bars = (
        (total, cuts) for total in sums for cuts in combinations(range(total + elements - 1), elements - 1)
    )  # stars and bars
    return [np.diff([-1, *cuts, total + elements - 1]) - 1 for total, cuts in bars]


def _least(sets: np.ndarray, clock: Clock) -> np.ndarray:
    """The rows ``bool[r, s]`` that contain no other row, once each."""
    rows = np.unique(sets, axis=0)
    kept, lacking, number = [], (~rows).astype(np.float32), np.arange(len(rows))
    for start in range(0, len(rows), _BLOCK):
        clock.tick()
        some = slice(start, start + _BLOCK)
        outside = rows.astype(np.float32) @ lacking[some].T  # how much of each row one of these lacks
        kept.append(~((outside == 0) & (number[:, None] != number[None, some])).any(axis=0))
    return rows[np.concatenate(kept)]


def _served(cuts: np.ndarray, families: Sequence[Sequence[int]]) -> np.ndarray:
    """Whether each family has a good function for each cut, ``float[cuts, families]``."""
    return np.array([cuts[:, list(family)].any(axis=1) for family in families], float).T


def _representation(functions: np.ndarray, cuts: np.ndarray, count: int, clock: Clock) -> Families | None:
    """With families of at most ``count`` functions, or None if there is none."""
    weights, families = np.full(len(cuts), 1 / len(cuts)), []
    while True:
        clock.tick()
        most, family = _most_served(cuts, weights, count, clock)
        if most < float(_GOOD) - _TOLERANCE:
            return None
        families.append(family)
        served = _served(cuts, families)
        probabilities, weights = _equilibrium(served, clock)
        if np.min(served @ probabilities) >= float(_GOOD) - _TOLERANCE:
            kept = np.flatnonzero(probabilities)
            shown = tuple(tuple(map(tuple, functions[list(families[i])].tolist())) for i in kept)
            return Families(shown, tuple(probabilities[kept].tolist()))


def _most_served(cuts: np.ndarray, weights: np.ndarray, count: int, clock: Clock) -> tuple[float, tuple[int, ...]]:
    """(weight, family): of the cuts that have a good function in the best family of at most ``count`` functions.
    Raises `TimeIsUp` when the clock's time is over before the best one is known."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # a slow import, deferred

    good, weights = cuts[weights > 0].astype(float), weights[weights > 0]
    chosen = np.concatenate([np.ones(good.shape[1]), np.zeros(len(good))])
    found = milp(
        np.concatenate([np.zeros(good.shape[1]), -weights]),
        constraints=[
            LinearConstraint(np.hstack([good, -np.eye(len(good))]), 0, np.inf),
            LinearConstraint(chosen[None], 0, count),
        ],
        integrality=chosen.astype(int),
        bounds=Bounds(0, 1),
        options={"time_limit": clock.left},
    )
    if found.status == _OUT_OF_TIME:
        raise TimeIsUp
    return float(-found.fun), tuple(np.flatnonzero(found.x[: good.shape[1]] > 0.5).tolist())


def _equilibrium(served: np.ndarray, clock: Clock) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the families, and of the cuts, at a saddle point. Raises `TimeIsUp`."""
    from scipy.optimize import linprog

    cuts, families = served.shape
    found = linprog(
        np.append(np.zeros(families), -1.0),
        np.hstack([-served, np.ones((cuts, 1))]),
        np.zeros(cuts),
        np.append(np.ones(families), 0.0)[None],
        [1.0],
        options={"time_limit": clock.left},
    )
    if found.status == _OUT_OF_TIME:
        raise TimeIsUp
    ours, theirs = (np.where(part > 1e-9, part, 0.0) for part in (found.x[:-1], -found.ineqlin.marginals))
    return ours / ours.sum(), theirs / theirs.sum()
