"""The worst distribution for a learner, among all of them: a lower bound by subdivision.

For one target the success is a polynomial of degree n in the distribution wherever the set of good hypotheses is
constant. Its Bernstein coefficients on the simplex are the learner's own probabilities, on a smaller simplex they are
averages of these, and the least coefficient is a lower bound. The simplex with the least bound is halved again and
again.
"""

import heapq
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, count
from math import comb

import numpy as np

from dpjax.attacks.optimum.cases import Goal
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.private_table import TOTAL
from dpjax.attacks.optimum.symmetry import Symmetry

_Target = tuple[int, ...] | None
_ROUNDING = 1e-12  # more than the rounding error of averages of probabilities
_DEEPEST = 40  # halvings of an edge


@dataclass(frozen=True)
class Worst:
    """The worst distribution that was found, and a bound for all of them.

    least: a lower bound on the success for every distribution. value: the success at ``masses``, whole numbers in units
    of their sum, of elements, or of cells in the agnostic setting.
    """

    least: float
    value: float
    masses: tuple[int, ...]


def worst_distribution(
    probabilities: np.ndarray,
    goal: Goal,
    databases: Databases,
    target: tuple[int, ...] | None,
    tolerance: float = 1e-4,
    simplices: int = 2000,
    unit: int = 1,
    enough: float = np.inf,
) -> Worst:
    """The worst distribution for a target (agnostic: None).

    probabilities: ``[databases, h]``, the learner, in units of 1 / ``unit``. The search ends when ``value - least`` is
    at most ``tolerance``, when ``least`` is at least ``enough``, or after ``simplices`` halvings; ``least`` is a lower
    bound in all cases.
    """
    excess, alpha = goal.excess(target), float(goal.alpha)
    steps = Databases(databases.rows, goal.parts)
    corners = steps.index(databases.rows * np.eye(goal.parts, dtype=np.int64))
    best, at = np.inf, np.zeros(goal.parts)
    numbers, heap = count(), list[tuple]()

    def consider(corner: np.ndarray, coefficients: np.ndarray, depth: int) -> None:
        nonlocal best, at
        fits = np.all(excess @ corner.T <= alpha, axis=1)  # [h, corners]
        values = np.where(fits.T, coefficients[corners], 0.0).sum(axis=1)
        if values.min() < best:
            best, at = values.min(), corner[values.argmin()]
        least = coefficients[:, fits.all(axis=1)].sum(axis=1).min()
        heapq.heappush(heap, (least, next(numbers), corner, coefficients, depth))

    consider(np.eye(goal.parts), _coefficients(probabilities, goal, databases, target) / unit, 0)
    for _ in range(simplices):
        least, _, corner, coefficients, depth = heap[0]
        if least >= min(best - tolerance, enough + _ROUNDING) or depth >= _DEEPEST or goal.parts == 1:
            break
        heapq.heappop(heap)
        i, j = max(combinations(range(goal.parts), 2), key=lambda e: np.abs(corner[e[0]] - corner[e[1]]).sum())
        for keep, move in ((i, j), (j, i)):
            half = corner.copy()
            half[move] = (corner[i] + corner[j]) / 2
            consider(half, _halving(steps, keep, move) @ coefficients, depth + 1)
    scale = 1 << (2 * _DEEPEST)
    masses = np.array([int(mass * scale) for mass in at], object)
    return Worst(float(heap[0][0]) - _ROUNDING, float(best), tuple(masses // np.gcd.reduce(masses)))


def worst_of_all(
    table: np.ndarray,
    goal: Goal,
    databases: Databases,
    group: list[Symmetry],
    tolerance: float = 1e-4,
    simplices: int = 2000,
    enough: float = np.inf,
) -> list[tuple[_Target, Worst]]:
    """The worst distribution of a table for one target of each orbit, with bounds that hold for the whole orbit.

    table: ``uint32[databases, h]``, in units of 1 / TOTAL. The image of a table under a symmetry has other rounding:
    the largest difference of a database's laws is subtracted from the bound.
    """
    found, known = [], set[_Target]()
    for target in goal.each_target:
        if target in known:
            continue
        search = worst_distribution(table, goal, databases, target, tolerance, simplices, TOTAL, enough)
        images = {} if target is None else {one.targets[target]: one for one in reversed(group)}
        known.update([target, *images])
        others = [one for image, one in images.items() if image != target]
        off = max((_difference(table, goal, databases, target, one) for one in others), default=0.0)
        found.append((target, replace(search, least=search.least - off)))
    return found


def _difference(table: np.ndarray, goal: Goal, databases: Databases, target: _Target, symmetry: Symmetry) -> float:
    """The largest difference of an event's probability, of a database that the target draws and its image."""
    counts = _drawn(goal, databases, target)
    image = table[databases.permuted(symmetry.cells, counts)][:, symmetry.hypotheses].astype(np.int64)
    return float(np.maximum(image - table[databases.index(counts)], 0).sum(axis=1).max()) / TOTAL


def _drawn(goal: Goal, databases: Databases, target: _Target) -> np.ndarray:
    """``int64[r, kinds]``: the databases of n rows that a target draws, as counts."""
    if target is None:
        return databases.counts[databases.full]
    cells = np.flatnonzero([share for x in range(goal.elements) for share in goal.shares(target, x)])
    few = Databases(databases.rows, len(cells)).counts
    counts = np.zeros((len(few), databases.kinds), np.int64)
    counts[:, cells] = few
    return counts


def _coefficients(
    probabilities: np.ndarray, goal: Goal, databases: Databases, target: tuple[int, ...] | None
) -> np.ndarray:
    """``float64[c, h]``: the mean probability of each hypothesis, given how many rows each element has."""
    counts = _drawn(goal, databases, target)
    laws = probabilities[databases.index(counts)]
    if target is None:
        return laws
    split = counts[:, : databases.cells].reshape(len(counts), goal.elements, 1 << goal.k)
    elements = split.sum(axis=2)
    weight = np.ones(len(counts))
    for x in range(goal.elements):
        shares = np.array(goal.shares(target, x), float)
        shares /= shares.sum()
        left = elements[:, x].copy()
        for labels, chance in enumerate(shares):
            rows = split[:, x, labels]
            weight *= [comb(a, b) for a, b in zip(left.tolist(), rows.tolist(), strict=True)] * chance**rows
            left -= rows
    means = np.zeros((Databases(databases.rows, goal.elements).size, laws.shape[1]))
    np.add.at(means, Databases(databases.rows, goal.elements).index(elements), weight[:, None] * laws)
    return means


@lru_cache(64)
def _halving(steps: Databases, keep: int, move: int) -> np.ndarray:
    """``float64[c, c]``: the coefficients after corner ``move`` goes half of the way to corner ``keep``."""
    counts, matrix = steps.counts, np.zeros((steps.size, steps.size))
    for row, before in enumerate(counts):
        for moved in range(before[move] + 1):
            after = before.copy()
            after[move] -= moved
            after[keep] += moved
            matrix[row, steps.index(after)] += comb(int(before[move]), moved) / 2.0 ** before[move]
    return matrix
