"""The exact interval of a difference of paired rates: its coverage, by summing and by simulation, and its width."""

import math

import numpy as np
import pytest
from scipy.stats import multinomial

from dpjax.core.checks import InputError
from dpjax.experiments.statistics.paired_difference import difference


def ends(trials, confidence):
    """All outcomes (first alone, second alone) with their intervals; the lower end is the mirrored upper one."""
    counts = [(i, j) for i in range(trials + 1) for j in range(trials + 1 - i)]
    found = [difference(i, j, 0, trials, confidence) for i, j in counts]
    return np.array(counts), np.array([[one.lower, one.upper] for one in found])


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize(
    "trials", [1, 2, 3, 8, pytest.param(6, marks=pytest.mark.slow), pytest.param(13, marks=pytest.mark.slow)]
)
def test_coverage_is_exact_for_every_probability(trials, confidence):
    """Summed over all outcomes: each side misses with at most half of the error, also where p + q = 1."""
    counts, interval = ends(trials, confidence)
    generator = np.random.default_rng(0)
    line = [(p, 1 - p, 0.0) for p in (*np.linspace(0, 1, 101), 0.009, 0.0109)]
    tried = np.array([*generator.dirichlet([0.5] * 3, 200), *line, (0, 0, 1), (0.99, 0.001, 0.009)])
    outcomes = np.column_stack([counts, trials - counts.sum(1)])
    mass = np.array([multinomial.pmf(outcomes, trials, one) for one in tried])
    gap = (tried[:, 0] - tried[:, 1])[:, None]
    for missed in (gap > interval[:, 1] + 1e-9, gap < interval[:, 0] - 1e-9):
        assert (mass * missed).sum(1).max() <= (1 - confidence) / 2 + 1e-9


@pytest.mark.slow
def test_coverage_in_simulated_studies():
    """1000 studies of 150 pairs, strongly paired learners. False alarm 1e-4: at most 79 of 1000 miss at 5 %."""
    generator = np.random.default_rng(1)
    p, q, both = 0.06, 0.02, 0.8
    drawn = generator.multinomial(150, [p, q, both, 1 - p - q - both], size=1000)
    found = [difference(int(a), int(b), int(c), 150) for a, b, c, _ in drawn]
    missed = sum(not one.lower <= p - q <= one.upper for one in found)
    assert 5 <= missed <= 79, "an interval that never misses is far too wide"
    assert np.mean([one.ratio for one in found[:20]]) < 0.65, "rates of .86 and .82 that agree in 92 % of the trials"


@pytest.mark.parametrize(
    ("first", "second", "both", "trials"), [(100, 60, 700, 1000), (400, 10, 500, 1000), (30, 20, 100, 200)]
)
def test_width_is_near_the_normal_one(first, second, both, trials):
    found = difference(first, second, both, trials)
    rate, gap = (first + second) / trials, (first - second) / trials
    width = 2 * 1.96 * math.sqrt((rate - gap**2) / trials)
    assert width < found.upper - found.lower < 1.06 * width
    assert found.lower < gap < found.upper and found.ratio < 0.9
    mirrored = difference(second, first, both, trials)
    assert (mirrored.lower, mirrored.upper) == (-found.upper, -found.lower)


def test_trials_that_agree_no_more_than_by_chance_are_as_wide_as_unpaired_ones():
    found = difference(240, 240, 160, 1000)  # rates .4 and .4, independent
    assert found.ratio == pytest.approx(1, abs=1e-9)


def test_ends_of_the_range():
    assert difference(10, 0, 0, 10).upper == 1 and difference(0, 10, 0, 10).lower == -1
    silent = difference(0, 0, 0, 1000)
    assert silent.estimate == 0 and 0.003 < silent.upper == -silent.lower < 0.005
    whole = difference(0, 0, 1, 1)
    assert whole.lower < -0.9 and whole.upper > 0.9


@pytest.mark.parametrize(
    "wrong",
    [(-1, 0, 0, 5), (3, 3, 0, 5), (0, 0, 0, 0), (1.5, 0, 0, 5), (True, 0, 0, 5), (1, 0, 0, 5, 1.0), (1, 0, 0, 10**8)],
)
def test_counts_that_do_not_add_up_are_refused(wrong):
    with pytest.raises(InputError):
        difference(*wrong)
