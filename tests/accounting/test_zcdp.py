"""zCDP: parameters against Renyi divergences, conversions against exact hockey sticks."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from dpjax.accounting import (
    bounded_range_rho,
    exponential_epsilon0,
    exponential_guarantee,
    gaussian_delta,
    hockey_stick,
    optimal,
    pure_rho,
    zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from dpjax.accounting.zcdp import rho_of
from dpjax.core.checks import InputError

ORDERS = 1 + np.logspace(-3, 4, 300)


def renyi(log_p, log_q, orders=ORDERS):
    return logsumexp(orders[:, None] * log_p + (1 - orders[:, None]) * log_q, axis=1) / (orders - 1)


def exponential_pair(laws, epsilon, rng, candidates=3):
    """The exponential mechanism on neighbors whose scores differ by at most the sensitivity, 1."""
    scores = rng.uniform(0, 4, candidates)
    moved = scores + rng.choice([-1.0, 1.0], candidates)
    return laws.normalised(epsilon / 2 * scores), laws.normalised(epsilon / 2 * moved)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 3.0, 10.0, 50.0])
def test_pure_rho_is_the_supremum_for_randomized_response(laws, epsilon):
    ratio = renyi(*laws.response(epsilon)) / ORDERS
    assert np.max(ratio) <= pure_rho(epsilon) * (1 + 1e-6) + 1e-11
    assert np.max(ratio) >= pure_rho(epsilon) * 0.99 - 1e-11
    assert pure_rho(epsilon) <= min(epsilon, pure_rho(epsilon, "printed"))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
def test_bounded_range_rho_covers_exponential_mechanisms(laws, epsilon):
    rng = np.random.default_rng(3)
    for _ in range(50):
        log_p, log_q = exponential_pair(laws, epsilon, rng)
        assert np.all(renyi(log_p, log_q) <= bounded_range_rho(epsilon) * ORDERS + 1e-9)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
@pytest.mark.parametrize("rounds", [1, 3, 6])
def test_conversions_bound_composed_exponential_mechanisms(laws, epsilon, rounds):
    rng = np.random.default_rng(4)
    for _ in range(5):
        one = exponential_pair(laws, epsilon, rng)
        log_p, log_q = (laws.product(law, rounds) for law in one)
        for delta in (1e-6, 1e-2):
            for form in ("optimal", "closed"):
                whole = zcdp([exponential_guarantee(epsilon)], delta, rounds, form)
                assert hockey_stick(log_p, log_q, whole.epsilon) <= delta
                assert hockey_stick(log_q, log_p, whole.epsilon) <= delta


@pytest.mark.parametrize("shift", [1e-3, 0.1, 1.0, 5.0, 20.0])
def test_conversions_bound_the_gaussian_mechanism(shift):
    for epsilon in shift**2 / 2 + shift * np.array([0.5, 2.0, 5.0, 8.0]):
        optimal_form, closed = (zcdp_delta(shift**2 / 2, float(epsilon), form) for form in ("optimal", "closed"))
        assert gaussian_delta(shift, float(epsilon)) <= optimal_form <= closed


@pytest.mark.parametrize(
    ("rho", "epsilon"), [(0.5, 3.0), (0.01, 0.4), (1e-10, 1e-4), (2e4, 2.2e4), (3.0, 0.0), (0.1, 0.05)]
)
def test_delta_is_the_minimum_over_orders(rho, epsilon):
    above = np.logspace(-8, 8, 200_001)
    orders = 1 + above
    exponents = above * (orders * rho - epsilon) + above * np.log(above / orders) - np.log(orders)
    assert zcdp_delta(rho, epsilon) == pytest.approx(min(1.0, math.exp(np.min(exponents))), rel=1e-6)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.floats(1e-9, 1e4), st.floats(1e-14, 0.9), st.floats(1, 3))
def test_epsilon_is_consistent_and_monotone(rho, delta, factor):
    epsilon = zcdp_epsilon(rho, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert epsilon <= zcdp_epsilon(rho, delta, "closed") * (1 + 1e-9)
    assert epsilon == 0 or zcdp_delta(rho, epsilon * (1 - 1e-6)) > delta * (1 - 1e-6)
    assert zcdp_epsilon(rho * factor, delta) >= epsilon
    assert zcdp_epsilon(rho, delta / factor) >= epsilon


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.floats(1e-6, 50), st.floats(1e-12, 0.5), st.integers(1, 10_000))
def test_inverses_never_overspend(epsilon, delta, rounds):
    for form in ("optimal", "closed"):
        rho = zcdp_rho(epsilon, delta, form)
        assert zcdp_epsilon(rho, delta, form) <= epsilon
        assert zcdp_epsilon(rho * (1 + 1e-6), delta, form) > epsilon * (1 - 1e-9)
        epsilon0 = exponential_epsilon0(epsilon, delta, rounds, form)
        assert zcdp([exponential_guarantee(epsilon0)], delta, rounds, form).epsilon <= epsilon
    assert zcdp_rho(epsilon, delta) >= zcdp_rho(epsilon, delta, "closed")


def test_closed_form_of_the_per_round_epsilon():
    log_inverse = math.log(1e6)
    rho = (math.sqrt(log_inverse + 1) - math.sqrt(log_inverse)) ** 2
    assert exponential_epsilon0(1.0, 1e-6, 100, "closed") == pytest.approx(math.sqrt(8 * rho / 100), rel=1e-8)
    assert zcdp_epsilon(rho, 1e-6, "closed") == pytest.approx(1.0)


def test_beats_what_knows_only_that_the_parts_are_pure():
    part = exponential_guarantee(0.01)
    assert zcdp([part], 1e-6, 10_000).epsilon < 0.55 * optimal(part, 10_000, 1e-6).epsilon


def test_rho_of(laws):
    assert rho_of(laws.guarantee(1.0)) == pure_rho(1.0)
    assert rho_of(laws.guarantee(1.0, bounded_range=1.0)) == 0.125
    assert rho_of(laws.guarantee(1.0, 1e-6, rho=0.3)) == 0.3
    with pytest.raises(InputError, match="optimal"):
        zcdp([laws.guarantee(1.0, 1e-6)], 1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: zcdp_delta(0.0, 1.0),
        lambda: zcdp_delta(1.0, -1.0),
        lambda: zcdp_epsilon(1.0, 0.0),
        lambda: zcdp_epsilon(-1.0, 0.1),
        lambda: zcdp_rho(0.0, 0.1),
        lambda: zcdp_rho(1.0, 0.1, "printed"),
        lambda: pure_rho(1.0, "closed"),
        lambda: exponential_epsilon0(1.0, 1e-6, 0),
        lambda: exponential_guarantee(0.0),
        lambda: zcdp([], 1e-6),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()


def test_nothing_is_spent_by_nothing():
    assert zcdp_epsilon(0.0, 1e-6) == 0
