"""Sizes of probabilistic representations, and the rows with which a private learner chooses a member.

A family G of functions, drawn independently of the data, is an (alpha, beta)-representation of a class if for every
distribution and every concept some member errs with probability at most alpha, except with probability beta over G.
"""

from collections.abc import Callable
from math import ceil, exp, expm1, inf, log, log1p

from dpjax.core import checks
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.host import host_functions

_NEAR = (
    0.0,
    0.95,
    *(2.0 ** (-i / 4) for i in range(1, 49)),
)  # errors of the good member that are tried, in units of alpha
CONSTANT = 0.25, 0.125
"""The accuracy (1/4, 1/8) in the definition of the representation dimension."""


def rows(count: int, near: float, failure: float, epsilon: float, alpha: float, beta: float) -> int | None:
    """Rows n with which the exponential mechanism over ``count`` functions is (alpha, beta)-accurate; None if none are.

    A member g of error at most ``near`` exists except with probability ``failure``. The number is
    ln((N - 1)/(beta - failure)) / -ln(1 - alpha (1 - e^-t) + near (e^t - 1)), t the lesser of epsilon/2 and
    ln(alpha/near)/2.

    Proof. A function h is chosen with probability at most min(1, e^{-epsilon D/2}) <= e^{-t D}, D its empirical errors
    less those of g, for any t in [0, epsilon/2]. A row adds 1 to D if only h errs, -1 if only g does: with v = P(only g
    errs) and w = P(both err), v + w <= near, and h errs with probability above alpha, so the expectation of e^{-t D}
    over n rows is at most (1 - (alpha - w)(1 - e^-t) + (near - w)(e^t - 1))^n, and largest at w = 0. Sum over N - 1
    functions. The base is below 1 and least at this t.

    For near = failure = 0 it is `kln.realizable`. Reference: our own; compare `printed`.
    """
    _check(count, epsilon, alpha, beta)
    if not 0 <= near < alpha or not 0 <= failure < beta:
        return None
    if count == 1:
        return 1
    t = epsilon / 2 if near == 0 else min(epsilon / 2, log(alpha / near) / 2)
    rate = -log1p(alpha * expm1(-t) + (near * expm1(t) if near else 0.0))
    return max(1, ceil((log(count - 1) - log(beta - failure)) / rate)) if rate > 0 else None


def fewest_rows(
    count: int, failure: Callable[[float], float], epsilon: float, alpha: float, beta: float, advice: str = ""
) -> int:
    """The least `rows` over the errors of the good member, with ``failure(near)`` the probability that there is none.

    NoTheoremError if no error below alpha has a failure below beta.
    """
    nears = [part * alpha for part in _NEAR]
    candidates = [rows(count, near, failure(near), epsilon, alpha, beta) for near in nears]
    if not (enough := [n for n in candidates if n is not None]):
        least = min(failure(near) for near in nears if near < alpha)
        expected = f"one with a good function with probability above 1 - beta = {1 - beta:g}"
        actual = f"{1 - least:.3g} for error below alpha = {alpha:g}"
        raise NoTheoremError("representation", expected, actual, advice or "take a larger representation")
    return min(enough)


def printed(count: int, epsilon: float, near: float, failure: float) -> int:
    """Rows for error at most 6 near with probability 1 - 4 failure, ``count`` functions of a (near, failure)-
    representation: max{2/(near epsilon) ln(N/failure), 3/near ln(1/failure), 4/(3 near) ln(N/failure)}.

    The good member has at most 2 near n errors on the rows except with probability e^{-near n/3}, the mechanism loses
    near n, and a function of error above 6 near has 3 near n errors or fewer with probability e^{-6 near n/8}. The
    paper has the representation dimension, which is for (1/4, 1/8), in place of ln N.

    Args:
      near: in (0, 1/6). failure: in (0, 1/4).

    Reference: Bun, Gaboardi, Sivakumar 2021, Lemma 8.3 (Beimel, Nissim, Stemmer 2019, Lemma 14); constants are ours.
    """
    checks.integer("count", count, 1)
    checks.epsilon(epsilon)
    for name, value, most in (("near", near, 1 / 6), ("failure", failure, 1 / 4)):
        if not 0 < checks.number(name, value) < most:
            raise InputError(name, f"a number in (0, {most:.4g})", repr(value), f"{1 / most:.0f} times it is claimed")
    union = log(count) - log(failure)
    return ceil(max(2 / (near * epsilon) * union, 3 / near * log(1 / failure), 4 / (3 * near) * union))


def hash_failure(bits: int, tries: int, elements: int, near: float) -> float:
    """The probability that none of ``tries`` hash functions into 2^bits buckets serves a set of ``elements`` elements.

    The other elements in the buckets of the set weigh elements 2^-bits on average, so above ``near`` with probability
    at most elements 2^-bits / near (Markov).
    """
    checks.integer("bits", bits, 0, 62)
    checks.integer("tries", tries, 1)
    checks.integer("elements", elements, 1)
    each = 1.0 if near <= 0 else min(1.0, elements * 2.0**-bits / near)
    return each**tries


def hash_tries(bits: int, elements: int, near: float, failure: float) -> int | None:
    """The fewest hash functions with `hash_failure` at most ``failure``; None if no number is enough."""
    each = elements * 2.0**-bits / near if near > 0 else inf
    if each >= 1:
        return None
    tries = max(1, ceil(log(failure) / log(each) - 1e-9))
    return tries if hash_failure(bits, tries, elements, near) <= failure else tries + 1


def point_hashing_printed(near: float, failure: float) -> tuple[int, int, int]:
    """(functions, buckets, members): ceil(log2(1/failure)), ceil(2/near), their product and the all-zero function.

    A (near, failure)-representation of points on any domain: a bucket has twice its mean with probability 1/2.
    Reference: Beimel, Nissim, Stemmer 2013, Section 3.
    """
    checks.accuracy(near, failure)
    tries, buckets = max(1, ceil(log(1 / failure) / log(2) - 1e-9)), ceil(2 / near - 1e-9)
    return tries, buckets, tries * buckets + 1


def runs_of_learner(rows: int, epsilon: float, failure: float = 0.25, confidence: float = 0.5) -> int:
    """Runs of an (epsilon, 0)-private learner on one fixed database of ``rows`` rows that are a representation.

    ceil(ln(1/failure) / -ln(1 - confidence e^{-epsilon rows})), about ln(1/failure) e^{epsilon rows} / confidence. The
    learner finds a function of error at most alpha with probability ``confidence`` on some database, hence e^{-epsilon
    rows} times as often on any. So ln N is epsilon rows plus a constant.

    Reference: Bun, Gaboardi, Sivakumar 2021, Lemma 8.4 (Beimel, Nissim, Stemmer 2019, Lemma 15).
    """
    checks.integer("rows", rows, 1)
    checks.epsilon(epsilon)
    checks.probability("failure", failure)
    checks.probability("confidence", confidence)
    return _times(confidence * exp(-epsilon * rows), failure)


def runs_on_one_element_printed(rows: int, epsilon: float, alpha: float) -> int:
    """Runs on each of the databases whose rows are all (x0, label): ceil(4 ln(8) e^{8 epsilon alpha rows}).

    Of an (alpha, 1/2)-accurate (epsilon, 0)-private learner. The runs are a (1/4, 1/8)-representation: mix a
    distribution D, at weight 4 alpha, with a point mass at x0. Then error alpha is error 1/4 on D; at most 8 alpha rows
    of the sample are not at x0 except with probability e^{-4 alpha rows/3} <= 1/4, and by group privacy the rows may
    all be (x0, f(x0)). With k + 1 labels, ln N = ln(4 (k + 1) ln 8) + 8 epsilon alpha rows.

    Args:
      rows: at least 3 ln(4)/(4 alpha). alpha: at most 1/8.

    Reference: Bun, Gaboardi, Sivakumar 2021, Lemma 8.5.
    """
    _of_learner(rows, epsilon, alpha, 1 / 8)
    if 4 * alpha * rows < 3 * log(4):
        least = ceil(3 * log(4) / (4 * alpha))
        raise InputError("rows", f"at least 3 ln(4)/(4 alpha) = {least}", repr(rows), "the learner ignores the others")
    return _whole(log(4 * log(8)) + 8 * epsilon * alpha * rows)


def runs_on_one_element(rows: int, epsilon: float, alpha: float, failure: float = 0.125) -> int:
    """As `runs_on_one_element_printed`, with the exact number of rows that are not at x0: for every ``rows``, fewer.

    ceil(ln(1/failure) / -ln(1 - p)), p the largest (1/2 - P[Binomial(rows, 4 alpha) > q]) e^{-epsilon q} over q: with q
    rows or fewer elsewhere, a good function has this probability on the database whose rows are all (x0, f(x0)).

    Args:
      alpha: at most 1/4.

    Reference: Bun, Gaboardi, Sivakumar 2021, Lemma 8.5; constants are our own.
    """
    from scipy.stats import binom  # a slow import, deferred

    _of_learner(rows, epsilon, alpha, 1 / 4)
    checks.probability("failure", failure)
    first = int(binom.isf(0.5, rows, 4 * alpha))
    each = (exp(-epsilon * q) * (0.5 - float(binom.sf(q, rows, 4 * alpha))) for q in range(first, rows + 1))
    return _times(max(each), failure)


def size_by_littlestone_dimension(dimension: int, near: float = 0.25, failure: float = 0.125) -> float:
    """A lower bound of ln N for every (near, failure)-representation of a class of this (multiclass) dimension d.

    ln((1 - failure) / P[Binomial(d, 1/2) <= near d]), at least 2 d (1/2 - near)^2 + ln(1 - failure) for near <= 1/2.

    Proof. Walk down a shattered tree of depth d by fair coins, and let D be uniform on the d points of the path and f
    the concept that realizes it. Whatever a fixed function predicts at a point, it errs there with probability at least
    1/2 given the path above, so it errs on at most near d of them with probability at most P[Binomial(d, 1/2) <= near
    d]; N functions do with at most N times that. But for every path one of the family's does with probability 1 -
    failure.

    It implies `size_by_experts` for d >= 1. Reference: our own proof of Bun, Gaboardi, Sivakumar 2021, Theorem 8.8.
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.integer("dimension", dimension, 0)
    checks.probability("near", near)
    checks.probability("failure", failure)
    if dimension == 0:
        return 0.0
    return max(0.0, log1p(-failure) - float(binom.logcdf(int(near * dimension + 1e-9), dimension, 0.5)))


def size_by_experts(dimension: int) -> float:
    """The printed lower bound of the representation dimension, d/32.

    A learner that follows a random expert of G, by weighted majority, makes at most 3 d/8 + sqrt(ln(N) d/2) mistakes on
    a sequence of d examples on which every learner makes d/2.

    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 8.8, with the event for the sequence's own distribution.
    """
    return checks.integer("dimension", dimension, 0) / 32


def _times(probability: float, failure: float) -> int:
    """Independent attempts of which one succeeds except with probability ``failure``."""
    if probability <= 0:
        raise InputError("epsilon, rows", "numbers with e^{-epsilon rows} above 1e-300", "less", "take smaller ones")
    return max(1, _whole(log(log(1 / failure)) - log(-log1p(-probability))))


def _whole(logarithm: float) -> int:
    if logarithm > 700:
        raise InputError("epsilon, rows", "fewer than e^700 runs", f"e^{logarithm:.3g}", "take smaller ones")
    return ceil(exp(logarithm) * (1 - 1e-12))


def _of_learner(count: int, epsilon: float, alpha: float, most: float) -> None:
    checks.integer("rows", count, 1)
    checks.epsilon(epsilon)
    if not 0 < checks.number("alpha", alpha) <= most:
        raise InputError("alpha", f"a number in (0, {most:g}]", repr(alpha), "the proof mixes at weight 4 alpha")


def _check(count: int, epsilon: float, alpha: float, beta: float) -> None:
    checks.integer("count", count, 1)
    checks.epsilon(epsilon)
    checks.accuracy(alpha, beta)


host_functions(globals())
