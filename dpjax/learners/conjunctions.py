"""Learning an AND or an OR of a few literals by a private set cover."""

from dataclasses import dataclass
from math import log

import numpy as np
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.literals import OfLiterals
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import database, flipped_label_pairs, single_column
from dpjax.learners.covering import Covering, check_numbers
from dpjax.mechanisms.cover.literals import Literals
from dpjax.mechanisms.cover.plan import CoverPlan
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.theory import set_cover as theory


@dataclass(frozen=True)
class ConjunctionLearner(Covering):
    """SetCoverLearner over literals: in each round one that contradicts many negatives and (nearly) no positives.

    What it contradicts is gone; the AND of all is returned. For disjunctions all is complemented: literals that many
    positives and few negatives satisfy, and their OR. What is returned has up to as many literals as rounds.

    Args:
      concepts: conjunctions or disjunctions.
      literals: k, the most literals of a target that the theorem is for.
      rounds: None for the planner's.
      neighboring: the relation.
      noisy: publish noisy counts, where otherwise exact ones are kept.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: the stopping game of all rounds.
    Utility: `theory.set_cover.realizable`, for targets of at most k literals.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Section 3,
      with the accounting corrected.
    """

    concepts: OfLiterals
    literals: int
    rounds: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False

    def __post_init__(self):
        if not isinstance(self.concepts, OfLiterals):
            raise InputError(
                "concepts", "Conjunctions or Disjunctions", type(self.concepts).__name__, "use KLN for other classes"
            )
        checks.integer("literals", self.literals, 1)
        check_numbers(self.rounds, None)

    @property
    def members(self) -> int:
        """The literals of a target."""
        return self.literals

    @property
    def passes(self) -> int:
        """How often the rows are gone through."""
        return self.likely_rounds

    def offset(self, rounds: int, accuracy: Accuracy) -> float:
        """What noise hardly exceeds, or late rounds would hit whatever they can."""
        return log(4 * rounds / checks.probability("beta", float(accuracy.beta)))

    def learn(self, key: Array, sample: Sample, plan: CoverPlan) -> Hypothesis:
        """One concept; an empty sample gives literals at random."""
        label = single_column(sample, "ConjunctionLearner")
        target, other = sample.mask & (label == self.concepts.label), sample.mask & (label != self.concepts.label)
        chosen, _ = set_cover(key, self._family, sample.x, target, other, plan)
        return Hypothesis.of(self.concepts.of_literals(chosen)[None])

    def guarantee(self, plan: CoverPlan) -> Guarantee:
        """All rounds together, over what one spends."""
        return self.promised(plan, f"literals of {self.concepts.dimension} coordinates")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.set_cover.realizable`; InputError where the rounds are too few for alpha."""
        plan = self.plan(privacy, accuracy)
        log_hypotheses = theory.log_conjunctions(self.concepts.dimension, plan.rounds)
        return self.rows_needed(plan, accuracy, self._family.size, log_hypotheses)

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

    @property
    def _family(self) -> Literals:
        return Literals(self.concepts.dimension, self.concepts.label)
