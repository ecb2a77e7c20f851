"""An upper bound on every private learner in the form of families, verified in whole numbers.

A family is a database T of n - 1 rows; its members are T + a for all kinds of rows a. A number z(T, a, h) for each
member and hypothesis proves of every epsilon-private learner p that

    sum over a of z(T, a, h) p(T + a, h) <= 0    if    e^epsilon (sum of the positive z) <= sum of the negative -z,

so its worst success over cases with weights of sum 1 is at most the sum over S of max over h of

    sum of weight Pr[S] over the cases for which h is good  -  sum over T and a with T + a = S of z(T, a, h).

With delta > 0 there is a number y(T, a, b, h) >= 0 for each ordered pair of members instead; z is as in `constraints`,
and delta times the sum over families and pairs of the largest y over h is added.

Proof: docs/proofs/best-learner.md. `FamilyCertificate.bound` compares and adds what is given, with a rational number
above e^epsilon, and trusts nothing that a solver claims.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.attacks.optimum.certificate import budget, chances, invalid, weighted_cases
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.core import checks
from dpjax.core.types import Neighboring

_UNIT = 52  # values are multiples of 2^-52
_ABOVE = 24  # e^epsilon is a multiple of 2^-24, rounded upwards
_SMALLEST, _LARGEST = 28, 52  # of `bits`
_CHUNK = 1 << 15  # families


@dataclass(frozen=True)
class FamilyCertificate:
    """Numbers that prove a bound on the worst success over ``cases`` of every private learner of ``rows`` rows.

    Args:
      goal: what a learner has to achieve. rows, epsilon, delta: of the learner, under REPLACE_ONE.
      cases: of the goal. weights: of the cases, whole numbers >= 0, not all 0.
      flows: ``int32[kinds, h, families]``, with delta > 0 ``int32[kinds, kinds, h, families]``, in units of 2^-bits, of
        the families that `Stencil` keeps, one of each orbit under the symmetries of the goal. The other families have
        the numbers of the one that they are mapped to, so that each family has some numbers that are checked: the bound
        does not depend on the symmetries.
      bits: in [28, 52].
    """

    goal: Goal
    rows: int
    epsilon: float
    delta: float
    cases: tuple[Case, ...]
    weights: tuple[int, ...]
    flows: np.ndarray
    bits: int

    @classmethod
    def of(
        cls,
        goal: Goal,
        rows: int,
        epsilon: float,
        delta: float,
        cases: tuple[Case, ...],
        weights: tuple[int, ...],
        flows: np.ndarray,
    ) -> "FamilyCertificate":
        """The certificate of flows in floating point: positive ones are rounded down, as far as the condition asks."""
        largest = float(np.abs(flows).max(initial=0)) or 1.0
        bits = int(np.clip(30 - np.ceil(np.log2(largest)), _SMALLEST, _LARGEST))
        limit = (1 << 31) - 1
        head = goal, rows, epsilon, delta, cases, weights
        if delta:
            limit = min(limit, _largest(bits, len(flows), epsilon))
            return cls(*head, np.clip(np.rint(flows * 2.0**bits), 0, limit).astype(np.int32), bits)
        whole = np.clip(np.floor(flows * 2.0**bits), -limit, limit).astype(np.int64)
        owed, most = np.maximum(whole, 0).sum(axis=0), _most(whole, epsilon)
        over = owed > most
        part = np.divide(most, owed, out=np.ones(owed.shape), where=over) * (1 - 2.0**-40)
        whole = np.where((whole > 0) & over, np.floor(whole * part).astype(np.int64), whole)
        return cls(*head, whole.astype(np.int32), bits)

    @property
    def neighboring(self) -> Neighboring:
        """REPLACE_ONE."""
        return Neighboring.REPLACE_ONE

    @cached_property
    def stencil(self) -> Stencil:
        """All families, and those that have numbers of their own."""
        return Stencil(Databases(self.rows, self.goal.cells), symmetries(self.goal), self.goal.sizes[0])

    def bound(self) -> Fraction:
        """The bound, at most 1. InputError for numbers that prove nothing.

        It is about learners of ``goal``, with ``rows``, ``epsilon`` and ``delta``: whoever was told of others has to
        compare these fields. All other fields are checked here.
        """
        budget(self.neighboring, self.rows, self.epsilon, self.delta)
        checks.integer("bits", self.bits, _SMALLEST, _LARGEST)
        total, weighted = weighted_cases(self.goal, self.cases, self.weights)
        databases, flows = self.stencil.databases, np.asarray(self.flows)
        kinds = databases.kinds
        shape = (kinds,) * (1 + (self.delta > 0)) + (self.goal.sizes[0], len(self.stencil.of_families.kept))
        if flows.shape != shape or flows.dtype != np.int32:
            raise invalid(f"int32{list(shape)} flows", f"{flows.dtype}{list(flows.shape)}")
        if self.delta and not 0 <= flows.min() <= flows.max() <= _largest(self.bits, kinds, self.epsilon):
            raise invalid("flows of at least 0 and at most 2^9 / (kinds^2 e^epsilon)", "others")
        if not self.delta and np.any(np.maximum(flows, 0).sum(axis=0, dtype=np.int64) > _most(flows, self.epsilon)):
            raise invalid("flows that a private learner cannot profit from", "larger positive ones in a family")
        value = np.zeros((databases.size, self.goal.sizes[0]), np.int64)
        for case, weight in weighted:
            drawn = list(chances(case.masses, self.rows))
            over = total * sum(case.masses) ** self.rows
            counts = np.array([database for database, _ in drawn], np.int64)
            masses = np.array([-(-(chance * weight << _UNIT) // over) for _, chance in drawn], np.int64)
            value[databases.index(counts)[:, None], np.flatnonzero(case.good)] += masses[:, None]
        owed = 0
        for members, numbers in self.of_all_families():
            if self.delta:
                owed += int(numbers.max(axis=2).sum())
                numbers = numbers.sum(axis=1) - _times(numbers.sum(axis=0), self.epsilon)
            for kind, places in enumerate(members.T):
                value[places] -= numbers[kind].T << (_UNIT - self.bits)
        most = value.max(axis=1)
        low = most & ((1 << 26) - 1)
        slack = Fraction(self.delta) * Fraction(owed, 1 << self.bits)
        return min(Fraction((int((most >> 26).sum()) << 26) + int(low.sum()), 1 << _UNIT) + slack, Fraction(1))

    def of_all_families(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Chunks of (members ``int64[r, kinds]``, numbers of databases, their flows ``int64[..., kinds, h, r]``)."""
        stencil, flows = self.stencil, np.asarray(self.flows, np.int64)
        orbits, smaller = stencil.of_families, stencil.databases.without_a_row.counts
        cells = np.array([symmetry.cells for symmetry in stencil.group])
        for start in range(0, len(smaller), _CHUNK):
            by, of = orbits.by[start : start + _CHUNK], orbits.of[start : start + _CHUNK]
            members = stencil.databases.members(smaller[start : start + _CHUNK])
            kind, hypothesis = cells[by].T[:, None], stencil.moved[by].T
            first = (kind[:, None],) if self.delta else ()
            yield members, flows[*first, kind, hypothesis, of]


def _factor(epsilon: float) -> int:
    """More than e^epsilon, in units of 2^-24."""
    factor = budget(Neighboring.REPLACE_ONE, 1, epsilon, 0.0)[0]
    return -(-(factor.numerator << _ABOVE) // factor.denominator)


def _most(flows: np.ndarray, epsilon: float) -> np.ndarray:
    """``int64[h, families]``: the largest sum of positive flows that the negative ones allow."""
    return (-np.minimum(flows, 0).sum(axis=0, dtype=np.int64) << _ABOVE) // _factor(epsilon)


def _times(numbers: np.ndarray, epsilon: float) -> np.ndarray:
    """At least e^epsilon times whole numbers of at most 38 bits, without a product of more than 62."""
    whole, rest = divmod(_factor(epsilon), 1 << _ABOVE)
    return numbers * whole - (-numbers * rest >> _ABOVE)


def _largest(bits: int, kinds: int, epsilon: float) -> int:
    """The largest flow of a pair for which the numbers of a database stay below 2^62 in units of 2^-52."""
    return (1 << (9 + bits + _ABOVE)) // (kinds**2 * _factor(epsilon))
