"""Learning a convex polygon by a private set cover of the outside."""

from dataclasses import dataclass
from math import log
from typing import Any

from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import single_column
from dpjax.learners.covering import Covering, check_numbers, check_planar
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Kinematic, LineMeasure
from dpjax.mechanisms.cover.lines.rejection import Performance
from dpjax.mechanisms.cover.plan import CoverPlan
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.theory.halfplanes import line_cost

_KINEMATIC, _PERFORMANCE = Kinematic(), Performance()


@dataclass(frozen=True)
class PolygonLearner(Covering):
    """SetCoverLearner over halfplanes: in each round one that excludes many negatives and (nearly) no positives.

    What is excluded is gone; what no halfplane excludes is the polygon, of up to as many edges as rounds.

    Args:
      concepts: convex polygons; nothing that is learned depends on their edges but the default of k.
      rounds: None for the planner's.
      k: the most edges of a target that the theorem is for; None for those of ``concepts``.
      neighboring: the relation.
      noisy: publish noisy counts, where otherwise exact ones are kept.
      measure: the base measure on lines.
      family: what is chosen from: halfplanes on the concepts' lattice. None for all of them, under ``measure``.
      performance: of the sampler of the default family; only time depends on it.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: the stopping game of all rounds.
    Utility: `theory.set_cover.realizable` for targets of at most k edges, at the cost `theory.halfplanes.line_cost`.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 4,
      with the accounting corrected.
    """

    concepts: ConvexPolygons
    rounds: int | None = None
    k: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False
    measure: LineMeasure = _KINEMATIC
    family: Family | None = None
    performance: Performance = _PERFORMANCE

    def __post_init__(self):
        if not isinstance(self.concepts, ConvexPolygons):
            raise InputError(
                "concepts", "ConvexPolygons", type(self.concepts).__name__, "use another learner for other classes"
            )
        check_numbers(self.rounds, self.k)
        if self.family is not None and (self.measure, self.performance) != (_KINEMATIC, _PERFORMANCE):
            raise InputError("family", "no measure or performance beside it", "both", "say it in the family")
        check_planar(self.functions, self.concepts.domain, 1)

    @property
    def members(self) -> int:
        """The edges of a target."""
        return self.k or self.concepts.edges

    @property
    def functions(self) -> Any:
        """The family that is chosen from."""
        if self.family is not None:
            return self.family
        sizes = self.performance
        walls = min(sizes.walls, sizes.bins)
        return HalfPlanes(self.concepts.domain.coarse.d, self.measure, sizes.slabs, sizes.bins, sizes.spare, walls)

    @property
    def passes(self) -> int:
        """About how often the rows are gone through; loops that end when they end do badly in large batches."""
        return 32 * self.likely_rounds

    def learn(self, key: Array, sample: Sample, plan: CoverPlan) -> Hypothesis:
        """One polygon, ``concept`` of ``uint32[1, 5 rounds]``; an empty sample gives halfplanes at random."""
        label = single_column(sample, "PolygonLearner")
        rows = self.concepts.domain.rounded(sample.x)
        cuts, _ = set_cover(key, self.functions, rows, sample.mask & ~label, sample.mask & label, plan)
        return Hypothesis.of(self.concepts.of_cuts(cuts)[None])

    def guarantee(self, plan: CoverPlan) -> Guarantee:
        """All rounds together, over what one spends."""
        return self.promised(plan, f"halfplanes on a grid of side {self.concepts.d}")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable`; InputError where the rounds are too few for alpha.

        A family of one's own is taken as finite, of ``size`` functions.
        """
        plan, d, family = self.plan(privacy, accuracy), self.concepts.domain.coarse.d, self.functions
        cost = line_cost(d, family.measure.name) if isinstance(family, HalfPlanes) else float(family.size)
        return self.rows_needed(plan, accuracy, cost, plan.rounds * log((d + 1.0) ** 4 + 2))

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """`Covering.pairs_on_plane`."""
        return self.pairs_on_plane(self.concepts.domain, rows)
