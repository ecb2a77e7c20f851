"""Sample sizes of the non-private learner."""

from math import ceil, log, log1p

from dpjax.core import checks
from dpjax.core.host import host_functions
from dpjax.theory.search import log_over


def finite(concepts: int, alpha: float, beta: float) -> int:
    """Realizable, any finite class: ln((C - 1)/beta) / -ln(1 - alpha), the union bound over bad consistent concepts.

    At most C - 1 concepts are bad, as the target is not. One concept needs one row.
    """
    checks.integer("concepts", concepts, 1)
    checks.accuracy(alpha, beta)
    if concepts == 1:
        return 1
    return max(1, ceil(log((concepts - 1) / beta) / -log1p(-alpha)))


def agnostic(concepts: int, alpha: float, beta: float) -> int:
    """Any finite class, any law of labeled rows: from 2 ln((C - 1)/beta) / -ln(1 - alpha^2) rows on the error exceeds
    the best concept's by at most alpha.

    Proof. Let D be 1 on a row where h errs and the best concept does not, -1 for the reverse, 0 otherwise. h is chosen
    only if the sum of D is at most 0, with probability at most (E e^(-t D))^n. If E D >= alpha this is at most that of
    +-1 with mean alpha, cosh t - alpha sinh t, least at artanh alpha: sqrt(1 - alpha^2). Sum over the bad concepts.
    """
    checks.integer("concepts", concepts, 1)
    checks.accuracy(alpha, beta)
    if concepts == 1:
        return 1
    return max(1, ceil(2 * log_over(concepts - 1, beta) / -log1p(-(alpha**2))))


def points(alpha: float, beta: float) -> int:
    """Realizable points, any number of concepts: every element of mass >= alpha/2 occurs, with probability 1 - beta.

    There are at most 2/alpha of them; a consistent point differs from the target on two elements that do not occur.
    """
    checks.accuracy(alpha, beta)
    return max(1, ceil(log(2 / (alpha * beta)) / -log1p(-alpha / 2)))


def thresholds(alpha: float, beta: float) -> int:
    """Realizable, one threshold: 2 (1 - alpha)^n <= beta, one term for each side of the target."""
    checks.accuracy(alpha, beta)
    return max(1, ceil(log(2 / beta) / -log1p(-alpha)))


host_functions(globals())
