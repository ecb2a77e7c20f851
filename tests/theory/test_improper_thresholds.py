"""Rows that improper learners of thresholds need: each step of docs/proofs/interior-point.md#improper-learners."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from dpjax.theory.improper_thresholds import least_log_star, log_star


def test_iterated_logarithms():
    assert [log_star(2.0**b) for b in (0, 1, 2, 4, 16)] == [0, 1, 2, 3, 4]
    assert log_star(2.0**17) == 5 and log_star(0.3) == 0


def test_the_numbers():
    """Those of the page; one more for each record, and hardly any for the budget."""
    assert [least_log_star(n, 1.0, 1e-6, 0.1, 0.1) for n in range(1, 9)] == list(range(7, 15))
    for n in (1, 2, 5, 40, 1000):
        found = [least_log_star(n, epsilon, 0.0, 0.1, 0.1) for epsilon in (1e-9, 0.1, 1.0, 50.0, 1e6)]
        assert found == sorted(found) and n + 5 <= found[0] and found[-1] <= n + 9
        assert least_log_star(n + 1, 1.0, 0.0, 0.1, 0.1) == least_log_star(n, 1.0, 0.0, 0.1, 0.1) + 1
    assert least_log_star(3, 1.0, 0.2, 0.1, 0.1) == math.inf  # too much delta
    assert least_log_star(3, 1.0, 1e-6, 0.25, 0.25) == math.inf  # a coin has this error


@pytest.mark.parametrize("records", [1, 7, 10**4])
def test_extreme_numbers_have_an_end(records):
    for epsilon in (1e-300, 1e8, 1e12, 1e13, 1e308):
        for alpha, beta in ((0.1, 0.1), (1e-300, 1e-300), (0.25, 0.249999999)):
            found = least_log_star(records, epsilon, 0.0, alpha, beta)
            assert (found == math.inf) == (epsilon > 1e12) or found >= records + 5


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_a_small_error_needs_a_drop(n):
    """The least error of p_(l,i) whose drops are at most g, by a linear program, is (1 - g n / 2) / 2, or more where p
    would leave [0, 1]."""
    for g in (0.0, 0.3 / n, 1.0 / n, 2.0 / n):
        place = {(row, i): row * (n + 1) + i - 1 for row in range(n + 1) for i in range(1, n + 2)}
        cost, constant = np.zeros(len(place)), 0.0
        for j in range(n + 2):
            weight = math.comb(n + 1, j) / 2 ** (n + 1) / (n + 1)
            for i in range(1, n + 2):
                if i <= j:
                    cost[place[j - 1, i]] -= weight
                    constant += weight
                else:
                    cost[place[j, i]] += weight
        drops = np.zeros(((n + 1) * n, len(place)))
        for number, (row, i) in enumerate(itertools.product(range(n + 1), range(1, n + 1))):
            drops[number, place[row, i]], drops[number, place[row, i + 1]] = 1, -1
        found = linprog(cost, drops, np.full(len(drops), g), bounds=(0, 1)).fun + constant
        assert found >= (1 - g * n / 2) / 2 - 1e-9
        if g * n <= 1:
            assert found == pytest.approx((1 - g * n / 2) / 2, abs=1e-9)
