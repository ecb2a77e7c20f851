"""Exact privacy of the Gaussian mechanism: any number of runs is equivalent to one run with a larger mean shift."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr

from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.bisection import MARGIN, smallest
from dpjax.accounting.numeric.ranges import non_negative, positive
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)


def gaussian_delta(shift: float, epsilon: float) -> float:
    """The exact delta(epsilon) of N(0, 1) against N(shift, 1); shift > 0, epsilon >= 0.

    With a = epsilon / shift - shift / 2 it is phi(a) times the integral of exp(-t^2 / 2 - a t) (1 - exp(-shift t)) over
    t > 0, which has no cancellation and is used for small shifts. Relative error below 1e-10.

    Reference: Balle, Wang, "Improving the Gaussian mechanism for differential privacy", Theorem 8.
    """
    positive("shift", shift)
    non_negative("epsilon", epsilon)
    if shift < 0.1:
        a = epsilon / shift - shift / 2
        end = 45 / max(a, 4.5)  # the remainder is a fraction of 1e-17
        t = end / 2 * (1 + _NODES)
        terms = _WEIGHTS * np.exp(-t * t / 2 - a * t) * -np.expm1(-shift * t)
        return math.exp(-a * a / 2) * float(end / 2 * np.sum(terms)) / math.sqrt(2 * math.pi)
    above = log_ndtr(shift / 2 - epsilon / shift)
    below = epsilon + log_ndtr(-shift / 2 - epsilon / shift)
    return float(math.exp(above) * -math.expm1(min(0.0, below - above))) if math.isfinite(above) else 0.0


def gaussian_epsilon(shift: float, delta: float) -> float:
    """The smallest epsilon with ``gaussian_delta(shift, epsilon) <= delta``, rounded up; delta in (0, 1)."""
    positive("shift", shift)
    checks.delta(delta, positive_for="the Gaussian mechanism")
    reach = shift * shift / 2 + shift * math.sqrt(2 * math.log(1 / delta))
    return smallest(lambda epsilon: gaussian_delta(shift, epsilon) <= delta * (1 - MARGIN), reach * (1 + MARGIN))


def gaussian_guarantee(
    sigmas: Sequence[float],
    sensitivity: float,
    delta: float,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "Gaussian mechanism",
) -> Guarantee:
    """Gaussian noise of the given standard deviations on queries of one l2 sensitivity, composed exactly.

    Args:
      sigmas: > 0, one per run.
      sensitivity: > 0, **under the stated relation**.
      delta: in (0, 1), of all runs.
      neighboring: the stated relation.
      what: the name of the whole.

    Privacy: (gaussian_epsilon(mu, delta), delta) with mu^2 = sum of (sensitivity / sigma)^2; mu^2/2-zCDP.
    Reference: Balle, Wang, Theorem 8; Dong, Roth, Su, "Gaussian differential privacy", Corollary 3.3.
    """
    positive("sensitivity", sensitivity)
    ratios = [sensitivity / positive("sigma", sigma) for sigma in sigmas]
    if not ratios:
        raise InputError("sigmas", "at least one standard deviation", "none", "give one for each run")
    shift = math.hypot(*ratios)
    why = f"{len(ratios)} Gaussian runs act as one with mean shift {shift:.6g} in units of sigma"
    source = "Balle, Wang, Theorem 8; Dong, Roth, Su, Corollary 3.3"
    epsilon = gaussian_epsilon(shift, delta)
    return Guarantee(epsilon, delta, neighboring, what, why, rho=shift * shift / 2, source=source)
