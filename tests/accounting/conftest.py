"""Exact small laws that the accountants are compared with."""

from decimal import Decimal, getcontext
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.accounting import Guarantee
from dpjax.core.types import Neighboring


def response(epsilon):
    """Randomized response of a 1 and of a 0: two log-laws over (truth of 1, truth of 0)."""
    truth = -np.logaddexp(0.0, -epsilon)
    return np.array([truth, truth - epsilon]), np.array([truth - epsilon, truth])


def product(log_law, rounds):
    """The law of independent repetitions, outcome by outcome."""
    log_law = np.asarray(log_law)
    whole = np.zeros(1)
    for _ in range(rounds):
        whole = (whole[:, None] + log_law).ravel()
    return whole


def normalised(log_weights):
    """Log-weights as a log-law."""
    log_weights = np.asarray(log_weights, np.float64)
    return log_weights - np.logaddexp.reduce(log_weights, axis=-1, keepdims=True)


def naive_hockey_stick(p, q, epsilon):
    """The definition."""
    return np.maximum(0.0, np.asarray(p) - np.exp(epsilon) * np.asarray(q)).sum()


def decimal_delta(epsilon0, rounds, epsilon):
    """optimal_delta in 60 digits."""
    getcontext().prec = 60
    epsilon0, epsilon = Decimal(epsilon0), Decimal(epsilon)
    total, count, step, mass = Decimal(0), 1, (-epsilon0).exp(), Decimal(1)
    for truths in range(rounds, rounds // 2, -1):
        loss = (2 * truths - rounds) * epsilon0
        if loss <= epsilon:
            break
        total += count * mass * (1 - (epsilon - loss).exp())
        count, mass = count * truths // (rounds - truths + 1), mass * step
    return total / (1 + step) ** rounds


def guarantee(epsilon, delta=0.0, what="part", neighboring=Neighboring.REPLACE_ONE, **more):
    """A leaf."""
    return Guarantee(epsilon, delta, neighboring, what, **more)


@pytest.fixture(scope="session")
def laws():
    """The functions above."""
    return SimpleNamespace(
        response=response,
        product=product,
        normalised=normalised,
        naive=naive_hockey_stick,
        decimal_delta=decimal_delta,
        guarantee=guarantee,
    )
