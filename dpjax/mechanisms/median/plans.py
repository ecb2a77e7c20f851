"""Planners of private medians: how many records a method needs, and every number that its jitted form reads.

A design depends on public numbers only, (bits, epsilon, delta, beta), and is computed on the host. It is equal by
value, the same in every process, and carries the numbers of its proof; ``design.plan()`` is the pytree that runs and
that the guarantee adds up. What these numbers mean: docs/proofs/planners.md.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import Spends, down
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median.exponential import ExponentialPlan
from dpjax.mechanisms.median.plan_majority import plan_majority
from dpjax.mechanisms.median.plan_recprefix import plan_recprefix
from dpjax.mechanisms.median.plan_rsc import plan_rsc
from dpjax.mechanisms.median.plan_search import LEAST_DELTA, MedianDesign, check_goal, chosen
from dpjax.mechanisms.median.plan_treelog import plan_treelog

NAMES = ("auto", "exponential", "majority", "recprefix", "rsc", "treelog")
"""Names of medians; "auto" is one of `METHODS`."""
RACED = NAMES[1:]
METHODS = ("exponential", "majority")
"""Those that "auto" chooses from: wherever tried, each of the others needs as many records as majority, or more."""


@dataclass(frozen=True)
class ExponentialDesign(MedianDesign):
    """The design of the exponential median, which needs no numbers besides epsilon: the number of records.

    size: the domain is {0..size - 1}, or None for all 2**bits values.
    """

    size: int | None
    spends: ClassVar[Spends] = "bounded range"

    def plan(self) -> ExponentialPlan:
        """epsilon, rounded down to float32."""
        return ExponentialPlan(down(self.epsilon), self.bits, self.size)


@lru_cache(maxsize=256, typed=True)
def plan_exponential(
    bits: int, epsilon: float, beta: float | None = None, *, size: int | None = None, slack: float | None = None
) -> ExponentialDesign:
    """n = ceil((4 / epsilon) ln(|X| / beta)) records for an interior point, n / (2 alpha) for an alpha-median.

    Proof: docs/proofs/planners.md#the-exponential-median.

    Args:
      bits: of the domain, in [1, 2**20].
      epsilon: > 0.
      beta: in (0, 1).
      size: the domain is {0..size - 1}, size <= 2**bits; all values by default.
      slack: instead of beta = e^{-slack}.

    Reference: McSherry, Talwar 2007, Theorem 7.
    """
    checks.integer("bits", bits, 1, 2**20)
    checks.epsilon(epsilon)
    check_goal(beta, slack)
    if size is not None and checks.integer("size", size, 1).bit_length() > bits and size != 1 << bits:
        raise InputError("size", f"at most 2**{bits}", repr(size), "give more bits")
    log_size = bits * math.log(2) if size is None else math.log(size)
    wanted = -math.log(beta) if beta is not None else slack or 0.0
    ran = effective_epsilon(epsilon)
    interior = max(1, math.ceil(4 / ran * (log_size + wanted)))
    failure = chosen(log_size - 0.5 * ran * math.ceil(interior / 2))
    return ExponentialDesign(bits, float(epsilon), 0.0, beta, slack, interior, failure, size)


def plan_auto(bits: int, epsilon: float, delta: float, beta: float, *, size: int | None = None) -> MedianDesign:
    """The design that needs the fewest records for beta: exponential or majority; at delta 0 exponential.

    The choice does not depend on alpha: each design needs interior / (2 alpha) records for an alpha-median. At
    epsilon = 1, delta = 1e-6, beta = 0.1 the exponential median needs fewer up to 2**43, and majority beyond.

    Args:
      bits: in [1, 2**20]. epsilon: in [1e-5, 1e3]. delta: in [0, 1). beta: in (0, 1). size: see `plan_exponential`.
    """
    design: MedianDesign = plan_exponential(bits, epsilon, beta, size=size)
    if checks.delta(delta) < LEAST_DELTA:
        return design
    return min(design, plan_majority(bits, epsilon, delta, beta), key=lambda each: each.interior)


def plan_for(
    method: str, bits: int, epsilon: float, delta: float, beta: float, levels: int = 1, *, size: int | None = None
) -> MedianDesign:
    """The design of a method by name, one of ``NAMES``.

    levels: of the recursive ones. size: the domain is {0..size - 1}, which only the exponential median uses; all values
    by default.
    """
    if checks.choice("method", method, NAMES) == "auto":
        return plan_auto(bits, epsilon, delta, beta, size=size)
    if method == "exponential":
        return plan_exponential(bits, epsilon, beta, size=size)
    if method == "majority":
        return plan_majority(bits, epsilon, delta, beta)
    recursive: dict[str, Any] = {"recprefix": plan_recprefix, "treelog": plan_treelog, "rsc": plan_rsc}
    return recursive[method](bits, epsilon, delta, beta, levels)
