"""Bounds of the set cover: counts of conjunctions, sums of exponentials, and that more of anything costs rows."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import gamma

from dpjax.core.checks import InputError
from dpjax.theory import set_cover as theory


@pytest.mark.parametrize("dimension", [1, 3, 5])
def test_conjunctions_are_counted(dimension):
    every = list(itertools.product((None, False, True), repeat=dimension))
    for most in range(dimension + 2):
        few = sum(sum(part is not None for part in one) <= most for one in every)
        assert math.isclose(theory.log_conjunctions(dimension, most), math.log(few + 1), rel_tol=1e-12)


def test_rounds():
    for k, alpha in ((1, 0.1), (2, 0.1), (8, 0.01), (5, 0.9)):
        m = theory.rounds_for(k, alpha)
        assert (1 - 1 / k) ** m <= alpha / 4 and (m == 1 or (1 - 1 / k) ** (m - 1) > alpha / 4)


@pytest.mark.parametrize("weights", [np.ones(1), np.ones(9), np.array([1.0, 1.25, 1.5, 2.0])])
def test_sums_of_exponentials(weights):
    """Above the true quantile, of equal weights by the Gamma law; not by much."""
    generator = np.random.default_rng(0)
    sums = (generator.exponential(size=(400_000, len(weights))) * weights).sum(axis=1)
    for beta in (0.3, 0.05, 1e-3):
        bound = theory._exponentials(weights, beta)
        assert np.mean(sums > bound) < beta
        assert bound < 2 * np.quantile(sums, 1 - beta) + 1.5
        if np.all(weights == 1):
            assert gamma.isf(beta, len(weights)) < bound


def test_errors_are_made_of_their_parts():
    share, extra = theory.sample_errors(130, 4, 13, 0.111, 0.05)
    assert math.isclose(share, 0.75**13)
    weights = 1 + 0.75 ** np.arange(13)[::-1]
    floor = weights.sum() * math.log(130) / 0.111
    assert floor < extra < floor + 2 * gamma.isf(0.05, 13) / 0.111
    _, noisy = theory.sample_errors(130, 4, 13, 0.111, 0.05, 65.0, 30.0)
    assert noisy > extra + 65 * math.log(13 / 0.05) * (13 / 4) - 30 * 13 / 4
    assert theory.sample_errors(130, 1, 1, 0.111, 0.05)[0] == 0


def test_sizes_move_the_right_way():
    def size(functions=130, log_hypotheses=40.0, k=4, rounds=13, coefficient=0.1, alpha=0.1, beta=0.1, *noise):
        return theory.realizable(functions, log_hypotheses, k, rounds, coefficient, alpha, beta, *noise)

    base = size()
    assert size(260) > base and size(log_hypotheses=80.0) > base and size(coefficient=0.2) < base
    assert size(alpha=0.05, rounds=17) > base and size(beta=0.01) > base
    assert size(130, 40.0, 4, 13, 0.1, 0.1, 0.1, 50.0) > base
    share, extra = theory.sample_errors(130, 4, 13, 0.1, 0.05)
    assert share * base + extra < 0.1 * base


@pytest.mark.parametrize("attempt", [
    lambda: theory.realizable(10, 5.0, 4, 3, 0.1, 0.1, 0.1), lambda: theory.sample_errors(0.5, 4, 3, 0.1, 0.1),
    lambda: theory.sample_errors(10, 4, 3, 0.0, 0.1), lambda: theory.sample_errors(10, 0, 3, 0.1, 0.1),
    lambda: theory.sample_errors(10, 4, 3, 0.1, 0.1, -1.0), lambda: theory.rounds_for(0, 0.1),
    lambda: theory.realizable(10, 5.0, 4, 30, 0.1, 0.1, 1.0), lambda: theory.log_conjunctions(0, 1),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
