"""Intervals cover as often as they say, by exact enumeration; the exponent's interval is the exact extreme."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom, binomtest

from dpjax.core.checks import InputError
from dpjax.core.intervals import clopper_pearson
from dpjax.experiments.statistics.bands import fit_exponent, simultaneous_band

PROBABILITIES = np.concatenate([[0.0, 1e-6, 1e-3], np.linspace(0.005, 0.995, 199), [0.999, 1 - 1e-6, 1.0]])


def coverage(trials, lower, upper, p):
    """The exact probability that [lower, upper] of a binomial count holds p."""
    counts = np.arange(trials + 1)
    return float(binom.pmf(counts, trials, p)[(lower <= p) & (p <= upper)].sum())


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("trials", [1, 2, 7, 30, 200])
def test_clopper_pearson_covers(trials, confidence):
    lower, upper = clopper_pearson(np.arange(trials + 1), np.full(trials + 1, trials), confidence)
    assert min(coverage(trials, lower, upper, p) for p in PROBABILITIES) >= confidence - 1e-12


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 7), (5, 5), (90, 100), (99_990, 100_000)])
def test_clopper_pearson_agrees_with_scipy(successes, trials):
    want = binomtest(successes, trials).proportion_ci(0.95, method="exact")
    assert np.allclose(clopper_pearson(successes, trials), (want.low, want.high), rtol=1e-9, atol=1e-15)


def test_clopper_pearson_ends_and_shapes():
    lower, upper = clopper_pearson([[0, 0], [4, 10**8]], [[0, 4], [4, 10**8]])
    assert lower.shape == upper.shape == (2, 2)
    assert (lower[0] == 0).all()
    assert upper[0, 0] == 1
    assert (upper[1] == 1).all()
    assert upper[0, 1] == pytest.approx(1 - 0.025**0.25)
    assert lower[1, 1] == pytest.approx(1 + np.log(0.025) / 1e8, abs=1e-14)


@pytest.mark.parametrize("points", [2, 10])
def test_simultaneous_band_covers_all_points_at_once(points):
    """Independent points: the exact simultaneous coverage is the product of the exact coverages."""
    trials, together = 40, 1.0
    for p in np.random.default_rng(0).choice(PROBABILITIES, points, replace=False):
        level = [simultaneous_band(np.full(points, s), np.full(points, trials), 0.9) for s in range(trials + 1)]
        lower, upper = np.array([band[0][0] for band in level]), np.array([band[1][0] for band in level])
        together *= coverage(trials, lower, upper, p)
    assert together >= 0.9


def test_simultaneous_band_is_bonferroni():
    band = simultaneous_band([3, 50, 99], [100, 100, 100], 0.97)
    assert np.array_equal(band, clopper_pearson([3, 50, 99], [100, 100, 100], 1 - (1 - 0.97) / 3))
    single, wide = clopper_pearson([3], [100]), simultaneous_band([3, 4], [100, 100])
    assert wide[0][0] < single[0][0]
    assert wide[1][0] > single[1][0]


def test_fit_exponent_recovers_a_power_law():
    k = np.array([1, 2, 4, 8, 16])
    y = 37.0 * k**0.5
    fit = fit_exponent(k, y, y)
    assert (fit.slope, fit.low, fit.high) == (pytest.approx(0.5),) * 3
    assert np.exp(fit.intercept) == pytest.approx(37.0)
    assert fit.line == pytest.approx((0.5, 0.5), abs=1e-6)
    assert fit.confidence == 1


def test_fit_exponent_two_points_by_hand():
    fit = fit_exponent([1, np.e], [1, np.e**2], [np.e, np.e**4], error=[0.01, 0.02])
    assert (fit.slope, fit.low, fit.high) == (pytest.approx(2.5), pytest.approx(1), pytest.approx(4))
    assert fit.line == pytest.approx((1, 4))
    assert fit.confidence == pytest.approx(0.97)


def test_fit_exponent_extremes_are_those_of_all_corners_and_of_the_linear_program():
    rng = np.random.default_rng(2)
    x, low = rng.uniform(1, 100, 6), rng.uniform(10, 1000, 6)
    high = low * rng.uniform(1, 2, 6)
    fit = fit_exponent(x, low, high)
    corners = [np.polyfit(np.log(x), np.log(y), 1)[0] for y in itertools.product(*zip(low, high, strict=True))]
    assert (fit.low, fit.high) == (pytest.approx(min(corners)), pytest.approx(max(corners)))
    u = np.log(x)
    weight = (u - u.mean()) / np.sum((u - u.mean()) ** 2)
    box = list(zip(np.log(low), np.log(high), strict=True))
    assert fit.low == pytest.approx(linprog(weight, bounds=box).fun)
    assert fit.high == pytest.approx(-linprog(-weight, bounds=box).fun)
    assert fit.low <= fit.slope <= fit.high


def test_fit_exponent_line_is_inside_and_misses_a_curve():
    k = np.array([1, 2, 4, 8, 16, 32])
    fit = fit_exponent(k, 10 * k**0.7 / 1.05, 10 * k**0.7 * 1.05)
    assert fit.low <= fit.line[0] <= 0.7 <= fit.line[1] <= fit.high
    bent = fit_exponent(k, 10 * k ** (0.2 * np.log(k)) / 1.05, 10 * k ** (0.2 * np.log(k)) * 1.05)
    assert bent.line is None


def test_fit_exponent_confidence_is_never_negative():
    assert fit_exponent([1, 2, 3], [1, 1, 1], [2, 2, 2], error=0.4).confidence == 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: clopper_pearson([3], [2]), "3 of 2"),
        (lambda: clopper_pearson([-1], [2]), "-1 of 2"),
        (lambda: clopper_pearson([0.5], [2]), "counts, not rates"),
        (lambda: clopper_pearson([1, 2], [2]), "one shape"),
        (lambda: clopper_pearson([1], [2], 1.0), "confidence"),
        (lambda: simultaneous_band([1], [2], 0.0), "confidence"),
        (lambda: fit_exponent([1, 2], [3, 3], [2, 4]), "swap low and high"),
        (lambda: fit_exponent([1, 2], [0, 3], [2, 4]), "positive finite"),
        (lambda: fit_exponent([1, 2], [1, 3], [2, np.inf]), "no upper end"),
        (lambda: fit_exponent([2, 2], [1, 3], [2, 4]), "one point has no slope"),
        (lambda: fit_exponent([1, 2], [1], [2]), "shape"),
        (lambda: fit_exponent([1, 2], [1, 1], [2, 2], error=2), "probabilities"),
    ],
)
def test_bad_input_says_what_to_do(call, says):
    with pytest.raises(InputError, match=says):
        call()
