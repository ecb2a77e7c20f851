"""Bounds of the set cover: sums of exponentials, rows beside what may be lost; more of anything costs rows."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, gamma

from dpjax.core.checks import InputError
from dpjax.theory import set_cover as theory


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


def test_the_printed_sum_for_selections_that_lose_up_to_lambda():
    """KMMS Claim 3.1, the worst of the selections within lambda each; and step (2) of set-cover-rows.md, always."""
    k, epsilon, alpha, beta, n, lost = 2, 4.0, 0.2, 0.1, 1500, 8
    generator, log = np.random.default_rng(1), math.log(2 / alpha)
    rounds, scale = math.ceil(2 * k * log), 2 * k / epsilon * log
    offset = scale * math.log(2 * k / beta * log)
    claimed, found = max(alpha * n / 2, 4 * offset) + 4 * k * lost * log, []
    for _ in range(20):
        ones = np.tile(generator.random((n, k)) < 0.7, 15)
        ones[:, k:] ^= generator.random((n, 28)) < 0.005
        target, left = ones[:, :k].all(axis=1), np.ones(n, bool)
        negatives, errors = n - target.sum(), 0.0
        for _ in range(rounds):
            hit, noise = ~ones & left[:, None], math.floor(generator.laplace(scale=scale)) - offset
            count = (left & ~target).sum() + noise
            scores = np.minimum(hit[~target].sum(axis=0) - count / k, -hit[target].sum(axis=0))
            worst = np.where(scores >= scores.max() - lost, scores, np.inf).argmin()
            left &= ~hit[:, worst]
            negatives, errors = (1 - 1 / k) * negatives - scores[worst] - noise / k, errors - scores[worst]
        found.append((left != target).sum())
        assert found[-1] <= errors + negatives
    assert 2 * lost < max(found) <= claimed < n / 4


def test_sizes_move_the_right_way():
    def size(functions=130, k=4, rounds=13, coefficient=0.1, alpha=0.1, beta=0.1, *more):
        return theory.realizable(functions, k, rounds, coefficient, alpha, beta, *more)

    base = size()
    assert size(260) > base and size(coefficient=0.2) < base
    assert size(alpha=0.05, rounds=17) > base and size(beta=0.01) > base
    noisy = size(130, 4, 13, 0.1, 0.1, 0.1, 50.0)
    assert noisy > size(130, 4, 13, 0.1, 0.1, 0.1, 50.0, 200.0) > base and noisy > size(130, 4, 13, 0.1, 0.1, 0.1, 1e-9)
    assert base < size(130, 4, 13, 0.1, 0.1, 0.1, 0.0, 0.0, 1e-4) < size(130, 4, 13, 0.1, 0.1, 0.1, 0.0, 0.0, 3e-3)


@pytest.mark.parametrize(("k", "rounds"), [(1, 1), (2, 6), (4, 13)])
@pytest.mark.parametrize("coefficient", [1e-4, 0.1, 5.0, 1e4])
def test_rows_are_near_what_any_proof_by_these_losses_needs(k, rounds, coefficient):
    """Every round may lose ln(functions) / coefficient rows, twice where the loss also leaves targets."""
    functions, alpha = 1e6, 0.1
    keep = 1 - 1 / k
    lost = (rounds + k * (1 - keep**rounds)) * np.log(functions) / coefficient
    least, found = lost / (alpha - keep**rounds), theory.realizable(functions, k, rounds, coefficient, alpha, 0.1)
    few = (rounds * np.log(functions) + np.log(30)) / theory._divergence(keep**rounds, alpha)
    assert least < found < 1.6 * least + 1.2 * few


def test_a_halfplane_with_one_round_is_the_textbook_bound():
    """k = 1, one round, a huge coefficient: F (1 - alpha)^n <= beta."""
    found = theory.realizable(1000, 1, 1, 1e6, 0.2, 0.1)
    textbook = np.log(1000 / 0.1) / -np.log1p(-0.2)
    assert textbook <= found <= 1.02 * textbook + 2


@pytest.mark.parametrize("mass", [1e-4, 0.01, 0.3])
@pytest.mark.parametrize("n", [10, 1000, 10**6])
def test_the_share_of_an_event_is_rarely_exceeded(mass, n):
    share = theory._most(mass, n, 0.01)
    assert mass < share <= 1
    assert share == 1 or binom.sf(np.ceil(share * n) - 1, n, mass) <= 0.01
    assert theory._most(mass, 2 * n, 0.01) <= share


def test_a_tiny_missed_mass_costs_nearly_nothing():
    base = theory.realizable(130, 4, 13, 0.1, 0.1, 0.1)
    rows = [theory.realizable(130, 4, 13, 0.1, 0.1, 0.1, 0.0, 0.0, mass) for mass in (1e-300, 1e-18, 1e-16, 1e-12)]
    assert base < rows[0] <= rows[1] <= rows[2] <= rows[3] < 1.01 * base


def test_a_larger_coefficient_needs_no_more_rows():
    """The grid of exponents followed the coefficient, so that 11046 rows became 11083."""
    rows = [theory.realizable(5.35e26, 3, 10, 1.2**i, 0.1, 0.1) for i in range(-20, 20)]
    assert all(one >= other for one, other in itertools.pairwise(rows))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: theory.realizable(10, 4, 3, 0.1, 0.1, 0.1),
        lambda: theory.sample_errors(0.5, 4, 3, 0.1, 0.1),
        lambda: theory.sample_errors(10, 4, 3, 0.0, 0.1),
        lambda: theory.sample_errors(10, 0, 3, 0.1, 0.1),
        lambda: theory.sample_errors(10, 4, 3, 0.1, 0.1, -1.0),
        lambda: theory.rounds_for(0, 0.1),
        lambda: theory.realizable(10, 4, 30, 0.1, 0.1, 1.0),
        lambda: theory.realizable(10, 4, 30, 0.0, 0.1, 0.1),
        lambda: theory.realizable(10, 4, 30, 0.1, 0.1, 0.1, 0.0, 0.0, 0.2),
        lambda: theory.realizable(10, 4, 30, 0.1, 0.1, 0.1, 0.0, 0.0, -0.1),
        lambda: theory.realizable(10, 4, 30, 0.1, 0.1, 0.1, 9.0, math.nan),
        lambda: theory.sample_errors(10, 4, 30, 0.1, 0.1, 9.0, math.nan),
        lambda: theory.realizable(10, 4, 30, 1, 0.1, 5e-324),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
