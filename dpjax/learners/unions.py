"""Learning a union of polygons by a private set cover of the inside."""

from dataclasses import dataclass
from math import comb, log
from typing import Any

from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.unions import Unions
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import single_column
from dpjax.learners.covering import Covering, check_numbers, check_planar
from dpjax.mechanisms.cover.family import Family
from dpjax.mechanisms.cover.plan import CoverPlan
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.mechanisms.cover.triangles.triangles import Triangles

_DIRECTIONS, _BINS = 12, 16


@dataclass(frozen=True)
class UnionLearner(Covering):
    """SetCoverLearner over triangles: in each round one that holds many positives and (nearly) no negatives.

    What it holds is gone; the union of all is returned, one triangle a round.

    Args:
      concepts: unions of triangles; nothing that is learned depends on their number but the default of k.
      rounds: None for the planner's.
      k: the most triangles of a target that the theorem is for; None for those of ``concepts``.
      neighboring: the relation.
      noisy: publish noisy counts, where otherwise exact ones are kept.
      directions, bins: the finite set of lines, see `mechanisms.cover.triangles.Triangles`. A triangle costs
        ln(C(directions, 3) (2 bins)^3) nats; edges are off by up to a strip and a direction.
      family: what is chosen from: triangles on the concepts' lattice. None for those of ``directions`` and ``bins``.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: the stopping game of all rounds.
    Utility: `theory.set_cover.realizable` for unions of at most k triangles of the family. For others there is no bound
      that holds for all distributions.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 5,
      with the accounting corrected and a finite family.
    """

    concepts: Unions
    rounds: int | None = None
    k: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False
    directions: int = _DIRECTIONS
    bins: int = _BINS
    family: Family | None = None

    def __post_init__(self):
        if not isinstance(self.concepts, Unions):
            raise InputError(
                "concepts", "Unions", type(self.concepts).__name__, "use another learner for other classes"
            )
        check_numbers(self.rounds, self.k)
        if self.family is not None and (self.directions, self.bins) != (_DIRECTIONS, _BINS):
            raise InputError("family", "no directions or bins beside it", "both", "say it in the family")
        check_planar(self.functions, self.concepts.domain, 3)

    @property
    def members(self) -> int:
        """The triangles of a target."""
        return self.k or self.concepts.triangles

    @property
    def functions(self) -> Any:
        """The family that is chosen from."""
        if self.family is not None:
            return self.family
        return Triangles(self.concepts.domain.coarse.d, self.directions, self.bins)

    @property
    def passes(self) -> int:
        """About how often the rows are gone through: once for each three directions and round."""
        return comb(self.directions, 3) * self.likely_rounds

    def learn(self, key: Array, sample: Sample, plan: CoverPlan) -> Hypothesis:
        """One union, ``concept`` of ``uint32[1, 15 rounds]``; an empty sample gives triangles at random."""
        label = single_column(sample, "UnionLearner")
        rows = self.concepts.domain.rounded(sample.x)
        found, _ = set_cover(key, self.functions, rows, sample.mask & label, sample.mask & ~label, plan)
        return Hypothesis.of(self.concepts.of_cuts(found)[None])

    def guarantee(self, plan: CoverPlan) -> Guarantee:
        """All rounds together, over what one spends."""
        return self.promised(plan, f"triangles on a grid of side {self.concepts.d}")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable`; InputError where the rounds are too few for alpha.

        A family of one's own is taken as finite too, of ``size`` functions.
        """
        plan, size = self.plan(privacy, accuracy), float(self.functions.size)
        return self.rows_needed(plan, accuracy, size, plan.rounds * log(size))

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """`Covering.pairs_on_plane`."""
        return self.pairs_on_plane(self.concepts.domain, rows)
