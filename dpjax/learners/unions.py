"""Learning a union of polygons by a private set cover of its inside."""

from dataclasses import dataclass, fields, replace
from math import ceil, floor, inf, log
from typing import Any, ClassVar

import numpy as np
from jax import Array

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.unions import Unions
from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import Number, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.covering import CoveringPlane
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.halfplanes import Planar
from dpjax.mechanisms.cover.plan import CoverPlan, cover_plan
from dpjax.mechanisms.cover.score import Saturating
from dpjax.mechanisms.cover.slabs.wedges import SlabWedges
from dpjax.mechanisms.cover.triangles.corners import MOST_ROWS
from dpjax.mechanisms.cover.triangles.pieces import Pieces
from dpjax.mechanisms.cover.triangles.triangles import Triangles
from dpjax.theory import set_cover as theory

_DIRECTIONS = 8
_ROWS = 110.0
"""epsilon n for the square of a number of rounds: measured on other shapes than those of docs/gallery/boundary.md."""
_NATS = 90.0
"""A round loses ln F / coefficient rows, so a complete family of more nats needs as many times the rows: at n = 6000,
epsilon = 1 six rounds err less than four on a ring at d = 2^16 - 1, where slab wedges have 121 nats, and more beside an
edge at d = 2^20 - 1, where they have 149 (docs/gallery/union-edges.md). `_ROWS` was measured at 80, d = 1023."""
_LARGEST_SIZE = 1e30  # of epsilon n
_FLOOR, _PART = 40, 8
"""Measured plans have so many nats, see `Saturating`, or more, up to half of ln F and an eighth of coefficient n / k:
at d = 1023 pieces that help have a weight of exp(-35) or more. A piece without rows has exp(-coefficient share), and
with nats near this exponent a draw takes longer on rows that no union fits (docs/gallery/slab-wedges.md)."""
_STEEPEST, _STEEPEST_OF_MANY, _FEW = np.float32(2.0), np.float32(1.0), 2
"""Coefficients of plans with a floor, at most: the second for more than two pieces with the theorem's floor. Beyond
them a draw may fill its table of boxes, and take hours, on rows with random labels: see
docs/proofs/slab-wedges.md#how-long-a-draw-takes."""
_ISLAND_NATS, _LARGEST_ISLAND = 15.0, 0.05
"""An island is removed whose rows, if they are uniform, are worth fewer nats than a piece of `Pieces` costs."""


@plan_type
class UnionPlan(CoverPlan):
    """A `CoverPlan` with ``islands``: connected parts of the union that are a smaller fraction of the square go."""

    islands: Number = np.float32(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()


@dataclass(frozen=True)
class UnionLearner(CoveringPlane):
    """Set cover by convex pieces: each round selects one with many positives and (nearly) no negatives.

    The covered rows are removed; the union of all pieces is returned, one per round. There are two kinds of plans, of
    the same privacy. While the rounds of `measured_rounds` are fewer than `theory.set_cover.rounds_for`, rounds and k
    are measured ones, and small parts of the union that are not connected to the rest are removed: these numbers err
    least in measurements (docs/gallery/boundary.md). Otherwise they are those of the formulas, and all pieces are kept.

    **The default family has a sample size for every distribution.** It is `SlabWedges`, with edges on all lines of the
    lattice, and beside them `Pieces`, triangles and rectangles of few directions, with half of the measure each. A
    selection takes some tenths of a second at 2000 rows, more for more rows, larger budgets and finer grids, and the
    program from ten seconds to some minutes to compile. Plans have a floor of the score, which bounds the expected time
    for every sample.

    ``family=Pieces(d)`` is for thousands of trials, and for more than 2**20 rows: a selection takes some hundredths of
    a second. Its lines are finitely many, so an edge of a target is off by up to one strip and one direction: where all
    rows lie next to the edge, half of them may be wrong however many there are (docs/gallery/union-edges.md), and
    `sample_size` is a NoTheoremError. On uniform rows it errs little more (docs/gallery/union-shapes.md).

    Args:
      rounds, noisy: see `Covering`.
      concepts: unions of triangles; the number of pieces that the family needs for them is the default of k.
      k: the largest number of pieces of a target, None for that of ``concepts``.
      family: the base family on the concepts' lattice. None for ``SlabWedges(d, Pieces(d))``, or for `Triangles`, which
        have no sample size, if pieces have three edges: a wedge has four.
      estimate: of the number of rows that is public, for plans without one, such as under ADD_OR_REMOVE_ONE;
        privacy does not depend on it.
      islands: False keeps small parts of the union in all plans.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: all rounds together, by the stopping game.
    Utility: `theory.set_cover.realizable` for unions of at most k pieces, with a ``family`` that is ``complete``, such
      as the default. Otherwise measured.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 5,
      Theorems 1.4 and 5.1 with slab wedges (docs/proofs/slab-wedges.md); the pieces beside them, the accounting,
      measured rounds and islands are ours.
    """

    concepts: Unions
    rounds: int | None = None
    k: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False
    family: Family | None = None
    estimate: int | None = None
    islands: bool = True
    what: ClassVar[str] = "pieces on a grid of side {0.d}"
    targets: ClassVar[str] = "pieces of unions"

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Unions, "use another learner for other classes")
        most, edges = self.concepts.edges, self.functions.edges if isinstance(self.functions, Planar) else 0
        self.check(Unions, edges if 3 <= edges <= most else most)
        checks.whole_or_none("estimate", self.estimate, 1)

    @classmethod
    def candidates(cls, concepts: Any, k: int) -> "list[UnionLearner]":
        """The default, for its theorem, and `Pieces` alone, whose trials are quick."""
        usual = cls(concepts)
        return [usual, cls(concepts, family=Pieces(concepts.d))] if usual.functions.complete else [usual]

    @property
    def members(self) -> int:
        """The number of pieces of a target, k: as many as the family needs for the class."""
        return self.k or self._enough

    @property
    def _enough(self) -> int:
        parts = self.concepts.triangles
        return self.functions.enough(parts, self.concepts.polygons or parts)

    @property
    def functions(self) -> Any:
        """The base family of pieces."""
        if self.family is not None:
            return self.family
        d = self.concepts.d
        return Triangles(d, _DIRECTIONS) if self.concepts.edges == 3 else SlabWedges(d, Pieces(d))

    def _scaled(self, privacy: Privacy) -> float:
        """epsilon, for `measured_rounds` of epsilon n: of a complete family with more nats it is so much smaller."""
        nats = log(self.functions.size) if self.functions.complete else 0.0
        return float(privacy.epsilon) / max(1.0, nats / _NATS)

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> UnionPlan:
        """The measured rounds for n rows, while they are fewer than the theorem's, which are those of `Covering.plan`.

        n is used under REPLACE_ONE only, else ``estimate``. Rounds or a k that are given are kept. The measured rounds
        take few values, so that a sweep over n or epsilon compiles few programs. k is that of the rounds on any grid: a
        ring needs more than two pieces, and with k = 2 all of them are below the floor of the score at 6000 rows.
        """
        if self.family is None and n is not None and n > self.functions.most_rows:
            advice = f"give family=Pieces({self.concepts.d}), for up to {MOST_ROWS}"
            raise InputError("n", f"at most {self.functions.most_rows} rows for slab wedges", str(n), advice)
        rows = n if n is not None and self.neighboring is Neighboring.REPLACE_ONE else self.estimate
        rounds, k = self._of_theorem(accuracy)
        fewer = rounds
        if self.rounds is None and rows is not None:
            fewer = min(rounds, measured_rounds(self._scaled(privacy) * rows))
        short = fewer < rounds
        if short and rows is not None:
            usual = measured_rounds(float(privacy.epsilon) * rows)
            rounds, k = fewer, self.k or min(k, max(2, 1 + usual // 3))
        cover = self._cover(privacy, accuracy, rounds, k, rows, short)
        least = 0.0
        if short and self.islands and rows is not None:
            worth = float(cover.coefficient) * rows  # of the whole square, in nats
            least = min(_ISLAND_NATS / worth, _LARGEST_ISLAND) if worth > 0 else _LARGEST_ISLAND
        return UnionPlan(
            **{field.name: getattr(cover, field.name) for field in fields(cover)}, islands=np.float32(least)
        )

    def _learn(self, key: Array, sample: Sample, plan: Any) -> Hypothesis:
        """One concept, encoded with one piece per round; an empty sample gives random pieces."""
        return self.concepts.without_islands(super()._learn(key, sample, plan), plan.islands)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable` with the theorem's numbers, and so many rows that they are what runs.

        NoTheoremError for a family that is not complete, such as `Pieces`, for a k below the number of pieces of the
        class, and for an estimate that is too small for these numbers, in case no n is given.
        """
        self.require_complete()
        pieces = self._enough
        if self.members < pieces:
            expected = f"at least {pieces}: the theorem is for targets of at most k pieces"
            advice = f"leave it out for the theorem, or use a class of {self.members} pieces"
            raise NoTheoremError("k", expected, str(self.members), advice)
        rounds, k = self._of_theorem(accuracy)
        rows = self.theorem(self._cover(privacy, accuracy, rounds, k), accuracy)
        if self.rounds is not None:
            return rows
        least = rows_of_rounds(rounds, self._scaled(privacy))
        if self.estimate is not None and self.estimate < least:
            raise NoTheoremError(
                "estimate", f"None, or {least} or more", str(self.estimate), "leave it out for the theorem"
            )
        return max(rows, least)

    def _cover(
        self, privacy: Privacy, accuracy: Accuracy, rounds: int, k: int, rows: int | None = None, short: bool = False
    ) -> CoverPlan:
        """With a floor of the score for a family that needs one: the theorem's from its number of rows on.

        short: whether there are fewer rows, since the rounds are fewer; this number takes longer than the plan."""
        plan = cover_plan(privacy, rounds, k, self.neighboring, self.variant, self.offset(rounds, accuracy))
        if not self.functions.floored:
            return plan
        nats = _FLOOR
        if self.functions.complete:
            measured = rows is not None and (short or rows < self._least(privacy, accuracy))
            steepest = _STEEPEST if measured or k <= _FEW else _STEEPEST_OF_MANY
            plan = replace(plan, coefficient=np.minimum(plan.coefficient, steepest))
            numbers = (float(number) for number in (plan.coefficient, accuracy.beta, plan.scale, plan.offset))
            nats = theory.nats_for(self.functions.size, k, rounds, *numbers)
            if measured and rows is not None:
                most = float(plan.coefficient) * rows / (_PART * k)
                nats = min(nats, max(_FLOOR, floor(min(most, ceil(log(self.functions.size) / 2)))))
        return replace(plan, score=Saturating(k, nats))

    def _least(self, privacy: Privacy, accuracy: Accuracy) -> float:
        try:
            return self._sample_size(privacy, accuracy)
        except NoTheoremError:
            return inf

    def _of_theorem(self, accuracy: Accuracy) -> tuple[int, int]:
        rounds = theory.rounds_for(self.members, float(accuracy.alpha)) if self.rounds is None else self.rounds
        return rounds, self.members


def measured_rounds(size: float) -> int:
    """The largest of 2, 3, 4, 6, 8, 12, 16, ... that is at most sqrt(size / 110), size = epsilon n; at least 2.

    More rounds fit a shape better, and each is noisier. `UnionLearner` divides size by ln F / 90 for a complete family
    of more than 90 nats, such as `SlabWedges` from d = 2^12 on.
    """
    rounds, size = 2, min(size, _LARGEST_SIZE)
    while _ROWS * _next(rounds) ** 2 <= size:
        rounds = _next(rounds)
    return rounds


def rows_of_rounds(rounds: int, epsilon: float) -> int:
    """A number of rows from which on `measured_rounds` of epsilon n are at least ``rounds``."""
    reached = 2
    while reached < rounds:
        reached = _next(reached)
    rows = 1 if reached == 2 else ceil(_ROWS * reached**2 / epsilon)
    while measured_rounds(epsilon * rows) < rounds:  # rounding, by a unit in the last place of a float
        rows += max(1, rows >> 53)
    return rows


def _next(rounds: int) -> int:
    """The number after one of 2, 3, 4, 6, 8, 12, ..."""
    return rounds * 3 // 2 if rounds & (rounds - 1) == 0 else rounds * 4 // 3
