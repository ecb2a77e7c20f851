"""Learning a convex polygon by a private set cover of its complement."""

from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np

from dpjax.concepts.polygons import ConvexPolygons
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.members import implements
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.learners.covering import CoveringPlane
from dpjax.learners.samples import Pairs, database
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Kinematic, LineMeasure
from dpjax.mechanisms.cover.lines.rejection import Performance
from dpjax.mechanisms.cover.plan import CoverPlan, cover_plan
from dpjax.mechanisms.cover.score import Gain, Saturating, Scoring
from dpjax.theory.edges import EdgeMargin

_KINEMATIC, _PERFORMANCE, _GAIN = Kinematic(), Performance(), Gain()
_SPARE_ROUNDS, _FOLLOW = 2, 0.9


@dataclass(frozen=True)
class PolygonLearner(CoveringPlane):
    """Set cover by halfplanes: each round selects one that excludes many negatives and few or no positives.

    The excluded rows are removed; the polygon is the set that no halfplane excludes, with at most ``rounds`` edges.
    There are two kinds of plans, of the same privacy. By default the score is `Gain`, with edges + 2 rounds and a
    measure that follows the polygon: these numbers were chosen by measurements and err less than those with ``k``, and
    **no theorem has a sample size for them**; docs/gallery/dp-sgd.md has their errors. With ``k`` the score, the
    rounds and the measure are those of the theorem.

    Args:
      rounds, noisy: see `Covering`; noisy counts need a score that uses them.
      concepts: convex polygons; their number of edges decides the rounds without ``k``, and is the least ``k`` that
        `sample_size` accepts.
      k: the largest number of edges of a target that the theorem covers; None for no theorem.
      measure: the base measure on lines.
      family: the base family of halfplanes on the concepts' lattice. None for all halfplanes under ``measure``.
      performance: of the sampler of the default family; affects time only.
      score: None for `Gain`, or `Saturating` with this k if there is one.
      follow: of the default family, see `HalfPlanes`; None for 0.9, or 0 if there is a k or the measure has no mass.
      margin: of the edges of the targets that the theorem is for; None for all targets and all distributions.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: all rounds together, by the stopping game.
    Utility: with ``k``, `theory.set_cover.realizable` for targets of at most k edges, at the cost `HalfPlanes.size`, or
      with ``margin`` at that of `EdgeMargin`.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 4
      and Theorem 4.8, Claim 4.4, with accounting of our own; the default score and measure are derived here.
    """

    concepts: ConvexPolygons
    rounds: int | None = None
    k: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False
    measure: LineMeasure = _KINEMATIC
    family: Family | None = None
    performance: Performance = _PERFORMANCE
    score: Scoring | None = None
    follow: float | None = None
    margin: EdgeMargin | None = None
    what: ClassVar[str] = "halfplanes on a grid of side {0.d}"
    targets: ClassVar[str] = "halfplanes"
    runs: ClassVar[tuple[str, ...]] = (*CoveringPlane.runs, "dpjax.mechanisms.cover.Following")

    def __post_init__(self):
        usual = (self.measure, self.performance, self.follow) == (_KINEMATIC, _PERFORMANCE, None)
        self.check(ConvexPolygons, 1, usual, "measure, performance or follow")
        if self.noisy and not self.scoring.counts:
            raise InputError("noisy", "False for a score without counts", "True", "give k, the edges of a target")

        if self.margin is not None and self.k is None:
            raise InputError("margin", "None without k, since no theorem uses it", repr(self.margin), "give k")

    @property
    def cost(self) -> tuple[float, float]:
        """See `Covering.cost`; that of the edges' margin, if there is one."""
        return super().cost if self.margin is None else (self.margin.functions(self.functions), self.margin.missed)

    @property
    def assumes(self) -> str:
        """The margin."""
        return "" if self.margin is None else repr(self.margin)

    @property
    def scoring(self) -> Scoring:
        """The score of the rounds."""
        return self.score or (_GAIN if self.k is None else Saturating(self.k))

    @property
    def members(self) -> int:
        """The number of edges of a target, k."""
        return self.k or self.concepts.edges

    @property
    def functions(self) -> Any:
        """The base family of halfplanes."""
        if self.family is not None:
            return self.family
        sizes, follow = self.performance, self.follow
        if follow is None:
            follow = _FOLLOW if self.k is None and implements(self.measure, LineMeasure.mass) else 0.0
        walls = min(sizes.walls, sizes.bins)
        counts = sizes.slabs, sizes.bins, sizes.spare, walls
        return HalfPlanes(self.concepts.d, self.measure, *counts, follow=follow)

    @property
    def likely_rounds(self) -> int:
        """The number of rounds, or the planner's for alpha = 0.1."""
        if self.rounds is None and self.k is None:
            return self.concepts.edges + _SPARE_ROUNDS
        return super().likely_rounds

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> CoverPlan:
        """The largest coefficient that the budget allows, for edges + 2 rounds, or with k those of `Covering.plan`.

        Rounds given are kept. n is not used.
        """
        if self.k is not None and self.scoring == Saturating(self.k):
            return super()._plan(privacy, accuracy, n)
        offset = self.offset(self.likely_rounds, accuracy)
        return cover_plan(
            privacy, self.likely_rounds, self.members, self.neighboring, self.variant, offset, self.scoring
        )

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`CoveringPlane.sample_size`; NoTheoremError without ``k``, for a k below the class's number of edges, or
        for another score than `Saturating` with this k.
        """
        edges = self.concepts.edges
        advice = f"give k={edges} and no score for the plan of the theorem, or measure n*"
        if self.k is None:
            raise NoTheoremError("k", "a number of edges: the plan without k has no theorem", "None", advice)
        if self.k < edges:
            expected = f"at least {edges}: the theorem is for targets of at most k edges"
            raise NoTheoremError("k", expected, str(self.k), f"{advice}; or use a class of {self.k} edges")
        if self.scoring != Saturating(self.k):
            raise NoTheoremError("score", "None: no theorem is for another score", repr(self.scoring), advice)
        return super()._sample_size(privacy, accuracy)

    def hard_neighbors(self, rows: int) -> Pairs:
        """Those of all learners of shapes; and rows in one place, which are just worth excluding, one relabeled."""
        pairs = super().hard_neighbors(rows)
        targets = ceil((rows - 1) * self._worth / (1 + self._worth))
        places, labels = [(0, 0)] * rows, [self.concepts.label ^ (i >= targets) for i in range(rows - 1)]
        domain, label = self.concepts.domain, self.concepts.label
        near = [database(domain, places, np.array([*labels, last])) for last in (label, not label)]
        return [*pairs, *self.related([(near[0], near[1])], rows)]

    @property
    def _worth(self) -> float:
        """The number of targets that are worth one other row."""
        return self.scoring.lam
