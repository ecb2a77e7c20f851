"""Rows that a learner of parities needs, from exact probabilities: plain numbers on the host."""

import math
from collections.abc import Callable

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions
from dpjax.theory.search import smallest

SPARE = 16  # largest number of rows beyond d that is tried: a subsample then fails with probability 2**-16
_MOST = 1 << 16


def full_rank(dimension: int, rows: int) -> float:
    """P[``rows`` uniform vectors of {0, 1}^d span it] = product over i < d of (1 - 2^(i - rows)).

    At least 0.880 with d + 3 rows, for every d.
    Reference: the count of matrices of full rank over GF(2).
    """
    checks.integer("dimension", dimension, 1)
    if checks.integer("rows", rows, 0) < dimension:
        return 0.0
    first = max(0, rows - 1080)  # smaller powers are 0 in float64
    return math.exp(sum(math.log1p(-(2.0 ** (i - rows))) for i in range(first, dimension)))


def success(subsamples: int, rows: int, dimension: int, epsilon: float, delta: float) -> float:
    """A lower bound on the probability that `learners.ParityLearner` returns the target, realizable and uniform.

    S ~ Binomial(m, p) subsamples have full rank and vote for the target; even if all others agree on another concept,
    its lead is 2 S - m. The stability test passes a lead g > 0 with P[g + Lap(2 / epsilon) >= 2 + (2 / epsilon)
    ln(1 / (2 delta))]. Exact sum over S, without terms more than 12 standard deviations below the mean.

    Args:
      subsamples: m. rows: of each. dimension: d. epsilon: > 0. delta: in (0, 1).
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.integer("subsamples", subsamples, 1, 1 << 26)  # memory is linear in them
    rank = full_rank(dimension, rows)
    low = subsamples * rank - 12 * math.sqrt(subsamples * rank * (1 - rank)) - 40
    right = np.arange(max(subsamples // 2, int(low)), subsamples + 1)
    lead = 2.0 * right - subsamples
    tail = -math.log(2 * delta) if delta <= 0.5 else math.log(2 * (1 - delta))
    needed = tail - epsilon / 2 * (lead - 2)
    passes = np.where(needed > 0, 0.5 * np.exp(-np.abs(needed)), 1 - 0.5 * np.exp(-np.abs(needed)))
    mass = binom.pmf(right, subsamples, rank)
    return float(np.sum(np.where(lead > 0, mass * passes, 0.0)))


def parity_learner(dimension: int, epsilon: float, delta: float, beta: float) -> tuple[int, int]:
    """(subsamples m, rows of each) with the fewest rows m x rows in total for which `success` is at least 1 - beta.

    Neither the number of concepts nor alpha enters: a learned parity is exact. m is about (2 / epsilon) ln(1 / (4 delta
    beta)) + 2, and each subsample has d rows plus a few: (d / epsilon) log(1 / (beta delta)) in total.

    Reference: Bun, Nissim, Stemmer 2016, Theorem 3.12, whose sum d log(1/beta) + log(1/(beta delta)) / epsilon does not
      follow from its proof; constants are our own.
    """
    checks.integer("dimension", dimension, 1)
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="ParityLearner")
    checks.probability("beta", beta)
    best = None
    for rows in range(dimension + SPARE, dimension - 1, -1):
        most = _MOST if best is None else (best[0] * best[1] - 1) // rows

        def enough(m: int, rows: int = rows) -> bool:
            return success(m, rows, dimension, epsilon, delta) >= 1 - beta

        if most >= 1 and (enough(most) or (most > 1 and enough(most - 1))):
            best = _fewest(enough, most), rows
    if best is None:
        raise InputError(
            "accuracy", f"one within {_MOST} subsamples", f"beta = {beta}", "take a larger epsilon or delta"
        )
    return best


def _fewest(enough: Callable[[int], bool], most: int) -> int:
    """The smallest m with ``enough(m)``, or a number above ``most``: m + 1 may tie, m + 2 always helps."""
    odd = 2 * smallest(lambda i: 2 * i - 1 > most or enough(2 * i - 1)) - 1
    return min(odd, 2 * smallest(lambda i: 2 * i > most or enough(2 * i)))


host_functions(globals())
