"""Learning a threshold by any private interior point of the examples next to it."""

from dataclasses import dataclass, field
from functools import lru_cache
from math import exp, log

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.distance import group_delta
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.thresholds import Thresholds
from dpjax.core import checks
from dpjax.core.checks import NoTheoremError
from dpjax.core.plans import STATIC, Count, Spends, bucket, plan_type, whole
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.learners.base import Learner
from dpjax.learners.samples import single_column
from dpjax.learners.threshold_median import records_moved
from dpjax.mechanisms.median import NAMES, RACED, MedianDesign, MedianPlan, median_guarantee, plan_for, private_median
from dpjax.mechanisms.median.plan_search import LEAST_DELTA
from dpjax.theory import thresholds as theory


@plan_type
class InteriorPlan:
    """median: at half of the budget, or all of it if rows are added. records: m, ``int32[]``, at most ``most``."""

    median: MedianPlan
    records: Count
    most: int = field(metadata=STATIC)


@dataclass(frozen=True)
class ThresholdInterior(Learner):
    """A private interior point of the m largest positive and the m smallest negative examples. Proper.

    As `ThresholdMedian` (the case of the exponential mechanism at sensitivity 2), but with any private median, so n
    need not grow with ln |X|. Negative examples are moved one step down (element 0 stays); missing positive examples
    count as 0, missing negative ones as the last element. If the median abstains: threshold 0, with outcome -1.

    Args:
      concepts: thresholds over an ordered domain.
      method: the interior point mechanism: "exponential", "majority", "recprefix", "treelog", "rsc", or "auto" for the
        one of "exponential" and "majority" with the fewest records.
      records: m >= 1, or None for the number that the interior point needs to fail with probability beta / 2.

    Privacy: (epsilon, delta), replace-one and add-or-remove-one, for every sample: a replaced row changes at most two
      of the 2 m selected records, so the median runs at half of epsilon and delta / (1 + exp(epsilon / 2)), and two
      steps cost (epsilon, delta). An added row changes one of them, so the median has all of the budget.
    Utility: `theory.thresholds.interior`, if 2 m is at least the requirement of the interior point.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 4 (thresholds to interior points); constants are our own.
    """

    concepts: Thresholds
    method: str = "auto"
    records: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Thresholds, "use ImproperVC1 for trees")
        checks.choice("method", self.method, NAMES)
        checks.whole_or_none("records", self.records, 1, 1 << 29)

    @property
    def spends(self) -> Spends:
        """Pure for the exponential median, approximate for the others."""
        return "pure" if self.method == "exponential" else "approximate"

    @classmethod
    def candidates(cls, concepts: Thresholds, k: int) -> list["ThresholdInterior"]:
        """One for each method; "auto" is one of these."""
        return [cls(concepts, method) for method in RACED]

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> InteriorPlan:
        """The median at its part of the budget, and m; n is not used."""
        design, records = self._designed(privacy, accuracy)
        return InteriorPlan(self.median(design), whole(records), self.records or bucket(records))

    def median(self, design: MedianDesign) -> MedianPlan:
        """The plan of the interior point, from its design."""
        return design.plan()

    def _learn(self, key: Array, sample: Sample, plan: InteriorPlan) -> Hypothesis:
        """One threshold."""
        rows, mask = self.selected(sample, plan)
        answer = private_median(key, rows, mask, plan.median)
        number = jnp.concatenate([jnp.zeros(max(0, 2 - answer.element.shape[0]), jnp.uint32), answer.element])
        return Hypothesis(number[None], jnp.zeros(1, bool), answer.outcome[None])

    def selected(self, sample: Sample, plan: InteriorPlan) -> tuple[Array, Array]:
        """The 2 m records in a buffer, ``uint32[2 most, limbs]``, and its mask; one row affects at most two records."""
        column, most, size = single_column(sample, "ThresholdInterior"), plan.most, self.concepts.size
        lacking = max(0, most - sample.capacity)
        rank = jnp.arange(most, dtype=jnp.int32)
        used = jnp.concatenate([rank >= most - plan.records, rank < plan.records])
        numbers = self.concepts.numbers

        def ascending(rows: Array, missing: Array) -> Array:
            return numbers.ascending(jnp.append(rows, jnp.broadcast_to(missing, (lacking, *missing.shape)), axis=0))

        with jax.enable_x64(True):
            values, bottom, one, top = numbers.read(sample.x), *(numbers.constant(value) for value in (0, 1, size - 1))
            ones = ascending(numbers.where(sample.mask & column, values, bottom), bottom)[-most:]
            lowered = numbers.subtract(numbers.greater(values, one), one)
            zeros = ascending(numbers.where(sample.mask & ~column, lowered, top), top)[:most]
            return numbers.element(jnp.concatenate([ones, zeros])), used

    def _guarantee(self, plan: InteriorPlan) -> Guarantee:
        """The median's guarantee for databases at distance two, or one if rows are added."""
        inner = median_guarantee(plan.median, "interior point")
        epsilon, delta, why = inner.epsilon, inner.delta, "one added row replaces one of the selected records"
        if records_moved(self.neighboring) == 2:
            epsilon, delta = 2 * inner.epsilon, group_delta(inner.epsilon, inner.delta, 2)
            why = "one replaced row replaces two of the selected records"
        return Guarantee(
            epsilon,
            delta,
            self.neighboring,
            f"threshold among {self.concepts.size} (interior point of selected examples)",
            why=why,
            parts=(inner,),
            source="Bun, Nissim, Stemmer and Vadhan 2015, Section 4",
        )

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.thresholds.interior`. NoTheoremError if ``records`` are too few for this budget and beta."""
        design, records = self._designed(privacy, accuracy)
        if 2 * records < design.required():
            expected = f"at least {-(-design.required() // 2)} at this budget and beta"
            raise NoTheoremError("records", expected, str(records), "leave records out, or search for n")
        return theory.interior(records, float(accuracy.alpha), float(accuracy.beta))

    def _designed(self, privacy: Privacy, accuracy: Accuracy) -> tuple[MedianDesign, int]:
        epsilon, delta, _, beta = host_numbers(privacy, accuracy)
        bits, moved = max(1, (self.concepts.size - 1).bit_length()), records_moved(self.neighboring)
        design = _design(self.method, bits, epsilon, delta, beta, moved)
        return design, -(-design.required() // 2) if self.records is None else self.records


@lru_cache(maxsize=256)
def _design(method: str, bits: int, epsilon: float, delta: float, beta: float, moved: int) -> MedianDesign:
    """A median with (epsilon, delta) privacy for one change, or group privacy for two; delta of one stays above 0."""
    if moved == 1:
        return plan_for(method, bits, epsilon, delta, beta / 2)
    half = epsilon / 2
    if delta > 0 and method != "exponential":
        half = min(half, max(1.0, log(delta / LEAST_DELTA)))
    inner = delta / (1 + exp(min(half, 700.0))) * (1 - 1e-9)
    return plan_for(method, bits, half, inner, beta / 2)
