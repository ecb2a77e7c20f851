"""Sizes of representations and rows of their learner: the paper's numbers, and the inequalities of the proofs."""

from itertools import product
from math import ceil, comb, exp, log, log1p

import numpy as np
import pytest
from scipy.stats import binom

from dpjax.core.checks import InputError
from dpjax.theory import kln
from dpjax.theory import representations as theory


def test_the_printed_numbers_of_points():
    """At (alpha, beta) = (.3, .1), that is (.05, .025) for the family, and epsilon = 1."""
    assert theory.point_hashing_printed(0.05, 0.025) == (6, 40, 241)
    assert theory.printed(241, 1.0, 0.05, 0.025) == 367
    # each of the three conditions is the largest somewhere
    assert theory.printed(1, 100.0, 0.05, 1e-6) == ceil(3 / 0.05 * log(1e6))
    assert theory.printed(10**9, 100.0, 0.05, 0.025) == ceil(4 / 0.15 * log(10**9 / 0.025))


def test_a_class_that_represents_itself_needs_what_kln_needs():
    for count, epsilon, alpha, beta in product((1, 2, 100, 2**40), (1e-3, 1.0, 20.0), (0.01, 0.3), (1e-6, 0.5)):
        assert theory.rows(count, 0.0, 0.0, epsilon, alpha, beta) == kln.realizable(count, epsilon, alpha, beta)
        found = theory.fewest_rows(count, lambda near: 0.0, epsilon, alpha, beta)
        assert found == kln.realizable(count, epsilon, alpha, beta)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_a_bad_function_is_chosen_as_rarely_as_the_proof_says(epsilon):
    """Two functions, one of error ``near`` and one a little above alpha, exactly over all samples of n rows."""
    for near, alpha, both in ((0.0, 0.3, 0.0), (0.05, 0.3, 0.0), (0.1, 0.2, 0.05), (0.1, 0.2, 0.1)):
        only_bad, only_good, n = alpha - both, near - both, 24
        chosen = 0.0
        for bad in range(n + 1):
            good = np.arange(n - bad + 1)
            mass = binom.pmf(bad, n, only_bad) * binom.pmf(good, n - bad, only_good / (1 - only_bad))
            chosen += float(np.sum(mass / (1 + np.exp(epsilon / 2 * (bad - good)))))
        needed = theory.rows(2, near, 0.0, epsilon, alpha, chosen)
        assert needed is not None and needed >= n  # else the theorem would promise less than `chosen` at n rows


def test_sizes_and_rows_have_their_conditions():
    assert theory.rows(10, 0.2, 0.0, 1.0, 0.2, 0.1) is None  # the good function is not good enough
    assert theory.rows(10, 0.1, 0.1, 1.0, 0.2, 0.1) is None  # nor frequent enough
    assert theory.rows(1, 0.1, 0.05, 1.0, 0.2, 0.1) == 1
    with pytest.raises(InputError, match="larger representation"):
        theory.fewest_rows(10, lambda near: 0.5, 1.0, 0.2, 0.1)
    with pytest.raises(InputError, match="near"):
        theory.printed(10, 1.0, 1 / 6, 0.1)
    with pytest.raises(InputError, match="failure"):
        theory.printed(10, 1.0, 0.1, 0.25)
    assert theory.printed(10, 1.0, 1 / 6 - 1e-9, 0.1) == ceil(2 * 6 * log(100))  # almost everything may be wrong


def test_hash_functions_enough_and_no_more():
    for bits, elements, near, failure in product(range(1, 12), (1, 3, 8), (0.01, 0.1, 0.4), (1e-6, 0.1, 0.5)):
        tries = theory.hash_tries(bits, elements, near, failure)
        if tries is None:
            assert theory.hash_failure(bits, 10**4, elements, near) == 1
            continue
        assert theory.hash_failure(bits, tries, elements, near) <= failure
        assert tries == 1 or theory.hash_failure(bits, tries - 1, elements, near) > failure


def test_runs_of_a_learner():
    assert theory.runs_of_learner(20, 0.25) == ceil(log(4) / -log1p(-exp(-5) / 2))
    assert theory.runs_on_one_element_printed(23, 0.5, 0.05) == ceil(4 * log(8) * exp(8 * 0.5 * 0.05 * 23))
    for epsilon, alpha, rows in product((0.05, 0.5, 2.0), (0.01, 0.05, 0.125), (25, 100, 1000)):
        if 4 * alpha * rows < 3 * log(4) or epsilon * alpha * rows > 80:
            continue
        printed = theory.runs_on_one_element_printed(rows, epsilon, alpha)
        assert printed * log1p(-exp(-8 * epsilon * alpha * rows) / 4) <= -log(8) * (1 - 1e-6)
        assert binom.sf(ceil(8 * alpha * rows) - 1, rows, 4 * alpha) <= exp(-4 * alpha * rows / 3) <= 0.25
        ours = theory.runs_on_one_element(rows, epsilon, alpha)
        assert ours <= printed
        best = max(exp(-epsilon * q) * (0.5 - binom.sf(q, rows, 4 * alpha)) for q in range(rows + 1))
        assert ours * log1p(-best) <= -log(8) * (1 - 1e-6) and (ours - 1) * log1p(-best) > -log(8) * (1 + 1e-6)


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: theory.runs_on_one_element_printed(2, 1.0, 0.125),
        lambda: theory.runs_on_one_element_printed(50, 1.0, 0.2),
        lambda: theory.runs_on_one_element(50, 1.0, 0.3),
        lambda: theory.runs_of_learner(10**6, 1.0),
        lambda: theory.runs_of_learner(0, 1.0),
        lambda: theory.runs_on_one_element_printed(10**5, 1.0, 0.125),
        lambda: theory.rows(0, 0.0, 0.0, 1.0, 0.1, 0.1),
        lambda: theory.rows(2, 0.0, 0.0, 0.0, 0.1, 0.1),
        lambda: theory.hash_failure(3, 0, 1, 0.1),
        lambda: theory.size_by_littlestone_dimension(-1),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()


def test_the_lower_bound_of_the_size():
    """Of (1/4, 1/8)-representations: above the printed one, and by exact sums."""
    assert theory.size_by_littlestone_dimension(0) == theory.size_by_experts(0) == 0
    for d in [*range(1, 65), 200, 1000, 5000]:
        found = theory.size_by_littlestone_dimension(d)
        few = sum(comb(d, i) for i in range(d // 4 + 1))
        assert found == pytest.approx(log(7) - log(8) + d * log(2) - log(few), rel=1e-9)
        assert found >= d / 8 + log(7 / 8) and found >= theory.size_by_experts(d) == d / 32
    # all labelings of one point, and of two: nothing smaller
    assert [ceil(exp(theory.size_by_littlestone_dimension(d))) for d in (1, 2, 3)] == [2, 4, 7]
