"""Learning a union of polygons by a private set cover of the inside."""

from dataclasses import dataclass
from math import log

from jax import Array

from dpjax.accounting.cover.table import CoverTable, cover_table
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.unions import Unions
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import single_column
from dpjax.learners.covering import Covering
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.mechanisms.cover.triangles.triangles import Triangles
from dpjax.theory import set_cover as theory


@dataclass(frozen=True)
class UnionLearner(Covering):
    """SetCoverLearner over triangles: in each round one that holds many positives and (nearly) no negatives.

    What it holds is gone; the union of all is returned, ``table.rounds`` triangles.

    Args:
      concepts: unions of triangles; their number is that of a target and matters to nothing that is learned.
      table: of coefficients, from `accounting.set_cover_table.cover_table`: rounds, k (the most triangles of a target
        that the theorem is for) and the relation are in it.
      directions, bins: the finite set of lines, see `mechanisms.cover.triangles.Triangles`. A triangle costs
        ln(C(directions, 3) (2 bins)^3) nats; edges are off by up to a strip and a direction.

    Privacy: (epsilon, delta) under the relation of the table, for every sample: the stopping game of all rounds.
    Utility: `theory.set_cover.realizable` for unions of at most k triangles of the family. For others there is no bound
      that holds for all distributions.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 5,
      with the accounting corrected and a finite family.
    """

    concepts: Unions
    table: CoverTable
    directions: int = 12
    bins: int = 16

    def __post_init__(self):
        _require_unions(self.concepts)
        _ = self.family

    @staticmethod
    def planned(
        concepts: Unions,
        privacy: Privacy,
        accuracy: Accuracy,
        neighboring: Neighboring = Neighboring.REPLACE_ONE,
        *,
        noisy: bool = False,
    ) -> "UnionLearner":
        """For targets of ``concepts.triangles``, with `theory.set_cover.rounds_for` rounds, on the host."""
        _require_unions(concepts)
        rounds = theory.rounds_for(concepts.triangles, checks.probability("alpha", float(accuracy.alpha)))
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), float(privacy.delta)
        checks.delta(delta, positive_for="planning")
        return UnionLearner(concepts, cover_table(rounds, concepts.triangles, neighboring, delta, (epsilon,), noisy))

    @property
    def family(self) -> Triangles:
        """What is chosen from."""
        return Triangles(self.concepts.domain.coarse.d, self.directions, self.bins)

    @property
    def passes(self) -> int:
        """About how often the rows are gone through: once for each three directions and round."""
        return len(self.family.triples()) * self.table.rounds

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """One union, ``concept`` of ``uint32[1, 15 rounds]``; an empty sample gives triangles at random."""
        label = single_column(sample, "UnionLearner")
        target, other, table = sample.mask & label, sample.mask & ~label, self.table
        rows = self.concepts.domain.rounded(sample.x)
        found, _ = set_cover(key, self.family, rows, target, other, table.rounds, table.k, *self.budget(privacy))
        return Hypothesis.of(self.concepts.of_cuts(found)[None])

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """All rounds together, over what one spends."""
        return self.promised(privacy, f"triangles on a grid of side {self.concepts.d}")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable`; InputError where the rounds are too few for alpha."""
        size = float(self.family.size)
        return self.rows_needed(privacy, accuracy, size, self.table.rounds * log(size))

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """`Covering.pairs_on_plane`."""
        return self.pairs_on_plane(self.concepts.domain, rows)


def _require_unions(concepts: object) -> None:
    if not isinstance(concepts, Unions):
        raise InputError("concepts", "Unions", type(concepts).__name__, "use another learner for other classes")
