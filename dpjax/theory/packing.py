"""Lower bounds by packing for pure learners of k concepts, with constants: plain numbers on the host.

Samples for different targets differ in few rows, and a pure learner's output probabilities on samples that differ in N
rows are equal up to a factor e^(epsilon N). So M targets, no two of which share a correct answer, cannot all be
learned from few rows. Every bound holds for every (epsilon, 0)-private learner under REPLACE_ONE that succeeds with
probability 1 - beta.
"""

from math import expm1, log

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.theory.search import smallest


def concepts(k: int, epsilon: float, alpha: float, beta: float) -> int:
    """n for k concepts of a class with f(x) != g(x) and f(y) = g(y) for some f, g, x, y: k ln 2 / (alpha epsilon).

    All k columns choose between f and g, so M = 2^k; x weighs alpha (strictly more for an error above alpha), y the
    rest. Holds for improper learners too.
    Reference: Bun, Nissim, Stemmer 2016, Theorem 5.1 and Remark 5.2; constants are our own.
    """
    return _least(checks.integer("k", k, 1) * log(2), epsilon, checks.probability("alpha", alpha), beta)


def proper(size: int, epsilon: float, alpha: float, beta: float) -> int:
    """n for one point or threshold among ``size`` >= 4, proper, alpha < 1/2: about ln(size) / (2 alpha epsilon).

    Points: x weighs alpha, labeled 1, the rest of the mass is on one element labeled 0, and only c_x is accurate:
    samples for M = size - 1 targets differ in the rows at x. Thresholds t >= 1 with weight alpha at t and at t + 1,
    the rest at 0: M = size - 2 and the rows at both differ. The bound is the weaker one, for thresholds.
    Reference: Beimel, Brenner, Kasiviswanathan, Nissim 2014; constants are our own.
    """
    if checks.probability("alpha", alpha) >= 0.5:
        raise InputError("alpha", "less than 1/2", repr(alpha), "for larger alpha two thresholds suffice")
    return _least(log(checks.integer("size", size, 4) - 2), epsilon, 2 * alpha, beta)


def parities(dimension: int, k: int, epsilon: float, beta: float) -> int:
    """n for k parities under the uniform distribution, any alpha below 1/4, also improper: about k d ln 2 / epsilon.

    An answer with error below 1/4 is closest to one parity only (Lemma 5.3), so M = 2^(k d).
    Reference: Bun, Nissim, Stemmer 2016, Lemma 5.3 and Theorem 5.4; constants are our own.
    """
    checks.integer("dimension", dimension, 1)
    return _least(checks.integer("k", k, 1) * dimension * log(2), epsilon, 1.0, beta)


def _least(log_targets: float, epsilon: float, mass: float, beta: float) -> int:
    """The smallest n that is not excluded: (M - 1) E[e^(-epsilon N); success] <= beta.

    N ~ Binomial(n, mass) rows can differ. Given the draws the learner succeeds with probability s, 1 - beta on average;
    each other target gets at least s' e^(-epsilon N) of the rest. The sum over targets is smallest with success
    on the largest N.
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.epsilon(epsilon)
    checks.probability("beta", beta)
    log_others = log_targets + log(-expm1(-log_targets))

    def possible(n: int) -> bool:
        if mass >= 1:
            return log_others - epsilon * n + log(1 - beta) <= log(beta)
        rows = np.arange(n + 1)
        weight = binom.pmf(rows, n, mass)
        above = np.concatenate([np.cumsum(weight[::-1])[::-1][1:], [0.0]])
        used = np.clip(1 - beta - above, 0, weight)  # the largest N first
        with np.errstate(divide="ignore"):
            terms = np.log(used) - epsilon * rows
        top = float(np.max(terms))
        return log_others + top + log(float(np.sum(np.exp(terms - top)))) <= log(beta)

    return smallest(possible)
