"""Learning k points with one stability histogram over values and their label vectors."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.packing import unpack
from dpjax.concepts.points import Points
from dpjax.core import checks
from dpjax.core.plans import Positive, Probability, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.learners.base import Learner
from dpjax.learners.point_learner import sort_rows
from dpjax.learners.samples import Pairs, flipped_label_pairs
from dpjax.mechanisms.histogram import HistogramLaw, stability_histogram, stability_histogram_guarantee
from dpjax.theory import points as theory


class Cells(NamedTuple):
    """The distinct pairs of a value and a label vector, ascending; slots behind them are empty.

    rows ``int32[n]``: number of rows. value ``uint32[n, W]``. labels ``uint32[n, words]``.
    """

    rows: Array
    value: Array
    labels: Array


@plan_type
class StablePlan:
    """The budget of the histogram, ``float32[]`` each."""

    epsilon: Positive
    delta: Probability


class StableCells(Learner):
    """Base of learners that release pairs of a value and a label vector by one stability histogram.

    A subclass is a frozen dataclass with ``concepts`` and ``neighboring``, and has ``learn`` and ``sample_size``.
    """

    concepts: Any
    neighboring: Neighboring
    spends: ClassVar[Spends] = "approximate"
    exponent_of_k: ClassVar[float] = 0.0
    what: ClassVar[str]
    """What the values of the pairs are."""

    def for_concepts(self, k: int) -> Any:
        """Returns the learner itself, which takes any number of label columns."""
        return self

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> StablePlan:
        """The whole budget; InputError if delta is 0."""
        delta = down(checks.delta(float(privacy.delta), positive_for=type(self).__name__))
        return StablePlan(down(float(privacy.epsilon)), delta)

    def histogram(self, cells: Cells, plan: StablePlan) -> HistogramLaw:
        """The law of the released pairs and of their noisy counts."""
        return stability_histogram(cells.rows, plan.epsilon, plan.delta, neighboring=self.neighboring)

    def _guarantee(self, plan: StablePlan) -> Guarantee:
        """That of the histogram."""
        numbers = float(plan.epsilon), float(plan.delta)
        what = f"{type(self).__name__} (histogram of {self.what} and label vectors)"
        return stability_histogram_guarantee(*numbers, neighboring=self.neighboring, what=what)


@dataclass(frozen=True)
class StablePoints(StableCells):
    """A stability histogram over pairs (value, label vector) with the whole budget; released pairs tell the points.

    A concept gets the value of largest noisy count among the released pairs whose vector has the concept's bit, and
    the all-zero hypothesis if there is none. In realizable samples all rows of a value have one vector, so a value
    need only be released: no choice of vectors is left, on which `PointLearner` spends half of the budget, and counts
    need not be near the true ones. Improper.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: one histogram, post-processed.
    Utility: `theory.points.stable_points`, realizable, for every k and |X|; docs/proofs/stable-points.md.
    Reference: the histogram is that of Bun, Nissim, Stemmer 2016, Proposition 2.20; the learner is our own, for the
      problem of their Algorithm 5.
    """

    concepts: Points
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    what: ClassVar[str] = "values"
    most: ClassVar[int] = 2**31 - 1
    """Larger noisy counts are equal to it. A constant: the buffer's capacity may be a private number of rows."""

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Points, "use KLN for other classes")
        checks.instance("neighboring", self.neighboring, Neighboring, "take a member of Neighboring")

    def _learn(self, key: Array, sample: Sample, plan: StablePlan) -> Hypothesis:
        """k hypotheses at once."""
        k = sample.y.shape[1]
        cells = count_cells(sample, self.concepts.domain.size)
        kinds = self.concepts.domain.size << min(k, 31)
        noisy = self.histogram(cells, plan).rounded(self.most, self.most, kinds).sample(key)
        released = jnp.where(unpack(cells.labels, k), noisy[:, None], jnp.int32(-1))  # [slots, k]
        slot = jnp.argmax(released, axis=0)  # of equal counts the first: the lowest value
        some = jnp.max(released, axis=0) >= 0
        concept = jnp.where(some[:, None], cells.value[slot], jnp.uint32(0))  # hides values that were not released
        return Hypothesis(concept, ~some, jnp.zeros(k, jnp.int32))

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.points.stable_points` for the plan's numbers."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        return theory.stable_points(float(plan.epsilon), float(plan.delta), alpha, beta, self.neighboring)

    def hard_neighbors(self, rows: int) -> Pairs:
        """Samples of identical rows in which one row is moved or relabeled."""
        return flipped_label_pairs(self.concepts.domain, rows, 2)


def count_cells(sample: Sample, size: int) -> Cells:
    """Counts the rows by value and label vector."""
    value, labels, real, _, new = sort_rows(sample, size)
    count = sample.capacity
    index = jnp.arange(count, dtype=jnp.int32)
    slot = jnp.where(real, jnp.cumsum(new, dtype=jnp.int32) - 1, count)  # padding is out of range and dropped
    rows = jnp.zeros(count, jnp.int32).at[slot].add(1, mode="drop")
    first = jnp.full(count, count - 1, jnp.int32).at[slot].min(index, mode="drop")
    return Cells(rows, value[first], labels[first])
