"""Generalization: sample sizes from which few errors on the rows imply a small error. Plain numbers on the host."""

from collections.abc import Callable
from math import ceil, expm1, floor, inf, log, log1p, log2

from dpjax.core import checks
from dpjax.core.host import host_functions
from dpjax.theory.search import ROUNDING, smallest

Restrictions = Callable[[int], float]


def line(n: int) -> float:
    """ln(2 n + 1), an upper bound of ln of the number of ways in which points or thresholds cut 2 n elements."""
    return log1p(2 * n)


def finite(concepts: int) -> Restrictions:
    """At most one restriction per concept."""
    return lambda n: log(concepts)


def combined_vc(vc: int, k: int) -> int:
    """An upper bound of the VC dimension of the ORs, and of the ANDs, of at most k concepts of a class of dimension vc.

    m elements have at most s = sum_{i <= vc} binomial(m, i) restrictions to the class (Sauer's lemma), so at most s^k
    to the ORs: the bound is the largest m with 2^m <= s^k, up to a relative `search.ROUNDING`. It is O(k log(k) vc).
    From m = vc on k log2(s) is concave in m, as the growth of s from m to m + 1 falls: no larger m has 2^m <= s^k.

    vc: in [0, 4096]. k: >= 1.

    Reference: Kaplan, Mansour, Matias, Stemmer 2019, Observation 2.7; Blumer, Ehrenfeucht, Haussler, Warmuth 1989,
      Lemma 3.2.3.
    """
    checks.integer("vc", vc, 0, 4096)
    checks.integer("k", k, 1)

    def restrictions(m: int) -> int:
        total = term = 1
        for i in range(min(vc, m)):
            term = term * (m - i) // (i + 1)
            total += term
        return total

    return smallest(lambda m: k * log2(restrictions(m)) < m * (1 - ROUNDING)) - 1


def unseen(k: int, alpha: float, beta: float) -> int:
    """A lower bound for every learner, private or not, of k concepts out of some f, g with f(x) != g(x), f(y) = g(y).

    x has weight alpha (strictly more for an error above alpha), y the rest. Where x is not drawn, an answer fits one of
    the 2^k targets at most: (1 - alpha)^n (1 - 2^-k) <= beta, up to a relative `search.ROUNDING`.
    """
    checks.integer("k", k, 1)
    checks.probability("alpha", alpha)
    wrong = -expm1(-min(k, 64) * log(2))
    return max(1, ceil((log(wrong / checks.probability("beta", beta)) - ROUNDING) / -log1p(-alpha)))


def agreement(concepts: int, growth: Callable[[int], int], alpha: float, n: int) -> float:
    """ln of a bound of the probability that two concepts which differ on more than alpha agree on all of n rows.

    It is for all pairs at once, so for the errors of consistent concepts in any number of columns. The bound is the
    smaller of C (C - 1)/2 (1 - alpha)^n and, for s = ``growth(n + N)``, s (s - 1) (N / (n + N))^floor(alpha N).
    Proof of the second: of N more rows floor(alpha N) or more are in a difference with probability at least 1/2, as the
    median is. Given all n + N rows, those in a difference, one of s (s - 1)/2, are all among the N with at most the
    probability of that power.

    Args:
      concepts: their number C >= 2. growth: bounds the ways in which the class labels a number of elements.
    Reference: Blumer, Ehrenfeucht, Haussler, Warmuth 1989, Theorem A2.1, which has N = n; for k columns Bun, Nissim,
      Stemmer 2016, Corollary 2.12.
    """
    bound = log(concepts) + log(concepts - 1) - log(2) + n * log1p(-alpha)
    for more in (n << i for i in range(8)):
        cuts, hit = growth(n + more), floor(alpha * more)
        if cuts < 2:
            return -inf
        if hit:
            bound = min(bound, log(cuts) + log(cuts - 1) - hit * log1p(n / more))
    return bound


def realizable(restrictions: Restrictions, k: int, alpha: float, beta: float) -> int:
    """Rows from which, with probability 1 - beta, in none of k realizable columns a concept has an empirical error of
    at most alpha/2 and an error above alpha: 4 s min(k, s) exp(-alpha n/16) <= beta, s = e^``restrictions(n)``, by
    Vapnik's relative deviation (error - empirical error) / sqrt(error) > sqrt(alpha)/2. The differences of a concept to
    one target have s restrictions, those of all pairs of concepts s^2, which hold for every k.

    Reference: Bun, Nissim, Stemmer 2016, Theorems 2.7 and 2.11, Kaplan, Mansour, Matias, Stemmer 2019, Theorem 2.5,
      with the numbers of restrictions instead of the VC dimension.
    """
    return smallest(lambda n: log(4 / beta) + restrictions(n) + min(log(k), restrictions(n)) <= alpha * n / 16)


def agnostic(restrictions: Restrictions, k: int, alpha: float, beta: float) -> int:
    """Rows from which, with probability 1 - beta, all empirical errors of all concepts are within alpha of the errors,
    in each of k columns with any labels: 4 s k exp(-alpha^2 n/8) <= beta, s = e^``restrictions(n)``.

    Reference: Vapnik and Chervonenkis 1971, Theorem 2, which asks for alpha^2 n >= 2; that follows, as 4 s k / beta is
      above 4. It is Bun, Nissim, Stemmer 2016, Theorem 2.8, with numbers of restrictions instead of the VC dimension.
    """
    checks.accuracy(alpha, beta)
    return smallest(lambda n: log(4) + restrictions(n) + log(k / beta) <= alpha**2 * n / 8)


host_functions(globals())
