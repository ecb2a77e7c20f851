"""Exponents in sums: what is put in comes out, at the stated rate, and a wrong claim is excluded."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from dpjax.core.checks import InputError
from dpjax.experiments.statistics.exponent_models import GRID, fit_sum, nearest
from dpjax.experiments.statistics.sequential_search import geometric_grid, search

K = np.array([1, 4, 16, 64, 256, 1024.0])
STEP = 2 ** (1 / 8)


@pytest.mark.parametrize(
    ("constant", "exponent"),
    [
        *((0.0, 0.0), (300.0, 0.5), (0.0, 1.0), (300.0, 1.5)),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((300.0, 0.0), (0.0, 0.5), (300.0, 1.0), (0.0, 1.5))),
    ],
)
def test_the_exponent_of_a_true_model_is_found(exponent, constant):
    logarithm = np.log(20 * K)
    y = constant + 7 * logarithm * K**exponent
    found = fit_sum(K, y / 1.05, y * 1.05, logarithm, 0.01)
    assert found.low <= exponent <= found.high
    assert found.best.miss < 1 and found.confidence == pytest.approx(0.94)
    assert found.low <= found.exponent <= found.high
    if exponent >= 0.5:  # of a constant plus a logarithm little can be said
        assert found.high - found.low < 0.3


def test_a_constant_is_told_from_a_power():
    y = 1000 + 5 * K
    with_constant, without = (fit_sum(K, y / 1.02, y * 1.02, constant=which) for which in (True, False))
    assert with_constant.best.miss < 1 and abs(with_constant.exponent - 1) < 0.05
    assert 900 < with_constant.best.constant < 1100
    assert without.best.miss > 1.1 and without.low is without.high is None  # no power law is within 2% of it
    assert without.allowance == 1


@pytest.mark.parametrize("exponent", [0.5, pytest.param(1.0, marks=pytest.mark.slow)])
def test_the_larger_of_two_terms_is_fitted_too(exponent):
    term = 3 * np.log(20 * K) * K**exponent
    y = np.maximum(150.0, term)
    found = fit_sum(K, y / 1.03, y * 1.03, np.log(20 * K))
    assert found.best.miss < 1 and found.best.form == "larger" and found.low <= exponent <= found.high
    assert found.high - found.low < 0.1 and 140 < found.best.constant < 160
    alone = fit_sum(K, y / 1.03, y * 1.03, np.log(20 * K), constant=False)
    assert alone.best.miss > 1.5**0.5 and alone.best.form == "sum"
    for b in GRID[::40]:  # by search over c and a
        shape = np.log(20 * K) * K**b
        best = min(
            np.max(
                np.maximum(np.maximum(c, a * shape) / (y * 1.03), 1)
                * np.maximum(y / 1.03 / np.maximum(c, a * shape), 1)
            )
            for c in np.geomspace(5, 500, 60)
            for a in np.geomspace(y[-1] / shape[-1] / 20, y[-1] / shape[-1] * 2, 120)
        )
        fits = best <= 1.0
        assert not fits or found.low - 1e-9 <= b <= found.high + 1e-9


@pytest.mark.parametrize("allowance", [1.0, STEP**0.5])
def test_every_exponent_inside_fits_and_none_outside(allowance):
    y = 7 * K**0.5
    low, high = y / 1.1, y * 1.1
    found = fit_sum(K, low, high, constant=False, allowance=allowance)
    for b in GRID[(GRID > 0.2) & (GRID < 0.8)]:
        ratio = K**b  # some slope puts a ratio between the widened brackets
        fits = np.max(low / ratio) / allowance <= np.min(high / ratio) * allowance * (1 + 1e-9)
        assert fits == (found.low - 1e-9 <= b <= found.high + 1e-9)


@pytest.mark.parametrize(("exponent", "constant"), [*itertools.product((0.0, 0.3, 0.8), (True, False))])
def test_a_curve_misses_brackets_by_what_it_says_and_no_curve_by_less(exponent, constant):
    rng = np.random.default_rng(3)
    y = (100 + 5 * K**0.5) * np.exp(rng.uniform(-0.3, 0.3, len(K)))
    low, high = y / 1.05, y * 1.05
    found = nearest(exponent, K, low, high, np.log(20 * K), constant=constant)
    assert np.max(np.maximum(low / found.values, found.values / high)) == pytest.approx(found.miss, rel=1e-6)
    shape = np.log(20 * K) * K**exponent
    constants = np.geomspace(1, 500, 80) if constant else [0.0]
    for c, a in itertools.product(constants, np.geomspace(0.001, 100, 300)):
        for curve in (c + a * shape, np.maximum(c, a * shape)):
            assert np.max(np.maximum(low / curve, curve / high)) >= found.miss * (1 - 1e-9)
    assert constant or found.constant == 0


def test_known_factors_of_both_terms_are_divided_out():
    """A budget in two parts that follow k: without their sizes no exponent is near, with them the true one."""
    part = np.array([0.9, 0.8, 0.7, 0.5, 0.3, 0.1])
    y = 60 / part + 3 * K / (1 - part)
    found = fit_sum(K, y / 1.02, y * 1.02, 1 / (1 - part), fixed=1 / part)
    assert found.low <= 1 <= found.high and found.high - found.low < 0.05
    assert 50 < found.best.constant < 70 and found.best.form == "sum"
    larger = np.maximum(60 / part, 3 * K / (1 - part))
    found = nearest(1.0, K, larger / 1.02, larger * 1.02, 1 / (1 - part), fixed=1 / part)
    assert found.form == "larger" and found.miss < 1 and 55 < found.constant < 65
    assert fit_sum(K, y / 1.02, y * 1.02).low is None
    with pytest.raises(InputError, match="factor"):
        fit_sum(K, y / 1.02, y * 1.02, -1.0)


def brackets_of(rng, x, enough, fewer, error):
    """Brackets of searches whose success is 0.9 at ``enough`` and 0.8 at ``fewer`` rows, with failures that decay
    exponentially: the two ends of what a bracket of beta = gamma = 0.1 is about."""
    found = []
    for many, few in zip(enough, fewer, strict=True):
        counts = {}

        def evaluate(n, trials, many=many, few=few, counts=counts):
            good = counts.setdefault(n, [])
            p = 1 - min(1.0, 0.1 * 2 ** ((many - n) / (many - few)))
            good.extend(rng.random(trials - len(good)) < p)
            return int(sum(good)), trials

        star = search(evaluate, geometric_grid(4, 1 << 17, STEP), 0.1, error / len(x), start=many, trials=3000)
        found.append((star.n_low, star.n_high))
    return np.array(found, float).T


def curve(exponent, fixed, slope=7.0):
    """A constant and a power with a logarithm, and the logarithm."""
    logarithm = np.log(480 * K)
    return fixed + slope * logarithm * K**exponent, logarithm


@pytest.mark.parametrize("runs", [25, pytest.param(400, marks=pytest.mark.slow)])
def test_searches_of_a_true_curve_cover_its_exponent_as_often_as_stated(runs):
    """The truth is at the edge of what the allowance permits: a curve, times or divided by its square root."""
    rng, allowance, error, covered = np.random.default_rng(5), STEP**0.5, 0.2, 0
    for run in range(runs):
        exponent, fixed = ((0.5, 300.0), (1.0, 20.0), (0.65, 0.0))[run % 3]
        y, logarithm = curve(exponent, fixed)
        off = allowance ** rng.choice([-0.2, 0.2], len(K))
        low, high = brackets_of(rng, K, y * off * allowance**0.8, y * off / allowance**0.8, error)
        covered += nearest(exponent, K, low, high, logarithm).miss <= allowance
    assert binom.sf(runs - covered - 1, runs, error) > 1e-3  # false alarms at most 1e-3


@pytest.mark.parametrize(("truth", "claim"), [(0.65, 0.5), (1.0, 0.8), (0.2, 0.0)])
def test_searches_exclude_a_wrong_claim(truth, claim):
    rng = np.random.default_rng(7)
    y, logarithm = curve(truth, 0.0)
    low, high = brackets_of(rng, K, y * STEP**0.5, y / STEP**0.5, 0.05)
    found = fit_sum(K, low, high, logarithm, 0.05 / len(K), allowance=STEP**0.5)
    assert found.low <= truth <= found.high and found.confidence == pytest.approx(0.95)
    assert not found.low <= claim <= found.high
    assert nearest(claim, K, low, high, logarithm).miss > STEP**0.5


def test_a_larger_allowance_widens_the_interval_and_not_the_estimate():
    y, logarithm = curve(0.5, 300.0)
    narrow, wide = (fit_sum(K, y / 1.05, y * 1.05, logarithm, allowance=a) for a in (1.0, 1.1))
    assert wide.low < narrow.low < narrow.high < wide.high and wide.best == narrow.best
    with pytest.raises(InputError, match="allowance"):
        fit_sum(K, y / 1.05, y * 1.05, allowance=0.9)
