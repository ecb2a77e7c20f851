"""Coefficients of set cover in closed form: bounds for any number of rounds, and the constants of papers.

Each function returns a coefficient for m rounds whose counts have discrete Laplace noise of scale m / (share epsilon),
so that all counts together are (share epsilon, 0)-private. `calibrate_set_cover` is larger than any of them.
"""

import math

from dpjax.accounting.cover.effects import Effect
from dpjax.accounting.cover.states import largest_loss, score_range
from dpjax.accounting.numeric.bisection import MARGIN
from dpjax.accounting.numeric.ranges import positive
from dpjax.accounting.zcdp import zcdp_rho
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

_LEAST_TAIL = math.e - 1


def pure_coefficient(
    epsilon: float, rounds: int, neighboring: Neighboring, effect: int | Effect | None = None, share: float = 0.0
) -> float:
    """The largest coefficient for which the rounds are (epsilon, 0)-private: (1 - share) epsilon / `largest_loss`.

    Args:
      epsilon: > 0.
      rounds: m >= 1.
      neighboring: the relation.
      effect: of the score: k for exact counts (share 0), None for noisy ones, or another of `effects`.
      share: in [0, 1), the fraction of epsilon for the counts.
    """
    _check(epsilon, rounds, share)
    return (1 - share) * epsilon / largest_loss(neighboring, effect, rounds) * (1 - 3 * MARGIN)


def closed_coefficient(
    epsilon: float, delta: float, rounds: int, neighboring: Neighboring, share: float = 0.2
) -> float:
    """ln(1 + e1 / y), e1 = (1 - share) epsilon, **with noisy counts**, for any number of rounds.

    ADD_OR_REMOVE_ONE: y = ln(1/delta). REPLACE_ONE: y > 0 with e^{-y} (1 + y) = delta, at least e - 1. Clipped to e1,
    or e1 / 2, which matters for large delta only. Exact counts lose a further 1 / k per round and make the bound false:
    at k = 1, epsilon = 1, delta = 1e-6 the game gives 1.5e-6 at 48 rounds and 3e-4 at 96.

    Proof: docs/proofs/set-cover-closed.md.

    Args:
      epsilon: > 0.
      delta: in (0, 1).
      rounds: m >= 1, used for the counts' noise only.
      neighboring: the relation.
      share: in (0, 1).

    Reference: Kaplan, Mansour, Matias, Stemmer, Claim 3.4, whose last line has e^{2 epsilon}, and Lemma 3.5, waiting
      times; constants our own.
    """
    _check(epsilon, rounds, share)
    if share == 0:
        advice = "give a fraction of epsilon to noisy counts, or calibrate the noise-free version by its game"
        raise InputError("share", "a number in (0, 1): the closed form is false for exact counts", repr(share), advice)
    checks.delta(delta, positive_for="the closed form")
    part = (1 - share) * epsilon
    if neighboring is Neighboring.ADD_OR_REMOVE_ONE:
        return min(math.log1p(part / -math.log(delta)), part) * (1 - MARGIN)
    return min(math.log1p(part / max(gamma_tail(delta), _LEAST_TAIL)), part / 2) * (1 - MARGIN)


def gamma_tail(delta: float) -> float:
    """The smallest y with e^{-y} (1 + y) <= delta, in (0, 1), rounded up."""
    log_inverse = -math.log(delta)
    above = 2 * log_inverse + 0.4  # e^{-y} (1 + y) <= 1.22 e^{-y/2}
    for _ in range(100):  # decreasing, and never below the solution
        above = log_inverse + math.log1p(above)
    return above * (1 + 1e-14)


def zcdp_coefficient(
    epsilon: float,
    delta: float,
    rounds: int,
    neighboring: Neighboring,
    share: float = 0.2,
    effect: int | Effect | None = None,
) -> float:
    """sqrt(8 (1 - share) rho / m) over `score_range`, rho = zcdp_rho(epsilon, delta). **``share`` is a part of rho.**

    The counts' scale is then sqrt(m / (2 share rho)); with share 0 they are exact and not published.
    """
    _check(epsilon, rounds, share)
    rho = (1 - share) * zcdp_rho(epsilon, delta)
    return math.sqrt(8 * rho / rounds) / score_range(neighboring, effect) * (1 - MARGIN)


def advanced_coefficient(
    epsilon: float, delta: float, rounds: int, neighboring: Neighboring, share: float = 0.2
) -> float:
    """e / `score_range`, with (1 - share) epsilon = sqrt(2 m ln(1/delta)) e + 2 m e^2; every selection is e-private.

    Reference: Kaplan, Mansour, Matias, Stemmer, Theorem 2.10 and Example 3.3. Its hypothesis e < 1 is enforced.
    """
    _check(epsilon, rounds, share)
    checks.delta(delta, positive_for="advanced composition")
    linear, part = math.sqrt(-2 * rounds * math.log(delta)), (1 - share) * epsilon
    each = 2 * part / (linear + math.sqrt(linear**2 + 8 * rounds * part))
    return min(each, 1 - 1e-9) / score_range(neighboring) * (1 - MARGIN)


def printed_coefficient(epsilon: float, delta: float) -> float:
    """epsilon / (2 ln(e/delta)), with counts of scale m / epsilon: (epsilon, delta) **if they are not published**.

    Under ADD_OR_REMOVE_ONE, for every m. The printed proof shows (2 epsilon, delta); docs/proofs/set-cover-hidden.md
    has one that shows the claim. At epsilon = 1, delta = 1e-6 and the paper's m for alpha = 0.1 an added row costs
    0.150, 0.210, 0.257 and 0.287 for k = 1, 2, 4 and 8; with published counts 1.113, 1.046, 0.811 and 0.597.

    Reference: Kaplan, Mansour, Matias, Stemmer, Claim 3.4 (epsilon < 1, delta < 1/e).
    """
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="the printed constants")
    return epsilon / (2 * (1 - math.log(delta)))


def corrected_coefficient(epsilon: float, delta: float, share: float = 0.5) -> float:
    """ln(1 + (1 - share) epsilon / ln(e/delta)), with counts of scale m / (share epsilon), under ADD_OR_REMOVE_ONE.

    The paper's proof with epsilon split between counts and functions, for counts that are published too;
    `closed_coefficient` is larger.
    """
    _check(epsilon, 1, positive("share", share))
    checks.delta(delta, positive_for="the corrected constants")
    return math.log1p((1 - share) * epsilon / (1 - math.log(delta))) * (1 - MARGIN)


def _check(epsilon: float, rounds: int, share: float) -> None:
    checks.epsilon(epsilon)
    checks.integer("rounds", rounds, 1)
    if not 0 <= checks.number("share", share) < 1:
        raise InputError("share", "a number in [0, 1)", repr(share), "leave a part for the selections, for example 0.2")
