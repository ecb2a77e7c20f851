"""Exponents in sums: what is put in comes out, and brackets that no exponent fits are said to be widened."""

import numpy as np
import pytest

from dpjax.experiments.models import GRID, fit_sum

K = np.array([1, 4, 16, 64, 256, 1024.0])


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
    assert found.widened == 1 and found.confidence == pytest.approx(0.94)
    assert found.low <= found.exponent <= found.high
    if exponent >= 0.5:  # of a constant plus a logarithm little can be said
        assert found.high - found.low < 0.3


def test_a_constant_is_told_from_a_power():
    y = 1000 + 5 * K
    with_constant, without = (fit_sum(K, y / 1.02, y * 1.02, constant=which) for which in (True, False))
    assert with_constant.widened == 1 and abs(with_constant.exponent - 1) < 0.05
    assert 900 < with_constant.constant < 1100
    assert without.widened > 1.2  # no power law is within 2% of it


@pytest.mark.parametrize("exponent", [0.5, pytest.param(1.0, marks=pytest.mark.slow)])
def test_the_larger_of_two_terms_is_fitted_too(exponent):
    term = 3 * np.log(20 * K) * K**exponent
    y = np.maximum(150.0, term)
    found = fit_sum(K, y / 1.03, y * 1.03, np.log(20 * K))
    assert found.widened == 1 and found.form == "larger" and found.low <= exponent <= found.high
    assert found.high - found.low < 0.1 and 140 < found.constant < 160
    alone = fit_sum(K, y / 1.03, y * 1.03, np.log(20 * K), constant=False)
    assert alone.widened > 1.5 and alone.form == "sum"
    for b in GRID[::20]:  # by search over c and a
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


def test_every_exponent_inside_fits_and_none_outside():
    y = 7 * K**0.5
    low, high = y / 1.1, y * 1.1
    found = fit_sum(K, low, high, constant=False)
    for b in GRID[(GRID > 0.2) & (GRID < 0.8)]:
        ratio = K**b  # some factor a puts a ratio between the brackets
        fits = np.max(low / ratio) <= np.min(high / ratio) * (1 + 1e-9)
        assert fits == (found.low - 1e-9 <= b <= found.high + 1e-9)
