"""A table of probabilities as whole numbers that are private exactly."""

import numpy as np

from dpjax.attacks.optimum.certificate import exponential
from dpjax.attacks.optimum.databases import Databases

TOTAL = 1 << 31
"""The sum of the weights of a database's hypotheses."""
_FIRST = 2.0**-34  # smallest share of the common law
_UNIFORM = 2.0**-10


def private_table(learner: np.ndarray, databases: Databases, epsilon: float, delta: float) -> np.ndarray:
    """``uint32[databases, h]`` close to ``TOTAL`` times the probabilities, (epsilon, delta)-private by `is_private`.

    The laws are mixed with one law for all databases, by the smallest power of two that makes up for the errors of the
    solver and of rounding. That law is their mean, with a small part of the uniform law, so that no hypothesis has too
    little mass to make up for them. If it has all of the mass, the table is private whatever the budget.
    """
    learner = np.maximum(learner, 0)
    learner = learner / learner.sum(axis=1, keepdims=True)
    common = (1 - _UNIFORM) * learner.mean(axis=0) + _UNIFORM / learner.shape[1]
    share = _FIRST
    while not is_private(table := _rounded((1 - share) * learner + share * common), databases, epsilon, delta):
        share *= 2
    return table


def is_private(table: np.ndarray, databases: Databases, epsilon: float, delta: float) -> bool:
    """Whether the law ``table[d] / TOTAL`` is (epsilon, delta)-private for these databases, in exact arithmetic.

    epsilon and delta are the floats themselves. Fractions of a weight are counted as whole ones, against the table.
    """
    kept, place = np.unique(np.asarray(table, np.int64), return_inverse=True)
    factor = exponential(min(epsilon, 32.0), up=False)  # e^22 exceeds the total
    scaled = [min(int(weight) * factor.numerator // factor.denominator, TOTAL) for weight in kept]
    most = np.array(scaled, np.int64)[place.reshape(table.shape)]
    first, second = databases.pairs.T
    excess = np.maximum(np.asarray(table, np.int64)[first] - most[second], 0).sum(axis=1)
    allowed = int(delta * TOTAL)  # TOTAL is a power of two: exact
    return bool(np.all(np.asarray(table, np.int64).sum(axis=1) == TOTAL) and np.all(excess <= allowed))


def _rounded(learner: np.ndarray) -> np.ndarray:
    """Whole numbers of sum `TOTAL`: rounded down, and one more where the rest is largest."""
    scaled = learner * TOTAL
    low = np.floor(scaled).astype(np.int64)
    missing = TOTAL - low.sum(axis=1)
    order = np.argsort(-(scaled - low), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    return (low + (ranks < missing[:, None])).astype(np.uint32)
