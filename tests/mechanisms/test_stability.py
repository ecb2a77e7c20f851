"""A_dist: corrected constants are private and tight, printed ones are not, and the tails are exact."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.core.checks import InputError
from dpjax.mechanisms import release, stability, stability_guarantee
from tests.oracles.categorical import sampler_probabilities

EPSILONS = (0.1, 0.5, 1.0, 2.0, 20.0)
DELTAS = (1e-30, 1e-12, 1e-6, 0.01, 0.3, 0.5, 0.7, 0.99)


def printed(scores, epsilon, delta):
    return stability(scores, epsilon, delta, calibration="printed")


@pytest.fixture(scope="module")
def eighty(audit):
    """Three candidates, 80 votes, a vote replaced; and the smaller electorates, the empty one included."""
    return audit.replace_one(np.concatenate([audit.histograms(80, 3), audit.up_to(8, 3)]))


@pytest.mark.parametrize(("epsilon", "leak"), [(1.0, 0.3630), (0.5, 0.2195), (0.1, 1.42e-4)])
def test_printed_constants_leak_what_the_table_says(audit, eighty, epsilon, leak):
    found, witness = audit.delta(printed, eighty, epsilon, epsilon, 1e-6)
    assert found == pytest.approx(leak, rel=5e-3)
    assert sum(witness[0]) == 80
    corrected, _ = audit.delta(stability, eighty, epsilon, epsilon, 1e-6)
    assert 0.99e-6 <= corrected <= 1e-6 * (1 + 1e-9)


def test_the_printed_leak_grows_with_the_electorate(audit):
    pairs = audit.replace_one(audit.histograms(160, 3))
    assert audit.delta(printed, pairs, 0.1, 0.1, 1e-6)[0] == pytest.approx(0.048, rel=0.01)
    far = (np.array([[3000, 0]], np.int32), np.array([[2999, 1]], np.int32))
    gap = 2 * math.log(1e6) / 0.1
    middle = np.array([[int(1500 + gap / 4), int(1500 - gap / 4)]], np.int32)
    found, _ = audit.delta(printed, (middle - [[1, -1]], middle), 0.1, 0.1, 1e-6)
    assert found <= -math.expm1(-0.05)
    assert audit.delta(printed, far, 0.1, 0.1, 1e-6)[0] < 1e-9


def one(scores, epsilon, delta):
    return stability(scores, epsilon, delta, gap_sensitivity=1)


@pytest.mark.parametrize("cells", [2, 3])
def test_corrected_is_attained_for_every_delta(audit, cells):
    databases = audit.up_to(7, cells)
    cases = ((stability, audit.replace_one(databases)), (one, audit.add_or_remove_one(databases)))
    for (law, pairs), epsilon, delta in itertools.product(cases, EPSILONS, DELTAS):
        found, _ = audit.delta(law, pairs, epsilon, epsilon, delta)
        assert delta * (1 - 1e-9) <= found <= delta * (1 + 1e-9) + 1e-15  # rounding where the ratio is exp(epsilon)


def test_a_single_candidate_is_pure(audit):
    """It is the best of every database, so its release is the Laplace mechanism on its votes."""
    pairs = audit.add_or_remove_one(audit.up_to(30, 1))
    for epsilon, delta in itertools.product(EPSILONS, DELTAS):
        assert audit.loss(one, pairs, epsilon, delta) <= epsilon * (1 + 1e-9)


def test_slots_of_the_candidates_seen_are_as_private_as_the_whole_universe(audit):
    """Which slots exist may depend on the data: hiding candidates without votes changes the default only."""
    databases = audit.up_to(5, 3)
    pairs = audit.replace_one(databases)

    def seen(s, e, d):
        return stability(s, e, d, where=s > 0)

    assert audit.delta(seen, pairs, 1.0, 1.0, 0.05)[0] == pytest.approx(0.05)
    pairs = audit.add_or_remove_one(databases)

    def seen_one(s, e, d):
        return stability(s, e, d, where=s > 0, gap_sensitivity=1)

    assert audit.delta(seen_one, pairs, 1.0, 1.0, 0.05)[0] == pytest.approx(0.05)


def test_what_the_guarantee_says_of_the_printed_constants_is_exact(audit, eighty):
    truth = stability_guarantee(0.5, 1e-3, calibration="printed")
    assert truth.epsilon == 1.0
    found, _ = audit.delta(printed, eighty, truth.epsilon, 0.5, 1e-3)
    assert found == pytest.approx(truth.delta, rel=1e-9)
    assert stability_guarantee(0.5, 1e-3).delta == 1e-3


def test_the_audit_catches_broken_twins(audit, eighty):
    for broken in (
        lambda s, e, d: stability(s, 2 * e, d),
        one,
        lambda s, e, d: stability(s + (s == jnp.max(s)).astype(jnp.int32), e, d),
    ):
        assert audit.delta(broken, eighty, 1.0, 1.0, 1e-6)[0] > 1.5e-6


@partial(jax.jit, static_argnames="gap_sensitivity")
def released(gap, epsilon, delta, **how):
    law = release(gap, epsilon, delta, **how)
    return law, law.log_probs()


@jax.jit
def chosen(scores, epsilon, delta, where=None):
    law = stability(scores, epsilon, delta, where=where)
    return law, law.log_probs()


def test_both_tails_are_exact_in_float32():
    for gap, epsilon, delta in ((0, 1.0, 1e-12), (2, 1.0, 1e-30), (100, 1.0, 1e-6), (75, 1.0, 1e-6), (-50, 0.5, 1e-9)):
        needed = math.log(1 / (2 * delta)) - epsilon / 2 * (gap - 2)
        upper = -abs(needed) - math.log(2)
        lower = math.log1p(-math.exp(upper))
        expected = (upper, lower) if needed > 0 else (lower, upper)
        np.testing.assert_allclose(released(np.int32(gap), epsilon, delta)[0].log_weights, expected, rtol=3e-6)
    gap = 2 + 2 * (math.log(1 / 2e-6) + math.log(1 / 2e-10))
    law, _ = released(np.float32(gap), 1.0, 1e-6)
    assert sampler_probabilities(law)[1] == pytest.approx(1e-10, rel=1e-4)
    law, _ = released(np.int32(2), 1.0, 1e-10)
    assert sampler_probabilities(law)[0] == pytest.approx(1e-10, rel=1e-4)
    votes, _ = chosen(np.array([2, 0, 0], np.int32), 1.0, 1e-10)
    assert sampler_probabilities(votes)[0] == pytest.approx(1e-10, rel=1e-4)


@pytest.mark.statistical
def test_what_is_sampled_is_the_law(audit):
    law, logs = chosen(np.array([3, 41, 12], np.int32), 1.0, 1e-6)
    outcomes = audit.draws(law.sample, 100_000)
    assert set(outcomes.tolist()) == {-1, 1}
    audit.assert_law(outcomes, np.exp(np.asarray(logs)), no_answer=True)


def test_best_second_ties_and_masks():
    def best(scores, where=None):
        where = None if where is None else np.array(where)
        return np.asarray(chosen(np.array(scores, np.int32), 1.0, 0.1, where)[1])

    assert np.isfinite(best([4, 9, 9])[:-1]).tolist() == [False, True, False]
    np.testing.assert_array_equal(best([4, 9, 9])[[1, 3]], released(np.int32(0), 1.0, 0.1)[1])
    np.testing.assert_array_equal(best([7]), released(np.int32(7), 1.0, 0.1)[1])
    np.testing.assert_array_equal(best([7, 9], [True, False])[[0, 2]], best([7]))
    np.testing.assert_array_equal(best([9, 7, 9], [False, True, False])[[1, 3]], best([7]))
    assert np.isfinite(best([0, 0])[0])
    assert best([5, 5], [False, False]).tolist() == [-np.inf, -np.inf, 0]
    draw = jax.jit(lambda law: law.sample(jax.random.key(0)))
    assert draw(chosen(np.array([5], np.int32), 1.0, 0.1, np.array([False]))[0]) == -1
    assert draw(chosen(np.array([50, 0], np.int32), 10.0, 0.1)[0]) == 0


def test_utility_line():
    for delta, beta, epsilon, spread in ((1e-6, 0.1, 1.0, 2), (1e-9, 1e-3, 0.3, 1)):
        gap = spread * (1 + math.log(1 / (4 * delta * beta)) / epsilon)
        _, logs = released(np.float32(gap), epsilon, delta, gap_sensitivity=spread)
        assert np.exp(np.asarray(logs)[0]) == pytest.approx(1 - beta, rel=1e-5)


def test_refusals():
    for bad in (dict(gap_sensitivity=0), dict(gap_sensitivity=-1), dict(calibration="correct")):
        with pytest.raises(InputError):
            release(jnp.int32(1), 1.0, 0.1, **bad)
        with pytest.raises(InputError):
            stability_guarantee(1.0, 0.1, **bad)
    for scores in (jnp.array([], jnp.int32), jnp.array([0.5]), jnp.int32(3)):
        with pytest.raises(InputError, match="scores"):
            stability(scores, 1.0, 0.1)
    with pytest.raises(InputError, match="delta"):
        stability_guarantee(1.0, 0.0)


_jitted = jax.jit(lambda s, w, e, d: stability(s, e, d, where=w).log_probs())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 10**6), min_size=4, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.sampled_from([1e-6, 0.1, 1.0, 1e4]),
    st.sampled_from([0.0, 1e-30, 1e-12, 0.5, 0.999]),
)
def test_total(scores, where, epsilon, delta):
    law = np.asarray(_jitted(np.array(scores, np.int32), np.array(where), epsilon, delta))
    assert not np.any(np.isnan(law))
    assert np.sum(np.exp(law)) == pytest.approx(1)
    assert np.sum(np.isfinite(law[:-1])) <= 1
    if not any(where):
        assert law[-1] == 0
