"""Learning an AND or an OR of a few literals by a private set cover."""

from dataclasses import dataclass
from math import log

import numpy as np
from jax import Array

from dpjax.accounting.cover.table import CoverTable, cover_table
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.literals import OfLiterals
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import database, flipped_label_pairs, single_column
from dpjax.learners.covering import Covering
from dpjax.mechanisms.cover.literals import Literals
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.theory import set_cover as theory


@dataclass(frozen=True)
class ConjunctionLearner(Covering):
    """SetCoverLearner over literals: in each round one that contradicts many negatives and (nearly) no positives.

    What it contradicts is gone; the AND of all is returned. For disjunctions all is complemented: literals that many
    positives and few negatives satisfy, and their OR. What is returned has up to ``table.rounds`` literals.

    Args:
      concepts: conjunctions or disjunctions.
      table: of coefficients, from `accounting.set_cover_table.cover_table`: the rounds, k, the most literals of a
        target that the theorem is for, and the relation are in it.

    Privacy: (epsilon, delta) under the relation of the table, for every sample: the stopping game of all rounds.
    Utility: `theory.set_cover.realizable`, for targets of at most k literals.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 3,
      with the accounting corrected.
    """

    concepts: OfLiterals
    table: CoverTable

    def __post_init__(self):
        if not isinstance(self.concepts, OfLiterals):
            raise InputError(
                "concepts", "Conjunctions or Disjunctions", type(self.concepts).__name__, "use KLN for other classes"
            )

    @staticmethod
    def planned(
        concepts: OfLiterals,
        privacy: Privacy,
        accuracy: Accuracy,
        literals: int,
        neighboring: Neighboring = Neighboring.REPLACE_ONE,
        *,
        noisy: bool = False,
    ) -> "ConjunctionLearner":
        """For targets of at most ``literals`` literals, with `theory.set_cover.rounds_for` rounds, on the host.

        Its table has the one entry of this epsilon and delta: others are served by closed forms. noisy: publish counts;
        what is taken off them is what noise hardly exceeds, or late rounds would hit whatever they can.
        """
        rounds = theory.rounds_for(literals, checks.probability("alpha", float(accuracy.alpha)))
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), float(privacy.delta)
        checks.delta(delta, positive_for="planning")
        offset = log(4 * rounds / checks.probability("beta", float(accuracy.beta)))
        table = cover_table(rounds, literals, neighboring, delta, (epsilon,), noisy, offset=offset)
        return ConjunctionLearner(concepts, table)

    @property
    def passes(self) -> int:
        """How often the rows are gone through."""
        return self.table.rounds

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """One concept; an empty sample gives literals at random."""
        label = single_column(sample, "ConjunctionLearner")
        target, other = sample.mask & (label == self.concepts.label), sample.mask & (label != self.concepts.label)
        family, table = Literals(self.concepts.dimension, self.concepts.label), self.table
        chosen, _ = set_cover(key, family, sample.x, target, other, table.rounds, table.k, *self.budget(privacy))
        return Hypothesis.of(self.concepts.of_literals(chosen)[None])

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """All rounds together, over what one spends."""
        return self.promised(privacy, f"literals of {self.concepts.dimension} coordinates")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable`; InputError where the rounds are too few for alpha."""
        size = Literals(self.concepts.dimension, self.concepts.label).size
        return self.rows_needed(
            privacy, accuracy, size, theory.log_conjunctions(self.concepts.dimension, self.table.rounds)
        )

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one moved or relabelled; and rows that one literal separates, the last of them changed.

        Under ADD_OR_REMOVE_ONE the last row is missing instead.
        """
        checks.integer("rows", rows, 1)
        domain, hit = self.concepts.domain, self.concepts.label
        inside, outside = (domain.size - 2, domain.size - 1) if not hit else (1, 0)  # only v_0 tells them apart
        values = np.array([inside if i % 2 else outside for i in range(rows)], object)
        labels = np.where(values == inside, hit, not hit)
        values[-1], labels[-1] = outside, not hit
        pairs = flipped_label_pairs(domain, rows)
        base = database(domain, values, labels)
        for value, label in ((inside, hit), (inside, not hit), (outside, hit)):
            moved, relabelled = values.copy(), labels.copy()
            moved[-1], relabelled[-1] = value, label
            pairs.append((base, database(domain, moved, relabelled)))
        return self.related(pairs, rows)
