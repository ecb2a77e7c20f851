"""Sample sizes of the learners of classes of VC dimension 1."""

from math import ceil, e, expm1, log, log1p

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.theory.search import smallest


def subsamples(choose_epsilon: float, choose_delta: float, beta: float) -> int:
    """t of `learners.ImproperVC1`: with probability 1 - beta the choosing mechanism finds the one node with score t/6.

    t/6 >= 1 + (2/epsilon) ln(1/delta) + (2/epsilon) ln(1/beta): the null candidate weighs at most beta times the node.

    Args:
      choose_epsilon, choose_delta: spent by the choosing mechanism. delta > exp(epsilon/2) - 1 has no further effect.
      beta: in (0, 1), of this step alone.
    """
    checks.epsilon(choose_epsilon)
    checks.delta(choose_delta, positive_for="the choosing mechanism")
    checks.probability("beta", beta)
    half = choose_epsilon / 2
    log_delta = min(log(choose_delta), log(expm1(half)) if half < 700 else log(choose_delta))
    return ceil(6 * (1 + (log(1 / beta) - log_delta) / half))


def subsample_size(t: int, alpha: float, beta: float) -> int:
    """m, the examples of a subsample: the least with P[Bin(t, (1 - alpha)^m) >= t/6] <= beta.

    On the target's path take the shortest bottom segment of mass above alpha. A subsample that hits it, which
    one of m examples does with probability 1 - (1 - alpha)^m, has its deterministic point at or below the topmost
    point that it hit, and its error is at most alpha; so the dimension does not enter. Fewer than t/6 subsamples may
    miss the segment: the private median leaves t/6 of them on either side.
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.integer("subsamples", t, 1)
    checks.accuracy(alpha, beta)
    bad = ceil(t / 6)
    return smallest(lambda m: binom.sf(bad - 1, t, (1 - alpha) ** m) <= beta)


def printed_subsample_size(t: int, alpha: float, beta: float) -> int:
    """m >= (48/alpha) (10 ln(48 e/alpha) + ln(5 (t + 2)/beta)), from the VC dimension: every subsample is good.

    Reference: Yan 2025, Theorem 3 and Theorem 11, with beta spread over t subsamples, median and choice.
    """
    checks.integer("subsamples", t, 1)
    checks.accuracy(alpha, beta)
    return ceil((48 / alpha) * (10 * log(48 * e / alpha) + log(5 * (t + 2) / beta)))


def improper(t: int, alpha: float, beta: float) -> int:
    """n = t m with m of `subsample_size` at a third of beta; the median and the choice use a third each.

    Reference: Yan 2025, Theorem 11 (Algorithm 2); this m and these constants are our own.
    """
    return t * subsample_size(t, alpha, beta / 3)


def generalisation(alpha: float, beta: float) -> int:
    """N: with probability 1 - beta every path with error mass >= alpha has more than alpha N/2 errors among N rows.

    4 (2 N + 1) exp(-alpha N/16) <= beta: relative deviations, and at most 2 N + 1 ways in which the paths of a tree,
    a class of dimension 1, cut 2 N points.
    Reference: Vapnik and Chervonenkis 1974; Anthony and Bartlett 1999, Chapter 5 (the relative form).
    """
    checks.accuracy(alpha, beta)
    return smallest(lambda n: log(4) + log1p(2 * n) - alpha * n / 16 <= log(beta))


def descent_rounds(share: float) -> int:
    """T = ceil(2/share): rounds of the descent if each discards share N/2 zeros or more."""
    return ceil(2 / checks.probability("share", share))


def descent(walk_epsilon: float, test_epsilon: float, share: float, rounds: int, alpha: float, beta: float) -> int:
    """N of the second part of `learners.ProperVC1`: its leaf has error at most alpha, if the first part's has alpha/8.

    With probability 1 - beta (a quarter each): the errors of the first part among N rows are at most alpha N/4
    (Chernoff, factor 2); all T + 1 noises of the tests together stay within share N/2; every choice among children is
    within D = (2/epsilon0) ln(4 T (2/share + 1)/beta) of the best, as at most 2/share children matter in each; and
    errors of N rows generalize (`generalisation`). Then the leaf has at most T D + (3/2 share N + D)
    zeros on its path and alpha N/4 errors off it; at most alpha N/2 together.

    Args:
      walk_epsilon: epsilon0 of one choice among children. test_epsilon: of all tests, by AboveThreshold.
      share: a in (0, alpha/6); a subtree with fewer than a N zeros ends the descent.
      rounds: T, enough that no descent needs more: `descent_rounds`, or what the tree allows.
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.epsilon(walk_epsilon, "walk_epsilon")
    checks.epsilon(test_epsilon, "test_epsilon")
    checks.integer("rounds", rounds, 1)
    if 1.5 * share >= alpha / 4:
        raise InputError("share", "a number below alpha/6", repr(share), "take alpha/12")
    miss = (2 / walk_epsilon) * log(4 * rounds * (2 / share + 1) / beta)
    noise = (4 + 2) / test_epsilon * log(4 * (rounds + 1) / beta)

    def enough(n: int) -> bool:
        first = binom.sf(alpha * n / 4, n, alpha / 8) <= beta / 4
        zeros = (rounds + 1) * miss + 1.5 * share * n <= alpha * n / 4
        return first and zeros and noise <= share * n / 2

    return max(smallest(enough), generalisation(alpha, beta / 4))
