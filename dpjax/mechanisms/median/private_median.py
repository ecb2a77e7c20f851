"""A private median by the method that its plan selects."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.mechanisms.median.answer import Margins, MedianAnswer, MedianPlan
from dpjax.mechanisms.median.plan_search import rank_margin


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
    checks.instance(
        "plan", plan, MedianPlan, "make one with plan_for(method, ...).plan()", "a plan of a private median"
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
