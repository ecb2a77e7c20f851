"""The profile of two exact laws against its definition, and its inverse against itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpjax.accounting import epsilon_at, hockey_stick
from dpjax.core.checks import InputError
from tests.oracles.pld import pld_of_pmfs

WEIGHTS = arrays(np.float64, (2, 6), elements=st.floats(0, 1)).filter(lambda w: np.all(w.sum(axis=1) > 1e-3))


def log_laws(weights):
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum(axis=1, keepdims=True))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(WEIGHTS, st.floats(0, 5))
def test_the_definition(laws, weights, epsilon):
    log_p, log_q = log_laws(weights)
    expected = laws.naive(np.exp(log_p), np.exp(log_q), epsilon)
    np.testing.assert_allclose(hockey_stick(log_p, log_q, epsilon), expected, rtol=1e-9, atol=1e-13)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(WEIGHTS, st.sampled_from([0.0, 1e-12, 1e-6, 0.01, 0.3]))
def test_the_inverse_is_the_smallest_epsilon(weights, delta):
    log_p, log_q = log_laws(weights)
    epsilon = float(epsilon_at(log_p, log_q, delta))
    if np.isinf(epsilon):
        assert np.exp(log_p[np.isneginf(log_q)]).sum() > delta
        return
    assert hockey_stick(log_p, log_q, epsilon) <= delta * (1 + 1e-9) + 1e-15 * (1 + epsilon)
    if epsilon > 1e-3:
        assert hockey_stick(log_p, log_q, epsilon * (1 - 1e-6)) > delta


@settings(derandomize=True, deadline=None, max_examples=50)
@given(WEIGHTS, st.floats(0, 3), st.floats(0, 3))
def test_delta_falls_with_epsilon(weights, epsilon, more):
    log_p, log_q = log_laws(weights)
    assert hockey_stick(log_p, log_q, epsilon + more) <= hockey_stick(log_p, log_q, epsilon)


CHANNELS = arrays(np.float64, (6, 4), elements=st.floats(0, 1)).filter(lambda w: np.all(w.sum(axis=1) > 1e-3))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(WEIGHTS, CHANNELS, st.floats(0, 3))
def test_a_random_function_of_the_output_brings_laws_no_farther_apart(weights, channel, epsilon):
    """Post-processing: each output is replaced by a draw from a law that depends on it."""
    laws = weights / weights.sum(axis=1, keepdims=True)
    before = hockey_stick(*log_laws(weights), epsilon)
    after = hockey_stick(*log_laws(laws @ (channel / channel.sum(axis=1, keepdims=True))), epsilon)
    assert after <= before + 1e-12


def test_zeros():
    log_p, log_q = log_laws(np.array([[0.25, 0.75, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]]))
    assert hockey_stick(log_p, log_q, 0.0) == pytest.approx(0.5)
    assert hockey_stick(log_p, log_q, 40.0) == pytest.approx(0.25)
    assert epsilon_at(log_p, log_q, 0.2) == np.inf
    assert epsilon_at(log_p, log_q, 0.25) == pytest.approx(np.log(1.5))
    assert epsilon_at(log_q, log_p, 0.5) == 0
    assert epsilon_at(log_p, log_p, 0.0) == 0


def test_leading_axes_broadcast():
    rng = np.random.default_rng(1)
    log_p, log_q = log_laws(rng.random((12, 5))).reshape(2, 6, 5)
    epsilon, delta = np.linspace(0, 1, 6), np.full(6, 0.01)
    together, inverse = hockey_stick(log_p, log_q, epsilon), epsilon_at(log_p, log_q, delta)
    assert together.shape == inverse.shape == (6,)
    for i in range(6):
        assert together[i] == hockey_stick(log_p[i], log_q[i], epsilon[i])
        assert inverse[i] == epsilon_at(log_p[i], log_q[i], delta[i])
    table = hockey_stick(log_p, log_q, epsilon[:, None])
    assert table.shape == (6, 6)
    assert np.all(np.diff(table, axis=0) <= 0)


@pytest.mark.parametrize("exponent", [-12, -100, -300])
def test_small_deltas_keep_their_relative_accuracy(exponent):
    rare = 10.0**exponent
    log_p, log_q = np.log([rare, 1.0 - rare]), np.log([rare / 4, 1.0 - rare / 4])
    assert hockey_stick(log_p, log_q, 1.0) == pytest.approx(rare * (1 - np.e / 4), rel=1e-9)
    assert epsilon_at(log_p, log_q, rare * (1 - np.e / 4)) == pytest.approx(1.0, rel=1e-9)


def test_small_epsilons_keep_their_relative_accuracy(laws):
    log_p, log_q = laws.response(1e-9)
    assert hockey_stick(log_p, log_q, 0.0) == pytest.approx(np.tanh(0.5e-9), rel=1e-6)
    assert epsilon_at(log_p, log_q, 1e-10) == pytest.approx(1e-9 - 2e-10, rel=1e-6)


def test_agrees_with_the_privacy_loss_distribution():
    rng = np.random.default_rng(2)
    log_p, log_q = log_laws(rng.random((2, 30)))
    pld = pld_of_pmfs(log_p, log_q, interval=1e-5)
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        worst = max(hockey_stick(log_p, log_q, epsilon), hockey_stick(log_q, log_p, epsilon))
        assert worst - 1e-12 <= pld.get_delta_for_epsilon(epsilon) <= worst + 1e-5
    for delta in (0.3, 0.01, 1e-4):
        worst = max(epsilon_at(log_p, log_q, delta), epsilon_at(log_q, log_p, delta))
        assert pld.get_epsilon_for_delta(delta) == pytest.approx(worst, abs=2e-5)


@pytest.mark.parametrize(
    ("log_p", "log_q"),
    [
        (np.log([0.5, 0.6]), np.log([0.5, 0.5])),
        (np.log([0.5, 0.5]), np.log([0.25, 0.25, 0.5])),
        (np.array([np.nan, 0.0]), np.log([0.5, 0.5])),
        (np.float64(0.0), np.float64(0.0)),
        (np.zeros((2, 1)), np.zeros((3, 1))),
        (np.zeros(1), np.log([0.5, 0.5])),
    ],
)
def test_refuses_what_is_no_law(log_p, log_q):
    with pytest.raises(InputError):
        hockey_stick(log_p, log_q, 1.0)


@pytest.mark.parametrize("delta", [-0.1, 1.0, np.nan])
def test_refuses_bad_deltas(delta):
    with pytest.raises(InputError):
        epsilon_at(np.zeros(1), np.zeros(1), delta)
