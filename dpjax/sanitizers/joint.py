"""JointExp: all quantiles in one exponential mechanism, as a threshold sanitizer."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import bit_strings as B
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, Positive, Spends, down, plan_type, require_leaves
from dpjax.core.types import Accuracy, Privacy, host_numbers
from dpjax.sanitizers.base import OfThresholds, Sanitized, top_of, whole_rows
from dpjax.sanitizers.blocks import log_size
from dpjax.sanitizers.joint_law import JointLaw
from dpjax.sanitizers.quantiles import all_numbered, counts_tried, enough_ties, numbered, of_quantiles, shifted_right
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import sanitizers as sizes

_MOST_COUNT = 256


@plan_type
class JointPlan:
    """rate: ``float32[]``, of the loss. count: m. ties: number of bits that distinguish equal rows."""

    rate: Positive
    count: int = field(metadata=STATIC)
    ties: int = field(metadata=STATIC)

    @property
    def size(self) -> int:
        """The number of points: the quantiles and both ends."""
        return self.count + 2


@dataclass(frozen=True)
class JointQuantiles(OfThresholds):
    """m quantiles drawn jointly by one exponential mechanism, whose loss depends on the numbers of rows between them.

    Args:
      count: m in [1, 256], by default the number that needs the fewest rows; the sums take m^2 operations a row.
      ties: in [0, 31], bits that distinguish equal rows, see `RecursiveQuantiles`.

    Privacy: (epsilon, 0), REPLACE_ONE, for every database and every n. Let c_j be the number of rows between
      consecutive quantiles and t_j its target, which depends on n only. The loss is the sum of max(c_j - t_j, 0), half
      the sum of |c_j - t_j|, since both add up to n. A replaced row decreases one c_j by 1 and increases another, so
      the loss changes by at most 1; the rate is epsilon / 2. The base measure, m sorted uniform elements, is public.
    Utility: error at most alpha with probability 1 - beta from `sample_size`, if no value occurs more than 2^ties
      times; proof in `theory.sanitizers.joint`.
    Reference: Gillenwater, Joseph, Kulesza 2021, Algorithm 1 (JointExp), where the loss is twice ours and its
      sensitivity 2; on a finite domain, with a sampler and constants of our own.
    """

    count: int | None = field(default=None, kw_only=True)
    ties: int | None = field(default=None, kw_only=True)
    spends: ClassVar[Spends] = "bounded range"

    def __post_init__(self):
        super().__post_init__()
        checks.whole_or_none("count", self.count, 1, _MOST_COUNT)
        checks.whole_or_none("ties", self.ties, 0, 31)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> JointPlan:
        """From 1 / (2 alpha) to 2 / alpha quantiles; an even number of tie bits, so that epsilons share programs."""
        epsilon, _, alpha, beta = host_numbers(privacy, accuracy)
        rate, count, ties = down(epsilon / 2), self.count, self.ties
        if count is None:
            counts = [count for count in counts_tried(alpha, 32) if count <= _MOST_COUNT]
            if not counts:
                what = f"one that {_MOST_COUNT} quantiles can reach"
                raise InputError("alpha", what, repr(alpha), "relax alpha, or use Hierarchy")
            count = min(counts, key=lambda m: self._rows(0.5, m, 0, alpha, beta))
        if ties is None:
            ties = enough_ties(lambda t: self._rows(float(rate), count, t, alpha, beta))
        return JointPlan(rate, count, ties)

    def sanitize(self, key: Array, x: Array, mask: Array, plan: JointPlan) -> Sanitized:
        """m + 2 points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        n = jnp.sum(mask, dtype=jnp.int32)
        top = top_of(self.bits)
        rows = B.sort_rows(jnp.where(B.less(top, x)[:, None], top, x), mask)
        rows, _ = numbered(rows, n, self.bits, plan.ties)
        targets = jnp.diff(boundaries(n, plan.count + 1))
        points = JointLaw.of(rows, n, targets, jnp.asarray(plan.rate), self.bits + plan.ties).sample(key)
        points = B.sort_rows(points, jnp.ones(plan.count, bool))  # their order would reveal which ones share a place
        return of_quantiles(shifted_right(points, self.bits, plan.ties), self.bits, None)

    def guarantee(self, plan: JointPlan) -> Guarantee:
        """One exponential mechanism."""
        require_leaves(plan)
        return exponential_guarantee(2 * float(plan.rate), f"{plan.count} joint quantiles (exponential)")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.joint`; NoTheoremError for ``ties`` that cannot number so many equal rows."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        rows = self._rows(float(plan.rate), plan.count, plan.ties, alpha, beta)
        return all_numbered(whole_rows(rows, alpha, f"1 / {2 * plan.count + 2}", "quantiles"), plan.ties)

    def _rows(self, rate: float, count: int, ties: int, alpha: float, beta: float) -> float:
        return sizes.joint(log_size(self.bits + ties, None), rate, count, alpha, beta)
