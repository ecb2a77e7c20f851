"""Learning a threshold by a pure private interior point of the examples next to it."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.thresholds import Thresholds
from dpjax.core import checks
from dpjax.core.plans import Count, Positive, Spends, down, plan_type, whole
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.learners.base import Learner
from dpjax.learners.samples import single_column
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.intervals import IntervalLaw, Pieces, interval_exponential
from dpjax.theory import thresholds as theory


@plan_type
class ThresholdMedianPlan:
    """epsilon: of the one exponential mechanism, ``float32[]``. records: m, selected from each side, ``int32[]``."""

    epsilon: Positive
    records: Count


def records_moved(neighboring: Neighboring) -> int:
    """How many of the selected records one step between neighbors changes: 2, or 1 if a row is added or removed.

    A replaced row may have been among the positive examples and be among the negative ones now. An added row takes the
    place of the last record of its side, or of one that is missing.
    """
    return 2 if neighboring is Neighboring.REPLACE_ONE else 1


@dataclass(frozen=True)
class ThresholdMedian(Learner):
    """A private interior point of the m largest positive and the m smallest negative examples. Proper, pure.

    Negative examples are moved one step down (domain element 0 stays), so that an interior point z is the index of a
    threshold with at most m - 1 errors per side even if points coincide. m depends on epsilon, beta and |X|.

    Args:
      concepts: thresholds over an ordered domain.

    Privacy: (epsilon, 0), replace-one and add-or-remove-one, for every sample: a replaced row changes at most two of
      the 2 m selected records and an added one at most one (`records_moved`), so each element's depth moves by at most
      2 or 1, and the exponential mechanism runs at that sensitivity.
    Utility: `theory.thresholds.median`.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 4 (thresholds to interior points); constants are our own.
    """

    concepts: Thresholds
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "bounded range"
    proper: ClassVar[bool] = True

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Thresholds, "use KLN for other classes")

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ThresholdMedianPlan:
        """All of epsilon, and m = ceil((2 s / epsilon) ln(2 |X| / beta)) with s = `records_moved`, at most 2**30."""
        epsilon = down(float(privacy.epsilon))
        records = theory.median_records(self.concepts.size, self._epsilon(float(epsilon)), float(accuracy.beta))
        return ThresholdMedianPlan(epsilon, whole(min(records, 1 << 30)))

    def output_law(self, sample: Sample, plan: ThresholdMedianPlan) -> IntervalLaw:
        """The exact law of the chosen threshold."""
        records = jnp.clip(plan.records, 0, 1 << 30)  # prevents integer overflow of depths
        pieces = self._depth_pieces(sample, single_column(sample, "ThresholdMedian"), records)
        return interval_exponential(pieces, plan.epsilon, sensitivity=records_moved(self.neighboring))

    def _learn(self, key: Array, sample: Sample, plan: ThresholdMedianPlan) -> Hypothesis:
        """One threshold; an empty sample gives a uniform one."""
        return Hypothesis.of(self.output_law(sample, plan).sample(key)[None])

    def _depth_pieces(self, sample: Sample, column: Array, m: Array) -> Pieces:
        """Level sets of depth, as errors m - depth; missing positives are at the bottom, negatives at the top."""
        count, size, numbers = sample.capacity, self.concepts.size, self.concepts.numbers
        index = jnp.arange(count, dtype=jnp.int32)
        with jax.enable_x64(True):
            values = numbers.read(sample.x)
            bottom_end, unit, top_end = (numbers.constant(value) for value in (0, 1, size - 1))
            positive, negative = sample.mask & column, sample.mask & ~column
            (ones,) = numbers.sort(values, real=positive, below=size)
            lowered = numbers.subtract(numbers.greater(values, unit), unit)
            (zeros,) = numbers.sort(lowered, real=negative, below=size)
            n_ones, n_zeros = (jnp.sum(part, dtype=jnp.int32) for part in (positive, negative))
            used = jnp.concatenate([(index >= n_ones - m) & (index < n_ones), index < jnp.minimum(m, n_zeros)])
            (records,) = numbers.sort(jnp.concatenate([ones, zeros]), real=used, below=size)
            total = jnp.sum(used, dtype=jnp.int32)
            bottom, top = m - jnp.minimum(m, n_ones), m - jnp.minimum(m, n_zeros)
            place = jnp.arange(2 * count, dtype=jnp.int32)
            real = place < total
            starts = real & jnp.concatenate([jnp.ones(1, bool), numbers.differ(records[1:], records[:-1])])
            boundary = jax.lax.cummin(jnp.where(starts | ~real, place, 2 * count), reverse=True)
            after = jnp.minimum(jnp.concatenate([boundary[1:], jnp.full(1, 2 * count, jnp.int32)]), total)
            # gap g lies strictly between records g - 1 and g; gap 0 and gap `total` extend to the ends of the domain
            gap = jnp.arange(2 * count + 1, dtype=jnp.int32)
            left = jnp.concatenate([bottom_end[None], records])
            right = jnp.concatenate([records, bottom_end[None]])
            room_left = (gap == 0) | numbers.less(left, top_end)
            room_right = (gap == total) | numbers.above(right, bottom_end)
            low = numbers.where(gap == 0, left, numbers.add(left, unit))
            high = numbers.where(gap == total, top_end, numbers.subtract(right, unit))
            gap_alive = (gap <= total) & room_left & room_right & numbers.less_equal(low, high)
            first = numbers.number(jnp.concatenate([records, low]))
            last = numbers.number(jnp.concatenate([records, high]))
        at_most = jnp.concatenate([after, gap])
        at_least = jnp.concatenate([total - place, total - gap])
        depth = jnp.minimum(bottom + at_most, top + at_least)
        return Pieces(first, last, m - depth, jnp.concatenate([starts, gap_alive]), size=size)

    def _guarantee(self, plan: ThresholdMedianPlan) -> Guarantee:
        """One exponential mechanism on depths of sensitivity `records_moved`."""
        moved = records_moved(self.neighboring)
        what = f"interior point of {self.concepts.size} thresholds (exponential mechanism, sensitivity {moved})"
        return exponential_guarantee(float(plan.epsilon), what, self.neighboring)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.thresholds.median` at 2 / `records_moved` of the plan's epsilon; one row for a single threshold."""
        if self.concepts.size == 1:
            return 1
        epsilon = self._epsilon(float(privacy.epsilon))
        return theory.median(self.concepts.size, epsilon, float(accuracy.alpha), float(accuracy.beta))

    def _epsilon(self, epsilon: float) -> float:
        """The epsilon at which a mechanism of sensitivity 2 has the inverse temperature of this one."""
        return 2 / records_moved(self.neighboring) * effective_epsilon(epsilon)
