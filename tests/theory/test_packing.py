"""Lower bounds by packing against the best that any learner can do, and the sample size of a generic learner."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from dpjax.concepts.base import Group
from dpjax.core.checks import InputError
from dpjax.theory import generic, packing
from dpjax.theory.points import hashed


def least_failure(n, k, epsilon, alpha, delta=0.0):
    """The worst failure probability of the best (epsilon, delta)-private learner of k concepts from {f, g}, exactly.

    Rows are y, which says nothing, or x with k labels; only their counts matter. A linear program over all laws of the
    answer, one of 2^k, for all counts; each target fails where the answer is another one.
    """
    kinds, answers = 2**k + 1, 2**k
    states = [c for c in itertools.product(range(n + 1), repeat=kinds) if sum(c) == n]
    place = {state: i for i, state in enumerate(states)}
    size = len(states) * answers  # of probabilities; then the failure, and for delta > 0 what each pair is above e^eps
    index = lambda state, answer: place[state] * answers + answer  # noqa: E731
    above, rows, bounds, pairs = [], 0, [], 0
    steps = sum(1 for state in states for a, b in itertools.permutations(range(kinds), 2) if state[a])
    width = size + 1 + (steps * answers if delta else 0)
    for state in states:
        for a, b in itertools.permutations(range(kinds), 2):
            if not state[a]:
                continue
            other = list(state)
            other[a], other[b] = other[a] - 1, other[b] + 1
            for answer in range(answers):
                line = np.zeros(width)
                line[index(state, answer)], line[index(tuple(other), answer)] = 1, -math.exp(epsilon)
                if delta:
                    line[size + 1 + pairs * answers + answer] = -1
                above.append(line)
                bounds.append(0.0)
            if delta:
                line = np.zeros(width)
                line[size + 1 + pairs * answers :][:answers] = 1
                above.append(line)
                bounds.append(delta)
            pairs += 1
    for target in range(answers):  # failure of the target <= the last variable
        line = np.zeros(width)
        line[size] = -1
        for hits in range(n + 1):
            state = [n - hits] + [hits if t == target else 0 for t in range(answers)]
            for answer in set(range(answers)) - {target}:
                line[index(tuple(state), answer)] += binom.pmf(hits, n, alpha)
        above.append(line)
        bounds.append(0.0)
    rows = len(above)
    assert rows == len(bounds)
    whole = np.kron(np.eye(len(states)), np.ones(answers))
    accuracy = np.zeros(width)
    accuracy[size] = 1
    padded = np.pad(whole, ((0, 0), (0, width - size)))
    found = linprog(accuracy, np.array(above), bounds, padded, np.ones(len(states)))
    assert found.success
    return found.fun


@pytest.mark.parametrize(
    ("k", "epsilon", "alpha", "most", "delta"),
    [
        (1, 1.0, 0.5, 8, 0.0),
        (1, 3.0, 0.3, 8, 0.0),
        (2, 2.0, 0.6, 3, 0.0),
        (1, 1.0, 0.5, 8, 0.01),
        (1, 0.5, 0.9, 7, 0.1),
        (2, 2.0, 0.6, 3, 0.01),
    ],
)
def test_no_learner_beats_the_bound(k, epsilon, alpha, most, delta):
    """Where the bound says that n rows do not suffice, the best learner of all fails more often than beta."""
    failures = {n: least_failure(n, k, epsilon, alpha, delta) for n in range(1, most + 1)}
    assert list(failures.values()) == sorted(failures.values(), reverse=True)
    tried = 0
    for beta in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6):
        bound = packing.concepts(k, epsilon, alpha, beta, delta)
        for n in range(1, min(bound, most + 1)):
            assert failures[n] > beta
            tried += 1
    assert tried >= 3


def test_the_bound_against_the_definition():
    """The inequality itself, with the sum over N written out for success wherever it costs least."""
    for k, epsilon, alpha, beta in ((3, 1.0, 0.2, 0.1), (10, 0.3, 0.1, 0.4), (1, 5.0, 0.7, 0.01)):
        n = packing.concepts(k, epsilon, alpha, beta)

        def excluded(n, k=k, epsilon=epsilon, alpha=alpha, beta=beta):
            left, total = 1 - beta, 0.0
            for hits in range(n, -1, -1):
                part = min(left, binom.pmf(hits, n, alpha))
                left, total = left - part, total + part * math.exp(-epsilon * hits)
            return (2**k - 1) * total > beta

        assert not excluded(n) and (n == 1 or excluded(n - 1))


def test_a_delta_ends_the_growth():
    """Where delta_N is 1 for the rows that can differ, nothing more is excluded."""
    pure, some = ([packing.concepts(k, 1.0, 0.1, 0.1, delta) for k in (1, 64, 10**4)] for delta in (0.0, 1e-6))
    assert pure[0] == some[0] and all(a <= b for a, b in zip(some, pure, strict=True))
    assert some[1] < pure[1] and some[2] < 250 < 10**4 < pure[2]
    assert packing.parities(8, 10**6, 1.0, 0.1, 1e-6) <= math.log(1e6) + 2
    assert packing.concepts(5, 1.0, 0.1, 0.1, 1e-300) == packing.concepts(5, 1.0, 0.1, 0.1)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_a_function_near_a_parity_is_near_no_other(d):
    """BNS Lemma 5.3: every function with error below 1/4 has one nearest parity; at 1/4 it may have two."""
    points = np.arange(2**d)
    parities = np.bitwise_count(points[:, None] & points) % 2
    functions = np.arange(2**2**d)[:, None] >> points & 1
    wrong = functions.sum(axis=1, keepdims=True) + parities.sum(axis=1) - 2 * functions @ parities.T
    nearest = np.sum(wrong == wrong.min(axis=1, keepdims=True), axis=1)
    assert np.all(nearest[wrong.min(axis=1) < 2**d / 4] == 1) and np.any(nearest[wrong.min(axis=1) == 2**d / 4] > 1)


def test_limits_and_monotonicity():
    for k, epsilon, alpha in ((2000, 1.0, 0.1), (2000, 0.1, 0.3)):
        # the mean of e^(-epsilon N) is what counts: between ln 2 k / (alpha epsilon) and a little more
        assert 0.97 <= packing.concepts(k, epsilon, alpha, 0.5) / (k * math.log(2) / (alpha * epsilon)) <= 1.15
    assert abs(packing.parities(64, 50, 1.0, 0.1) / (64 * 50 * math.log(2)) - 1) < 0.01
    assert packing.parities(64, 50, 1.0, 0.5) == math.ceil(3200 * math.log(2))
    assert abs(packing.proper(2**64, 1.0, 0.01, 0.3) * 2 * 0.01 / math.log(2**64) - 1) < 0.25
    table = np.array(
        [
            [[packing.concepts(k, e, a, b) for k in (1, 8, 64)] for e in (0.2, 1.0, 4.0)]
            for a in (0.05, 0.2)
            for b in (0.1, 0.4)
        ]
    ).reshape(2, 2, 3, 3)
    assert (np.diff(table, axis=3) >= 0).all() and (np.diff(table, axis=2) <= 0).all()
    assert (np.diff(table, axis=1) <= 0).all() and (np.diff(table, axis=0) <= 0).all()
    assert packing.proper(4, 1.0, 0.1, 0.9) >= 1 and packing.parities(1, 1, 9.0, 0.4) == 1


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: packing.concepts(0, 1.0, 0.1, 0.1),
        lambda: packing.concepts(1, 0.0, 0.1, 0.1),
        lambda: packing.concepts(1, 1.0, 1.0, 0.1),
        lambda: packing.concepts(1, 1.0, 0.1, 0.0),
        lambda: packing.proper(3, 1.0, 0.1, 0.1),
        lambda: packing.proper(9, 1.0, 0.5, 0.1),
        lambda: packing.parities(0, 1, 1.0, 0.1),
        lambda: packing.parities(1, 0, 1.0, 0.1),
        lambda: generic.rows([(Group(1, False, 0.0),)], 0, 1, 1.0, float, 0.1, 0.1),
        lambda: generic.rows([(Group(1, False, 0.0),)], 1, 1, 0.0, float, 0.1, 0.1),
    ],
)
def test_numbers_that_are_none(attempt):
    with pytest.raises(InputError):
        attempt()


def test_every_learner_needs_more_than_the_bound():
    for k in (1, 10, 100):
        part = 1.0 / k
        assert hashed(k, 14, 7, part, 0.1, 0.1) > packing.concepts(k, 1.0, 0.1, 0.1)


def test_the_generic_sizes_are_the_least_of_their_inequalities():
    """One group of each kind, with the terms written out for the best t of a fine grid."""
    for k, part, alpha, beta, m in ((1, 0.5, 0.2, 0.1, 5.0), (30, 0.05, 0.1, 0.05, 0.0), (4, 3.0, 0.1, 0.1, 12.0)):
        t = np.linspace(1e-3, 1, 64) * part / 2
        for agnostic in (False, True):
            covers = [(Group(9, False, 0.0), Group(1, True, alpha / 4, 0.5))]

            def log_of(n, agnostic=agnostic, t=t, alpha=alpha, m=m):
                def r(a):
                    return np.cosh(t) - a * np.sinh(t) if agnostic else 1 - a * (1 - np.exp(-t))

                one = math.log(9) + n * np.log(r(alpha)) + t * m
                other = math.log(40) + n * np.log(r(0.75 * alpha)) + t * m / 2
                return np.min(np.logaddexp(one, other))

            n = generic.rows(covers, 40, k, part, lambda n, m=m: m, alpha, beta, agnostic)
            assert log_of(math.ceil(1.01 * n)) <= math.log(beta / k) < log_of(math.floor(0.99 * n))
    hidden = [(Group(2, False, 0.1, 0.5, True),)]
    n = generic.rows(hidden, 40, 1, 1e-9, lambda n: 10.0, 0.2, 0.1)
    assert 2 * binom.cdf(5, n, 0.1) <= 0.1 < 2 * binom.cdf(5, n - 1, 0.1)
