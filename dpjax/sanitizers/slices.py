"""S-RSC: an interior point of each slice of random length; an added row changes few slices, however many there are."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.distance import as_replace_one
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.slices import slices as slices_guarantee
from dpjax.accounting.slices import slices_epsilon, slices_rate
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import bit_strings as B
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.plans import (
    STATIC,
    Number,
    Positive,
    Probability,
    Spends,
    down,
    plan_type,
    require_leaves,
    require_shape,
    same_plan,
)
from dpjax.core.random import MOST_LEVELS, GeometricTable, geometric_table
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers
from dpjax.laws import Geometric
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import exponential_median
from dpjax.sanitizers.base import OfThresholds, Sanitized, whole_rows
from dpjax.sanitizers.blocks import blocks_for, log_size
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import sanitizers as sizes


@plan_type
class SlicesPlan:
    """rate: ``float32[]``, e0 of the slice lengths and of the medians. lengths: the sampler's table for this rate.

    means: ``int32[size + 1]``, floor(i E[g]). slack: ``float32[]``, the delta of the transcript when a row is added.
    """

    rate: Positive
    lengths: GeometricTable
    means: Any
    slack: Probability
    size: int = field(metadata=STATIC)


@dataclass(frozen=True)
class Slices(OfThresholds):
    """Reorder-slice-compute over ranks: slice i is the next m_i + g_i rows, g_i geometric; the last has all the rest.

    Weights are those of equal blocks of ranks; m_i is the block's size minus the mean of g_i (at least 1): both public.

    Args:
      count: number of slices, >= 1; by default the number, from 1 / alpha to 4 / alpha, that needs the fewest rows.
      domain_size: the domain is {0..domain_size - 1}, or None for all 2**bits values.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database: each slice is read by one exponential median of rate
      e0, which is (e0, 0)-private when a row is added, since adding rows never decreases its score.
      `accounting.slices` has the theorem, for any number of rows: a short or empty slice has all remaining rows, and
      the last slice is a round whose m is the capacity. m_i depends on n, which is public: a replaced row is one
      removed and one added at the same m_i.
    Utility: error at most alpha with probability 1 - beta from `sample_size`; proof in `theory.sanitizers.slices`.
    Reference: Cohen, Lyu, Nelson, Sarlos, Stemmer 2023 (reorder-slice-compute), for a sanitizer; constants our own.
    """

    count: int | None = field(default=None, kw_only=True)
    domain_size: int | None = field(default=None, kw_only=True)
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        super().__post_init__()
        checks.whole_or_none("count", self.count, 1)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> SlicesPlan:
        """The largest rate for this budget."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        checks.delta(delta, positive_for="slices of random length")
        # of a large epsilon a part is not spent, so that delta / (1 + e^{epsilon / 2}) does not vanish
        epsilon = min(epsilon, 2 * max(1.0, math.log(delta / _LEAST_DELTA)))
        slack = down(_slack(epsilon, delta))
        if not float(slack) > 0:
            raise InputError("delta", "a number of which a part is a float32 > 0", repr(delta), "choose a larger one")
        count = self.count
        if count is None:
            least = blocks_for(alpha)
            extra = (1, 2, 4, 6, 9, 13, 18, 25, 35, 50, 75, 150)
            counts = sorted({least + math.ceil(least * more / 50) for more in extra})
            count = min(counts, key=lambda many: self._rows(_rate(1.0, delta, many), many, alpha, beta))
        rate = down(_rate(epsilon, delta, count))
        mean = 1 / math.expm1(float(rate))
        if count * mean >= 2**31:
            actual = f"{count * mean:.3g} at epsilon = {epsilon:g}"
            raise InputError("epsilon", "slices of fewer than 2^31 rows together", actual, "choose a larger one")
        means = np.array([math.floor(i * mean) for i in range(count + 1)], np.int32)
        return SlicesPlan(rate, _table(rate), means, slack, count)

    def sanitize(self, key: Array, x: Array, mask: Array, plan: SlicesPlan) -> Sanitized:
        """``count`` points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        of_lengths, of_points = keys.streams(key, "lengths", "points")
        rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
        ends = boundaries(n, plan.size)
        least = jnp.clip(jnp.diff(ends) - jnp.diff(jnp.asarray(plan.means)), 1, x.shape[0])[:-1]

        def cut(begin: Array, slice_: tuple[Array, Array]) -> tuple[Array, Array]:
            own, length = slice_
            end = jnp.minimum(begin + length + Geometric(plan.lengths, x.shape[0]).sample(own), n)
            return end, end

        # the last slice has all remaining rows: its length is not drawn
        _, cuts = jax.lax.scan(cut, jnp.int32(0), (keys.per_index(of_lengths, plan.size - 1), least))
        first, behind = jnp.append(jnp.zeros(1, jnp.int32), cuts), jnp.append(cuts, n)
        place = jnp.arange(x.shape[0], dtype=jnp.int32)

        def one(own: Array, low: Array, high: Array) -> Array:
            law = exponential_median(
                rows,
                (place >= low) & (place < high),
                plan.rate,
                bits=self.bits,
                size=self.domain_size,
                monotonic=True,
                neighboring=Neighboring.ADD_OR_REMOVE_ONE,
            )
            return law.sample(own)

        points = jax.vmap(one)(keys.per_index(of_points, plan.size), first, behind)
        return Sanitized.of(points, jnp.diff(ends))

    def guarantee(self, plan: SlicesPlan) -> Guarantee:
        """Slices under ADD_OR_REMOVE_ONE, converted to REPLACE_ONE."""
        require_leaves(plan)
        require_shape("means", plan.means, (plan.size + 1,))
        if not same_plan(plan.lengths, _table(plan.rate)):
            raise InputError(
                "lengths", "the table of lengths for the plan's rate", "another table", "make the plan with Slices.plan"
            )
        add, rate = Neighboring.ADD_OR_REMOVE_ONE, float(plan.rate)
        part = exponential_guarantee(rate, "interior point of a slice (exponential)", add)
        what = f"{plan.size} slices of ranks"
        whole = as_replace_one(slices_guarantee(part, rate, float(plan.slack), plan.size, what))
        return basic((whole,), f"threshold sanitizer, {plan.size} slices")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.slices`."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        rows = self._rows(float(plan.rate), plan.size, alpha, beta)
        return whole_rows(rows, alpha, f"1 / {plan.size} slices", "slices")

    def _rows(self, rate: float, count: int, alpha: float, beta: float) -> float:
        medians = effective_epsilon(rate)
        return sizes.slices(log_size(self.bits, self.domain_size), medians, rate, count, alpha, beta)


def _table(rate: Number) -> GeometricTable:
    return jax.tree.map(np.asarray, geometric_table(1 / float(rate), MOST_LEVELS))


_LEAST_DELTA = 1e-32


@lru_cache(maxsize=1024)
def _rate(epsilon: float, delta: float, count: int) -> float:
    """The largest rate, reduced slightly if the guarantee, which is computed differently, would exceed the budget."""
    half, slack = epsilon / 2, float(down(_slack(epsilon, delta)))
    rate, safe = slices_rate(half, slack, count), 1e-9
    while slices_epsilon(slack, rate * (1 - safe), rate * (1 - safe), rounds=count) > half:
        safe *= 10
    return rate * (1 - safe)


def _slack(epsilon: float, delta: float) -> float:
    return delta / (1 + math.exp(epsilon / 2)) * (1 - 1e-9)
