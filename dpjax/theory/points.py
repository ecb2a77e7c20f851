"""Sample sizes of learners of points."""

from math import log

from scipy.stats import binom

from dpjax import checks
from dpjax.theory.search import smallest


def point_learner(epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """n of `learners.PointLearner` (Algorithm 5), realizable, whatever k and |X|.

    All of these hold with probability 1 - beta, at least (shares of beta: 1/4, 1/4, 1/2):
    every element of mass >= alpha occurs at least 9 alpha n / 60 times (exact binomial, at most 1/alpha of them);
    every noisy count is within alpha n / 30 of its count, noise Lap(4/epsilon) on at most n values; then elements of
    mass >= alpha are released and reach alpha n / 15, and whatever reaches it occurs alpha n / 30 times;
    the gap alpha n / 30 passes the test of stability, D + (2 D/epsilon) ln(1/(2 delta')) with D = 2, delta' = delta/2.

    Args:
      epsilon: > 0. delta: in (0, 1). alpha, beta: in (0, 1).

    Reference: Bun, Nissim, Stemmer 2016, Theorem 3.13; constants are our own, with the corrected thresholds.
    """
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="PointLearner")
    checks.probability("alpha", alpha)
    checks.probability("beta", beta)
    log_inverse_delta = max(0.0, log(1 / delta))  # ln(1 / (2 (delta/2))), for both halves of the budget

    def enough(n: int) -> bool:
        occurs = binom.cdf(9 * alpha * n / 60, n, alpha) / alpha <= beta / 4
        noise = (4 / epsilon) * log(4 * n / beta) <= alpha * n / 30
        released = 1 + (4 / epsilon) * log_inverse_delta <= 7 * alpha * n / 60
        gap = 2 + (4 / epsilon) * (log_inverse_delta + log(1 / beta)) <= alpha * n / 30
        return occurs and noise and released and gap

    return smallest(enough)
