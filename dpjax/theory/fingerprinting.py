"""Lower bounds for learners of k concepts under approximate privacy, from scores that say who was in the sample.

They hold for every (epsilon, delta)-private learner, proper or not, under REPLACE_ONE and under ADD_OR_REMOVE_ONE, that
succeeds on all k concepts with probability 1 - beta for every distribution: plain numbers on the host. The proofs, and
how they differ from tracing with a code, are in docs/proofs/fingerprinting-scores.md.
"""

from math import asin, exp, pi, sinh, sqrt

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions
from dpjax.theory.search import ROUNDING, smallest

_LARGE = 700.0  # of epsilon: sinh overflows beyond, and nothing is excluded long before


def agnostic(k: int, epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """n for excess error alpha, with any labels, for a class with f(x) != g(x) for some f, g, x.

    At least (1 - 2 beta) k / (arcsin(alpha) sinh(epsilon) A + alpha delta (1 + e^-epsilon) k), where A bounds the mean
    absolute score of somebody absent: the smaller of sqrt(k) and sqrt(2 k / pi) + (1 + alpha^2) / sqrt(1 - alpha^2).
    So n grows like sqrt(k) / (alpha epsilon) until delta allows (1 - 2 beta) / (2 alpha delta) rows.

    Args:
      k: >= 1. epsilon, delta: the budget. alpha: in (0, 1). beta: in (0, 1); from 1/2 on nothing is excluded.
    Reference: for Bun, Nissim, Stemmer 2016, Theorem 4.7 and Corollary 4.10, without a code; the proof is our own:
      docs/proofs/fingerprinting-scores.md#any-labels.
    """
    _require(k, epsilon, delta, alpha, beta)
    return _of_labels(k, epsilon, delta, alpha, 1 - 2 * beta)


def uniform(k: int, epsilon: float, delta: float, alpha: float, beta: float, spread: float = 0.5) -> int:
    """n for excess error alpha, with any labels, from one distribution of elements, such as the uniform one.

    It is `agnostic`'s for label probabilities in [(1 - c)/2, (1 + c)/2], the best c in (2 alpha / spread, 1), with
    (1 - beta) (spread - 2 alpha / c) - beta in place of 1 - 2 beta: a hypothesis need not label all elements alike.

    Args:
      k, epsilon, delta, alpha, beta: as in `agnostic`; from alpha = spread / 2 on nothing is excluded.
      spread: the largest mean label of a concept minus the smallest, in (0, 1]; 1/2 for parities.
    Reference: for Bun, Nissim, Stemmer 2016, Proposition 4.11, without a code and for every d; the proof is our own:
      docs/proofs/fingerprinting-scores.md#one-distribution-of-elements.
    """
    _require(k, epsilon, delta, alpha, beta)
    if not 0 < spread <= 1:
        raise InputError("spread", "a number in (0, 1]", repr(spread), "take the range of mean labels")
    low = 2 * alpha / spread
    rows = 1
    for c in (low + (1 - low) * i / 64 for i in range(1, 64) if low < 1):
        gain = (1 - beta) * (spread - 2 * alpha / c) - beta
        if gain > 0:
            rows = max(rows, _of_labels(k, epsilon, delta, c, gain))
    return rows


def _of_labels(k: int, epsilon: float, delta: float, c: float, gain: float) -> int:
    """n for answers whose mean label grows by ``gain`` from label probability (1 - c)/2 to (1 + c)/2."""
    absent = min(sqrt(k), sqrt(2 * k / pi) + (1 + c**2) / sqrt(1 - c**2))
    spent = asin(c) * sinh(min(epsilon, _LARGE)) * absent + c * delta * (1 + exp(-epsilon)) * k
    return smallest(lambda n: n * spent >= (gain - ROUNDING) * k)


def thresholds(k: int, epsilon: float, delta: float, alpha: float, beta: float, size: int) -> int:
    """n for k thresholds over ``size`` >= 2 elements, realizable.

    The largest n that is excluded has 2 (1 - 2 beta - c) k > pi sinh(epsilon) sqrt(k) r sqrt(r + 1 - 2 alpha) w
    + 2 delta (1 + e^-epsilon) k r: r = 2 alpha n rows are expected where the thresholds are, two of which are equal
    with probability c <= 2 alpha^2 n (n - 1) / (size - 1), and w is close to 1. So n grows like
    (k / sinh(epsilon)^2)^(1/3) / alpha on large domains; on small ones equal elements end the argument.

    Args:
      k, epsilon, delta, beta: as in `agnostic`. alpha: in (0, 1/2); for larger ones nothing is excluded.
    Reference: for Bun, Nissim, Stemmer 2016, Theorem 4.3 and Corollary 4.6, without a code; the proof is our own:
      docs/proofs/fingerprinting-scores.md#thresholds-realizable.
    """
    _require(k, epsilon, delta, alpha, beta)
    last = checks.integer("size", size, 2) - 1
    if alpha >= 0.5:
        return 1

    def possible(n: int) -> bool:
        rows, equal = 2 * alpha * n, 2 * alpha**2 * n * (n - 1) / last
        near = sqrt((last + 1) * (last + n)) / last
        spent = pi * sinh(min(epsilon, _LARGE)) * sqrt(k) * rows * sqrt(rows + 1 - 2 * alpha) * near
        return spent + 2 * delta * (1 + exp(-epsilon)) * k * rows >= 2 * (1 - 2 * beta - equal - ROUNDING) * k

    return smallest(possible)


def _require(k: int, epsilon: float, delta: float, alpha: float, beta: float) -> None:
    checks.integer("k", k, 1)
    checks.epsilon(epsilon)
    checks.delta(delta)
    checks.probability("alpha", alpha)
    checks.probability("beta", beta)
    if k > 1 << 62:
        raise InputError("k", "at most 2^62 concepts", str(k), "take fewer")


host_functions(globals())
