"""A private median by any of the methods: what a plan says."""

from fractions import Fraction

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.mechanisms.median.answer import MedianAnswer
from dpjax.mechanisms.median.exponential import Margins, exponential_median
from dpjax.mechanisms.median.plans import ExponentialPlan, RecPrefixPlan, RscPlan, TreeLogPlan, plan_exponential
from dpjax.mechanisms.median.recprefix import recprefix, recprefix_guarantee
from dpjax.mechanisms.median.treelog import treelog, treelog_guarantee
from dpjax.mechanisms.median.treelog_rsc import treelog_rsc

MedianPlan = ExponentialPlan | RecPrefixPlan | TreeLogPlan | RscPlan


def private_median(
    key: Array, x: Array, mask: Array, privacy: Privacy, plan: MedianPlan, *, alpha: float | None = None
) -> MedianAnswer:
    """An interior point of the rows, or an alpha-median: (1/2 - alpha) n rows at or below it and as many at or above.

    Args:
      key: consumed.
      x: ``uint32[capacity, W]``, rows in any order, W limbs of plan.bits bits. mask: ``bool[capacity]``.
      privacy: traced. An `RscPlan` has its own budget and does not look at it.
      plan: static, from `plan_for` or the planner of a method.
      alpha: static, in (0, 1/2); None for an interior point.

    Privacy: `median_guarantee` (privacy, plan), REPLACE_ONE, for every database and every n.
    Utility: fails with probability at most plan.failure at the plan's own budget from plan.required(alpha) rows on; for
      the exponential median, see there.
    Reference: Yan 2025, Definition of the alpha-median; the methods have their own.
    """
    margins = median_margins(jnp.sum(mask, dtype=jnp.int32), alpha)
    if isinstance(plan, ExponentialPlan):
        law = exponential_median(x, mask, privacy.epsilon, bits=plan.bits, size=plan.size, margins=margins)
        return MedianAnswer.of(law.sample(key), jnp.bool_(True))
    if isinstance(plan, RecPrefixPlan):
        return recprefix(key, x, mask, privacy, plan, margins)
    if isinstance(plan, TreeLogPlan):
        return treelog(key, x, mask, privacy, plan, margins)
    if isinstance(plan, RscPlan):
        return treelog_rsc(key, x, mask, plan, margins)
    raise InputError("plan", "a plan of a private median", type(plan).__name__, "make one with plan_for(method, ...)")


def median_margins(n: Array, alpha: float | None) -> Margins:
    """ceil((1/2 - alpha) n), at least 1, on both sides, ``int32[]``; (1, 1) for None.

    1/2 - alpha is read as the nearest fraction with a denominator of at most 1000.
    """
    if alpha is None:
        return 1, 1
    if not 0 < checks.number("alpha", alpha) < 0.5:
        raise InputError("alpha", "a number in (0, 1/2)", repr(alpha), "give None for an interior point")
    share = Fraction(0.5 - alpha).limit_denominator(1000)
    above, below = share.numerator, share.denominator
    margin = n // below * above + (n % below * above + below - 1) // below
    return jnp.maximum(1, margin), jnp.maximum(1, margin)


def median_guarantee(privacy: Privacy, plan: MedianPlan, what: str = "private median") -> Guarantee:
    """What `private_median` spends, REPLACE_ONE, on the host."""
    if isinstance(plan, ExponentialPlan):
        return exponential_guarantee(float(privacy.epsilon), f"{what} (exponential)")
    if isinstance(plan, RecPrefixPlan):
        return recprefix_guarantee(privacy, plan, f"{what} (RecPrefix)")
    if isinstance(plan, TreeLogPlan):
        return treelog_guarantee(privacy, plan, what=f"{what} (TreeLog)")
    return plan.guarantee()


def required_records(plan: MedianPlan, privacy: Privacy, beta: float, alpha: float | None = None) -> int:
    """Host: records from which `private_median` fails with probability at most beta at this budget.

    Raises InputError where that is not proved: a recursive plan is proved at its own budget and its own beta.
    """
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    if isinstance(plan, ExponentialPlan):
        return plan_exponential(plan.bits, epsilon, beta, size=plan.size).required(alpha)
    same = abs(epsilon / plan.epsilon - 1) < 1e-6 and abs(delta / plan.delta - 1) < 1e-6
    if not same or plan.failure > beta:
        raise InputError(
            "median", f"a plan for epsilon {epsilon:.6g}, delta {delta:.6g}, beta {beta:.6g}",
            f"one for {plan.epsilon:.6g}, {plan.delta:.6g}, failure {plan.failure:.6g}", "plan it for this budget",
        )  # fmt: skip
    return plan.required(alpha)
