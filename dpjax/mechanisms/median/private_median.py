"""A private median by the method that its plan selects."""

from typing import Protocol

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends
from dpjax.mechanisms.median.answer import MedianAnswer
from dpjax.mechanisms.median.exponential import Margins
from dpjax.mechanisms.median.plan_search import rank_margin


class MedianPlan(Protocol):
    """The numbers of a median as leaves and its structure as static fields: made by `core.plans.plan_type`.

    A new median is one file with such a class; its planner returns a `plans.MedianDesign`.
    """

    @property
    def bits(self) -> int:
        """Bits of an element of the domain."""

    @property
    def spends(self) -> Spends:
        """What the median satisfies at every budget."""

    def run(self, key: Array, x: Array, mask: Array, margins: Margins = (1, 1)) -> MedianAnswer:
        """An element with margins[0] rows at or below it and margins[1] at or above it, or abstain; traced."""

    def guarantee(self, what: str = "private median") -> Guarantee:
        """What the leaves spend, REPLACE_ONE, on the host."""


def private_median(key: Array, x: Array, mask: Array, plan: MedianPlan, *, alpha: float | None = None) -> MedianAnswer:
    """An interior point of the rows, or an alpha-median: (1/2 - alpha) n rows at or below it and as many at or above.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      plan: ``plan_for(method, ...).plan()``; its leaves may be traced, so that a sweep over budgets does not recompile.
      alpha: static, in (0, 1/2); None for an interior point.

    Privacy: `median_guarantee` (plan), REPLACE_ONE, for every database and every n.
    Utility: fails with probability at most the design's ``failure`` for ``required(alpha)`` or more rows.
    Reference: Yan 2025, Definition 11 (alpha-median) and Theorem 9; see the methods for theirs.
    """
    if not hasattr(plan, "run"):
        raise InputError(
            "plan", "a plan of a private median", type(plan).__name__, "make one with plan_for(method, ...).plan()"
        )
    return plan.run(key, x, mask, median_margins(jnp.sum(mask, dtype=jnp.int32), alpha))


def median_margins(n: Array, alpha: float | None) -> Margins:
    """`rank_margin` on both sides, ``int32[]``; (1, 1) for None."""
    if alpha is None:
        return 1, 1
    if not 0 < checks.number("alpha", alpha) < 0.5:
        raise InputError("alpha", "a number in (0, 1/2)", repr(alpha), "give None for an interior point")
    with jax.enable_x64(True):
        margin = rank_margin(n.astype(jnp.int64), alpha, jnp.maximum).astype(jnp.int32)
    return margin, margin


def median_guarantee(plan: MedianPlan, what: str = "private median") -> Guarantee:
    """What `private_median` spends, REPLACE_ONE, on the host: the sum over the plan's leaves."""
    return plan.guarantee(what)
