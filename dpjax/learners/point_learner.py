"""Learning k points with a sample size independent of k: stability of the label vectors of heavy points."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.packing import pack, unpack
from dpjax.concepts.points import Points
from dpjax.core import checks, keys
from dpjax.core.arithmetic import arithmetic
from dpjax.core.plans import Number, Spends, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers, replace_one_only
from dpjax.learners.base import Learner
from dpjax.learners.samples import Pairs, flipped_label_pairs
from dpjax.mechanisms.histogram import HistogramLaw, stability_histogram, stability_histogram_guarantee
from dpjax.mechanisms.stability import release, stability_guarantee
from dpjax.theory import points as theory

_NONE = jnp.iinfo(jnp.int32).max


class Groups(NamedTuple):
    """The rows grouped by value, ascending; slot r holds the r-th distinct value, later slots are empty.

    rows ``int32[n]``: number of rows with the value. mode, second ``int32[n]``: the two largest multiplicities of a
    label vector among them. value ``uint32[n, W]``. labels ``uint32[n, words]``: the smallest vector of multiplicity
    ``mode``.
    """

    rows: Array
    mode: Array
    second: Array
    value: Array
    labels: Array


@plan_type
class PointPlan:
    """histogram, release: the budgets of the two steps. heavy: fraction of the rows from which a value is heavy."""

    histogram: Privacy
    release: Privacy
    heavy: Number


@dataclass(frozen=True)
class PointLearner(Learner):
    """Algorithm 5: heavy points from a stability histogram, their label vectors from one stability test.

    Half of the budget finds the set G of values with noisy count >= alpha n / 15; the other half releases the most
    frequent label vector of every value in G if that choice is stable. Improper: a concept that is positive on no value
    of G gets the all-zero hypothesis. If the test abstains, all concepts get it, with outcome -1.

    G is not truncated to 15/alpha values: truncation is post-processing and can only lose accuracy.

    Privacy: (epsilon, delta), replace-one, for every sample: basic composition of two halves.
    Utility: `theory.points.point_learner`, for every k and |X|.
    Reference: Bun, Nissim, Stemmer 2016, Algorithm 5 and Theorem 3.13, with the corrected constants.
    """

    concepts: Points
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"
    exponent_of_k: ClassVar[float] = 0.0

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Points, "use KLN for other classes")
        replace_one_only(self.neighboring, "the threshold of a heavy value is a fraction of n")

    def for_concepts(self, k: int) -> "PointLearner":
        """Returns the learner itself, which takes any number of label columns."""
        return self

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> PointPlan:
        """Half of epsilon and of delta for each step; InputError if delta is 0."""
        half = Privacy(down(float(privacy.epsilon) / 2), down(float(privacy.delta) / 2))
        checks.delta(float(half.delta), positive_for="PointLearner")
        return PointPlan(half, half, down(float(accuracy.alpha) / 15))

    def _learn(self, key: Array, sample: Sample, plan: PointPlan) -> Hypothesis:
        """k hypotheses at once."""
        groups = group_rows(sample, self.concepts.domain.size)
        of_histogram, of_release = keys.streams(key, "histogram", "release")
        noisy = self.histogram(groups, plan).rounded(sample.size, sample.capacity, self.concepts.domain.size)
        noisy = noisy.sample(of_histogram)
        least = plan.heavy * sample.size.astype(jnp.result_type(plan.heavy))
        heavy = (noisy >= 0) & (noisy.astype(least.dtype) >= least)
        test = release(stability_gap(groups, heavy), plan.release.epsilon, plan.release.delta, gap_sensitivity=2)
        answered = jnp.any(heavy) & (test.sample(of_release) == 0)
        concept, positive = _lowest_positive(groups, heavy, sample.y.shape[1])
        silent = jnp.any(heavy) & ~answered
        outcome = jnp.where(silent, jnp.int32(-1), jnp.int32(0))
        zero = ~(positive & answered)
        concept = jnp.where(zero[:, None], jnp.uint32(0), concept)  # hides values that were not released
        return Hypothesis(concept, zero, jnp.broadcast_to(outcome, positive.shape))

    def histogram(self, groups: Groups, plan: PointPlan) -> HistogramLaw:
        """The law of the first step: which values are released, and their noisy counts, which `learn` rounds."""
        numbers = plan.histogram
        return stability_histogram(groups.rows, numbers.epsilon, numbers.delta, neighboring=self.neighboring)

    def _guarantee(self, plan: PointPlan) -> Guarantee:
        """The composition of the two steps."""
        first, second = ((float(part.epsilon), float(part.delta)) for part in (plan.histogram, plan.release))
        parts = (
            stability_histogram_guarantee(*first, neighboring=self.neighboring, what="heavy points (histogram)"),
            stability_guarantee(*second, gap_sensitivity=2, what="their label vectors (A_dist)"),
        )
        return basic(parts, "PointLearner")

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.points.point_learner`."""
        return theory.point_learner(*host_numbers(privacy, accuracy))

    def hard_neighbors(self, rows: int) -> Pairs:
        """Samples of identical rows in which one row is moved or relabeled."""
        return flipped_label_pairs(self.concepts.domain, rows, 2)


class Sorted(NamedTuple):
    """The rows in the order of (value, label vector), padding last.

    value ``uint32[n, W]``, labels ``uint32[n, words]``. real, new_value, new_cell ``bool[n]``: whether a row is no
    padding, the first one of its value, and the first one of its value and label vector.
    """

    value: Array
    labels: Array
    real: Array
    new_value: Array
    new_cell: Array


def sort_rows(sample: Sample, size: int) -> Sorted:
    """Sorts the rows of a domain of ``size`` elements; label vectors are compared as a whole."""
    words = pack(sample.y)
    real = jnp.arange(sample.capacity, dtype=jnp.int32) < sample.size
    with jax.enable_x64(True):
        columns = tuple(words[:, i] for i in range(words.shape[1]))
        bits = tuple(min(32, sample.y.shape[1] - 32 * i) for i in range(words.shape[1]))
        numbers = arithmetic(sample.x.shape[1])
        values, *vectors = numbers.sort(numbers.read(sample.x), columns, real=sample.mask, below=size, bits=bits)
        limbs = numbers.number(values)
        new_value = real & jnp.concatenate([jnp.ones(1, bool), numbers.differ(values[1:], values[:-1])])
    labels = jnp.stack(vectors, axis=-1)
    changed = jnp.concatenate([jnp.ones(1, bool), jnp.any(labels[1:] != labels[:-1], axis=-1)])
    return Sorted(limbs, labels, real, new_value, new_value | (real & changed))


def group_rows(sample: Sample, size: int) -> Groups:
    """Sorts and counts rows by (value, label vector)."""
    limbs, labels, real, new_value, new_run = sort_rows(sample, size)
    count = sample.capacity
    index = jnp.arange(count, dtype=jnp.int32)
    slot = jnp.where(real, jnp.cumsum(new_value, dtype=jnp.int32) - 1, count)  # padding is out of range and dropped
    start = jax.lax.cummax(jnp.where(new_run | ~real, index, 0))
    ends = real & jnp.concatenate([(new_run | ~real)[1:], jnp.ones(1, bool)])
    run = jnp.where(ends, index - start + 1, 0)
    empty = jnp.zeros(count, jnp.int32)
    total = empty.at[slot].add(1, mode="drop")
    mode = empty.at[slot].max(run, mode="drop")
    at = jnp.clip(slot, 0, count - 1)
    is_mode = ends & (run == mode[at])
    where = jnp.full(count, _NONE, jnp.int32).at[slot].min(jnp.where(is_mode, index, _NONE), mode="drop")
    second = empty.at[slot].max(jnp.where(index == where[at], 0, run), mode="drop")
    row = jnp.clip(where, 0, count - 1)
    return Groups(total, mode, second, limbs[row], labels[row])


def stability_gap(groups: Groups, heavy: Array) -> Array:
    """Lead of the best choice of label vectors of the heavy values over the second best choice, ``int32[]``.

    The multiplicity of a choice is the least multiplicity among its vectors.
    """
    mode = jnp.where(heavy, groups.mode, _NONE)
    least = jnp.min(mode)
    slot = jnp.argmin(mode)
    others = jnp.min(jnp.where(jnp.arange(mode.shape[0]) == slot, _NONE, mode))
    elsewhere = jnp.where(jnp.arange(mode.shape[0]) == slot, others, least)
    # the second best choice replaces one value's vector by its second
    rival = jnp.max(jnp.where(heavy, jnp.minimum(groups.second, elsewhere), 0))
    return jnp.where(jnp.any(heavy), least - rival, 0)


def _lowest_positive(groups: Groups, heavy: Array, k: int) -> tuple[Array, Array]:
    """The lowest heavy value whose vector has the concept's bit, ``uint32[k, W]``, and whether it exists."""
    slot = jnp.arange(heavy.shape[0], dtype=jnp.int32)
    first = jnp.min(jnp.where(unpack(groups.labels, k) & heavy[:, None], slot[:, None], _NONE), axis=0)
    return groups.value[jnp.clip(first, 0, heavy.shape[0] - 1)], first != _NONE
