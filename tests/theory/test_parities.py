"""Subsamples and rows of the parity learner: exact probabilities against enumeration, and the fewest rows."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, laplace

from dpjax.core.checks import InputError
from dpjax.theory import parities


def spans(rows, d):
    basis = []
    for row in rows:
        for b in basis:
            row = min(row, row ^ b)
        if row:
            basis.append(row)
    return len(basis) == d


@pytest.mark.parametrize(("d", "r"), [(1, 0), (1, 1), (1, 3), (2, 1), (2, 2), (2, 4), (3, 3), (3, 4)])
def test_full_rank_by_listing(d, r):
    every = list(itertools.product(range(2**d), repeat=r))
    assert math.isclose(parities.full_rank(d, r), sum(spans(rows, d) for rows in every) / len(every), abs_tol=1e-15)


def test_three_rows_more_are_enough_for_seven_eighths():
    assert min(parities.full_rank(d, d + 3) for d in (1, 2, 10, 100, 4096)) >= 0.880 > 7 / 8
    assert 0.288 < parities.full_rank(4096, 4096) < 0.289
    assert 1 - parities.full_rank(50, 74) <= 2.0**-24


def test_success_is_the_sum_that_it_says():
    cases = (7, 12, 10, 2.0, 1e-2), (1, 5, 1, 1.0, 0.3), (20, 9, 5, 0.5, 0.8), (9, 8, 8, 4.0, 0.1)
    for m, rows, d, epsilon, delta in cases:
        p, total = parities.full_rank(d, rows), 0.0
        threshold = 2 + laplace.isf(delta, scale=2 / epsilon)
        for s in range(m + 1):
            lead = 2 * s - m
            total += (lead > 0) * binom.pmf(s, m, p) * laplace.sf(threshold - lead, scale=2 / epsilon)
        assert math.isclose(parities.success(m, rows, d, epsilon, delta), total, rel_tol=1e-12)


@pytest.mark.parametrize("d", [2, 20, *(pytest.param(d, marks=pytest.mark.slow) for d in (1, 10))])
@pytest.mark.parametrize("epsilon", [0.5, *(pytest.param(e, marks=pytest.mark.slow) for e in (2.0, 32.0)), 16.0])
def test_no_plan_has_fewer_rows(d, epsilon):
    """At a large epsilon an even number of subsamples does worse than one less: minima are not found by bisection."""
    for delta, beta in itertools.product((1e-6, 1e-2, 0.7), (0.3, 0.1, 0.01)):
        m, rows = parities.parity_learner(d, epsilon, delta, beta)
        assert parities.success(m, rows, d, epsilon, delta) >= 1 - beta
        for other in range(d, d + 25):
            fewer = range(1, -(-m * rows // other))
            assert all(parities.success(i, other, d, epsilon, delta) < 1 - beta for i in fewer)


def test_the_shape_of_the_sample_size():
    """About (2 / epsilon) ln(1 / (4 delta beta)) + 2 subsamples of d rows and a few."""
    for d, epsilon, delta, beta in ((100, 0.1, 1e-6, 0.1), (1000, 0.5, 1e-9, 0.01)):
        m, rows = parities.parity_learner(d, epsilon, delta, beta)
        formula = 2 / epsilon * math.log(1 / (4 * delta * beta)) + 2
        assert formula - 1 <= m <= 1.1 * formula and d <= rows <= d + 12
    sizes = [np.prod(parities.parity_learner(20, e, 1e-6, 0.1)) for e in (0.2, 1.0, 5.0)]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: parities.full_rank(0, 1),
        lambda: parities.full_rank(3, -1),
        lambda: parities.parity_learner(5, 0.0, 1e-6, 0.1),
        lambda: parities.parity_learner(5, 1.0, 0.0, 0.1),
        lambda: parities.parity_learner(5, 1.0, 1e-6, 1.0),
        lambda: parities.parity_learner(5, 1e-6, 1e-6, 0.1),
    ],
)
def test_numbers_that_are_none(attempt):
    with pytest.raises(InputError):
        attempt()
