"""Learning an AND or an OR of a few literals by a private set cover."""

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np
from jax import Array

from dpjax.concepts.literals import OfLiterals
from dpjax.core import checks
from dpjax.core.types import Accuracy, Neighboring
from dpjax.learners.base import Pairs, database
from dpjax.learners.covering import Covering
from dpjax.mechanisms.cover.literals import Literals
from dpjax.theory import set_cover as theory


@dataclass(frozen=True)
class ConjunctionLearner(Covering):
    """SetCoverLearner over literals: in each round one that contradicts many negatives and (nearly) no positives.

    What it contradicts is gone; the AND of all is returned. For disjunctions all is complemented: literals that many
    positives and few negatives satisfy, and their OR. What is returned has up to as many literals as rounds.

    Args:
      rounds, noisy: see `Covering`.
      concepts: conjunctions or disjunctions.
      literals: k, the most literals of a target that the theorem is for.

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
    what: ClassVar[str] = "literals of {0.dimension} coordinates"

    def __post_init__(self):
        named = "Conjunctions or Disjunctions"
        checks.instance("concepts", self.concepts, OfLiterals, "use KLN for other classes", named)
        checks.integer("literals", self.literals, 1, 2 * self.concepts.dimension)
        checks.whole_or_none("rounds", self.rounds, 1)

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

    @property
    def functions(self) -> Literals:
        """Literals, and the two constants."""
        return Literals(self.concepts.dimension, self.concepts.label)

    def concept_of(self, chosen: Array) -> Array:
        """Their AND or OR."""
        return self.concepts.of_literals(chosen)

    def log_sizes(self, rounds: int) -> tuple[float, float]:
        """All literals; ANDs or ORs of at most ``rounds``."""
        return self.functions.size, theory.log_conjunctions(self.concepts.dimension, rounds)

    def hard_neighbors(self, rows: int) -> Pairs:
        """All rows alike, one moved or relabelled; and rows that one literal separates, the last of them changed."""
        checks.integer("rows", rows, 1)
        domain, hit = self.concepts.domain, self.concepts.label
        inside, outside = (domain.size - 2, domain.size - 1) if not hit else (1, 0)  # only v_0 tells them apart
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
