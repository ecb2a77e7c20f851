"""Plans of private medians for practice: meant to work on a given number of rows, as private as proved ones."""

from dataclasses import replace
from typing import Any

from dpjax.core import checks
from dpjax.mechanisms.median import (
    MedianDesign,
    plan_exponential,
    plan_majority,
    plan_recprefix,
    plan_rsc,
    plan_treelog,
)

_PREFIX, _FINAL, _MARGIN = 5 / 16, 7 / 32, 0.23  # of RecPrefix in practice: shares of epsilon, and pairs above by n
_SLACKS = tuple(i / 20 for i in range(161))
_BETAS = tuple(i / 20 for i in range(1, 20))


def plan_near(method: str, bits: int, epsilon: float, delta: float, n: int) -> MedianDesign:
    """The design of a method, one level deep, meant to find an interior point of n >= 1 rows; nothing is proved.

    method: "treelog" or "rsc", the largest slack whose design asks for n rows or fewer; "majority", the least beta;
        "recprefix", fixed shares, no trims and the margin 0.23 n, found by search at epsilon = 1, delta = 1e-6 for
        domains of 16 to 1024 bits; "exponential".
    """
    checks.choice("method", method, ("exponential", "majority", "recprefix", "treelog", "rsc"))
    checks.integer("n", n, 1)
    if method == "exponential":
        return plan_exponential(bits, epsilon, slack=0.0)
    if method == "recprefix":
        prefix = plan_recprefix(bits, epsilon, delta, slack=0.0)
        step = replace(prefix.steps[0], prefix=_PREFIX, final=_FINAL, gap=1, margin=max(1, round(_MARGIN * n)))
        return replace(prefix, steps=(step,), base=1 - _PREFIX - _FINAL, interior=n)
    if method == "majority":
        tries = [plan_majority(bits, epsilon, delta, beta) for beta in _BETAS]
        return next((one for one in tries if one.interior <= n), tries[-1])
    planner: Any = plan_treelog if method == "treelog" else plan_rsc
    designs = [planner(bits, epsilon, delta, slack=slack) for slack in _SLACKS]
    return max((one for one in designs if one.interior <= n), key=lambda one: one.slack or 0.0, default=designs[0])
