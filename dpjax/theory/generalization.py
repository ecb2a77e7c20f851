"""From the rows to the distribution: when few errors on the rows mean few errors. Plain numbers on the host."""

from collections.abc import Callable
from math import log, log1p

from dpjax.theory.search import smallest

Restrictions = Callable[[int], float]


def line(n: int) -> float:
    """ln(2 n + 1) >= ln of the ways in which points or thresholds cut 2 n elements."""
    return log1p(2 * n)


def finite(concepts: int) -> Restrictions:
    """At most one restriction for each concept."""
    return lambda n: log(concepts)


def of_growth(growth: Callable[[int], int]) -> Restrictions:
    """From a class's bound on the number of ways in which it cuts so many elements."""
    return lambda n: log(growth(2 * n))


def realizable(restrictions: Restrictions, k: int, alpha: float, beta: float) -> int:
    """Rows from which, but for beta, no concept errs on a share alpha/2 of the rows or less and on more than alpha of
    the distribution, in none of k realizable columns: 4 s k exp(-alpha n/16) <= beta, s = e^``restrictions(n)``, by
    Vapnik's relative deviation (error - share) / sqrt(error) > sqrt(alpha)/2.

    Reference: Bun, Nissim, Stemmer 2016, Theorem 2.11 with the numbers of restrictions instead of the VC dimension.
    """
    return smallest(lambda n: log(4) + restrictions(n) + log(k / beta) <= alpha * n / 16)


def agnostic(restrictions: Restrictions, k: int, alpha: float, beta: float) -> int:
    """Rows from which, but for beta, no concept's share of errors is farther than alpha from its error, in none of k
    columns: 4 s k exp(-alpha^2 n/8) <= beta.
    """
    return smallest(lambda n: log(4) + restrictions(n) + log(k / beta) <= alpha**2 * n / 8)
