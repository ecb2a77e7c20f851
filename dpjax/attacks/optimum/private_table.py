"""A table of probabilities as whole numbers that are private exactly."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dpjax.attacks.optimum.certificate import exponential
from dpjax.attacks.optimum.databases import Databases
from dpjax.core.types import Neighboring

TOTAL = 1 << 31
"""The sum of the weights of a database's hypotheses."""
_FIRST = 2.0**-34  # smallest share of the common law
_UNIFORM = 2.0**-10
_CHUNK = 1 << 15  # families


def private_table(
    learner: np.ndarray,
    databases: Databases,
    epsilon: float,
    delta: float,
    common: np.ndarray | None = None,
    expanded: Callable[[np.ndarray], np.ndarray] = lambda table: table,
) -> np.ndarray:
    """``uint32[databases, h]`` close to ``TOTAL`` times the probabilities, (epsilon, delta)-private by `is_private`.

    The laws are mixed with one law for all databases, by the smallest power of two that makes up for the errors of the
    solver and of rounding. That law is their mean, with a small part of the uniform law, so that no hypothesis has too
    little mass to make up for them. If it has all of the mass, the table is private whatever the budget.

    expanded: what makes a table of all databases of the one of ``learner``, whose mean law is ``common``.
    """
    learner = np.maximum(learner, 0)
    learner = learner / learner.sum(axis=1, keepdims=True)
    common = learner.mean(axis=0) if common is None else common
    common = (1 - _UNIFORM) * common + _UNIFORM / learner.shape[1]
    share = _FIRST
    while not is_private(
        table := expanded(_rounded((1 - share) * learner + share * common)), databases, epsilon, delta
    ):
        share *= 2
    return table


def is_private(table: np.ndarray, databases: Databases, epsilon: float, delta: float) -> bool:
    """Whether the law ``table[d] / TOTAL`` is (epsilon, delta)-private for these databases, in exact arithmetic.

    epsilon and delta are the floats themselves. Fractions of a weight are counted as whole ones, against the table.
    With delta = 0 under REPLACE_ONE the largest weight of each family is compared with the smallest one.
    """
    if not np.all(np.asarray(table, np.int64).sum(axis=1) == TOTAL):
        return False
    factor = exponential(min(epsilon, 32.0), up=False)  # e^22 exceeds the total
    if delta == 0 and databases.neighboring is Neighboring.REPLACE_ONE:
        smaller = databases.without_a_row.counts
        parts = (databases.members(smaller[start : start + _CHUNK]) for start in range(0, len(smaller), _CHUNK))
        return all(_within(table[members], factor) for members in parts)
    first, second = databases.pairs.T
    excess = np.maximum(np.asarray(table, np.int64)[first] - _scaled(table, factor)[second], 0).sum(axis=1)
    return bool(np.all(excess <= int(delta * TOTAL)))  # TOTAL is a power of two: exact


def _within(weights: np.ndarray, factor: Fraction) -> bool:
    """Whether weights ``[families, kinds, h]`` differ by at most the factor in each family."""
    return bool(np.all(weights.max(axis=1) <= _scaled(weights.min(axis=1), factor)))


def _scaled(weights: np.ndarray, factor: Fraction) -> np.ndarray:
    """The whole part of the factor times each weight, at most `TOTAL`."""
    kept, place = np.unique(np.asarray(weights, np.int64), return_inverse=True)
    scaled = [min(int(weight) * factor.numerator // factor.denominator, TOTAL) for weight in kept]
    return np.array(scaled, np.int64)[place.reshape(weights.shape)]


def _rounded(learner: np.ndarray) -> np.ndarray:
    """Whole numbers of sum `TOTAL`: rounded down, and one more where the rest is largest."""
    scaled = learner * TOTAL
    low = np.floor(scaled).astype(np.int64)
    missing = TOTAL - low.sum(axis=1)
    order = np.argsort(-(scaled - low), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    return (low + (ranks < missing[:, None])).astype(np.uint32)
