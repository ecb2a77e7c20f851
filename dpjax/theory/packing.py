"""Lower bounds by packing for learners of k concepts, with constants: plain numbers on the host.

Samples for different targets differ in few rows, and a learner's output probabilities p, q on samples that differ in N
rows have p <= e^(epsilon N) q + delta_N, delta_N = delta (e^(epsilon N) - 1) / (e^epsilon - 1). So M targets, no two
of which share a correct answer, cannot all be learned from few rows. Every bound holds for every
(epsilon, delta)-private learner under REPLACE_ONE that succeeds with probability 1 - beta. With delta > 0 it stops
growing where delta_N reaches 1, at about ln(1 / delta) / epsilon rows that can differ.
"""

from math import expm1, log

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions
from dpjax.theory.search import ROUNDING, smallest

TWO = log(2)
"""ln of two concepts, for `separated`."""


def concepts(k: int, epsilon: float, alpha: float, beta: float, delta: float = 0.0) -> int:
    """n for k concepts of a class with f(x) != g(x) and f(y) = g(y) for some f, g, x, y: k ln 2 / (alpha epsilon).

    All k columns choose between f and g, so M = 2^k; x weighs alpha (strictly more for an error above alpha), y the
    rest. Holds for improper learners too.
    Reference: Bun, Nissim, Stemmer 2016, Theorem 5.1 and Remark 5.2; constants are our own.
    """
    return _least(checks.integer("k", k, 1) * TWO, epsilon, checks.probability("alpha", alpha), beta, delta)


def proper(size: int, epsilon: float, alpha: float, beta: float, delta: float = 0.0) -> int:
    """n for one point or threshold among ``size`` >= 4, proper, alpha < 1/2: about ln(size) / (2 alpha epsilon).

    Points: x weighs alpha, labeled 1, the rest of the mass is on one element labeled 0, and only c_x is accurate:
    samples for M = size - 1 targets differ in the rows at x. Thresholds t >= 1 with weight alpha at t and at t + 1,
    the rest at 0: M = size - 2 and the rows at both differ. The bound is the weaker one, for thresholds.
    Reference: Beimel, Brenner, Kasiviswanathan, Nissim 2014; constants are our own.
    """
    if checks.probability("alpha", alpha) >= 0.5:
        raise InputError("alpha", "less than 1/2", repr(alpha), "for larger alpha two thresholds suffice")
    return _least(log(checks.integer("size", size, 4) - 2), epsilon, 2 * alpha, beta, delta)


def parities(dimension: int, k: int, epsilon: float, beta: float, delta: float = 0.0) -> int:
    """n for k parities under the uniform distribution, any alpha below 1/4, also improper: about k d ln 2 / epsilon.

    An answer with error below 1/4 is closest to one parity only (Lemma 5.3), so M = 2^(k d).
    Reference: Bun, Nissim, Stemmer 2016, Lemma 5.3 and Theorem 5.4; constants are our own.
    """
    checks.integer("dimension", dimension, 1)
    return separated(dimension * TWO, k, epsilon, beta, delta)


def separated(log_concepts: float, k: int, epsilon: float, beta: float, delta: float = 0.0) -> int:
    """n for k of M = e^log_concepts concepts, any two of which differ on more than 2 alpha of one distribution.

    No answer is right for two of them, so M^k targets are told apart by at most n rows: about k ln(M) / epsilon. With
    M = 2, two concepts and a distribution on an element where they differ, it holds for every class that has such an
    element, and any alpha < 1/2.
    Reference: Bun, Nissim, Stemmer 2016, Theorem 5.1; constants are our own.
    """
    if checks.number("log_concepts", log_concepts) <= 0:
        raise InputError("log_concepts", "more than 0", repr(log_concepts), "two concepts at least: ln 2")
    return _least(checks.integer("k", k, 1) * log_concepts, epsilon, 1.0, beta, delta)


def _least(log_targets: float, epsilon: float, mass: float, beta: float, delta: float) -> int:
    """The smallest n that is not excluded: (M - 1) E[e^(-epsilon N) (s - delta_N)^+] <= beta.

    N ~ Binomial(n, mass) rows can differ. Given the draws the learner succeeds with probability s, 1 - beta on average;
    each other target gets at least e^(-epsilon N) (s' - delta_N) of the rest. The sum over targets is smallest with
    success up to delta_N everywhere, and the rest of it on the largest N. Both sides may be wrong by `ROUNDING`.
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.epsilon(epsilon)
    checks.delta(delta)
    checks.probability("beta", beta)
    log_others = log_targets + log(-expm1(-log_targets))

    def possible(n: int) -> bool:
        rows = _window(n, mass) if mass < 1 else np.array([n])
        weight = binom.pmf(rows, n, mass) if mass < 1 else np.ones(1)
        others = max(0.0, 1 - float(weight.sum()))  # outside of the window, at no cost
        free = weight * _group_delta(rows, epsilon, delta)
        paid = weight - free
        above = np.concatenate([np.cumsum(paid[::-1])[::-1][1:], [0.0]])
        used = np.clip(1 - beta - ROUNDING - others - float(free.sum()) - above, 0, paid)  # the largest N first
        if not used.any():
            return True
        with np.errstate(divide="ignore"):
            terms = np.log(used) - epsilon * rows
        top = float(np.max(terms))
        cost = log_others + top + log(float(np.sum(np.exp(terms - top))))
        return cost <= log(beta) + ROUNDING * (1 + abs(log_others))

    return smallest(possible)


def _window(n: int, mass: float) -> np.ndarray:
    """The likely values of N; at most 2^18 + 1 of them."""
    middle = round(n * mass)
    wide = min(1 << 17, 32 + round(12 * (n * mass * (1 - mass)) ** 0.5))
    return np.arange(max(0, middle - wide), min(n, middle + wide) + 1)


def _group_delta(rows: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """delta_N = delta (e^(epsilon N) - 1) / (e^epsilon - 1), at most 1."""
    if delta == 0:
        return np.zeros(len(rows))
    with np.errstate(divide="ignore"):  # N = 0
        exponents = epsilon * rows + np.log(-np.expm1(-epsilon * rows)) - epsilon - log(-expm1(-epsilon))
    return np.exp(np.minimum(0.0, log(delta) + exponents))


host_functions(globals())
