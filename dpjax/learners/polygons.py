"""Learning a convex polygon by a private set cover of the outside."""

from dataclasses import dataclass
from math import log

from jax import Array

from dpjax.accounting.cover.table import CoverTable, cover_table
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import single_column
from dpjax.learners.covering import Covering
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Kinematic, LineMeasure
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.theory import set_cover as theory
from dpjax.theory.halfplanes import line_cost

_KINEMATIC = Kinematic()
_WALLS = 64  # of a refined cell, or as many as it has bins


@dataclass(frozen=True)
class PolygonLearner(Covering):
    """SetCoverLearner over halfplanes: in each round one that excludes many negatives and (nearly) no positives.

    What is excluded is gone; what no halfplane excludes is the polygon, of up to ``table.rounds`` edges.

    Args:
      concepts: convex polygons; its edges are those of a target and matter to nothing that is learned.
      table: of coefficients, from `accounting.set_cover_table.cover_table`: rounds, k (the most edges of a target that
        the theorem is for) and the relation are in it.
      measure: the base measure on lines, static.
      slabs, bins, spare: of the sampler, see `mechanisms.cover.halfplanes`; they decide about time alone.

    Privacy: (epsilon, delta) under the relation of the table, for every sample: the stopping game of all rounds.
    Utility: `theory.set_cover.realizable` for targets of at most k edges, at the cost `theory.halfplanes.line_cost`.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 4,
      with the accounting corrected.
    """

    concepts: ConvexPolygons
    table: CoverTable
    measure: LineMeasure = _KINEMATIC
    slabs: int = 128
    bins: int = 256
    spare: int = 2048

    def __post_init__(self):
        _require_polygons(self.concepts)
        _ = self.family

    @staticmethod
    def planned(
        concepts: ConvexPolygons,
        privacy: Privacy,
        accuracy: Accuracy,
        neighboring: Neighboring = Neighboring.REPLACE_ONE,
        measure: LineMeasure = _KINEMATIC,
        *,
        noisy: bool = False,
    ) -> "PolygonLearner":
        """For targets of ``concepts.edges`` edges, with `theory.set_cover.rounds_for` rounds, on the host."""
        _require_polygons(concepts)
        rounds = theory.rounds_for(concepts.edges, checks.probability("alpha", float(accuracy.alpha)))
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), float(privacy.delta)
        checks.delta(delta, positive_for="planning")
        table = cover_table(rounds, concepts.edges, neighboring, delta, (epsilon,), noisy)
        return PolygonLearner(concepts, table, measure)

    @property
    def family(self) -> HalfPlanes:
        """What is chosen from."""
        d, walls = self.concepts.domain.coarse.d, min(_WALLS, self.bins)
        return HalfPlanes(d, self.measure, self.slabs, self.bins, self.spare, walls)

    @property
    def passes(self) -> int:
        """About how often the rows are gone through; loops that end when they end do badly in large batches."""
        return 32 * self.table.rounds

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """One polygon, ``concept`` of ``uint32[1, 5 rounds]``; an empty sample gives halfplanes at random."""
        label = single_column(sample, "PolygonLearner")
        target, other, table = sample.mask & ~label, sample.mask & label, self.table
        rows = self.concepts.domain.rounded(sample.x)
        cuts, _ = set_cover(key, self.family, rows, target, other, table.rounds, table.k, *self.budget(privacy))
        return Hypothesis.of(self.concepts.of_cuts(cuts)[None])

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """All rounds together, over what one spends."""
        return self.promised(privacy, f"halfplanes on a grid of side {self.concepts.d}")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable`; InputError where the rounds are too few for alpha."""
        d = self.concepts.domain.coarse.d
        cost = line_cost(d, type(self.measure).__name__.lower())
        hypotheses = self.table.rounds * log((d + 1.0) ** 4 + 2)
        return self.rows_needed(privacy, accuracy, cost, hypotheses)

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """`Covering.pairs_on_plane`."""
        return self.pairs_on_plane(self.concepts.domain, rows)


def _require_polygons(concepts: object) -> None:
    if not isinstance(concepts, ConvexPolygons):
        raise InputError("concepts", "ConvexPolygons", type(concepts).__name__, "use another learner for other classes")
