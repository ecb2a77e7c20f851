"""An upper bound on every private learner, verified in whole numbers.

Take weights of cases that add up to 1, and a number y >= 0 for each (database S, neighbor S', hypothesis h). A private
learner p has p(h|S) <= e^epsilon p(h|S') + u with the sum of u over h at most delta, so its worst success over the
cases is at most

    sum over S of max over h of c(S, h)  +  delta (sum over pairs S, S' of max over h of y(S, S', h)),
    c(S, h) = sum of weight Pr[S] over the cases for which h is good
              - sum over S' of y(S, S', h) + e^epsilon (sum over S' of y(S', S, h)).

This holds for all such numbers: nothing that the solver claims is trusted. A rational number above e^epsilon stands in
its place.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from math import comb

import numpy as np

from dpjax.attacks.optimum.cases import Case
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

_BITS = 128  # fractional bits of probabilities and of e^epsilon, each rounded upwards


@dataclass(frozen=True)
class Certificate:
    """Multipliers that prove a bound on the worst success over ``cases`` of every private learner of ``rows`` rows.

    Args:
      rows, neighboring, epsilon, delta: what "private" means; the floats themselves are meant, without rounding.
      cases: with one list of cells and of hypotheses. weights: of the cases, whole numbers >= 0, not all 0.
      counts: databases, ``int64[d, kinds]``, rows of each cell (and absent rows under ADD_OR_REMOVE_ONE).
      pairs: ``int64[r, 3]``, numbers of a database and a neighbor in ``counts``, and a hypothesis.
      flows: ``int64[r]``, whole numbers y >= 0, in units of 1 / scale.
    """

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
        """The bound, at most 1. InputError for multipliers that prove nothing."""
        databases = [tuple(map(int, row)) for row in self.counts]
        flows = [(*map(int, pair), int(flow)) for pair, flow in zip(self.pairs, self.flows, strict=True)]
        total = sum(self.weights)
        if len(self.weights) != len(self.cases) or total <= 0 or min(self.weights) < 0:
            raise _invalid("weights >= 0 of all cases, not all 0", str(total))
        factor, unit = exponential(self.epsilon, up=True), 1 << _BITS
        absent = self.neighboring is Neighboring.ADD_OR_REMOVE_ONE
        value: defaultdict[tuple[int, ...], list[int]] = defaultdict(lambda: [0] * len(self.cases[0].good))
        for case, weight in zip(self.cases, self.weights, strict=True):
            for database, chance in chances(case.masses, self.rows) if weight else ():
                mass = -(-chance * weight * unit * unit // (total * sum(case.masses) ** self.rows))
                row = value[database + (0,) * absent]
                for h in range(len(row)):
                    row[h] += mass * case.good[h]
        owed: defaultdict[tuple[int, int], int] = defaultdict(int)
        above = factor.numerator * unit // factor.denominator
        for one, other, h, flow in flows:
            if flow < 0 or not _are_neighbors(databases[one], databases[other], self.rows, absent):
                raise _invalid("numbers >= 0 of pairs of neighbors", f"{flow} of {databases[one]}, {databases[other]}")
            value[databases[one]][h] -= flow * unit * unit // self.scale
            value[databases[other]][h] += -(-flow * above * unit // self.scale)
            owed[one, other] = max(owed[one, other], flow)
        slack = Fraction(self.delta) * Fraction(sum(owed.values()), self.scale)
        return min(Fraction(sum(max(row) for row in value.values()), unit * unit) + slack, Fraction(1))


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
    for own in range(rows + 1 if mass else 1):
        for others, chance in chances(tuple(rest), rows - own):
            yield (own, *others), comb(rows, own) * mass**own * chance


def _are_neighbors(one: tuple[int, ...], other: tuple[int, ...], rows: int, absent: bool) -> bool:
    moved = sorted(b - a for a, b in zip(one, other, strict=True) if a != b)
    if moved != [-1, 1] or sum(one) != rows or min(one + other) < 0:
        return False
    return not absent or one[-1] != other[-1]


def _invalid(expected: str, given: str) -> InputError:
    return InputError("certificate", expected, given, "take the one that optimum returns")
