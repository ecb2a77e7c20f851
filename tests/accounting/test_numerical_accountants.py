"""RDP and PLD: the sensitivity trap, exact compositions, and dp_accounting itself."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.accounting import (
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    RandomizedResponse,
    by_pld,
    by_rdp,
    epsilon_at,
    gaussian_epsilon,
    optimal_epsilon,
    zcdp_epsilon,
)
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from tests.oracles.pld import pld_of_pmfs

REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE
ADD = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
SLOW = pytest.mark.slow
EVENTS = [
    lambda epsilon: LaplaceNoise(2 / epsilon, 2.0),
    lambda epsilon: DiscreteLaplaceNoise(3 / epsilon, 3),
    lambda epsilon: RandomizedResponse(epsilon),
    lambda epsilon: RandomizedResponse(epsilon, 4),
    lambda epsilon: ExponentialSelection(epsilon),
]


def test_the_gaussian_trap():
    """The same event under REPLACE_ONE: dp_accounting's two accountants disagree by a factor of 2, ours agree."""
    event = dp_event.GaussianDpEvent(1.0)
    theirs = [
        accountant.compose(event).get_epsilon(1e-6)
        for accountant in (PLDAccountant(REPLACE), RdpAccountant(neighboring_relation=REPLACE))
    ]
    assert theirs == pytest.approx([10.997, 5.222], abs=1e-3)
    for relation in Neighboring:
        run = [(GaussianNoise(1.0, 1.0, relation), 1)]
        exact, pld, rdp = gaussian_epsilon(1.0, 1e-6), by_pld(run, 1e-6).epsilon, by_rdp(run, 1e-6).epsilon
        assert exact == pytest.approx(4.8866, abs=1e-4)
        assert exact <= pld <= exact + 1e-5
        assert exact <= rdp <= 5.2222
    doubled = [(GaussianNoise(1.0, 2.0), 1)]
    assert by_pld(doubled, 1e-6).epsilon == pytest.approx(theirs[0], abs=1e-3)


def test_normalised_events_give_the_same_by_their_accountants():
    for run in (LaplaceNoise(3.0, 2.0), GaussianNoise(3.0, 2.0), DiscreteLaplaceNoise(2.0, 3)):
        theirs = PLDAccountant(ADD).compose(run.event(), 5).get_epsilon(1e-5)
        assert by_pld([(run, 5)], 1e-5).epsilon == pytest.approx(theirs, abs=1e-3)
    for run in (LaplaceNoise(3.0, 2.0), GaussianNoise(3.0, 2.0)):
        theirs = RdpAccountant(neighboring_relation=ADD).compose(run.event(), 5).get_epsilon(1e-5)
        assert theirs * 0.97 <= by_rdp([(run, 5)], 1e-5).epsilon <= theirs
    run = RandomizedResponse(0.5, 3)
    theirs = RdpAccountant(neighboring_relation=REPLACE).compose(run.event(), 30).get_epsilon(1e-5)
    assert theirs * 0.97 <= by_rdp([(run, 30)], 1e-5).epsilon <= theirs


def test_rounds_of_randomized_response_count():
    """dp_accounting 0.6.0's PLD accountant forgets the count of this event; the law composed by hand does not."""
    run, rounds = RandomizedResponse(1.0), 100
    by_hand = privacy_loss_distribution.from_randomized_response(run.event().noise_parameter, 2).self_compose(rounds)
    ours = by_pld([(run, rounds)], 1e-6).epsilon
    assert ours == pytest.approx(by_hand.get_epsilon_for_delta(1e-6), abs=2e-2)
    assert ours == pytest.approx(optimal_epsilon(1.0, rounds, 1e-6), rel=1e-6)


@pytest.mark.grid(keep=6)
@pytest.mark.parametrize(
    ("epsilon", "rounds"), [(1.0, 1), (1.0, 100), (0.01, 10_000), (5.0, 4), (1e-6, 300), (50.0, 20)]
)
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-12, 1e-100])
def test_pld_is_optimal_composition_for_randomized_response(epsilon, rounds, delta):
    exact = optimal_epsilon(epsilon, rounds, delta)
    whole = by_pld([(RandomizedResponse(epsilon), rounds)], delta).epsilon
    assert exact * (1 - 1e-8) <= whole <= exact * (1 + 1e-6) + 1e-8 * epsilon


@pytest.mark.grid
@pytest.mark.parametrize(
    ("shift", "rounds", "delta"),
    [
        case if case[:2] in ((1.0, 1), (10.0, 3)) or case == (1e-6, 10_000, 1e-6) else pytest.param(*case, marks=SLOW)
        for case in (
            (*row, delta)
            for row in ((1.0, 1), (10.0, 3), (1e-6, 10_000), (0.05, 400), (1e-6, 1))
            for delta in (0.1, 1e-6, 1e-12, 1e-100)
        )
    ],
)
def test_pld_is_exact_for_gaussian_noise(shift, rounds, delta):
    exact = gaussian_epsilon(shift * math.sqrt(rounds), delta)
    whole = by_pld([(GaussianNoise(1 / shift), rounds)], delta).epsilon
    assert exact * (1 - 1e-8) <= whole <= exact * (1 + 1e-5)


def test_pld_of_discrete_laplace_against_its_truncated_law(laws):
    scale, sensitivity, size = 1.5, 4, 120
    noise = laws.normalised(-np.abs(np.arange(-size, size + 1)) / scale)
    moved = np.full_like(noise, -np.inf)
    moved[sensitivity:] = noise[:-sensitivity]
    run = DiscreteLaplaceNoise(scale, sensitivity)
    for delta in (1e-9, 1e-3, 0.2):
        exact = float(epsilon_at(moved, laws.normalised(noise), delta))
        assert by_pld([(run, 1)], delta).epsilon == pytest.approx(exact, rel=1e-3)


def test_pld_of_mixed_events_against_dp_accounting():
    runs = [(LaplaceNoise(4.0), 6), (GaussianNoise(5.0), 10), (DiscreteLaplaceNoise(10.0, 2), 3)]
    theirs = privacy_loss_distribution.from_laplace_mechanism(4.0).self_compose(6)
    theirs = theirs.compose(privacy_loss_distribution.from_gaussian_mechanism(5.0 / math.sqrt(10)))
    discrete = privacy_loss_distribution.from_discrete_laplace_mechanism(0.1, 2, use_connect_dots=True)
    theirs = theirs.compose(discrete.self_compose(3))
    for delta in (1e-3, 1e-6, 1e-10):
        whole = by_pld(runs, delta)
        assert whole.epsilon == pytest.approx(theirs.get_epsilon_for_delta(delta), abs=1e-4)
        assert whole.epsilon <= by_rdp(runs, delta).epsilon
    assert len(whole.parts) == 3
    assert whole.rho is not None


def test_a_coarser_step_is_never_optimistic():
    runs = [(LaplaceNoise(3.0), 7), (RandomizedResponse(0.21), 5)]
    fine = by_pld(runs, 1e-7, step=1e-4).epsilon
    for step in (3e-4, 1e-3, 1e-2, 0.1, 1.0):
        assert by_pld(runs, 1e-7, step=step).epsilon >= fine - 1e-9


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(0, len(EVENTS) - 1), st.floats(0.01, 3), st.integers(1, 200), st.floats(1e-12, 0.3))
def test_order_of_the_accountants(kind, epsilon, rounds, delta):
    run = EVENTS[kind](epsilon)
    whole = by_pld([(run, rounds)], delta, step=epsilon / 100)
    assert 0 <= whole.epsilon <= optimal_epsilon(epsilon, rounds, delta) * (1 + 1e-3) + 0.02 * epsilon
    assert by_pld([(run, rounds + 1)], delta, step=epsilon / 100).epsilon >= whole.epsilon * (1 - 1e-9)
    by_divergence = by_rdp([(run, rounds)], delta).epsilon
    assert by_divergence <= rounds * epsilon * (1 + 1e-12)
    if not isinstance(run, ExponentialSelection):
        assert by_divergence >= whole.epsilon * (1 - 1e-3) - 0.02 * epsilon


def test_exponential_selection_uses_its_bounded_range():
    run = ExponentialSelection(0.05)
    assert by_rdp([(run, 1000)], 1e-6).epsilon <= zcdp_epsilon(1000 * 0.05**2 / 8, 1e-6) * (1 + 1e-4)
    assert by_pld([(run, 10)], 1e-6).epsilon == pytest.approx(optimal_epsilon(0.05, 10, 1e-6), rel=1e-6)


def test_events_missing_from_dp_accounting(monkeypatch):
    class ExponentialMechanismDpEvent:
        def __init__(self, epsilon):
            self.epsilon = epsilon

    run = ExponentialSelection(0.4)
    monkeypatch.delattr(dp_event, "ExponentialMechanismDpEvent", raising=False)
    assert run.event() == dp_event.ZCDpEvent(rho=0.4**2 / 8, xi=0.0)
    monkeypatch.setattr(dp_event, "ExponentialMechanismDpEvent", ExponentialMechanismDpEvent, raising=False)
    assert run.event().epsilon == 0.4


def test_pld_of_pmfs_composes(laws):
    log_p, log_q = laws.response(0.5)
    whole = pld_of_pmfs(log_p, log_q, interval=1e-6).self_compose(8)
    assert whole.get_epsilon_for_delta(1e-3) == pytest.approx(optimal_epsilon(0.5, 8, 1e-3), abs=1e-4)


@pytest.mark.parametrize(("epsilon", "rounds"), [(50.0, 10_000), (1e-6, 1)])
def test_extremes_are_finite(epsilon, rounds):
    for build in (*EVENTS, lambda value: GaussianNoise(1 / value)):
        for accountant in (by_pld, by_rdp):
            whole = accountant([(build(epsilon), rounds)], 1e-12).epsilon
            assert math.isfinite(whole)
            assert whole > 0


def test_parts_are_shown():
    text = str(by_pld([(GaussianNoise(3.0), 10), (LaplaceNoise(4.0), 3)], 1e-6))
    assert "Gaussian mechanism" in text
    assert "Laplace mechanism: (0.25, 0)-DP" in text
    assert "runs 10, 3" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda: by_pld([(LaplaceNoise(1.0), 1)], 0.0),
        lambda: by_rdp([(LaplaceNoise(1.0), 1)], 1.0),
        lambda: by_pld([(LaplaceNoise(1.0), 0)], 1e-6),
        lambda: by_pld([], 1e-6),
        lambda: by_pld([(LaplaceNoise(1.0), 1)], 1e-6, step=0.0),
        lambda: by_rdp(
            [(LaplaceNoise(1.0), 1), (LaplaceNoise(1.0, neighboring=Neighboring.ADD_OR_REMOVE_ONE), 1)], 1e-6
        ),
        lambda: RandomizedResponse(1.0, neighboring=Neighboring.ADD_OR_REMOVE_ONE),
        lambda: RandomizedResponse(0.0),
        lambda: RandomizedResponse(1.0, 1),
        lambda: LaplaceNoise(0.0),
        lambda: GaussianNoise(1.0, -1.0),
        lambda: DiscreteLaplaceNoise(1.0, 1.5),
        lambda: ExponentialSelection(-1.0),
    ],
)
def test_bad_input(call):
    with pytest.raises(InputError):
        call()
