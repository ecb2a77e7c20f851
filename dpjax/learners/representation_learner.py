"""Pure private learning from a probabilistic representation: draw a family of functions, then choose one of them."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, Positive, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.learners.base import Learner
from dpjax.learners.representations.base import Representation, require_representation
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.theory import representations as theory

CALIBRATIONS = "corrected", "printed"
_NEAR = [2.0 ** (-i / 2) for i in range(2, 17)]  # fractions of alpha and beta that are tried for the family
_FAILURE = [0.5, 0.25, 0.1, 0.05, 0.02, 0.005]


@plan_type
class RepresentationPlan:
    """epsilon: of the choice, ``float32[]``. sizes: of the representation."""

    epsilon: Positive
    sizes: tuple[int, ...] = field(metadata=STATIC)


@dataclass(frozen=True)
class RepresentationLearner(Learner):
    """Draws a family of functions without looking at the data, then chooses one by the exponential mechanism.

    Args:
      representation: `learners.representations.Representation`. Sizes that it leaves open are planned for the fewest
        rows at epsilon = 1, so that a sweep over epsilon has one program.
      calibration: "corrected", or "printed" for an (alpha/6, beta/4)-representation and the sample size of Lemma 8.3.

    Privacy: (epsilon, 0), replace-one and add-or-remove-one, for every sample; the family may be published.
    Utility: `theory.representations.rows`. Agnostic; proper if the representation is.
    Reference: Bun, Gaboardi, Sivakumar 2021, Lemma 8.3; Beimel, Nissim, Stemmer 2019, Lemma 14; constants are our own.
    """

    representation: Representation
    calibration: str = "corrected"
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "bounded range"

    def __post_init__(self):
        require_representation(self.representation)
        checks.choice("calibration", self.calibration, CALIBRATIONS)

    @property
    def concepts(self) -> Any:
        """The class that is represented."""
        return self.representation.concepts

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> RepresentationPlan:
        """All of epsilon, and the sizes for the accuracy."""
        epsilon, _, alpha, beta = host_numbers(privacy, accuracy)
        return RepresentationPlan(down(epsilon), self._planned(alpha, beta).sizes)

    def _learn(self, key: Array, sample: Sample, plan: RepresentationPlan) -> Hypothesis:
        """One function of the family; an empty sample gives a uniform choice."""
        if sample.y.shape[1] != self.representation.concepts.columns:
            count = f"{self.representation.concepts.columns} columns"
            raise InputError("labels", count, f"{sample.y.shape[1]}", "give the labels of one concept, all bits")
        of_family, of_choice = keys.streams(key, "family", "choice")
        representation = self.representation.sized(plan.sizes)
        return representation.choose(of_choice, representation.draw(of_family), sample, plan.epsilon)

    def most_rows(self, plan: RepresentationPlan) -> int:
        """Those of the representation."""
        return self.representation.sized(plan.sizes).most_rows

    def _guarantee(self, plan: RepresentationPlan) -> Guarantee:
        """One exponential mechanism, given the family.

        Epsilon and rho hold on average over families, too. The range does not: log-ratios of functions of two families
        may differ by more.
        """
        what = f"one of {self.representation.sized(plan.sizes).count} functions of a random family"
        return replace(exponential_guarantee(float(plan.epsilon), what, self.neighboring), bounded_range=None)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.representations.fewest_rows`, or `printed`; NoTheoremError for sizes too small for this accuracy."""
        epsilon, _, alpha, beta = host_numbers(privacy, accuracy)
        planned = self._planned(alpha, beta)
        if self.calibration == "corrected":
            return theory.fewest_rows(planned.count, planned.failure, effective_epsilon(epsilon), alpha, beta)
        if planned.failure(alpha / 6) > beta / 4:
            least = f"failure at most beta/4 = {beta / 4:.3g} for error alpha/6 = {alpha / 6:.3g}"
            raise NoTheoremError("representation", least, f"{planned.failure(alpha / 6):.3g}", "leave out its sizes")
        return theory.printed(planned.count, epsilon, alpha / 6, beta / 4)

    def _planned(self: Any, alpha: float, beta: float) -> Any:
        return _sized(self.representation, self.calibration, alpha, beta)


@lru_cache(256)
def _sized(representation: Any, calibration: str, alpha: float, beta: float) -> Any:
    """The representation with the sizes that need the fewest rows at epsilon = 1."""
    if calibration == "printed":
        pairs = [(alpha / 6, beta / 4)]
    else:
        pairs = [(alpha * near, beta * failure) for near in _NEAR for failure in _FAILURE]
    best, least = None, 0
    for near, failure in pairs:
        if (sized := representation.for_accuracy(near, failure)) is None:
            continue
        rows = theory.rows(sized.count, near, failure, 1.0, alpha, beta)
        if rows is not None and (best is None or rows < least):
            best, least = sized, rows
    if best is None:
        return _as_given(representation, alpha, beta)
    return best


def _as_given(representation: Any, alpha: float, beta: float) -> Any:
    """A representation whose sizes are all set runs with them, whether or not they are enough for a sample size."""
    try:
        representation.sizes  # noqa: B018
    except InputError as error:
        expected = "an accuracy for which a family is not too large"
        advice = "take a larger alpha or beta, or set the sizes of the representation"
        raise InputError("alpha, beta", expected, f"{alpha:g}, {beta:g}", advice) from error
    return representation
