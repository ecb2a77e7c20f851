"""Learning a threshold through any private interior point of the examples next to it."""

from dataclasses import dataclass
from math import exp

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.distance import group_delta
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.thresholds import Thresholds
from dpjax.core import checks, wide
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, as_float
from dpjax.learners.base import flipped_label_pairs, single_column
from dpjax.mechanisms.median import (
    MedianPlan,
    RscPlan,
    median_guarantee,
    plan_for,
    private_median,
    required_records,
)
from dpjax.theory import thresholds as theory


def domain_bits(concepts: Thresholds) -> int:
    """Bits of an element."""
    return max(1, (concepts.size - 1).bit_length())


@dataclass(frozen=True)
class ThresholdInterior:
    """A private interior point of the m largest positive and the m smallest negative examples. Proper.

    As `ThresholdMedian`, which it is with the exponential mechanism at sensitivity 2, but with any private median, so
    that n need not grow with ln |X|. Negative examples are moved one step down (element 0 stays), missing positive ones
    count as 0, missing negative ones as the last element. Without an answer: threshold 0, with outcome -1.

    Args:
      concepts: thresholds over a domain of at most 2**64 elements.
      records: m >= 1, static.
      plan: static plan of an interior point; see `planned`.

    Privacy: (epsilon, delta), replace-one, for every sample: one row changes at most two of the 2 m selected records,
      so the median runs at half of epsilon and delta / (1 + exp(epsilon / 2)), and two steps cost (epsilon, delta).
    Utility: `theory.thresholds.interior`, if 2 m is at least what the plan requires.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 4 (thresholds to interior points); constants are our own.
    """

    concepts: Thresholds
    records: int
    plan: MedianPlan
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        if not isinstance(self.concepts, Thresholds):
            raise InputError("concepts", "Thresholds", type(self.concepts).__name__, "use ImproperVC1 for trees")
        checks.integer("records", self.records, 1, 1 << 20)
        if isinstance(self.plan, RscPlan) or self.plan.bits != domain_bits(self.concepts):
            raise InputError(
                "plan", f"a plan over {domain_bits(self.concepts)} bits for any budget", f"{type(self.plan).__name__}",
                "use ThresholdInterior.planned",
            )  # fmt: skip

    @staticmethod
    def planned(
        concepts: Thresholds, privacy: Privacy, accuracy: Accuracy, method: str = "auto"
    ) -> "ThresholdInterior":
        """With the records that the interior point needs at this budget, failing with beta / 2."""
        epsilon, delta = _inner(float(privacy.epsilon), float(privacy.delta))
        plan = plan_for(
            method, domain_bits(concepts), epsilon, delta, checks.probability("beta", float(accuracy.beta)) / 2
        )
        if isinstance(plan, RscPlan):
            raise InputError("method", "exponential, recprefix, treelog or auto", method, "choose another median")
        return ThresholdInterior(concepts, -(-plan.required() // 2), plan)

    def learn(self, key: Array, sample: Sample, privacy: Privacy, accuracy: Accuracy) -> Hypothesis:
        """One threshold."""
        rows = self.selected(sample)
        epsilon, delta = as_float(privacy.epsilon), as_float(privacy.delta)
        inner = Privacy(epsilon / 2, delta / (1 + jnp.exp(epsilon / 2)))
        found = private_median(key, rows, jnp.ones(2 * self.records, bool), inner, self.plan)
        number = jnp.concatenate([jnp.zeros(2 - found.element.shape[0], jnp.uint32), found.element])
        return Hypothesis(number[None], jnp.zeros(1, bool), found.outcome[None])

    def selected(self, sample: Sample) -> Array:
        """The 2 m records, ``uint32[2 m, limbs]``; a replaced row replaces at most two of them."""
        column, m, size = single_column(sample, "ThresholdInterior"), self.records, self.concepts.size
        lacking = max(0, m - sample.capacity)
        with jax.enable_x64(True):
            values, top = wide.join(sample.x), jnp.uint64(size - 1)
            bottom_up = jnp.where(sample.mask & column, values, jnp.uint64(0))
            ones = jnp.sort(jnp.append(bottom_up, jnp.zeros(lacking, jnp.uint64)))[-m:]
            lowered = jnp.maximum(values, jnp.uint64(1)) - jnp.uint64(1)
            top_down = jnp.where(sample.mask & ~column, lowered, top)
            zeros = jnp.sort(jnp.append(top_down, jnp.full(lacking, top)))[:m]
            return wide.split(jnp.concatenate([ones, zeros]), self.concepts.domain.limbs)

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., 1]``."""
        return self.concepts.predict(hypothesis, x)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """A median at two steps."""
        epsilon, delta = checks.epsilon(float(privacy.epsilon)), checks.delta(float(privacy.delta))
        inner = median_guarantee(Privacy(*_inner(epsilon, delta)), self.plan, "interior point")
        return Guarantee(
            2 * inner.epsilon, min(group_delta(inner.epsilon, inner.delta, 2), delta), self.neighboring,
            f"threshold among {self.concepts.size} (interior point of selected examples)",
            why="one replaced row replaces two of the selected records", parts=(inner,),
            source="Bun, Nissim, Stemmer and Vadhan 2015, Section 4",
        )  # fmt: skip

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.thresholds.interior`. Raises InputError if the records are too few for this budget and beta."""
        inner = Privacy(*_inner(checks.epsilon(float(privacy.epsilon)), float(privacy.delta)))
        beta = checks.probability("beta", float(accuracy.beta))
        needed = required_records(self.plan, inner, beta / 2)
        if 2 * self.records < needed:
            raise InputError(
                "records", f"at least {-(-needed // 2)} at this budget and beta", str(self.records),
                "use ThresholdInterior.planned, or search for n",
            )  # fmt: skip
        return theory.interior(self.records, float(accuracy.alpha), beta)

    def hard_neighbors(self, rows: int) -> list[tuple[Sample, Sample]]:
        """All rows alike, one moved or relabelled."""
        return flipped_label_pairs(self.concepts.domain, rows)


def _inner(epsilon: float, delta: float) -> tuple[float, float]:
    """What the median spends: two steps of it cost (epsilon, delta)."""
    return epsilon / 2, delta / (1 + exp(min(epsilon / 2, 700.0)))
