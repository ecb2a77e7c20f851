"""The linear program of the best private learner: its probabilities are the variables, privacy its constraints.

Over all databases S of n rows and hypotheses h, maximize t subject to

    t <= sum over S of Pr[S] Pr[good hypothesis | S]              for every case
    Pr[h | S] <= e^epsilon Pr[h | S'] + u(S, S', h)               for all neighbors S, S'
    sum over h of u(S, S', h) <= delta,  u >= 0.

A learner may read the order of its rows, but its average over all orders is as private and as successful. With
delta = 0 under REPLACE_ONE, the databases with n - 1 common rows are neighbors of each other: their probabilities lie
between a variable and e^epsilon times it, which takes fewer constraints than all pairs.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix
from scipy.special import gammaln, xlogy

from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.attacks.optimum.certificate import SCALE, Certificate, whole_weights
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.private_table import private_table
from dpjax.attacks.optimum.symmetry import Symmetry
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

_FLOWS = 1 << 9  # no multiplier is as large


@dataclass(frozen=True)
class Solution:
    """The solver's answer in floating point, for all databases and not for their orbits only.

    upper: the value of the program. learner: ``float64[databases, h]``. weights: the multiplier of each case,
    ``float64[cases]``.
    pairs: ``int64[r, 3]``, database, neighbor, hypothesis. flows: ``float64[r]``, the multiplier of its constraint.
    variables, constraints: of the program that was solved. seconds: of the solver.
    """

    upper: float
    learner: np.ndarray
    weights: np.ndarray
    pairs: np.ndarray
    flows: np.ndarray
    variables: int
    constraints: int
    seconds: float

    def proof(
        self, goal: Goal, databases: Databases, epsilon: float, delta: float, cases: tuple[Case, ...]
    ) -> Certificate:
        """The multipliers as whole numbers."""
        flows = (np.minimum(self.flows, _FLOWS) * SCALE).astype(np.int64)
        head = goal, databases.rows, databases.neighboring, epsilon, delta, cases, whole_weights(self.weights)
        return Certificate(*head, databases.counts, self.pairs, flows, SCALE)

    def table(self, databases: Databases, epsilon: float, delta: float) -> np.ndarray:
        """``uint32[databases, h]``: the learner as `private_table`."""
        return private_table(self.learner, databases, epsilon, delta)

    @property
    def lower(self) -> float:
        """The value, too: the program is solved but for rounding."""
        return self.upper


def solve(
    databases: Databases, goal: Goal, cases: list[Case], group: list[Symmetry], factor: float, delta: float
) -> Solution:
    """The best learner for these distinct cases, which are closed under ``group``, by HiGHS; factor: e^epsilon.

    Raises InputError if the solver stops without an optimum.
    """
    size, h = databases.size, goal.sizes[0]
    place, variables = _orbits(databases, group, _all(size, h))
    place = place.reshape(size, h)
    rows, success = _Rows(), variables
    alike = orbits_of_cases(goal, cases, group)
    for case in alike:
        weight = case_weights(case[0], databases)
        at = np.flatnonzero(weight)
        rows.add(1, 0.0, (0, success, 1.0), (0, place[np.ix_(at, np.flatnonzero(case[0].good))], -weight[at, None]))
    common = delta == 0 and databases.neighboring is Neighboring.REPLACE_ONE
    private = (_Common if common else _Pairs)(databases, group, place, rows, success + 1, factor, delta)
    laws = np.unique(np.sort(place, axis=1), axis=0)
    sums = coo_matrix(
        (np.ones(laws.size), (np.repeat(np.arange(len(laws)), h), laws.ravel())), (len(laws), private.variables)
    )
    cost = np.zeros(private.variables)
    cost[success] = -1
    begin = time.perf_counter()
    matrix, bounds = rows.matrix(private.variables), np.concatenate(rows.bounds)
    solution = linprog(cost, matrix, bounds, sums.tocsr(), np.ones(len(laws)), method="highs-ipm")
    if solution.status != 0:
        raise InputError(
            "program", "one that the solver finishes", solution.message.splitlines()[0], "take an epsilon closer to 1"
        )
    duals = np.maximum(-solution.ineqlin.marginals, 0)
    weights = {case: dual / len(some) for some, dual in zip(alike, duals, strict=False) for case in some}
    pairs, flows = private.multipliers(duals[len(alike) :])
    seconds = time.perf_counter() - begin
    head = float(-solution.fun), solution.x[place], np.array([weights[case] for case in cases]), pairs
    return Solution(*head, flows, private.variables, matrix.shape[0] + len(laws), seconds)


def orbits_of_cases(goal: Goal, cases: list[Case], group: list[Symmetry]) -> list[list[Case]]:
    """The cases, with those that a symmetry maps to each other together; also their images that are not listed."""
    orbits, known = [], set[Case]()
    for case in cases:
        if case not in known:
            orbits.append(list(dict.fromkeys(symmetry.moved(case, goal) for symmetry in group)))
            known.update(orbits[-1])
    return orbits


def case_weights(case: Case, databases: Databases) -> np.ndarray:
    """The probability of every database in a case, ``float64[size]``."""
    probabilities = np.zeros(databases.size)
    places, chances = support(case, databases)
    probabilities[places] = chances
    return probabilities


def support(case: Case, databases: Databases) -> tuple[np.ndarray, np.ndarray]:
    """(The databases that a case draws, ``int64[r]``, their probabilities ``float64[r]``)."""
    cells = np.flatnonzero(np.array(case.masses, object) > 0)
    few = Databases(databases.rows, len(cells)).counts
    mass = np.array([case.masses[cell] / sum(case.masses) for cell in cells])
    logs = gammaln(databases.rows + 1) - gammaln(few + 1).sum(axis=1) + xlogy(few, mass).sum(axis=1)
    counts = np.zeros((len(few), databases.kinds), np.int64)
    counts[:, cells] = few
    return databases.index(counts), np.exp(logs)


class _Rows:
    """Sparse constraints "sum <= bound", written block by block."""

    def __init__(self) -> None:
        self.parts: list[list[np.ndarray]] = [[], [], []]
        self.bounds: list[np.ndarray] = []
        self.count = 0

    def add(self, count: int, bound: float, *entries: tuple[Any, Any, Any]) -> None:
        """``count`` rows with entries (row, column, value), each broadcast."""
        for row, column, value in entries:
            for part, values in zip(self.parts, np.broadcast_arrays(row, column, value), strict=True):
                part.append(values.ravel() + (self.count if part is self.parts[0] else 0))
        self.bounds.append(np.full(count, bound))
        self.count += count

    def matrix(self, variables: int) -> csr_matrix:
        """All rows."""
        row, column, value = (np.concatenate(part) for part in self.parts)
        return coo_matrix((value.astype(float), (row, column)), (self.count, variables)).tocsr()


class _Common:
    """Pure privacy under REPLACE_ONE, with a variable for each hypothesis and n - 1 common rows."""

    def __init__(
        self,
        databases: Databases,
        group: list[Symmetry],
        place: np.ndarray,
        rows: _Rows,
        variables: int,
        factor: float,
        delta: float,
    ):
        self.families, h = databases.families, place.shape[1]
        number, kinds = self.families.shape
        low, lows = _orbits(databases.without_a_row, group, _all(number, h))
        ends = np.stack([np.broadcast_to(low.reshape(number, 1, h), (number, kinds, h)), place[self.families]], axis=-1)
        kept, self.row = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
        at, (low, full) = np.arange(len(kept)), kept.T
        rows.add(len(kept), 0.0, (at, variables + low, 1.0), (at, full, -1.0))
        rows.add(len(kept), 0.0, (at, full, 1.0), (at, variables + low, -factor))
        self.variables, self.shape = variables + lows, (number, kinds, h)

    def multipliers(self, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of pairs of neighbors: what a database owes is divided among the others as they are owed."""
        row, copies = self.row.ravel(), np.bincount(self.row.ravel())
        above, below = ((part / copies)[row].reshape(self.shape) for part in np.split(duals, 2))
        total = above.sum(axis=1, keepdims=True)
        parts = np.divide(above, total, out=np.zeros_like(above), where=total > 0)
        flow = below[:, :, None] * parts[:, None]
        return _positive(self.families, flow)


class _Pairs:
    """Privacy with a constraint for each pair of neighbors, for every delta and relation."""

    def __init__(
        self,
        databases: Databases,
        group: list[Symmetry],
        place: np.ndarray,
        rows: _Rows,
        variables: int,
        factor: float,
        delta: float,
    ):
        self.pairs, h = databases.pairs, place.shape[1]
        members = np.concatenate([np.repeat(self.pairs, h, 0), np.tile(np.arange(h), len(self.pairs))[:, None]], axis=1)
        self.row, count = _orbits(databases, group, members)
        self.variables, self.hypotheses = variables, h
        first = np.zeros(count, np.int64)
        first[self.row] = np.arange(len(members))
        source, neighbor = (place[members[first, side], members[first, 2]] for side in range(2))
        at = np.arange(count)
        rows.add(count, 0.0, (at, source, 1.0), (at, neighbor, -factor))
        if delta > 0:
            rows.add(0, 0.0, (at - count, variables + at, -1.0))
            sums = np.unique(np.sort(self.row.reshape(-1, h), axis=1), axis=0)
            rows.add(len(sums), delta, (np.arange(len(sums))[:, None], variables + sums, 1.0))
            self.variables += count

    def multipliers(self, duals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of pairs of neighbors."""
        copies = np.bincount(self.row)
        flow = (duals[: len(copies)] / copies)[self.row]
        keep = np.flatnonzero(flow)
        pair, hypothesis = np.divmod(keep, self.hypotheses)
        return np.column_stack([self.pairs[pair], hypothesis]), flow[keep]


def _positive(families: np.ndarray, flow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive flows ``[R, from, to, h]`` between different databases."""
    family, source, neighbor, hypothesis = np.nonzero(flow)
    keep = source != neighbor
    family, source, neighbor, hypothesis = (part[keep] for part in (family, source, neighbor, hypothesis))
    pairs = np.column_stack([families[family, source], families[family, neighbor], hypothesis])
    return pairs, flow[family, source, neighbor, hypothesis]


def _all(size: int, h: int) -> np.ndarray:
    return np.stack(np.divmod(np.arange(size * h), h), axis=1)


def _orbits(databases: Databases, group: list[Symmetry], members: np.ndarray) -> tuple[np.ndarray, int]:
    """``members``: rows of database numbers followed by a hypothesis. (The orbit of each row, the number of orbits.)"""
    least = np.full(len(members), np.iinfo(np.int64).max)
    for symmetry in group:
        places, code = databases.permuted(symmetry.cells), np.zeros(len(members), np.int64)
        for column in members.T[:-1]:
            code = code * databases.size + places[column]
        np.minimum(least, code * len(symmetry.hypotheses) + symmetry.hypotheses[members[:, -1]], out=least)
    kept, orbit = np.unique(least, return_inverse=True)
    return orbit.ravel(), len(kept)
