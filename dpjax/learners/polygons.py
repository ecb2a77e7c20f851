"""Learning a convex polygon by a private set cover of the outside."""

from dataclasses import dataclass
from math import log

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import checks
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.set_cover_table import CoverTable, cover_table
from dpjax.checks import InputError
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.learners.base import database, flipped_label_pairs, single_column
from dpjax.mechanisms.cover.coefficient import CoverBudget, coefficient_at, cover_guarantee
from dpjax.mechanisms.cover.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.measures import Kinematic, LineMeasure
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.theory import set_cover as theory
from dpjax.theory.halfplanes import line_cost
from dpjax.types import Goal, Neighboring, Privacy, Sample, at_most

_KINEMATIC = Kinematic()


@dataclass(frozen=True)
class PolygonLearner:
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
        goal: Goal,
        neighboring: Neighboring = Neighboring.REPLACE_ONE,
        measure: LineMeasure = _KINEMATIC,
        *,
        noisy: bool = False,
    ) -> "PolygonLearner":
        """For targets of ``concepts.edges`` edges, with `theory.set_cover.rounds_for` rounds, on the host."""
        _require_polygons(concepts)
        rounds = theory.rounds_for(concepts.edges, checks.probability("alpha", float(goal.alpha)))
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), float(privacy.delta)
        checks.delta(delta, positive_for="planning")
        table = cover_table(rounds, concepts.edges, neighboring, delta, (epsilon,), noisy)
        return PolygonLearner(concepts, table, measure)

    @property
    def family(self) -> HalfPlanes:
        """What is chosen from."""
        return HalfPlanes(self.concepts.d, self.measure, self.slabs, self.bins, self.spare)

    @property
    def passes(self) -> int:
        """About how often the rows are gone through; loops that end when they end do badly in large batches."""
        return 32 * self.table.rounds

    @property
    def neighboring(self) -> Neighboring:
        """The relation of the table."""
        return self.table.neighboring

    def learn(self, key: Array, sample: Sample, privacy: Privacy, goal: Goal) -> Hypothesis:
        """One polygon, ``concept`` of ``uint32[1, 5 rounds]``; an empty sample gives halfplanes at random."""
        label = single_column(sample, "PolygonLearner")
        target, other, table = sample.mask & ~label, sample.mask & label, self.table
        rows = sample.x.astype(jnp.int32)
        cuts, _ = set_cover(key, self.family, rows, target, other, table.rounds, table.k, *self.budget(privacy))
        return Hypothesis.of(self.concepts.of_cuts(cuts)[None])

    def budget(self, privacy: Privacy) -> CoverBudget:
        """The numbers of all rounds, traced."""
        return coefficient_at(self.table, privacy)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[n, 1]``."""
        return self.concepts.predict(hypothesis, x)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """All rounds together, over what one spends."""
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), checks.delta(float(privacy.delta))
        what = f"set cover, {self.table.rounds} halfplanes on a grid of side {self.concepts.d}"
        return cover_guarantee(self.table, epsilon, delta, what)

    def sample_size(self, privacy: Privacy, goal: Goal) -> int:
        """`theory.set_cover.realizable`; InputError where the rounds are too few for alpha."""
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), checks.delta(float(privacy.delta))
        traced = Privacy(at_most(epsilon), at_most(delta))
        budget = jax.jit(self.budget)(traced)
        cost = line_cost(self.concepts.d, type(self.measure).__name__.lower())
        hypotheses = self.table.rounds * log((self.concepts.d + 1.0) ** 4 + 2)
        return theory.realizable(
            cost, hypotheses, self.table.k, self.table.rounds, float(budget.coefficient), float(goal.alpha),
            float(goal.beta), float(budget.scale), float(budget.offset),
        )  # fmt: skip

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one moved or relabelled; and rows on both sides of a line, one of them relabelled.

        Under ADD_OR_REMOVE_ONE the last row is missing instead.
        """
        checks.integer("rows", rows, 1)
        domain, d = self.concepts.domain, self.concepts.d
        values = [(0, 0) if i % 2 else (d, d) for i in range(rows)]
        labels = np.array([i % 2 for i in range(rows)])
        other = labels.copy()
        other[-1] = 1 - other[-1]
        pairs = [
            *flipped_label_pairs(domain, rows),
            (database(domain, values, labels), database(domain, values, other)),
        ]
        if self.neighboring is Neighboring.REPLACE_ONE:
            return pairs
        present = jnp.arange(rows) < rows - 1
        return [(one, Sample(one.x, one.y, present)) for pair in pairs for one in pair]


def _require_polygons(concepts: object) -> None:
    if not isinstance(concepts, ConvexPolygons):
        raise InputError("concepts", "ConvexPolygons", type(concepts).__name__, "use another learner for other classes")
