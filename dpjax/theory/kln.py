"""Sample sizes of the exponential mechanism over a finite class."""

from math import atanh, ceil, expm1, inf, isfinite, log1p, sinh

from dpjax.core import checks
from dpjax.core.checks import NoTheoremError
from dpjax.core.host import host_functions
from dpjax.theory.search import log_over


def realizable(concepts: int, epsilon: float, alpha: float, beta: float) -> int:
    """Rows n of an (alpha, beta)-PAC learner by the exponential mechanism.

    It is ln((C - 1)/beta) / -ln(1 - alpha (1 - e^{-epsilon/2})), and 1 for one concept.

    Proof. The target has no errors, so a concept h is chosen with probability at most exp(-epsilon errors(h) / 2).
    The expectation over the sample is (1 - err(h) (1 - e^{-epsilon/2}))^n; sum over the bad concepts, at most C - 1:
    a class of one concept needs no rows, and gets 1.
    Asymptotically (2/epsilon + ...) ln(C/beta) / alpha: generalization has no separate cost.

    Args:
      concepts: |C| >= 1. epsilon: > 0. alpha, beta: in (0, 1).

    Reference: our own; compare `realizable_printed`.
    """
    _check(concepts, epsilon, alpha, beta)
    if concepts == 1:
        return 1
    rate = -log1p(alpha * expm1(-epsilon / 2))
    return max(1, _rows(log_over(concepts - 1, beta) / rate if rate else inf))


def realizable_printed(concepts: int, epsilon: float, alpha: float, beta: float) -> int:
    """The two-step bound max(8/alpha, 4/(alpha epsilon)) ln(2 C/beta): the mechanism's error, then generalization.

    Reference: Kasiviswanathan et al. 2011, Theorem 3.4, with the constants of its proof for realizable data.
    """
    _check(concepts, epsilon, alpha, beta)
    smallest = min(alpha, alpha * epsilon)
    return _rows(max(8 / alpha, 4 / (alpha * epsilon)) * log_over(2 * concepts, beta) if smallest else inf)


def agnostic(concepts: int, epsilon: float, alpha: float, beta: float) -> int:
    """n with excess error at most alpha: ln((C - 1)/beta) / -ln(cosh t - alpha sinh t).

    Here t = min(epsilon/2, artanh alpha).

    Proof. Let D be 1 on a row where h errs and the best concept does not, -1 for the reverse, 0 otherwise. A concept h
    is chosen with probability at most min(1, exp(-epsilon (sum of D)/2)) <= exp(-t (sum of D)) for every t in
    [0, epsilon/2]. If E D >= alpha, E exp(-t D) is at most that of +-1 with mean alpha, cosh t - alpha sinh t, which
    artanh alpha makes least. Sum over the bad concepts, at most C - 1. One concept needs one row.

    Reference: our own; compare `agnostic_printed`.
    """
    _check(concepts, epsilon, alpha, beta)
    if concepts == 1:
        return 1
    t = min(epsilon / 2, atanh(alpha))
    rate = -log1p(2 * sinh(t / 2) ** 2 - alpha * sinh(t))
    return max(1, _rows(log_over(concepts - 1, beta) / rate if rate > 0 else inf))


def agnostic_printed(concepts: int, epsilon: float, alpha: float, beta: float) -> int:
    """n with excess error at most alpha: max(8/alpha^2, 4/(alpha epsilon)) ln(3 C/beta).

    Uniform convergence to alpha/4 by Hoeffding, 2 C exp(-n alpha^2 / 8) <= 2 beta/3, and the mechanism loses at most
    alpha/2 with probability beta/3. One concept needs one row; its excess error is 0.

    Reference: Kasiviswanathan et al. 2011, Theorem 3.4; constants are our own.
    """
    _check(concepts, epsilon, alpha, beta)
    if concepts == 1:
        return 1
    smallest = min(alpha**2, alpha * epsilon)
    return _rows(max(8 / alpha**2, 4 / (alpha * epsilon)) * log_over(3 * concepts, beta) if smallest else inf)


def _rows(value: float) -> int:
    if not isfinite(value):
        expected = "a sample size that is a 64-bit floating-point number"
        raise NoTheoremError("alpha, beta, epsilon", expected, "a larger one", "choose larger numbers")
    return ceil(value)


def _check(concepts: int, epsilon: float, alpha: float, beta: float) -> None:
    checks.integer("concepts", concepts, 1)
    checks.epsilon(epsilon)
    checks.accuracy(alpha, beta)


host_functions(globals())
