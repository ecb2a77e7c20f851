"""Inverting an accountant: within the target, and the last parameter that is."""

import math

import mpmath
import numpy as np
import pytest

from dpjax.accounting import (
    FAMILIES,
    GaussianNoise,
    LaplaceNoise,
    by_pld,
    calibrate,
    exponential_epsilon0,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_guarantee,
    optimal_epsilon0,
)
from dpjax.core.checks import InputError

TARGETS = [(1.0, 1e-6, 10), (50.0, 1e-12, 3), (1e-6, 1e-12, 10_000), (0.3, 0.01, 1)]


@pytest.mark.grid(keep=2, per=["family"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize(("epsilon", "delta", "rounds"), TARGETS)
def test_largest_within_the_target(family, epsilon, delta, rounds):
    parameter = calibrate(epsilon, delta, family, rounds)
    whole = FAMILIES[family](parameter, rounds, delta)
    assert whole.epsilon <= epsilon
    assert whole.delta <= delta
    if family == "advanced-printed" and parameter > 1 - 1e-9:
        return  # the theorem says nothing further up
    above = FAMILIES[family](parameter * (1 + 1e-6), rounds, delta)
    assert above.epsilon > epsilon * (1 - 1e-12)


@pytest.mark.parametrize(("epsilon", "delta", "rounds"), TARGETS)
def test_agrees_with_the_direct_inverses(epsilon, delta, rounds):
    assert calibrate(epsilon, delta, "basic", rounds) == pytest.approx(epsilon / rounds)
    best = optimal_epsilon0(epsilon, delta, rounds)
    assert calibrate(epsilon, delta, "optimal", rounds) == pytest.approx(best, rel=1e-7)
    assert calibrate(epsilon, delta, "exponential", rounds) >= best * (1 - 1e-7)
    if epsilon < 8:
        by_zcdp = exponential_epsilon0(epsilon, delta, rounds)
        assert calibrate(epsilon, delta, "exponential-zcdp", rounds) == pytest.approx(by_zcdp, rel=1e-6)


def test_monotone_in_rounds_and_target():
    for family in FAMILIES:
        parameters = [calibrate(1.0, 1e-6, family, rounds) for rounds in (1, 4, 16, 64)]
        assert parameters == sorted(parameters, reverse=True)
        assert calibrate(0.5, 1e-6, family, 4) < parameters[1]


def test_any_function_can_be_a_family():
    def laplace(ratio, rounds, delta):
        return by_pld([(LaplaceNoise(1 / ratio), rounds)], delta, step=ratio / 64)

    parameter = calibrate(1.0, 1e-6, laplace, 20)
    assert calibrate(1.0, 1e-6, "optimal", 20) < parameter < 2 * calibrate(1.0, 1e-6, "optimal", 20)
    assert laplace(parameter, 20, 1e-6).epsilon <= 1


def test_gaussian_profile():
    """The total variation of N(0, 1) and N(1, 1), and the inverse."""
    assert gaussian_delta(1.0, 0.0) == pytest.approx(math.erf(0.5 / math.sqrt(2)))
    for shift in (1e-6, 1e-3, 1.0, 50.0):
        for delta in (1e-12, 1e-6, 0.1):
            epsilon = gaussian_epsilon(shift, delta)
            assert gaussian_delta(shift, epsilon) <= delta
            assert epsilon == 0 or gaussian_delta(shift, epsilon * (1 - 1e-6)) > delta
    assert gaussian_guarantee([2.0] * 4, 1.0, 1e-6).epsilon == pytest.approx(gaussian_epsilon(1.0, 1e-6))
    assert gaussian_guarantee([2.0] * 4, 1.0, 1e-6).rho == pytest.approx(0.5)
    assert GaussianNoise(2.0, 3.0).guarantee(1e-6).epsilon == pytest.approx(gaussian_epsilon(1.5, 1e-6))


@pytest.mark.parametrize(
    "call",
    [
        lambda: calibrate(1.0, 1e-6, "optima", 3),
        lambda: calibrate(0.0, 1e-6, "optimal", 3),
        lambda: calibrate(1.0, 1e-6, "optimal", 0),
        lambda: calibrate(1.0, 0.0, "advanced", 3),
        lambda: calibrate(1.0, 0.0, "gaussian", 3),
        lambda: calibrate(1.0, 1.0, "optimal", 3),
        lambda: gaussian_epsilon(1.0, 0.0),
        lambda: gaussian_delta(0.0, 1.0),
        lambda: gaussian_guarantee([], 1.0, 1e-6),
        lambda: gaussian_guarantee([1.0, -1.0], 1.0, 1e-6),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


def test_the_error_names_the_nearest_family():
    with pytest.raises(InputError, match="did you mean optimal"):
        calibrate(1.0, 1e-6, "optima", 3)


def test_gaussian_delta_against_mpmath():
    """Of small shifts and deltas, too: the margin that calibration keeps is ten times the error that is found here."""
    rng = np.random.default_rng(5)
    with mpmath.workdps(80):
        for shift, a in zip(10 ** rng.uniform(-10, 1, 200), rng.uniform(-1, 37, 200), strict=True):
            epsilon = float(max(0.0, shift * (a + shift / 2)))
            far, half = mpmath.mpf(epsilon) / mpmath.mpf(shift), mpmath.mpf(shift) / 2
            exact = mpmath.ncdf(half - far) - mpmath.exp(epsilon) * mpmath.ncdf(-half - far)
            assert abs(mpmath.mpf(gaussian_delta(float(shift), epsilon)) / exact - 1) < 1e-10
    assert gaussian_delta(8.403774410950881e-07, gaussian_epsilon(8.403774410950881e-07, 1e-147)) <= 1e-147
