"""Sample sizes of the learners of classes of VC dimension 1."""

from math import ceil, e, expm1, log

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions
from dpjax.theory.search import smallest

_TOPS = np.geomspace(0.005, 0.6, 32)  # tried for g, as parts of what is left of alpha


def votes(choose_epsilon: float, choose_delta: float, beta: float) -> int:
    """h of `learners.ImproperVC1`: with probability 1 - beta the choosing mechanism finds the one node with score h."""
    return ceil(_score(choose_epsilon, choose_delta, beta))


def subsamples(choose_epsilon: float, choose_delta: float, beta: float) -> int:
    """t of Algorithm 2: with probability 1 - beta the choosing mechanism finds the one node with score t/6.

    Reference: Yan 2025, Lemma 9.
    """
    return ceil(6 * _score(choose_epsilon, choose_delta, beta))


def _score(epsilon: float, delta: float, beta: float) -> float:
    """1 + (2/epsilon) ln(1/delta) + (2/epsilon) ln(1/beta): the null candidate weighs at most beta times such a node.

    Args:
      epsilon, delta: spent by the choosing mechanism. delta > exp(epsilon/2) - 1 has no further effect.
      beta: in (0, 1), of this step alone.
    """
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="the choosing mechanism")
    checks.probability("beta", beta)
    half = epsilon / 2
    log_delta = min(log(delta), log(expm1(half)) if half < 700 else log(delta))
    return 1 + (log(1 / beta) - log_delta) / half


def deepest(deep: int, alpha: float, beta: float) -> int:
    """n of `learners.ImproperVC1`: the least with P[Bin(n, alpha) < deep] <= beta.

    On the target's path take the shortest bottom segment of mass above alpha. Every row in it has its deterministic
    point in it, so with ``deep`` such rows the ``deep`` deepest points of all rows are in it.
    """
    from scipy.special import bdtr  # a slow import, deferred

    checks.integer("deep", deep, 1)
    checks.accuracy(alpha, beta)
    return smallest(lambda n: bdtr(deep - 1, n, alpha) <= beta)


def subsample_size(t: int, alpha: float, beta: float) -> int:
    """m, the examples of a subsample of Algorithm 2: the least with P[Bin(t, (1 - alpha)^m) >= t/6] <= beta.

    On the target's path take the shortest bottom segment of mass above alpha. A subsample that hits it, which
    one of m examples does with probability 1 - (1 - alpha)^m, has its deterministic point at or below the topmost
    point that it hit, and its error is at most alpha; so the dimension does not enter. Fewer than t/6 subsamples may
    miss the segment: the private median leaves t/6 of them on either side.

    Reference: Yan 2025, Lemma 7; this m is our own.
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
    """n = t m of Algorithm 2 with m of `subsample_size` at a third of beta; the median and the choice use a third each.

    Reference: Yan 2025, Theorem 11 and Corollary 2; this m and these constants are our own.
    """
    return t * subsample_size(t, alpha, beta / 3)


def descent_rounds(share: float) -> int:
    """T = ceil(2/share): rounds of the descent if each discards share N/2 zeros or more."""
    return ceil(2 / checks.probability("share", share))


def descent(
    walk_epsilon: float, test_epsilon: float | None, share: float, rounds: int, children: int, alpha: float, beta: float
) -> int:
    """N of the second part of `learners.ProperVC1`: the zeros on the path to its leaf have mass at most alpha.

    With probability 1 - beta, in equal parts:
    all ``rounds`` choices together lose at most G = (rounds ln m + Gamma quantile) 2/epsilon0 to the best children,
    m = min(children - 1, N) wrong ones each time, since a child that loses has a row of its own;
    no leaf whose path has zeros of mass above alpha has only B = G zeros among N rows: for every g, the tops of such
    paths of mass above alpha - g end in at most 1/g nodes, and each has B or fewer of N zeros with probability
    P[Bin(N, alpha - g) <= B], by the incomplete beta function, also for B that are not whole;
    with tests, their noises stay within share N/2, and B = G + (3/2) share N.

    Args:
      walk_epsilon: epsilon0 of one choice among children. test_epsilon: of all tests, by AboveThreshold; None without.
      share: a; a subtree with fewer than a N zeros ends the descent; not used without tests.
      rounds: T, enough that no descent needs more: `descent_rounds`, or what the tree allows.
      children: the most children of an improper node.

    InputError if no N is enough: (3/2) share must be below alpha.
    Reference: our own (docs/proofs/proper-descent.md); compare Yan 2025, Claims 1 to 6 and Theorem 13: Claim 1 is not
      needed, as the mass below the improper learner's node is small, whatever the rows.
    """
    from scipy.special import betainc, gammainccinv  # a slow import, deferred

    checks.epsilon(walk_epsilon, "walk_epsilon")
    checks.integer("rounds", rounds, 1)
    checks.integer("children", children, 1)
    checks.accuracy(alpha, beta)
    part, extra, noise = beta / 2, 0.0, 0.0
    if test_epsilon is not None:
        checks.epsilon(test_epsilon, "test_epsilon")
        if 1.5 * share >= alpha:
            raise InputError("share", f"a number below {alpha / 1.5:g}", repr(share), "take a smaller share")
        part, extra = beta / 3, 1.5 * share
        noise = 6 / test_epsilon * log((rounds + 1) / part)
    tail = float(gammainccinv(rounds, part))  # of a Gamma variable
    rest = (alpha - extra) * _TOPS

    def enough(n: int) -> bool:
        wrong = max(1, min(children - 1, n + 2))
        lost = 2 / walk_epsilon * (rounds * log(wrong) + tail) + extra * (n + 2)  # n + 2: two rows more are enough too
        if lost >= n or noise > share * n / 2:
            return False
        missed = betainc(n - lost, lost + 1, 1 - (alpha - rest)) / rest  # P[Bin <= B] for whole B, and no jumps
        return bool(missed.min() <= part)

    return smallest(enough)


host_functions(globals())
