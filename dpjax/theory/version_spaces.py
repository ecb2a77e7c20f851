"""Rows of a batch for lists that are read off version spaces: levels of error that a sample separates."""

from math import ceil, expm1, inf, log, log1p
from typing import NamedTuple

from numpy import logaddexp

from dpjax.core import checks
from dpjax.core.host import host_functions
from dpjax.theory.search import log_over, smallest

BAD = 0.1  # probability that a batch misleads


class Levels(NamedTuple):
    """rows: of a batch. cuts: the largest empirical errors of the levels, descending."""

    rows: int
    cuts: tuple[float, ...]


def levels(functions: int, gaps: int, top: float, bad: float) -> Levels:
    """Levels top = alpha_0 > ... > alpha_gaps = 0 at equal distances, and cuts midway between neighbors.

    From ``rows`` on it holds with probability 1 - bad for all of ``functions`` functions and all levels: an error of at
    most alpha_{j+1} is empirically at most cut j, and what is empirically at most cut j has an error of at most
    alpha_j. Bernstein's inequality at the distance top / (2 gaps), for a variance of at most top.
    """
    checks.integer("functions", functions, 1)
    checks.integer("gaps", gaps, 1)
    checks.probability("top", top)
    checks.probability("bad", bad)
    rows = ceil((8 * gaps**2 + 4 / 3 * gaps) / top * log_over(2 * gaps * functions, bad))
    return Levels(rows, tuple(top * (1 - (j + 0.5) / gaps) for j in range(gaps)))


def minimal_sets(ones: int, alpha: float) -> Levels:
    """For sets of d elements: d + 1 levels below alpha for the 2^d subsets of the target.

    Proof: docs/proofs/irreducibility.md#sets-of-d-elements.
    """
    checks.integer("ones", ones, 1, 64)
    checks.probability("alpha", alpha)
    return levels(1 << ones, ones + 1, alpha, BAD)


def batches(concepts: int, each: int, epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """Batches m of ``each`` >= 1 rows for `lists.VersionSpace`: least with
    (|C| - 1) (q + (1 - q) e^-r)^m + e^(r (gate - m)) <= beta.

    q = (1 - alpha)^each bounds the probability that a concept of error above alpha agrees with a batch. r = epsilon / 2
    and gate = 1 + ln(|C| / d) / r, d the lesser of delta and e^r - 1, are those of the selection. m ``each`` is least
    for ``each`` = 1. Proof: docs/proofs/irreducibility.md#a-tree-that-queries-everything.
    """
    checks.integer("concepts", concepts, 1)
    checks.integer("each", each, 1)
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="a selection from lists")
    checks.accuracy(alpha, beta)
    rate = epsilon / 2
    others = log(concepts - 1) if concepts > 1 else -inf
    often = each * log1p(-alpha)  # ln q
    moved = expm1(often) * -expm1(-rate)  # -(1 - q) (1 - e^-r)
    falls = -log1p(moved) if moved > -0.5 else -logaddexp(often, log(-expm1(often)) - rate)
    gate = rate + log_over(concepts, min(delta, expm1(min(rate, 1.0))))  # e^1 - 1 is above every delta
    return smallest(lambda m: logaddexp(others - m * falls, gate - rate * m) <= log(beta))


host_functions(globals())
