"""Sample sizes of learners of points."""

from fractions import Fraction
from math import ceil, floor, log, log2

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.host import host_functions
from dpjax.core.types import Neighboring
from dpjax.theory.search import smallest

_STEPS = 64
_MOST_ROWS = 1 << 27  # memory is linear in them
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
    most beta. All of this is summed exactly; nothing is bounded. Proof: docs/proofs/stable-points.md#utility.

    Args:
      epsilon: > 0. delta: in (0, 1). alpha, beta: in (0, 1). neighboring: determines the noise.

    Reference: our own; the paper's learner of this problem is `point_learner`.
    """
    from scipy.stats import binom, laplace  # a slow import, deferred

    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="StablePoints")
    checks.accuracy(alpha, beta)
    rate = epsilon / 2 if neighboring is Neighboring.REPLACE_ONE else epsilon
    margin = laplace.isf(delta)
    margin += abs(margin) * _ROUNDING  # the mechanism rounds it up
    heavy = ceil(1 / Fraction(alpha)) - 1  # elements of mass above alpha

    def enough(n: int) -> bool:
        if n > _MOST_ROWS:
            advice = "take a larger epsilon or alpha, or search for n"
            raise NoTheoremError("epsilon", f"one for which {_MOST_ROWS} rows suffice", repr(epsilon), advice)
        count = np.arange(1, n + 1)
        hidden = binom.pmf(0, n, alpha) + binom.pmf(count, n, alpha) @ laplace.cdf(margin - rate * (count - 1))
        return heavy * hidden * (1 + _ROUNDING) <= beta

    return smallest(enough)


def hashed_sizes(
    k: int, part: float, alpha: float, beta: float, tries: int | None = None, bits: int | None = None, most: int = 20
) -> tuple[int, int]:
    """(tries, bits) that need the fewest rows by `hashed`, bits at most ``most``; a given one is kept.

    InputError if elements can share a bucket with probability alpha for every number of bits. Sizes that are given are
    planned for whatever is proved.
    """
    checks.accuracy(alpha, beta)
    checks.whole_or_none("tries", tries, 1, 1 << 20)
    checks.whole_or_none("bits", bits, 1, 64)
    least = floor(-log2(alpha)) + 1
    if least > checks.integer("most", most, 1, 64):
        raise InputError("alpha", f"more than {2.0**-most:.3g}", repr(alpha), "take a larger alpha")
    several = range(1, 2 + ceil(log2(2 * checks.integer("k", k, 1) / beta))) if tries is None else (tries,)
    widths = range(least, min(least + 9, most + 1)) if bits is None else (bits,)
    pairs = [(count, width) for width in widths for count in several]
    best, rows = pairs[-1], 1 << 62
    for count, width in pairs:
        if _limit(k, count, width, alpha) < beta and _missed(rows - 1, k, count, width, part, alpha) <= beta:
            best, rows = (count, width), hashed(k, count, width, part, alpha, beta)
    return best


def hashed(k: int, tries: int, bits: int, part: float, alpha: float, beta: float, agnostic: bool = False) -> int:
    """Rows n of `learners.HashedPoints`, for every |X|; each of the k choices has epsilon ``part``.

    The proof is docs/proofs/hashed-points.md. Let g be the mass of the other elements in the target's bucket, the
    least of ``tries`` independent ones, each of mean at most 2^-bits. Given g, a choice errs above alpha with
    probability at most min(1, N r(g)^n), where N = tries 2^bits and, for the best t in [0, part/2],

    r(g) = 1 - alpha (1 - e^-t) + g (e^t - 1) if realizable, and cosh t - (alpha - g) sinh t if agnostic.

    The sum over k columns of the mean over g, for the worst law of g, is at most beta. That law has two values, and
    both are sought on a grid, with bounds between its points.

    Reference: Beimel, Nissim, Stemmer 2013, Section 3, for the family; bounds and constants are our own.
    """
    checks.integer("k", k, 1)
    checks.epsilon(part, "part")
    checks.accuracy(alpha, beta)
    checks.integer("tries", tries, 1, 1 << 20)
    checks.integer("bits", bits, 1, 64)
    if _limit(k, tries, bits, alpha) >= beta:
        least = f"more: with {tries} functions of 2^{bits} buckets too many elements collide"
        raise NoTheoremError("tries, bits", least, f"{tries}, {bits}", "omit them: HashedPoints.plan chooses them")
    return smallest(lambda n: _missed(n, k, tries, bits, part, alpha, agnostic) <= beta)


def _limit(k: int, tries: int, bits: int, alpha: float) -> float:
    """The bound on the probability that all functions give a target's bucket alpha of other elements."""
    return k * min(1.0, 2.0**-bits / alpha / (1 - 1 / (_STEPS - 1))) ** tries  # the grid ends there


def _missed(n: int, k: int, tries: int, bits: int, part: float, alpha: float, agnostic: bool = False) -> float:
    """k sup E min(1, N r(g)^n) over laws of g."""
    mean, members = 2.0**-bits, tries << bits

    def bad(mass: np.ndarray) -> np.ndarray:
        if agnostic:
            ahead = np.maximum(alpha - mass, 0.0)
            t = np.minimum(np.arctanh(ahead), part / 2)
            kept = 2 * np.sinh(t / 2) ** 2 - ahead * np.sinh(t)
        else:
            t = np.clip(np.log(alpha / np.maximum(mass, 1e-300)) / 2, 0, part / 2)
            kept = -alpha * -np.expm1(-t) + mass * np.expm1(t)
        return np.exp(np.minimum(0.0, log(members) + n * np.log1p(np.minimum(kept, 0.0))))

    low = np.linspace(0, mean, _STEPS + 1)  # a law of mean 2^-bits on two values, the first below it, the second above
    high = np.append(np.linspace(mean, max(mean, alpha), _STEPS), 1.0)
    often = (mean - low[:-1, None]) / np.maximum(high[None, :-1] - low[:-1, None], 1e-300)
    all_high = np.minimum(1.0, often) ** tries
    return float(k * np.max(bad(low[1:])[:, None] * (1 - all_high) + bad(high[1:])[None] * all_high))


host_functions(globals())
