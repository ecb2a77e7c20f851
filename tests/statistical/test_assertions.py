"""The statistical assertions themselves: they pass what is right and catch what is a little wrong."""

import numpy as np
import pytest
from scipy.stats import binom

LAW = np.array([0.5, 0.3, 0.15, 0.05])


def counts(law, trials, seed):
    return np.random.default_rng(seed).multinomial(trials, law)


def test_right_laws_pass(stats):
    for seed in range(200):
        stats.chi_square(counts(LAW, 5000, seed), LAW)


def test_a_shift_of_two_hundredths_is_caught(stats):
    wrong = LAW + np.array([0.02, -0.02, 0, 0])
    caught = 0
    for seed in range(20):
        try:
            stats.chi_square(counts(wrong, 40_000, seed), LAW)
        except AssertionError:
            caught += 1
    assert caught == 20


def test_impossible_and_rare_outcomes_are_looked_at(stats):
    with pytest.raises(AssertionError, match="impossible"):
        stats.chi_square([10, 0, 1], [0.5, 0.5, 0.0])
    stats.chi_square([10_000, 0, 0], [1 - 2e-5, 1e-5, 1e-5])
    with pytest.raises(AssertionError):
        stats.chi_square([10_000, 8, 2], [1 - 2e-5, 1e-5, 1e-5])
    with pytest.raises(AssertionError):
        stats.chi_square([5, 5], [0.4, 0.5])


def test_the_level_of_the_binomial_bounds_is_the_written_one(stats):
    """The probability to fail a right claim is below FALSE_ALARM, exactly, and not much below."""
    trials, failure = 256, 0.1
    allowed = max(f for f in range(trials) if binom.sf(f - 1, trials, failure) >= stats.false_alarm)
    stats.mostly(trials - allowed, trials, failure)
    with pytest.raises(AssertionError):
        stats.mostly(trials - allowed - 1, trials, failure)
    assert stats.false_alarm / 20 < binom.sf(allowed, trials, failure) < stats.false_alarm
    for hits in (0, trials):
        with pytest.raises(AssertionError):
            stats.frequency(hits, trials, 0.5)
    stats.frequency(128, trials, 0.5)
