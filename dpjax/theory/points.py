"""Sample sizes of learners of points."""

from fractions import Fraction
from math import ceil, log, log2

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import NoTheoremError
from dpjax.core.types import Neighboring
from dpjax.theory.search import smallest

_ROUNDING = 2.0**-22  # more than that of the mechanism's float32 numbers


def point_learner(epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """Rows n of `learners.PointLearner` (Algorithm 5), realizable, for every k and |X|.

    All of these hold with probability at least 1 - beta (fractions of beta: 1/4, 1/4, 1/2):
    every element of mass >= alpha occurs at least 9 alpha n / 60 times (exact binomial, at most 1/alpha of them);
    every noisy count, rounded to an integer, is within alpha n / 30 of its count, noise Lap(4/epsilon) on at most n
    values; then elements of mass >= alpha are released and reach alpha n / 15, and every value that reaches it occurs
    alpha n / 30 times;
    the gap alpha n / 30 passes the stability test, D + (2 D/epsilon) ln(1/(2 delta')) with D = 2, delta' = delta/2.

    Args:
      epsilon: > 0. delta: in (0, 1). alpha, beta: in (0, 1).

    Reference: Bun, Nissim, Stemmer 2016, Theorem 3.13; constants are our own, with the corrected thresholds.
    """
    from scipy.stats import binom  # a slow import, deferred

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


def stable_points(epsilon: float, delta: float, alpha: float, beta: float, neighboring: Neighboring) -> int:
    """Rows n of `learners.StablePoints`, realizable, for every k and |X|.

    A concept whose point has mass at most alpha may be missed. Fewer than 1/alpha elements have more; all rows of one
    of them have one label vector, so its concepts are right if the pair is released. The probability that it is not
    falls with its mass, so that at mass alpha counts: the mean, over a count c of law Binomial(n, alpha), of
    P[c + noise < 1 + the upper delta-quantile of the noise], and 1 for c = 0. The number of elements times it is at
    most beta. All of this is summed exactly; nothing is bounded.

    Args:
      epsilon: > 0. delta: in (0, 1). alpha, beta: in (0, 1). neighboring: determines the noise.

    Reference: our own; the paper's learner of this problem is `point_learner`.
    """
    from scipy.stats import binom, laplace  # a slow import, deferred

    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="StablePoints")
    checks.accuracy(alpha, beta)
    rate = epsilon / 2 if neighboring is Neighboring.REPLACE_ONE else epsilon
    margin = laplace.isf(delta) * (1 + _ROUNDING)  # the mechanism rounds it up
    heavy = ceil(1 / Fraction(alpha)) - 1  # elements of mass above alpha

    def enough(n: int) -> bool:
        count = np.arange(1, n + 1)
        hidden = binom.pmf(0, n, alpha) + binom.pmf(count, n, alpha) @ laplace.cdf(margin - rate * (count - 1))
        return heavy * hidden * (1 + _ROUNDING) <= beta

    return smallest(enough)


def hash_tries(k: int, beta: float) -> int:
    """Hash functions for k columns such that, with probability 1 - beta/2, each has one with few collisions."""
    return max(1, ceil(log2(2 * checks.integer("k", k, 1) / beta)))


def hash_bits(alpha: float) -> int:
    """The smallest number of bits with 2^(1 - bits) < alpha/2."""
    return max(1, ceil(log2(4 / alpha) + 1e-9))


def hashed(k: int, tries: int, bits: int, part: float, alpha: float, beta: float) -> int:
    """Rows n of `learners.HashedPoints`, realizable, for every |X|; each of the k choices has epsilon ``part``.

    The other elements in the target's bucket weigh 2^-bits on average, so at most g = 2^(1 - bits) for one of the
    ``tries`` functions, except with probability k 2^-tries. Except with probability beta/6 each: it makes at most c
    errors on the rows, Binomial(n, g), in all columns; every hypothesis of error above alpha makes more than c',
    Binomial(n, alpha), for N = tries 2^bits + 1 of them in each column; and the mechanism loses less than
    (2/part) ln(6 k N/beta) <= c' - c.

    Reference: Beimel, Nissim, Stemmer 2013, Section 3; constants are our own.
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.integer("k", k, 1)
    checks.epsilon(part, "part")
    checks.accuracy(alpha, beta)
    mass, count = 2.0 ** (1 - bits), (tries << bits) + 1
    if k * 2.0**-tries > beta / 2 or mass >= alpha / 2:
        least = f"at least {hash_tries(k, beta)} and {hash_bits(alpha)} for this accuracy"
        raise NoTheoremError("tries, bits", least, f"{tries}, {bits}", "omit them: HashedPoints.plan chooses them")
    lost = 2 / part * log(6 * k * count / beta)

    def enough(n: np.ndarray | int) -> np.ndarray:
        few = binom.isf(beta / (6 * k), n, mass)
        many = binom.ppf(beta / (6 * k * count), n, alpha)
        return many - few >= lost

    # quantiles are integers, so the gap may fall by a few as n grows: fewer rows may be enough too
    found = smallest(lambda n: bool(enough(n)))
    before = np.arange(max(1, found - ceil(16 / (alpha - mass))), found + 1)
    return int(before[np.argmax(enough(before))])
