"""Learning a conjunction or a disjunction of few literals by a private set cover."""

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from jax import Array

from dpjax.concepts.literals import OfLiterals
from dpjax.core import checks
from dpjax.core.types import Accuracy, Neighboring
from dpjax.learners.covering import Covering
from dpjax.learners.samples import Pairs, database
from dpjax.mechanisms.cover.literals import Literals


@dataclass(frozen=True)
class ConjunctionLearner(Covering):
    """Set cover by literals: each round selects one that contradicts many negatives and (nearly) no positives.

    The contradicted rows are removed; the AND of the selected literals is returned. For disjunctions the roles are
    swapped: the literals are true for many positives and few negatives, and their OR is returned. The hypothesis has at
    most as many literals as there are rounds.

    Args:
      rounds, noisy: see `Covering`.
      concepts: conjunctions or disjunctions.
      literals: k, the largest number of literals in a target that the theorem covers.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: all rounds together, by the stopping game.
    Utility: `theory.set_cover.realizable`, for targets of at most k literals.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts", Theorems
      1.2, 1.3, 3.2 and 3.6, with accounting of our own.
    """

    concepts: OfLiterals
    literals: int
    rounds: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    noisy: bool = False
    what: ClassVar[str] = "literals of {0.dimension} coordinates"

    def __post_init__(self):
        named = "Conjunctions or Disjunctions"
        checks.instance("concepts", self.concepts, OfLiterals, "use KLN for other classes", named)
        checks.integer("literals", self.literals, 1, 2 * self.concepts.dimension)
        checks.whole_or_none("rounds", self.rounds, 1)

    @classmethod
    def candidates(cls, concepts: OfLiterals, k: int) -> list["ConjunctionLearner"]:
        """The learner whose theorem covers every concept: one literal a coordinate, or two for the constant."""
        checks.instance("concepts", concepts, OfLiterals, "use KLN for other classes", "Conjunctions or Disjunctions")
        return [cls(concepts, max(2, concepts.dimension))]

    @property
    def members(self) -> int:
        """The number of literals in a target, k."""
        return self.literals

    @property
    def passes(self) -> int:
        """Approximate number of passes over the rows."""
        return self.likely_rounds

    def offset(self, rounds: int, accuracy: Accuracy) -> float:
        """Offset that the noise rarely exceeds, so that noise alone does not make late rounds select a literal."""
        return log(4 * rounds / checks.probability("beta", float(accuracy.beta)))

    @property
    def functions(self) -> Literals:
        """All literals and the two constants."""
        return Literals(self.concepts.dimension, self.concepts.label)

    def concept_of(self, chosen: Array) -> Array:
        """The AND or OR of the selected literals."""
        return self.concepts.of_literals(chosen)

    def hard_neighbors(self, rows: int) -> Pairs:
        """Identical rows, one moved or relabeled; and rows that one literal separates, with the last one changed."""
        checks.integer("rows", rows, 1)
        domain, hit = self.concepts.domain, self.concepts.label
        inside, outside = (domain.size - 2, domain.size - 1) if not hit else (1, 0)  # they differ in v_0 only
        values = np.array([inside if i % 2 else outside for i in range(rows)], object)
        labels = np.where(values == inside, hit, not hit)
        values[-1], labels[-1] = outside, not hit
        pairs = super().hard_neighbors(rows)
        base = database(domain, values, labels)
        for value, label in ((inside, hit), (inside, not hit), (outside, hit)):
            moved, relabelled = values.copy(), labels.copy()
            moved[-1], relabelled[-1] = value, label
            pairs.append((base, database(domain, moved, relabelled)))
        return self.related(pairs, rows)
