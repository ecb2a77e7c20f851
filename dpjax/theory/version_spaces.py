"""Lists that are read off version spaces: rows that separate levels of error, and batches of a selection."""

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


def batches(concepts: int, batch_rows: int, epsilon: float, delta: float, alpha: float, beta: float) -> int:
    """Batches of k = ``batch_rows`` rows for `lists.VersionSpace`: the least m with
    (|C| - 1) (q + (1 - q) e^-r)^m + e^(r (gate - m)) <= beta.

    q = (1 - alpha)^k bounds the probability that a concept of error above alpha agrees with a batch. r = epsilon / 2
    and gate = 1 + ln(|C| / d) / r, d the lesser of delta and e^r - 1, are those of the selection. m k is least for
    k = 1. Proof: docs/proofs/irreducibility.md#a-tree-that-queries-everything.
    """
    checks.integer("concepts", concepts, 1)
    checks.integer("batch_rows", batch_rows, 1)
    checks.epsilon(epsilon)
    checks.delta(delta, positive_for="a selection from lists")
    checks.accuracy(alpha, beta)
    rate = epsilon / 2
    log_others = log(concepts - 1) if concepts > 1 else -inf
    log_q = batch_rows * log1p(-alpha)
    loss = expm1(log_q) * -expm1(-rate)  # -(1 - q) (1 - e^-r); near 0 its logarithm needs log1p, near -1 a sum
    decay = -log1p(loss) if loss > -0.5 else -logaddexp(log_q, log(-expm1(log_q)) - rate)
    rate_gate = rate + log_over(concepts, min(delta, expm1(min(rate, 1.0))))  # e^1 - 1 is above every delta
    return smallest(lambda m: logaddexp(log_others - m * decay, rate_gate - rate * m) <= log(beta))


host_functions(globals())
