"""Sample sizes of learners of points."""

from math import ceil, log, log2

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.theory.search import smallest


def point_learner(epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """n of `learners.PointLearner` (Algorithm 5), realizable, whatever k and |X|.

    All of these hold with probability 1 - beta, at least (shares of beta: 1/4, 1/4, 1/2):
    every element of mass >= alpha occurs at least 9 alpha n / 60 times (exact binomial, at most 1/alpha of them);
    every noisy count, rounded to a whole one, is within alpha n / 30 of its count, noise Lap(4/epsilon) on at most n
    values; then elements of
    mass >= alpha are released and reach alpha n / 15, and whatever reaches it occurs alpha n / 30 times;
    the gap alpha n / 30 passes the test of stability, D + (2 D/epsilon) ln(1/(2 delta')) with D = 2, delta' = delta/2.

    Args:
      epsilon: > 0. delta: in (0, 1). alpha, beta: in (0, 1).

    Reference: Bun, Nissim, Stemmer 2016, Theorem 3.13; constants are our own, with the corrected thresholds.
    """
    from scipy.stats import binom  # a slow import, not needed to name what there is

    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="PointLearner")
    checks.accuracy(alpha, beta)
    log_inverse_delta = max(0.0, log(1 / delta))  # ln(1 / (2 (delta/2))), for both halves of the budget

    def enough(n: int) -> bool:
        occurs = binom.cdf(9 * alpha * n / 60, n, alpha) / alpha <= beta / 4
        noise = (4 / epsilon) * log(4 * n / beta) + 0.5 <= alpha * n / 30
        released = 1 + (4 / epsilon) * log_inverse_delta <= 7 * alpha * n / 60
        gap = 2 + (4 / epsilon) * (log_inverse_delta + log(1 / beta)) <= alpha * n / 30
        return occurs and noise and released and gap

    return smallest(enough)


def hash_tries(k: int, beta: float) -> int:
    """Hash functions for k columns: each of them has few collisions with some function, but for probability beta/2."""
    return max(1, ceil(log2(2 * checks.integer("k", k, 1) / beta)))


def hash_bits(alpha: float) -> int:
    """The fewest bits for which 2^(1 - bits) < alpha/2."""
    return max(1, ceil(log2(4 / alpha) + 1e-9))


def hashed(k: int, tries: int, bits: int, part: float, alpha: float, beta: float) -> int:
    """n of `learners.HashedPoints`, realizable, whatever |X|; each of the k choices at epsilon ``part``.

    What shares the target's bucket weighs 2^-bits on average, so at most g = 2^(1 - bits) with one of the ``tries``
    functions, but for k 2^-tries. But for beta/6 it errs on at most c rows, Binomial(n, g), in all columns; but
    for beta/6 every hypothesis of error above alpha errs on more than c', Binomial(n, alpha), N = tries 2^bits + 1 of
    them in each column; but for beta/6 the mechanism loses less than (2/part) ln(6 k N/beta) <= c' - c.

    Reference: Beimel, Nissim, Stemmer 2013, Section 3; constants are our own.
    """
    from scipy.stats import binom  # a slow import, not needed to name what there is

    checks.integer("k", k, 1)
    checks.epsilon(part, "part")
    checks.accuracy(alpha, beta)
    mass, count = 2.0 ** (1 - bits), (tries << bits) + 1
    if k * 2.0**-tries > beta / 2 or mass >= alpha / 2:
        least = f"at least {hash_tries(k, beta)} and {hash_bits(alpha)} for this accuracy"
        raise InputError("tries, bits", least, f"{tries}, {bits}", "leave them out: HashedPoints.plan finds them")
    lost = 2 / part * log(6 * k * count / beta)

    def enough(n: np.ndarray | int) -> np.ndarray:
        few = binom.isf(beta / (6 * k), n, mass)
        many = binom.ppf(beta / (6 * k * count), n, alpha)
        return many - few >= lost

    # quantiles are integers, so that the gap may fall by a few where n grows: fewer rows may be enough too
    found = smallest(lambda n: bool(enough(n)))
    before = np.arange(max(1, found - ceil(16 / (alpha - mass))), found + 1)
    return int(before[np.argmax(enough(before))])
