"""The point sanitizer: noisy counts of the values that occur, as a short synthetic database."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts.domain import Domain
from dpjax.core import checks
from dpjax.core.arithmetic import arithmetic, encode
from dpjax.core.draws import asked
from dpjax.core.plans import STATIC, Number, Positive, Spends, down, plan_type, require_leaves, up
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers, replace_one_only
from dpjax.mechanisms.histogram import HistogramLaw, RoundedHistogram, stability_histogram_guarantee
from dpjax.mechanisms.stability import survival
from dpjax.sanitizers.base import OfElements, Sanitized
from dpjax.theory import sanitizers as sizes


@plan_type
class PointCountsPlan:
    """rate: ``float32[]``, 1 / scale of the noise. margin: ``float32[]``, threshold minus 1, in scales of the noise."""

    rate: Positive
    margin: Number
    kept: int = field(metadata=STATIC)
    fillers: int = field(metadata=STATIC)

    @property
    def size(self) -> int:
        """The number of points: values kept, and fillers."""
        return self.kept + self.fillers


@dataclass(frozen=True)
class PointCounts(OfElements):
    """Released counts of the heaviest values; the other rows are spread over values that were not released.

    The ``kept`` largest noisy counts are kept, as integers. If they sum to more than n, the same number is subtracted
    from all of them (none falls below 0); if to less, the missing rows are spread over the lowest ``fillers`` values
    that are not kept, so that none gets many, or over all values if the domain has fewer such values.

    Args:
      domain: of any size, which does not affect the sample size.
      kept, fillers: >= 1; by default 3 / alpha values are kept, and 2 / alpha are fillers.

    Noisy counts are integers clipped to [0, n].

    Privacy: (epsilon, delta), replace-one, for every database and every n: a stability histogram, then post-processing.
    Utility: every value's frequency is within alpha with probability 1 - beta from `theory.sanitizers.points`.
    Reference: Bun, Nissim, Stemmer 2016, Proposition 2.20, with the corrected thresholds; constants are our own.
    """

    domain: Domain
    kept: int | None = None
    fillers: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends: ClassVar[Spends] = "approximate"
    kind: ClassVar[str] = "points"

    def __post_init__(self):
        replace_one_only(self.neighboring, "its guarantee is for databases of one public size")
        checks.whole_or_none("kept", self.kept, 1)
        checks.whole_or_none("fillers", self.fillers, 1)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> PointCountsPlan:
        """Half of epsilon for the noise, delta for the threshold."""
        epsilon, delta, alpha, _ = host_numbers(privacy, accuracy)
        checks.delta(delta, positive_for="the point sanitizer")
        kept = math.ceil(3 / alpha) if self.kept is None else self.kept
        fillers = math.ceil(2 / alpha) if self.fillers is None else self.fillers
        return PointCountsPlan(down(epsilon / 2), up(sizes.laplace_quantile(delta) + 1e-12), kept, fillers)

    @property
    def bits(self) -> int:
        """Bits of a value."""
        return max(1, (self.domain.size - 1).bit_length())

    def sanitize(self, key: Array, x: Array, mask: Array, plan: PointCountsPlan) -> Sanitized:
        """``kept + fillers`` points. x: ``uint32[capacity, limbs]``, rows in any order. mask: ``bool[capacity]``."""
        counts, values = value_counts(x, mask, self.domain.size)
        rows = jnp.sum(mask, dtype=jnp.int32)
        return self.synthetic(values, self.histogram(counts, rows, plan).sample(key), rows, plan)

    def synthetic(self, values: Array, released: Array, rows: Array, plan: PointCountsPlan) -> Sanitized:
        """The synthetic database from the released counts; does not use the rows.

        values: ``uint32[m, limbs]``. released: ``int32[m]``, their noisy counts, -1 if not released.
        """
        height = jnp.maximum(released, 0)
        best, slot = jax.lax.top_k(jnp.pad(height, (0, max(0, plan.kept - height.shape[0]))), plan.kept)
        weights = at_most(best, rows)
        real = best > 0
        value = jnp.where(real[:, None], values[jnp.minimum(slot, height.shape[0] - 1)], jnp.uint32(0))
        filler, exists = self._fillers(value, real, plan.fillers)
        points, alive = jnp.concatenate([value, filler]), jnp.concatenate([real, exists])
        shared = alive & (~jnp.all(exists) | (jnp.arange(alive.shape[0], dtype=jnp.int32) >= plan.kept))
        extra = spread_over(rows - jnp.sum(weights, dtype=jnp.int32), shared)
        weights = jnp.pad(weights, (0, plan.fillers)) + extra
        return Sanitized.of(points, weights, listed=jnp.pad(real, (0, plan.fillers)) | (weights > 0))

    def histogram(self, counts: Array, rows: Array, plan: PointCountsPlan) -> RoundedHistogram:
        """The law of the released values and their noisy counts."""
        counts = asked(counts, "stability_histogram", 2, "sorted sum")
        law = HistogramLaw(counts, jnp.int32(1), jnp.asarray(plan.rate), jnp.asarray(plan.margin))
        return law.rounded(rows, counts.shape[0], self.domain.size)

    def guarantee(self, plan: PointCountsPlan) -> Guarantee:
        """The histogram's guarantee: see `mechanisms.histogram.stability_histogram`."""
        require_leaves(plan)
        epsilon, delta = 2 * float(plan.rate), survival(float(plan.margin))
        return stability_histogram_guarantee(epsilon, delta, what="point sanitizer")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.points`."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        spent = self.guarantee(plan)
        return sizes.points(spent.epsilon, spent.delta, plan.kept, plan.fillers, alpha, beta)

    def unseen(self, concepts: Any, plan: PointCountsPlan, n: int, beta: float) -> float:
        """`theory.sanitizers.unseen_points` for each value of a difference."""
        rate, margin = float(plan.rate), float(plan.margin)
        return self.parts_of_a_difference(concepts) * sizes.unseen_points(rate, margin, plan.kept, n, beta)

    def _fillers(self, kept: Array, real: Array, fillers: int) -> tuple[Array, Array]:
        """The lowest values that are not kept, ``uint32[fillers, limbs]``, and whether they exist."""
        tried = min(kept.shape[0] + fillers, self.domain.size)
        value = jnp.asarray(encode(range(tried), self.domain.limbs))
        taken = jnp.any(jnp.all(value[:, None] == kept[None], axis=-1) & real[None], axis=1)
        place = jnp.where(taken, fillers, jnp.cumsum(~taken, dtype=jnp.int32) - 1)
        filler = jnp.zeros((fillers, value.shape[1]), jnp.uint32).at[place].set(value, mode="drop")
        return filler, jnp.arange(fillers, dtype=jnp.int32) < jnp.sum(~taken, dtype=jnp.int32)


def value_counts(x: Array, mask: Array, size: int) -> tuple[Array, Array]:
    """(Rows with the r-th distinct value, ``int32[n]``, 0 beyond; the values, ascending, ``uint32[n, limbs]``)."""
    count = x.shape[0]
    index = jnp.arange(count, dtype=jnp.int32)
    with jax.enable_x64(True):
        numbers = arithmetic(x.shape[1])
        (values,) = numbers.sort(numbers.read(x), real=mask, below=size)
        real = index < jnp.sum(mask, dtype=jnp.int32)
        starts = real & jnp.concatenate([jnp.ones(1, bool), numbers.differ(values[1:], values[:-1])])
        limbs = numbers.element(values)
    slot = jnp.where(real, jnp.cumsum(starts, dtype=jnp.int32) - 1, count)
    counts = jnp.zeros(count, jnp.int32).at[slot].add(1, mode="drop")
    distinct = jnp.zeros_like(limbs).at[slot].set(limbs, mode="drop")
    return counts, distinct


def at_most(weights: Array, total: Array) -> Array:
    """max(weights - t, 0) with the smallest t >= 0 for which they sum to at most ``total`` >= 0; ``int32[r]`` >= 0.

    If the weights are within E of numbers whose sum is at most ``total``, then t < E + 1.
    """

    def halve(_, bounds):
        low, high = bounds  # t in [low, high]
        middle = low + (high - low) // 2
        with jax.enable_x64(True):
            fits = jnp.sum(jnp.maximum(weights - middle, 0).astype(jnp.int64)) <= total.astype(jnp.int64)
        return jnp.where(fits, low, jnp.minimum(middle + 1, high)), jnp.where(fits, middle, high)

    start = jnp.int32(0), jnp.maximum(jnp.max(weights), 0)
    return jnp.maximum(weights - jax.lax.fori_loop(0, 32, halve, start)[1], 0)


def spread_over(total: Array, where: Array) -> Array:
    """``total`` >= 0 as integers over the entries ``where``, differing by at most 1; all 0 if there are none."""
    place = jnp.cumsum(where, dtype=jnp.int32) - 1
    count = jnp.maximum(jnp.sum(where, dtype=jnp.int32), 1)
    share = total // count + (place < total % count).astype(jnp.int32)
    return jnp.where(where, share, 0).astype(jnp.int32)
