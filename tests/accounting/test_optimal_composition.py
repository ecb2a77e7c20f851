"""Optimal composition against products of exact laws, 60-digit arithmetic, and the other composition theorems."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import common, privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.accounting import (
    advanced,
    basic,
    epsilon_at,
    hockey_stick,
    optimal,
    optimal_delta,
    optimal_epsilon,
    optimal_epsilon0,
)
from dpjax.core.checks import InputError

EXTREMES = [
    (50.0, 1e-12, 10_000),
    (50.0, 1e-12, 3),
    (1e-6, 1e-12, 3000),
    (1e-6, 1e-12, 1),
    (1.0, 1e-6, 3000),
    (1.0, 1e-300, 50),
    (0.1, 0.5, 7),
]


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 4.0])
def test_is_the_product_of_randomized_responses(laws, epsilon0, rounds):
    log_p, log_q = (laws.product(law, rounds) for law in laws.response(epsilon0))
    for epsilon in np.linspace(0, 1.1 * rounds * epsilon0, 9):
        exact = hockey_stick(log_p, log_q, epsilon)
        assert optimal_delta(epsilon0, rounds, float(epsilon)) == pytest.approx(exact, rel=1e-11, abs=1e-15)
    for slack in (1e-9, 1e-3, 0.1):
        exact = epsilon_at(log_p, log_q, slack)
        assert optimal_epsilon(epsilon0, rounds, slack) == pytest.approx(exact, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_approximate_parts_against_the_worst_mechanism(laws, rounds):
    """With probability delta0 the worst mechanism tells which database it has, otherwise it is randomized response."""
    epsilon0, delta0, slack = 0.7, 0.05, 0.02
    log_p, log_q = laws.response(epsilon0)
    told, not_told = np.log(delta0), np.log1p(-delta0)
    p = laws.product(np.concatenate([[told, -np.inf], not_told + log_p]), rounds)
    q = laws.product(np.concatenate([[-np.inf, told], not_told + log_q]), rounds)
    whole = optimal(laws.guarantee(epsilon0, delta0), rounds, slack)
    assert hockey_stick(p, q, whole.epsilon) <= whole.delta
    if whole.epsilon > 0:
        assert whole.delta == pytest.approx(float(hockey_stick(p, q, whole.epsilon)), rel=1e-6)


@pytest.mark.grid
@pytest.mark.parametrize(
    ("epsilon0", "rounds", "epsilon"),
    [
        (1.0, 5, 2.0),
        (0.1, 1000, 3.0),
        (0.01, 10_000, 1.0),
        (0.01, 3000, 6.0),
        (1e-6, 3000, 1e-4),
        (1e-6, 1, 0.0),
        (50.0, 2000, 99_990.0),
        (1.0, 3000, 1600.0),
    ],
)
def test_relative_error_is_below_the_stated_margin(laws, epsilon0, rounds, epsilon):
    exact = laws.decimal_delta(epsilon0, rounds, epsilon)
    assert abs(Decimal(optimal_delta(epsilon0, rounds, epsilon)) - exact) <= Decimal("1e-10") * exact


@pytest.mark.parametrize("epsilon0", [0.01, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("rounds", [1, 7, 100, 3000])
@pytest.mark.parametrize("slack", [1e-12, 1e-6, 0.05])
def test_never_worse_than_the_other_theorems(laws, epsilon0, rounds, slack):
    part = laws.guarantee(epsilon0, 1e-9)
    best = optimal(part, rounds, slack)
    assert best.epsilon <= basic([part], "basic", rounds).epsilon
    tight = advanced(part, rounds, slack, form="tight")
    assert best.epsilon <= tight.epsilon
    assert best.delta == tight.delta
    if epsilon0 < 1:
        printed = advanced(part, rounds, slack, form="printed")
        assert tight.epsilon <= printed.epsilon
        assert tight.delta <= printed.delta


@pytest.mark.grid
@pytest.mark.parametrize(("epsilon", "delta", "rounds"), EXTREMES)
def test_epsilon_is_certified_and_the_smallest(laws, epsilon, delta, rounds):
    epsilon0 = epsilon / max(1, rounds // 20)
    whole = optimal_epsilon(epsilon0, rounds, delta)
    assert np.isfinite(whole)
    assert whole <= rounds * epsilon0
    assert laws.decimal_delta(epsilon0, rounds, whole) <= Decimal(delta)
    if whole > 0:
        smaller = whole * (1 - 1e-7) - 1e-7 * min(whole, 1.0)
        assert laws.decimal_delta(epsilon0, rounds, max(smaller, 0.0)) > Decimal(delta) * Decimal(1 - 1e-8)


@pytest.mark.grid
@pytest.mark.parametrize(("epsilon", "delta", "rounds"), EXTREMES)
def test_epsilon0_is_certified_and_the_largest(laws, epsilon, delta, rounds):
    epsilon0 = optimal_epsilon0(epsilon, delta, rounds)
    assert epsilon0 >= epsilon / rounds * (1 - 1e-15)
    assert laws.decimal_delta(epsilon0, rounds, epsilon) <= Decimal(delta)
    assert laws.decimal_delta(epsilon0 * (1 + 1e-7), rounds, epsilon) > Decimal(delta) * Decimal(1 - 1e-6)
    assert epsilon * (1 - 1e-6) <= optimal_epsilon(epsilon0, rounds, delta) <= epsilon


@pytest.mark.parametrize("rounds", [1, 3, 7, 49, 10_000])
def test_pure_budgets_split_evenly_and_never_over(rounds):
    for epsilon in (0.1, 1.0, 1 / 3, 50.0):
        epsilon0 = optimal_epsilon0(epsilon, 0.0, rounds)
        assert Decimal(epsilon0) * rounds <= Decimal(epsilon)
        assert epsilon0 == pytest.approx(epsilon / rounds, rel=1e-15)
        whole = optimal_epsilon(epsilon, rounds, 0.0)
        assert rounds * epsilon <= whole <= np.nextafter(rounds * epsilon, np.inf)
        assert Fraction(whole) >= rounds * Fraction(epsilon)


def test_part_deltas_are_paid_first(laws):
    epsilon0 = optimal_epsilon0(1.0, 1e-6, 30, delta0=1e-8)
    assert epsilon0 < optimal_epsilon0(1.0, 1e-6, 30)
    whole = optimal(laws.guarantee(epsilon0, 1e-8), 30, 1 - (1 - 1e-6) / (1 - 1e-8) ** 30)
    assert whole.epsilon == pytest.approx(1.0, rel=1e-8)
    assert whole.delta == pytest.approx(1e-6, rel=1e-8)
    with pytest.raises(InputError, match="choose delta0"):
        optimal_epsilon0(1.0, 1e-6, 30, delta0=1e-7)


@pytest.mark.grid
@pytest.mark.parametrize(("rounds", "epsilon0"), [(1, 0.5), (10, 0.5), (64, 0.25), (100, 0.5)])
def test_agrees_with_dp_accounting(rounds, epsilon0):
    grid = 2.0**-14  # divides epsilon0, so that nothing is rounded
    worst = common.DifferentialPrivacyParameters(epsilon0, 0.0)
    whole = privacy_loss_distribution.from_privacy_parameters(worst, grid).self_compose(rounds)
    for slack in (1e-3, 1e-6, 1e-9):
        assert optimal_epsilon(epsilon0, rounds, slack) == pytest.approx(whole.get_epsilon_for_delta(slack), abs=1e-4)
    for epsilon in (0.0, 0.3 * rounds * epsilon0, 0.9 * rounds * epsilon0):
        assert optimal_delta(epsilon0, rounds, epsilon) == pytest.approx(whole.get_delta_for_epsilon(epsilon), abs=1e-4)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.floats(1e-3, 5), st.integers(1, 300), st.floats(0, 20), st.floats(0, 2), st.integers(0, 20))
def test_monotone(epsilon0, rounds, epsilon, more, extra):
    delta = optimal_delta(epsilon0, rounds, epsilon)
    room = delta * 1e-10
    assert 0 <= delta <= 1
    assert optimal_delta(epsilon0, rounds, epsilon + more) <= delta + room
    assert optimal_delta(epsilon0 + more, rounds, epsilon) >= delta - room
    assert optimal_delta(epsilon0, rounds + extra, epsilon) >= delta - room


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.floats(0.01, 20), st.floats(1e-12, 0.5), st.integers(1, 200), st.integers(1, 50))
def test_epsilon0_is_monotone(epsilon, delta, rounds, extra):
    epsilon0 = optimal_epsilon0(epsilon, delta, rounds)
    assert optimal_epsilon(epsilon0, rounds, delta) <= epsilon
    assert optimal_epsilon0(epsilon, delta, rounds + extra) <= epsilon0 * (1 + 1e-9)
    assert optimal_epsilon0(2 * epsilon, delta, rounds) >= epsilon0
    assert optimal_epsilon0(epsilon, delta / 2, rounds) <= epsilon0


@pytest.mark.parametrize(
    "call",
    [
        lambda: optimal_delta(0.0, 3, 1.0),
        lambda: optimal_delta(1.0, 0, 1.0),
        lambda: optimal_delta(1.0, 3, -1.0),
        lambda: optimal_epsilon(1.0, 3, 1.0),
        lambda: optimal_epsilon(1.0, 2.5, 0.1),
        lambda: optimal_epsilon0(-1.0, 0.1, 3),
        lambda: optimal_epsilon0(1.0, float("nan"), 3),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
