"""The generic private learner: the exponential mechanism over the whole class."""

from dataclasses import dataclass
from typing import ClassVar

from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core.plans import Positive, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import Learner
from dpjax.learners.samples import label_columns
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.intervals import IntervalLaw, interval_exponential
from dpjax.theory import kln as theory


@plan_type
class KLNPlan:
    """epsilon: of the one exponential mechanism, ``float32[]``."""

    epsilon: Positive


@dataclass(frozen=True)
class KLN(Learner):
    """Selects a concept with probability proportional to exp(-epsilon errors / 2). Proper, agnostic, pure.

    For points and thresholds it samples from level sets of the error, so the cost does not depend on |X|.

    Privacy: (epsilon, 0), replace-one and add-or-remove-one, for every sample. Under add-or-remove-one the scores are
      monotonic, so that twice the inverse temperature, epsilon in place of epsilon / 2, would be (epsilon, 0)-private
      as well: `mechanisms.exponential` has ``monotonic=True``. The learner does not use it, so that one plan and one
      theorem hold under both relations; up to half of the rows could be saved there.
    Utility: `theory.kln.realizable`.
    Reference: Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2011, Theorem 3.4; Bun, Nissim, Stemmer 2016,
      Theorem 2.22.
    """

    concepts: ConceptClass
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "bounded range"
    proper: ClassVar[bool] = True

    def __post_init__(self):
        require_class(self.concepts, ConceptClass.pieces)

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> KLNPlan:
        """One exponential mechanism with all of epsilon."""
        return KLNPlan(down(float(privacy.epsilon)))

    def output_law(self, sample: Sample, plan: KLNPlan) -> IntervalLaw:
        """The exact law of the index of the selected concept."""
        pieces = self.concepts.pieces(sample.x, label_columns(sample, self.concepts, "KLN"), sample.mask)
        return interval_exponential(pieces, plan.epsilon)

    def _learn(self, key: Array, sample: Sample, plan: KLNPlan) -> Hypothesis:
        """One concept; an empty sample gives a uniform one."""
        return Hypothesis.of(self.output_law(sample, plan).sample(key)[None])

    def _guarantee(self, plan: KLNPlan) -> Guarantee:
        """One exponential mechanism."""
        what = f"exponential mechanism over {self.concepts.size} concepts"
        return exponential_guarantee(float(plan.epsilon), what, self.neighboring)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.kln.realizable` for one concept."""
        numbers = effective_epsilon(privacy.epsilon), float(accuracy.alpha), float(accuracy.beta)
        return theory.realizable(self.concepts.size, *numbers)

    def _agnostic_sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.kln.agnostic`: the error exceeds the best concept's by at most alpha."""
        return theory.agnostic(
            self.concepts.size, effective_epsilon(privacy.epsilon), float(accuracy.alpha), float(accuracy.beta)
        )
