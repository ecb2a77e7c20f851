"""Optimal homogeneous composition: the exact privacy of k adaptive runs of any (epsilon0, delta0)-private mechanism."""

import math

import numpy as np
from scipy.special import gammaln

from dpjax.accounting.composition import joint_delta
from dpjax.accounting.guarantee import Guarantee, composition
from dpjax.accounting.numeric import profile
from dpjax.accounting.numeric.bisection import MARGIN, largest
from dpjax.accounting.numeric.ranges import non_negative, part_of
from dpjax.core import checks
from dpjax.core.checks import InputError

_ULP = 4e-16
_MOST_ROUNDS = 1 << 24  # memory is linear in them
"""The rounding error of the losses, which dominates for smaller deltas."""


def optimal_delta(epsilon0: float, rounds: int, epsilon: float) -> float:
    """The exact delta(epsilon) of ``rounds`` runs of the worst epsilon0-private mechanism, randomized response.

    It is the sum over i of C(k, i) max(0, e^{i e0} - e^{epsilon + (k - i) e0}) / (1 + e^{e0})^k.

    Args:
      epsilon0: > 0, of one run.
      rounds: k >= 1; time and memory are linear in it, relative error below 1e-9 up to k = 10^5.
      epsilon: >= 0, of all runs.

    Reference: Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", Theorem 3.3.
    """
    checks.epsilon(epsilon0, "epsilon0")
    checks.integer("rounds", rounds, 1, _MOST_ROUNDS)
    non_negative("epsilon", epsilon)
    return float(profile.loss_delta(*_losses(epsilon0, rounds), epsilon))


def optimal_epsilon(epsilon0: float, rounds: int, slack: float) -> float:
    """The smallest epsilon with ``optimal_delta(epsilon0, rounds, epsilon) <= slack``, rounded up.

    Args:
      epsilon0: > 0.
      rounds: k >= 1.
      slack: in [0, 1); at 0 the answer is basic composition's k epsilon0.

    Reference: Kairouz, Oh, Viswanath, Theorem 3.3.
    """
    checks.epsilon(epsilon0, "epsilon0")
    checks.integer("rounds", rounds, 1, _MOST_ROUNDS)
    worst = rounds * epsilon0
    if part_of(worst, rounds) < epsilon0:
        worst = math.nextafter(worst, math.inf)
    if checks.delta(slack, "slack") == 0:
        return worst
    log_mass, loss = _losses(epsilon0, rounds)
    guess = float(profile.loss_epsilon(log_mass, loss, slack * (1 - MARGIN)))
    step = _ULP
    while guess < worst and profile.loss_delta(log_mass, loss, guess) > slack * (1 - 0.5 * MARGIN):
        guess, step = guess * (1 + step), 2 * step
    return min(guess * (1 + _ULP), worst)


def optimal_epsilon0(epsilon: float, delta: float, rounds: int, delta0: float = 0.0) -> float:
    """The largest epsilon0 for which ``rounds`` adaptive (epsilon0, delta0) runs are (epsilon, delta)-private.

    Rounded down, so that the guarantee holds; at delta = 0 it is the largest float that is at most epsilon / rounds.

    Args:
      epsilon: > 0, the target of all runs.
      delta: in [0, 1), the target of all runs.
      rounds: k >= 1.
      delta0: in [0, 1), of one run; 1 - (1 - delta0)^k must not exceed delta.

    Reference: Kairouz, Oh, Viswanath, Theorem 3.3, inverted by bisection.
    """
    checks.epsilon(epsilon)
    checks.delta(delta)
    checks.delta(delta0, "delta0")
    checks.integer("rounds", rounds, 1, _MOST_ROUNDS)
    basic = part_of(epsilon, rounds)
    slack = -math.expm1(math.log1p(-delta) - rounds * math.log1p(-delta0))
    if slack < 0:
        advice = f"choose delta0 <= {-math.expm1(math.log1p(-delta) / rounds):.6g}"
        raise InputError("delta0", f"1 - (1 - delta0)^{rounds} <= {delta}", repr(delta0), advice)
    slack *= 1 - 2 * MARGIN  # so that optimal_epsilon, which has its own margin, returns at most epsilon
    if slack == 0:
        return basic
    safe = epsilon * (1 - 8 * _ULP)
    return max(basic, largest(lambda epsilon0: optimal_delta(epsilon0, rounds, safe) <= slack, 0.5 * basic))


def optimal(part: Guarantee, rounds: int, slack: float, what: str = "optimal composition") -> Guarantee:
    """``rounds`` adaptive runs of one part, at the smallest epsilon that its (epsilon0, delta0) allows.

    Args:
      part: the guarantee of one run.
      rounds: k >= 1.
      slack: in [0, 1), the delta in addition to the parts' own deltas.
      what: the name of the whole.

    Privacy: (optimal_epsilon(epsilon0, k, slack), 1 - (1 - delta0)^k (1 - slack)); optimal among bounds that use only
      (epsilon0, delta0).
    Reference: Kairouz, Oh, Viswanath, Theorem 3.3.
    """
    checks.integer("rounds", rounds, 1, _MOST_ROUNDS)
    checks.delta(slack, "slack")
    epsilon = optimal_epsilon(part.epsilon, rounds, slack) if part.epsilon > 0 else 0.0
    why = f"optimal composition of {rounds} runs, slack {slack:.6g}"
    delta = joint_delta(part.delta, rounds, slack)
    return composition((part,), rounds, epsilon, delta, what, why, "Kairouz, Oh, Viswanath, Theorem 3.3")


def _losses(epsilon0: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-mass and loss of the outcomes with i truthful answers of ``rounds``, positive losses only, largest first."""
    truths = np.arange(rounds, rounds // 2, -1, dtype=np.float64)
    log_count = gammaln(rounds + 1) - (gammaln(truths + 1) + gammaln(rounds - truths + 1))
    log_truth = -math.log1p(math.exp(-epsilon0))
    log_lie = log_truth - epsilon0
    return log_count + truths * log_truth + (rounds - truths) * log_lie, (2 * truths - rounds) * epsilon0
