"""The tail of the largest part after three-way splits by private medians."""

import math

import numpy as np
import pytest

from dpjax.theory.splits import excess

RATES = (0.05, 0.07, 0.1)


def test_the_number_of_parts_is_the_simulated_one():
    """Levels of the proof's laws; 4 standard errors of each mean, so a false alarm has probability 2e-4."""
    generator, trials, log_size = np.random.default_rng(3), 100_000, 10.0
    values = np.zeros((trials, 1))
    for level, rate in enumerate(RATES):
        weight = 0.5 ** (len(RATES) - level)
        found = np.maximum(0, (log_size + generator.logistic(size=values.shape)) / rate)
        values = np.concatenate([values + weight * found, values + weight / 2], axis=1)
    bound = excess(log_size, RATES)
    for rows in (90.0, 110.0, 130.0):
        number = np.sum(values >= rows, axis=1)
        at = float(bound.number[int(rows / bound.step)])
        assert abs(number.mean() - at) <= 4 * number.std() / math.sqrt(trials) + 0.02 * at, rows


def test_probability_and_quantile_agree():
    bound = excess(32 * math.log(2), RATES)
    for beta in (0.5, 0.1, 1e-6):
        rows = bound.quantile(beta)
        assert float(bound.probability(np.array(rows))) <= beta < float(bound.probability(np.array(rows - 1.0)))
    np.testing.assert_array_equal(bound.probability(np.array([-5.0, 0.0])), 1.0)
    assert float(bound.probability(np.array(1e12))) < 1e-9
    assert bound.quantile(1e-15) == math.inf


@pytest.mark.parametrize("log_size", [0.0, 1.0, 1400.0])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e3])
def test_ends_of_the_parameters(log_size, scale):
    """Fewer parts reach more rows; more values and more noise, larger parts."""
    rates = tuple(scale * rate for rate in RATES)
    bound = excess(log_size, rates)
    assert np.all(np.diff(bound.number) <= 0) and bound.number[0] >= 1
    larger, hotter = excess(log_size + 5, rates), excess(log_size, tuple(rate / 9 for rate in rates))
    for above in (larger, hotter):  # up to rounding, one step a level
        assert bound.quantile(0.1) <= above.quantile(0.1) + 3 * (bound.step + above.step)
