"""An upper bound on every private learner in the form of families, verified in whole numbers.

A family is a database T of n - 1 rows; its members are T + a for all kinds of rows a. A number z(T, a, h) for each
member and hypothesis proves of every epsilon-private learner p that

    sum over a of z(T, a, h) p(T + a, h) <= 0    if    e^epsilon (sum of the positive z) <= sum of the negative -z,

so its worst success over cases with weights of sum 1 is at most the sum over S of max over h of

    sum of weight Pr[S] over the cases for which h is good  -  sum over T and a with T + a = S of z(T, a, h).

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
    """Numbers that prove a bound on the worst success over ``cases`` of every epsilon-private learner of ``rows`` rows.

    Args:
      goal: what a learner has to achieve. rows, epsilon: of the learner, under REPLACE_ONE with delta = 0.
      cases: of the goal. weights: of the cases, whole numbers >= 0, not all 0.
      flows: ``int32[kinds, h, families]``, in units of 2^-bits, of the families that `Stencil` keeps, one of each orbit
        under the symmetries of the goal. The other families have the numbers of the one that they are mapped to, so
        that each family has some numbers that are checked: the bound does not depend on the symmetries.
      bits: in [28, 52].
    """

    goal: Goal
    rows: int
    epsilon: float
    cases: tuple[Case, ...]
    weights: tuple[int, ...]
    flows: np.ndarray
    bits: int

    @classmethod
    def of(
        cls, goal: Goal, rows: int, epsilon: float, cases: tuple[Case, ...], weights: tuple[int, ...], flows: np.ndarray
    ) -> "FamilyCertificate":
        """The certificate of flows in floating point: positive ones are rounded down, as far as the condition asks."""
        largest = float(np.abs(flows).max(initial=0)) or 1.0
        bits = int(np.clip(30 - np.ceil(np.log2(largest)), _SMALLEST, _LARGEST))
        limit = (1 << 31) - 1
        whole = np.clip(np.floor(flows * 2.0**bits), -limit, limit).astype(np.int64)
        owed, most = np.maximum(whole, 0).sum(axis=0), _most(whole, epsilon)
        over = owed > most
        part = np.divide(most, owed, out=np.ones(owed.shape), where=over) * (1 - 2.0**-40)
        whole = np.where((whole > 0) & over, np.floor(whole * part).astype(np.int64), whole)
        return cls(goal, rows, epsilon, cases, weights, whole.astype(np.int32), bits)

    @property
    def neighboring(self) -> Neighboring:
        """REPLACE_ONE."""
        return Neighboring.REPLACE_ONE

    @property
    def delta(self) -> float:
        """0."""
        return 0.0

    @cached_property
    def stencil(self) -> Stencil:
        """All families, and those that have numbers of their own."""
        return Stencil(Databases(self.rows, self.goal.cells), symmetries(self.goal), self.goal.sizes[0])

    def bound(self) -> Fraction:
        """The bound, at most 1. InputError for numbers that prove nothing.

        It is about learners of ``goal``, with ``rows`` and ``epsilon``: whoever was told of others has to compare these
        fields. All other fields are checked here.
        """
        budget(self.neighboring, self.rows, self.epsilon, self.delta)
        checks.integer("bits", self.bits, _SMALLEST, _LARGEST)
        total, weighted = weighted_cases(self.goal, self.cases, self.weights)
        databases, flows = self.stencil.databases, np.asarray(self.flows)
        shape = databases.kinds, self.goal.sizes[0], len(self.stencil.of_families.kept)
        if flows.shape != shape or flows.dtype != np.int32:
            raise invalid(f"int32{list(shape)} flows", f"{flows.dtype}{list(flows.shape)}")
        if np.any(np.maximum(flows, 0).sum(axis=0, dtype=np.int64) > _most(flows, self.epsilon)):
            raise invalid("flows that a private learner cannot profit from", "larger positive ones in a family")
        value = np.zeros((databases.size, self.goal.sizes[0]), np.int64)
        for case, weight in weighted:
            drawn = list(chances(case.masses, self.rows))
            over = total * sum(case.masses) ** self.rows
            counts = np.array([database for database, _ in drawn], np.int64)
            masses = np.array([-(-(chance * weight << _UNIT) // over) for _, chance in drawn], np.int64)
            value[databases.index(counts)[:, None], np.flatnonzero(case.good)] += masses[:, None]
        for members, numbers in self.of_all_families():
            for kind, places in enumerate(members.T):
                value[places] -= numbers[kind].T << (_UNIT - self.bits)
        most = value.max(axis=1)
        low = most & ((1 << 26) - 1)
        return min(Fraction((int((most >> 26).sum()) << 26) + int(low.sum()), 1 << _UNIT), Fraction(1))

    def of_all_families(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Chunks of (members ``int64[r, kinds]``, numbers of databases, and their flows ``int64[kinds, h, r]``)."""
        stencil, flows = self.stencil, np.asarray(self.flows, np.int64)
        orbits, smaller = stencil.of_families, stencil.databases.without_a_row.counts
        cells = np.array([symmetry.cells for symmetry in stencil.group])
        for start in range(0, len(smaller), _CHUNK):
            by, of = orbits.by[start : start + _CHUNK], orbits.of[start : start + _CHUNK]
            members = stencil.databases.members(smaller[start : start + _CHUNK])
            yield members, flows[cells[by].T[:, None, :], stencil.moved[by].T[None], of]


def _most(flows: np.ndarray, epsilon: float) -> np.ndarray:
    """``int64[h, families]``: the largest sum of positive flows that the negative ones allow."""
    factor, unit = budget(Neighboring.REPLACE_ONE, 1, epsilon, 0.0)[0], 1 << _ABOVE
    above = -(-factor.numerator * unit // factor.denominator)
    return -np.minimum(flows, 0).sum(axis=0, dtype=np.int64) * unit // above
