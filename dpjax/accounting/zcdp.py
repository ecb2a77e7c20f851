"""Zero-concentrated DP: a simple and nearly tight accountant for compositions of many exponential mechanisms.

A mechanism is rho-zCDP if its Renyi divergence of every order alpha > 1 is at most alpha rho. Rhos add.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from dpjax.accounting.guarantee import Guarantee, composition
from dpjax.accounting.numeric.bisection import MARGIN, largest, smallest
from dpjax.accounting.numeric.ranges import non_negative, positive
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

FORMS = ("closed", "optimal")


def pure_rho(epsilon: float, form: str = "tight") -> float:
    """The zCDP parameter of any (epsilon, 0)-private mechanism, epsilon >= 0.

    Form "printed": epsilon^2 / 2. Form "tight": epsilon tanh(epsilon / 2), attained by randomized response as
    alpha -> 1. Proof: randomized response is the worst case, and (alpha - 1) times its divergence is
    ln cosh((alpha - 1/2) epsilon) - ln cosh(epsilon / 2). With s = alpha - 1/2 the claim is that
    (s^2 - 1/4) epsilon tanh(epsilon/2) minus this is >= 0: it is 0 at s = 1/2, and its derivative
    2 s epsilon tanh(epsilon/2) - epsilon tanh(s epsilon) is >= 0 beyond, since tanh(s epsilon)/s falls with s.

    Reference: printed: Bun, Steinke, "Concentrated differential privacy", Proposition 1.4.
    """
    non_negative("epsilon", epsilon)
    if checks.choice("form", form, ("printed", "tight")) == "printed":
        return epsilon**2 / 2
    return epsilon * math.tanh(epsilon / 2)


def bounded_range_rho(epsilon: float) -> float:
    """The zCDP parameter of an epsilon-bounded-range mechanism, such as the exponential mechanism at epsilon.

    epsilon^2 / 8, or ``pure_rho`` if that is smaller (epsilon above 8).
    Reference: Cesar, Rogers, "Bounding, concentrating, and truncating", Section 3; Rogers, Steinke, "A better privacy
      analysis of the exponential mechanism".
    """
    tight = pure_rho(epsilon)
    return tight if epsilon > 16 else min(epsilon**2 / 8, tight)


def rho_of(part: Guarantee) -> float:
    """The zCDP parameter of a guarantee: the stated one, else from its bounded range, else from a pure epsilon."""
    if part.rho is not None:
        return part.rho
    if part.bounded_range is not None:
        return bounded_range_rho(part.bounded_range)
    if part.delta > 0:
        expected = "a zCDP, bounded-range or pure guarantee"
        advice = "compose approximate guarantees with optimal() or basic()"
        raise InputError("part", expected, f"{part.what}: ({part.epsilon}, {part.delta})-DP", advice)
    return pure_rho(part.epsilon)


def exponential_guarantee(
    epsilon: float,
    what: str = "exponential mechanism",
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    contract: str = "ideal",
) -> Guarantee:
    """The exponential mechanism at epsilon > 0: probabilities proportional to exp(epsilon score / (2 sensitivity)).

    Privacy: (epsilon, 0), epsilon-bounded-range, epsilon^2/8-zCDP.
    """
    checks.epsilon(epsilon)
    return Guarantee(
        float(epsilon),
        0.0,
        neighboring,
        what,
        rho=bounded_range_rho(epsilon),
        bounded_range=float(epsilon),
        source="McSherry, Talwar, Theorem 6; Rogers, Steinke",
        contract=contract,
    )


def zcdp_delta(rho: float, epsilon: float, form: str = "optimal") -> float:
    """A delta for which every rho-zCDP mechanism is (epsilon, delta)-private; rho > 0, epsilon >= 0.

    Form "optimal": the minimum over alpha > 1 of e^{(alpha-1)(alpha rho - epsilon)} (1 - 1/alpha)^alpha / (alpha - 1).
    Form "closed": e^{-(epsilon - rho)^2 / (4 rho)} for epsilon > rho, otherwise 1.
    Reference: optimal: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", Corollary 13;
      closed: Bun, Steinke, Proposition 1.3.
    """
    positive("rho", rho)
    non_negative("epsilon", epsilon)
    if checks.choice("form", form, FORMS) == "closed":
        return math.exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else 1.0

    # With u = ln(alpha - 1) the log of the bound is convex in alpha with this derivative; any u gives a valid delta.
    def slope(u: float) -> float:
        return (2 * math.exp(u) + 1) * rho - epsilon - softplus(-u)

    low, high = -(3 * rho + 1), max(0.0, math.log(epsilon + 1) - math.log(2 * rho))
    for _ in range(100):
        middle = 0.5 * (low + high)
        settled = middle in (low, high)  # no float lies between low and high
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        if settled:
            break
    above = math.exp(high)
    exponent = above * ((1 + above) * rho - epsilon - softplus(-high)) - math.log1p(above)
    return math.exp(min(0.0, exponent))


def zcdp_epsilon(rho: float, delta: float, form: str = "optimal") -> float:
    """The smallest epsilon that the conversion of ``form`` gives at delta in (0, 1); rho >= 0.

    Form "closed": rho + 2 sqrt(rho ln(1/delta)). Form "optimal": ``zcdp_delta`` inverted, rounded up; never larger.
    """
    checks.delta(delta, positive_for="the conversion from zCDP")
    checks.choice("form", form, FORMS)
    if non_negative("rho", rho) == 0:
        return 0.0
    closed = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    if form == "closed":
        return closed
    return _optimal_epsilon(float(rho), float(delta), closed)


@lru_cache(4096)  # a plan and its guarantee request the same value
def _optimal_epsilon(rho: float, delta: float, closed: float) -> float:
    return smallest(lambda epsilon: zcdp_delta(rho, epsilon) <= delta * (1 - MARGIN), closed * (1 + MARGIN))


def zcdp_rho(epsilon: float, delta: float, form: str = "optimal") -> float:
    """The largest rho whose conversion stays within epsilon > 0 and delta in (0, 1), rounded down.

    Form "closed": (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2.
    """
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="the conversion from zCDP")
    checks.choice("form", form, FORMS)
    log_inverse = math.log(1 / delta)
    closed = (epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))) ** 2 * (1 - 2 * MARGIN)
    if form == "closed":
        return closed
    return _optimal_rho(float(epsilon), float(delta), closed)


@lru_cache(4096)  # as `_optimal_epsilon`
def _optimal_rho(epsilon: float, delta: float, closed: float) -> float:
    return largest(lambda rho: zcdp_delta(rho, epsilon) <= delta * (1 - 2 * MARGIN), closed)


def exponential_epsilon0(epsilon: float, delta: float, rounds: int, form: str = "optimal") -> float:
    """The per-round epsilon0 = sqrt(8 rho / k) of ``rounds`` exponential mechanisms within (epsilon, delta) by zCDP.

    Args:
      epsilon: > 0, of all rounds.
      delta: in (0, 1), of all rounds.
      rounds: k >= 1; for a few rounds ``optimal_epsilon0`` is larger, and calibrate(..., "exponential") takes the best.
      form: the conversion that gives rho, "optimal" or "closed".
    """
    checks.integer("rounds", rounds, 1)
    return math.sqrt(8 * zcdp_rho(epsilon, delta, form) / rounds) * (1 - 1e-15)


def zcdp(
    parts: Sequence[Guarantee], delta: float, rounds: int = 1, form: str = "optimal", what: str = "zCDP composition"
) -> Guarantee:
    """All parts, each run ``rounds`` times, chosen adaptively, converted to (epsilon, delta) once at the end.

    Args:
      parts: each zCDP, bounded-range or pure, see ``rho_of``.
      delta: in (0, 1), the only delta that is spent.
      rounds: >= 1.
      form: "optimal" or "closed".
      what: the name of the whole.

    Privacy: rho = rounds * sum of rhos, and (zcdp_epsilon(rho, delta), delta).
    Reference: Bun, Steinke, "Concentrated differential privacy", Lemma 1.7 and Proposition 1.3; Canonne, Kamath,
      Steinke, Corollary 13.
    """
    parts = tuple(parts)
    checks.integer("rounds", rounds, 1)
    rho = rounds * math.fsum(rho_of(part) for part in parts)
    why = f"zCDP composition: rhos add to {rho:.6g}, converted at delta {delta:.6g} ({form})"
    source = "Bun, Steinke, Lemma 1.7; Canonne, Kamath, Steinke, Corollary 13"
    return replace(composition(parts, rounds, zcdp_epsilon(rho, delta, form), delta, what, why, source), rho=rho)


def softplus(value: float) -> float:
    """ln(1 + e^value)."""
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))
