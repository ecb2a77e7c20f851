"""Learning k points with one stability histogram over values and their label vectors."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.packing import unpack
from dpjax.concepts.points import Points
from dpjax.core import checks
from dpjax.core.plans import Number, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.learners.base import OfClass, Pairs, flipped_label_pairs
from dpjax.learners.point_learner import sort_rows
from dpjax.mechanisms.histogram import HistogramLaw, stability_histogram, stability_histogram_guarantee
from dpjax.theory import points as theory


class Cells(NamedTuple):
    """The distinct pairs of a value and a label vector, ascending; slots behind them are empty.

    rows ``int32[n]``: number of rows. value ``uint32[n, 2]``. labels ``uint32[n, words]``.
    """

    rows: Array
    value: Array
    labels: Array


@plan_type
class StablePointsPlan:
    """The budget of the histogram, ``float32[]`` each."""

    epsilon: Number
    delta: Number


@dataclass(frozen=True)
class StablePoints(OfClass):
    """A stability histogram over pairs (value, label vector) with the whole budget; released pairs tell the points.

    A concept gets the value of largest noisy count among the released pairs whose vector has the concept's bit, and
    the all-zero hypothesis if there is none. In realizable samples all rows of a value have one vector, so a value
    need only be released: no choice of vectors is left, on which `PointLearner` spends half of the budget, and counts
    need not be near the true ones. Improper.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: one histogram, post-processed.
    Utility: `theory.points.stable_points`, realizable, for every k and |X|.
    Reference: the histogram is that of Bun, Nissim, Stemmer 2016, Proposition 2.20; the learner is our own, for the
      problem of their Algorithm 5.
    """

    concepts: Points
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"
    exponent_of_k: ClassVar[float] = 0.0

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Points, "use KLN for other classes")
        checks.instance("neighboring", self.neighboring, Neighboring, "take a member of Neighboring")

    def for_concepts(self, k: int) -> "StablePoints":
        """Returns the learner itself, which takes any number of label columns."""
        return self

    def plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> StablePointsPlan:
        """The whole budget; InputError if delta is 0."""
        delta = down(checks.delta(float(privacy.delta), positive_for="StablePoints"))
        return StablePointsPlan(down(float(privacy.epsilon)), delta)

    def learn(self, key: Array, sample: Sample, plan: StablePointsPlan) -> Hypothesis:
        """k hypotheses at once."""
        k = sample.y.shape[1]
        cells = count_cells(sample, self.concepts.domain.size)
        kinds = self.concepts.domain.size << min(k, 31)
        noisy = self.histogram(cells, plan).rounded(sample.capacity, sample.capacity, kinds).sample(key)
        found = jnp.where(unpack(cells.labels, k), noisy[:, None], jnp.int32(-1))  # [slots, k]
        slot = jnp.argmax(found, axis=0)  # of equal counts the first: the lowest value
        some = jnp.max(found, axis=0) >= 0
        concept = jnp.where(some[:, None], cells.value[slot], jnp.uint32(0))  # hides values that were not released
        return Hypothesis(concept, ~some, jnp.zeros(k, jnp.int32))

    def histogram(self, cells: Cells, plan: StablePointsPlan) -> HistogramLaw:
        """The law of the released pairs and of their noisy counts, which `learn` rounds."""
        return stability_histogram(cells.rows, plan.epsilon, plan.delta, neighboring=self.neighboring)

    def guarantee(self, plan: StablePointsPlan) -> Guarantee:
        """That of the histogram."""
        numbers = float(plan.epsilon), float(plan.delta)
        what = "StablePoints (histogram of values and label vectors)"
        return stability_histogram_guarantee(*numbers, neighboring=self.neighboring, what=what)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
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
