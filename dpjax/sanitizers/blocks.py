"""S-basic: an interior point of each of k blocks of the sorted rows."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import best_split, least_composed
from dpjax.accounting.zcdp import exponential_epsilon0
from dpjax.core import bit_strings as B
from dpjax.core import checks, keys
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import STATIC, Slack, Spends, down, plan_type, require_leaves
from dpjax.core.types import Accuracy, Privacy, host_numbers
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import RACED, ExponentialPlan, MedianPlan, median_guarantee, plan_for, private_median
from dpjax.sanitizers.base import OfThresholds, Sanitized
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import sanitizers as sizes


@plan_type
class BlocksPlan:
    """median: plan of one block's median. slack: ``float32[]``, the delta of the composition. size: k."""

    median: MedianPlan
    slack: Slack
    size: int = field(metadata=STATIC)


@dataclass(frozen=True)
class RankBlocks(OfThresholds):
    """k blocks of n / k consecutive ranks, an interior point of each, with the block's size as its weight.

    Args:
      blocks: k >= 1, by default ceil(1 / alpha).
      median: one of `mechanisms.median.RACED`, by default "exponential" or "majority", whichever needs fewer rows.
      domain_size: the domain is {0..domain_size - 1}, or None for all 2**bits values; "exponential" only.

    If a block's median abstains, its outcome is -1; its point is element 0 and its weight is kept.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database and every n: block boundaries are public, and when a row
      is replaced the sorted list loses a row at one rank and gains one at another, so each block between them loses
      one row and gains one. All k medians compose, by the theorem with the largest budget per median.
    Utility: if all points are interior, the error is below 1 / k: of two blocks, only the rows around the threshold
      can be on the wrong side, (ceil(n / k) - 1) / n at most. This holds with probability 1 - beta from `sample_size`.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 5 (thresholds from interior points), as in Bun, Nissim,
      Stemmer 2016, Proposition 2.21; constants our own.
    """

    blocks: int | None = field(default=None, kw_only=True)
    median: str | None = field(default=None, kw_only=True)
    domain_size: int | None = field(default=None, kw_only=True)
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        super().__post_init__()
        checks.whole_or_none("blocks", self.blocks, 1)
        if self.median is not None:
            checks.choice("median", self.median, RACED)
        if self.median not in (None, "exponential") and self.domain_size is not None:
            raise InputError("domain_size", "None for this median", repr(self.domain_size), "use median='exponential'")

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> BlocksPlan:
        """Each block's fraction of the budget, and the median that needs fewer rows."""
        return self._planned(privacy, accuracy)[0]

    def sanitize(self, key: Array, x: Array, mask: Array, plan: BlocksPlan) -> Sanitized:
        """k points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
        ends = boundaries(n, plan.size)
        room = jnp.arange(-(-x.shape[0] // plan.size), dtype=jnp.int32)

        def one(own: Array, first: Array, count: Array):
            block = rows[jnp.minimum(first + room, x.shape[0] - 1)]
            return private_median(own, block, room < count, plan.median)

        medians = jax.vmap(one)(keys.per_index(key, plan.size), ends[:-1], ends[1:] - ends[:-1])
        return Sanitized.of(medians.element, ends[1:] - ends[:-1], medians.outcome)

    def guarantee(self, plan: BlocksPlan) -> Guarantee:
        """k medians."""
        require_leaves(plan)
        what = f"threshold sanitizer, {plan.size} blocks"
        return least_composed(median_guarantee(plan.median, "interior point"), plan.size, float(plan.slack), what)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """k times the rows of one interior point at its fractions of the budget and of beta."""
        plan, rows = self._planned(privacy, accuracy)
        if plan.size < blocks_for(float(accuracy.alpha)):
            raise NoTheoremError("alpha", f"at least 1 / {plan.size} blocks", repr(accuracy.alpha), "take more blocks")
        return rows

    def _planned(self, privacy: Privacy, accuracy: Accuracy) -> tuple[BlocksPlan, int]:
        """The plan with the fewest rows, and their number."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        blocks = blocks_for(alpha) if self.blocks is None else self.blocks
        plans = []
        if self.median in (None, "exponential"):
            part = best_split(epsilon, delta, blocks, "bounded range")[0]
            median = ExponentialPlan(down(part.epsilon), self.bits, self.domain_size)
            width = log_size(self.bits, self.domain_size)
            rows = blocks * sizes.interior(width, effective_epsilon(median.epsilon) / 2, beta / blocks)
            plans.append((BlocksPlan(median, down(part.slack), blocks), rows))
        free = self.median is None and self.domain_size is None and delta > 0
        if free or self.median not in (None, "exponential"):
            part = best_split(epsilon, checks.delta(delta, positive_for="this median"), blocks, "approximate")[0]
            try:
                design = plan_for(self.median or "majority", self.bits, part.epsilon, part.delta, beta / blocks)
            except InputError:
                if self.median is not None:
                    raise
            else:
                plans.append((BlocksPlan(design.plan(), down(part.slack), blocks), blocks * design.interior))
        return min(plans, key=lambda plan: plan[1])


def blocks_for(alpha: float) -> int:
    """ceil(1 / alpha), with alpha read as a decimal: 0.1 gives 10."""
    return math.ceil(round(1 / checks.probability("alpha", alpha), 9))


def log_size(bits: int, domain_size: int | None) -> float:
    """ln |X|."""
    return bits * math.log(2) if domain_size is None else math.log(domain_size)


def reference_epsilon(delta: float, count: int) -> float:
    """The epsilon of one of ``count`` exponential mechanisms at total epsilon 1 and this delta, to choose structure."""
    return max(1 / count, exponential_epsilon0(1.0, delta, count, "closed") if delta > 0 else 0.0)
