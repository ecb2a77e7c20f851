"""An upper bound on every private learner, verified in whole numbers.

Take weights of cases that add up to 1, and a number y >= 0 for each (database S, neighbor S', hypothesis h). A private
learner p has p(h|S) <= e^epsilon p(h|S') + u with the sum of u over h at most delta, so its worst success over the
cases is at most

    sum over S of max over h of c(S, h)  +  delta (sum over pairs S, S' of max over h of y(S, S', h)),
    c(S, h) = sum of weight Pr[S] over the cases for which h is good
              - sum over S' of y(S, S', h) + e^epsilon (sum over S' of y(S', S, h)).

This holds for all such numbers, so nothing that the solver claims is trusted: `Certificate.bound` checks that the
numbers are such numbers and that the cases are cases of the goal, and adds up what is given twice. A rational number
above e^epsilon stands in its place.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import comb
from operator import index
from typing import Any

import numpy as np

from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, require_relation

LARGEST_EPSILON = 16.0
SCALE = 1 << 52
_BITS = 128  # fractional bits of probabilities and of e^epsilon, each rounded upwards


@dataclass(frozen=True)
class Certificate:
    """Multipliers that prove a bound on the worst success over ``cases`` of every private learner of ``rows`` rows.

    Args:
      goal: what a learner has to achieve; see `bound`.
      rows, neighboring, epsilon, delta: what "private" means; the floats themselves are meant, without rounding.
      cases: of the goal. weights: of the cases, whole numbers >= 0, not all 0.
      counts: databases, ``int64[d, kinds]``, rows of each cell (and absent rows under ADD_OR_REMOVE_ONE).
      pairs: ``int64[r, 3]``, numbers of a database and a neighbor in ``counts``, and a hypothesis. Rows may repeat:
        their flows are added.
      flows: ``int64[r]``, whole numbers y >= 0, in units of 1 / scale. scale: a whole number, at least 1.
    """

    goal: Goal
    rows: int
    neighboring: Neighboring
    epsilon: float
    delta: float
    cases: tuple[Case, ...]
    weights: tuple[int, ...]
    counts: np.ndarray
    pairs: np.ndarray
    flows: np.ndarray
    scale: int

    def bound(self) -> Fraction:
        """The bound, at most 1. InputError for multipliers that prove nothing.

        It is about learners of ``goal``, with ``rows``, ``neighboring``, ``epsilon`` and ``delta``: whoever was told of
        others has to compare these fields. All other fields are checked here.
        """
        factor, delta = budget(self.neighboring, self.rows, self.epsilon, self.delta)
        scale, unit = checks.integer("scale", self.scale, 1), 1 << _BITS
        absent = self.neighboring is Neighboring.ADD_OR_REMOVE_ONE
        value: defaultdict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * self.goal.sizes[0])
        total, weighted = weighted_cases(self.goal, self.cases, self.weights)
        for case, weight in weighted:
            for database, chance in chances(case.masses, self.rows):
                mass = -(-chance * weight * unit * unit // (total * sum(case.masses) ** self.rows))
                row = value[database + (0,) * absent]
                for h in range(len(row)):
                    row[h] += mass * case.good[h]
        owed: defaultdict[tuple[tuple[int, ...], tuple[int, ...]], int] = defaultdict(int)
        above = factor.numerator * unit // factor.denominator
        for (first, second, h), flow in self._flows().items():
            value[first][h] -= flow * unit * unit // scale
            value[second][h] += -(-flow * above * unit // scale)
            owed[first, second] = max(owed[first, second], flow)
        slack = Fraction(delta) * Fraction(sum(owed.values()), scale)
        return min(Fraction(sum(max(row) for row in value.values()), unit * unit) + slack, Fraction(1))

    def _flows(self) -> dict[tuple[tuple[int, ...], tuple[int, ...], int], int]:
        """The sum of the flows of each database, neighbor and hypothesis."""
        absent = self.neighboring is Neighboring.ADD_OR_REMOVE_ONE
        databases = _whole("counts", self.counts, self.goal.cells + absent)
        pairs, flows = _whole("pairs", self.pairs, 3), _whole("flows", ((number,) for number in self.flows), 1)
        if len(pairs) != len(flows):
            raise invalid("a flow for each row of pairs", f"{len(flows)} flows of {len(pairs)} rows")
        totals: defaultdict[tuple[tuple[int, ...], tuple[int, ...], int], int] = defaultdict(int)
        for (number, other, h), (flow,) in zip(pairs, flows, strict=True):
            if not (0 <= min(number, other) <= max(number, other) < len(databases) and 0 <= h < self.goal.sizes[0]):
                most = f"numbers of {len(databases)} databases and {self.goal.sizes[0]} hypotheses"
                raise invalid(most, f"the pair {number}, {other} with hypothesis {h}")
            database, neighbor = databases[number], databases[other]
            if flow < 0 or not _are_neighbors(database, neighbor, self.rows, absent):
                raise invalid("numbers >= 0 of pairs of neighbors", f"{flow} of {database}, {neighbor}")
            totals[database, neighbor, h] += flow
        return totals


def budget(neighboring: Neighboring, rows: int, epsilon: float, delta: float) -> tuple[Fraction, float]:
    """(A rational number above e^epsilon, delta). InputError for what is no budget of a learner of some rows."""
    require_relation(neighboring)
    checks.integer("rows", rows, 1)
    if (epsilon := checks.epsilon(epsilon)) > LARGEST_EPSILON:
        raise InputError("epsilon", f"at most {LARGEST_EPSILON:g}", f"{epsilon:g}", "take a smaller one")
    return exponential(epsilon, up=True), checks.delta(delta)


def weighted_cases(goal: Goal, cases: tuple[Case, ...], weights: tuple[int, ...]) -> tuple[int, list[tuple[Case, int]]]:
    """(The sum of the weights, the cases with positive weights), each of them a case of the goal."""
    numbers = [value for (value,) in _whole("weights", ((value,) for value in weights), 1)]
    total = sum(numbers)
    if len(numbers) != len(cases) or total <= 0 or min(numbers) < 0:
        raise invalid("weights >= 0 of all cases, not all 0", f"{len(numbers)} weights of sum {total}")
    weighted = [(case, weight) for case, weight in zip(cases, numbers, strict=True) if weight]
    for case, _ in weighted:
        if case != goal.case(case.target, case.elements):
            raise invalid("cases of the goal", f"other masses or good hypotheses for {case}")
    return total, weighted


def whole_weights(weights: np.ndarray) -> tuple[int, ...]:
    """Weights as whole numbers, in units of 2^-52."""
    return tuple(int(weight * SCALE) for weight in weights)


def exponential(epsilon: float, up: bool) -> Fraction:
    """A multiple of 2^-128 at least e^epsilon, or at most e^epsilon if not ``up``; within 1e-30 of it, relatively."""
    with localcontext() as context:
        context.prec = 60
        context.rounding = ROUND_CEILING if up else ROUND_FLOOR
        value = Decimal(checks.number("epsilon", epsilon)).exp()  # rounded to nearest in every context
        value = value.next_plus() if up else value.next_minus()
    scaled = Fraction(value) * (1 << _BITS)
    return Fraction(-(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator) / (
        1 << _BITS
    )


def chances(masses: tuple[int, ...], rows: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every database with its probability in units of ``sum(masses)^rows``, where that is positive."""
    mass, *rest = masses
    if not rest:
        yield from [((rows,), mass**rows)] if mass or not rows else ()
        return
    for count in range(rows + 1 if mass else 1):
        for others, chance in chances(tuple(rest), rows - count):
            yield (count, *others), comb(rows, count) * mass**count * chance


def _are_neighbors(one: tuple[int, ...], other: tuple[int, ...], rows: int, absent: bool) -> bool:
    moved = sorted(b - a for a, b in zip(one, other, strict=True) if a != b)
    if moved != [-1, 1] or sum(one) != rows or min(one + other) < 0:
        return False
    return not absent or one[-1] != other[-1]


def _whole(name: str, rows: Iterable[Any], columns: int) -> list[tuple[int, ...]]:
    """Lists of ``columns`` whole numbers, each as a tuple of Python's integers."""
    try:
        tuples = [tuple(map(index, row)) for row in rows]
    except TypeError as error:
        raise invalid(f"whole numbers in {name}", str(error)) from None
    if wrong := next((row for row in tuples if len(row) != columns), None):
        raise invalid(f"rows of {columns} numbers in {name}", f"one of {len(wrong)}")
    return tuples


def invalid(expected: str, given: str) -> InputError:
    """An error about numbers that prove nothing."""
    return InputError("certificate", expected, given, "take the one that optimum returns")
