"""Guesses of one of two neighbors: the bounds hold for every law that the claim allows, and are near the best."""

from math import exp, inf, log

import numpy as np
import pytest
from scipy.stats import binom

from dpjax.audit import delta_of_guesses, epsilon_of_guesses, p_value_of_guesses
from dpjax.core.checks import InputError

LEVEL = 0.1


def refuted(trials, wrong, epsilon, delta, found):
    """The probability that ``found``(right, wrong) is True where P[right] = e^epsilon P[wrong] + delta, exactly."""
    right = exp(epsilon) * wrong + delta
    assert right + wrong <= 1
    total = 0.0
    for bad in range(trials + 1):
        of_bad = binom.pmf(bad, trials, wrong)
        of_right = binom.pmf(np.arange(trials - bad + 1), trials - bad, right / (1 - wrong))
        total += of_bad * sum(mass for good, mass in enumerate(of_right) if mass > 1e-12 and found(good, bad))
    return total


@pytest.mark.parametrize(
    ("epsilon", "delta", "trials", "wrong"),
    [
        (0.0, 0.0, 12, 0.5),
        (1.0, 0.0, 25, 0.2),
        (1.0, 0.0, 25, 0.02),
        (3.0, 0.0, 40, 0.01),
        (1.0, 0.05, 25, 0.2),
        (0.5, 0.2, 20, 0.1),
        (2.0, 0.01, 40, 0.05),
        (0.0, 0.9, 15, 0.0),
    ],
)
def test_a_true_claim_is_refuted_with_at_most_the_stated_probability(epsilon, delta, trials, wrong):
    def by_epsilon(good, bad):
        return epsilon_of_guesses(good, bad, trials, delta, significance=LEVEL) > epsilon + 1e-9

    def by_delta(good, bad):
        return delta_of_guesses(good, bad, trials, epsilon, significance=LEVEL) > delta + 1e-9

    for found in (by_epsilon, by_delta):
        assert refuted(trials, wrong, epsilon, delta, found) <= LEVEL


def test_without_delta_the_test_is_exact():
    """Always a guess, never more than epsilon: the largest refutation probability is close to the level."""
    found = [
        refuted(
            60,
            1 / (1 + exp(epsilon)),
            epsilon,
            0.0,
            lambda good, bad, e=epsilon: epsilon_of_guesses(good, bad, 60, 0.0, significance=LEVEL) > e,
        )
        for epsilon in np.linspace(0.1, 2, 12)
    ]
    assert 0.8 * LEVEL < max(found) <= LEVEL


def test_both_bounds_agree():
    """epsilon is refuted iff its delta is more than the claim's."""
    for right, wrong in ((30, 2), (200, 0), (500, 100), (3, 5), (0, 0), (1000, 0)):
        epsilon = epsilon_of_guesses(right, wrong, 1000, 1e-3)
        below, above = (delta_of_guesses(right, wrong, 1000, max(0.0, epsilon + step)) for step in (-0.01, 0.01))
        assert above <= 1e-3 and (epsilon == 0 or below > 1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_p_value_is_at_most_the_level_iff_the_bound_refutes(delta):
    for right, wrong in ((30, 2), (200, 0), (500, 100), (3, 5), (0, 0), (1000, 0)):
        bound = epsilon_of_guesses(right, wrong, 1000, delta, significance=0.01)
        for epsilon in (0.0, 0.5, 1.0, 3.0, max(0.0, bound - 1e-6), bound + 1e-6):
            value = p_value_of_guesses(right, wrong, 1000, epsilon, delta, significance=0.01)
            assert 0 < value <= 1 and (value <= 0.01) == (bound > epsilon)


def test_large_numbers():
    """A million trials, of which a thousand are right and none is wrong: ln of 1000 / 3, less free guesses."""
    assert epsilon_of_guesses(1000, 0, 10**6, 0.0) == pytest.approx(log(1000 / 3), abs=0.01)
    assert epsilon_of_guesses(1000, 0, 10**6, 1e-6) == pytest.approx(log(994 / 3), abs=0.03)
    assert epsilon_of_guesses(0, 10**6, 10**6, 0.0) == 0.0
    assert delta_of_guesses(10**6, 0, 10**6, 5.0) == pytest.approx(1, abs=1e-3)
    assert delta_of_guesses(10**6, 0, 10**6, 800.0) == 0.0  # which allows so many right guesses


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ((-1, 0, 10, 0.0), "right"),
        ((1, -1, 10, 0.0), "wrong"),
        ((6, 5, 10, 0.0), "trials"),
        ((1, 1, 0, 0.0), "trials"),
        ((1, 1, 10, 1.0), "delta"),
        ((1, 1, 10, inf), "delta"),
        ((1.5, 1, 10, 0.0), "right"),
    ],
)
def test_numbers_that_make_no_sense(numbers, name):
    with pytest.raises(InputError, match=name):
        epsilon_of_guesses(*numbers)
