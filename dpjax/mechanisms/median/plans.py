"""Plans of private medians: how many records a method needs, and every number that its jitted form reads.

A plan is found on the host from public numbers only: (bits, epsilon, delta, beta). It is static, equal by value, and
the same in every process. Budgets are fractions of the traced epsilon and delta, so that a mechanism stays private at
any budget; what the plan was made for decides the failure probability only. The exception is ``RscPlan``.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.mechanisms.median.plan_recprefix import PrefixStep as PrefixStep
from dpjax.mechanisms.median.plan_recprefix import RecPrefixPlan as RecPrefixPlan
from dpjax.mechanisms.median.plan_recprefix import pairs_tail as pairs_tail
from dpjax.mechanisms.median.plan_recprefix import plan_recprefix as plan_recprefix
from dpjax.mechanisms.median.plan_rsc import RscPlan as RscPlan
from dpjax.mechanisms.median.plan_rsc import RscStep as RscStep
from dpjax.mechanisms.median.plan_rsc import plan_rsc as plan_rsc
from dpjax.mechanisms.median.plan_search import check_epsilon, check_goal, chosen, records_for_median
from dpjax.mechanisms.median.plan_search import rank_margin as rank_margin
from dpjax.mechanisms.median.plan_treelog import TreeLogPlan as TreeLogPlan
from dpjax.mechanisms.median.plan_treelog import TreeStep as TreeStep
from dpjax.mechanisms.median.plan_treelog import plan_treelog as plan_treelog
from dpjax.mechanisms.median.plan_treelog import stability_threshold as stability_threshold
from dpjax.mechanisms.median.plan_treelog import unstable_from as unstable_from

METHODS = ("exponential", "recprefix", "treelog")


@dataclass(frozen=True)
class ExponentialPlan:
    """The exponential median needs no numbers beside epsilon; the plan says how many records it needs.

    Attributes:
      bits: of the domain.
      size: the domain is {0..size - 1}, or None for all 2**bits values.
      epsilon: the budget for which ``failure`` is proved; privacy holds for every traced budget, with delta 0.
      beta: the failure probability that was asked for, or None.
      slack: the slack of an empirical plan, or None.
      interior: records from which an interior point is proved.
      failure: the proved bound on the probability of failure with at least that many records, at most 1.
    """

    bits: int
    size: int | None
    epsilon: float
    beta: float | None
    slack: float | None
    interior: int
    failure: float

    @property
    def levels(self) -> int:
        """No prefix recursion."""
        return 0

    def required(self, alpha: float | None = None) -> int:
        """Records needed for an alpha-median, alpha in (0, 1/2], or for an interior point."""
        return records_for_median(self.interior, alpha)


Plan = ExponentialPlan | RecPrefixPlan | TreeLogPlan


@lru_cache(maxsize=256, typed=True)
def plan_exponential(
    bits: int, epsilon: float, beta: float | None = None, *, size: int | None = None, slack: float | None = None
) -> ExponentialPlan:
    """n = ceil((4 / epsilon) ln(|X| / beta)) records for an interior point, n / (2 alpha) for an alpha-median.

    Proof. The best of the n + 1 or fewer ranks has quality ceil(n / 2), no answer has at most margin - 1 for margins
    ceil((1/2 - alpha) n); together the |X| values get at most |X| e^{-epsilon alpha n / 2}, alpha = 1/2 for an interior
    point.

    Args:
      bits: of the domain, in [1, 2**20].
      epsilon: in [1e-3, 100].
      beta: in (0, 1).
      size: the domain is {0..size - 1}, size <= 2**bits; all values by default.
      slack: instead of beta = e^{-slack}.

    Reference: McSherry, Talwar 2007, Theorem 7.
    """
    checks.integer("bits", bits, 1, 2**20)
    check_epsilon(epsilon)
    check_goal(beta, slack)
    if size is not None and checks.integer("size", size, 1).bit_length() > bits and size != 1 << bits:
        raise InputError("size", f"at most 2**{bits}", repr(size), "give more bits")
    log_size = bits * math.log(2) if size is None else math.log(size)
    wanted = -math.log(beta) if beta is not None else slack or 0.0
    interior = max(1, math.ceil(4 / epsilon * (log_size + wanted)))
    failure = chosen(log_size - 0.5 * epsilon * math.ceil(interior / 2))
    return ExponentialPlan(bits, size, float(epsilon), beta, slack, interior, failure)


def plan_auto(bits: int, epsilon: float, delta: float, beta: float) -> Plan:
    """The plan that needs the fewest records for beta: exponential, RecPrefix or TreeLog.

    One level of recursion; two are worse up to the largest domain. The choice is the same for every alpha: each needs
    interior / (2 alpha) records for an alpha-median. At epsilon = 1, delta = 1e-6 and beta = 0.1 the exponential median
    is best up to 2**128, RecPrefix up to about 2**600.

    Args:
      bits: in [1, 2**20]. epsilon: in [1e-3, 100]. delta: in (0, 1). beta: in (0, 1).
    """
    plans: tuple[Plan, ...] = (
        plan_exponential(bits, epsilon, beta),
        plan_recprefix(bits, epsilon, delta, beta),
        plan_treelog(bits, epsilon, delta, beta),
    )
    return min(plans, key=lambda plan: plan.interior)


def plan_for(method: str, bits: int, epsilon: float, delta: float, beta: float, levels: int = 1) -> Plan | RscPlan:
    """The plan of a method by name: "auto", "rsc" or a member of ``METHODS``; ``levels`` for the recursive ones."""
    if checks.choice("method", method, (*METHODS, "auto", "rsc")) == "auto":
        return plan_auto(bits, epsilon, delta, beta)
    if method == "exponential":
        return plan_exponential(bits, epsilon, beta)
    if method == "recprefix":
        return plan_recprefix(bits, epsilon, delta, beta, levels)
    if method == "treelog":
        return plan_treelog(bits, epsilon, delta, beta, levels)
    return plan_rsc(bits, epsilon, delta, beta, levels)
