"""The choosing mechanism: exact audits under both relations, its gate, its clamp, its tails."""

import itertools
import math
from functools import lru_cache

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.mechanisms import choosing, choosing_guarantee
from tests.oracles.categorical import sampler_probabilities

ADD = Neighboring.ADD_OR_REMOVE_ONE
BUDGETS = [(1.0, 1e-6), (0.1, 1e-6), (0.5, 0.01), (1.0, 0.3), (8.0, 1e-12), (3.0, 1e-30)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_votes_attain_delta_over_one_plus_delta(audit, epsilon, delta):
    databases = np.concatenate([audit.up_to(6, 3), audit.histograms(40, 3)])
    for pairs in (audit.replace_one(databases), audit.add_or_remove_one(databases)):
        found, _ = audit.delta(choosing, pairs, epsilon, epsilon, delta)
        assert found == pytest.approx(delta / (1 + delta), rel=1e-9)


def scores_of_growth(audit, growth, signs):
    """All pairs of score vectors the theorem is about: each moves by one of ``signs``, few become or cease to be 0."""

    def allowed(old, new):
        born, gone = (old == 0) & (new > 0), (old > 0) & (new == 0)
        return np.all(new >= 0, axis=1) & (born.sum(1) <= growth) & (gone.sum(1) <= growth)

    databases = np.array(list(itertools.product(range(4), repeat=4)), np.int32)
    return audit.moved(databases, list(itertools.product(signs, repeat=4)), allowed)


@lru_cache
def growing(growth):
    return lambda s, e, d: choosing(s, e, d, growth=growth)


@pytest.mark.grid
@pytest.mark.parametrize("growth", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.2, 0.1), (4.0, 0.2)])
def test_any_scores_of_the_given_growth(audit, epsilon, delta, growth):
    pairs = scores_of_growth(audit, growth, (-1, 0, 1))
    found, _ = audit.delta(growing(growth), pairs, epsilon, epsilon, delta)
    assert 0.99 * delta / (1 + delta) <= found <= delta
    if growth > 1:
        assert audit.delta(choosing, pairs, epsilon, epsilon, delta)[0] > delta


def monotone(scores, epsilon, delta):
    return choosing(scores, epsilon, delta, monotonic=True, neighboring=ADD)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-3), (0.2, 1e-4), (4.0, 0.2)])
def test_monotonic_scores_use_all_of_epsilon(audit, epsilon, delta):
    up = scores_of_growth(audit, 1, (0, 1))
    found = max(audit.delta(monotone, pairs, epsilon, epsilon, delta)[0] for pairs in (up, up[::-1]))
    assert 0.99 * delta / (1 + delta) <= found <= delta
    replaced, _ = audit.delta(monotone, audit.replace_one(audit.histograms(400, 2)), epsilon, epsilon, delta)
    assert replaced > 1.5 * delta  # which is why it is refused under REPLACE_ONE
    with pytest.raises(InputError, match="REPLACE_ONE"):
        choosing(jnp.array([1]), 1.0, 1e-3, monotonic=True)
    with pytest.raises(InputError, match="REPLACE_ONE"):
        choosing_guarantee(1.0, 1e-3, monotonic=True)


def test_a_large_delta_is_clamped_to_what_the_proof_allows(audit):
    epsilon, delta = 0.5, 0.9
    pairs = scores_of_growth(audit, 1, (-1, 0, 1))
    most = math.expm1(epsilon / 2)
    found, _ = audit.delta(choosing, pairs, epsilon, epsilon, delta)
    assert found <= most
    assert choosing_guarantee(epsilon, delta).delta == pytest.approx(most)
    assert choosing_guarantee(epsilon, 1e-6).delta == 1e-6
    assert choosing_guarantee(1e4, 0.5).delta == 0.5


def test_the_audit_catches_halved_noise_and_a_low_gate(audit):
    pairs = audit.replace_one(audit.histograms(80, 2))
    assert audit.delta(lambda s, e, d: choosing(s, 2 * e, d), pairs, 1.0, 1.0, 1e-6)[0] > 100e-6

    def low_gate(s, e, d):
        return choosing(s + (s > 0).astype(jnp.int32), e, d)

    assert audit.delta(low_gate, audit.replace_one(audit.up_to(5, 3)), 1.0, 1.0, 1e-6)[0] > 1.5e-6


@pytest.mark.parametrize("delta", [1e-6, 1e-12, 1e-30])
def test_float32_reaches_far_tails(audit, delta):
    exact = audit.log_probs(choosing, np.array([[1, 0], [40, 3], [0, 0]], np.int32), 1.0, delta)
    single = np.stack([_jitted(np.array(s, np.int32), 1.0, delta) for s in ([1, 0], [40, 3], [0, 0])])
    np.testing.assert_allclose(single, exact, rtol=1e-5, atol=1e-5)
    assert exact[0, 0] == pytest.approx(math.log(delta), rel=1e-6, abs=1e-6)


@pytest.mark.statistical
def test_what_is_sampled_is_the_law(audit):
    made = jax.jit(lambda *numbers: (choosing(*numbers), choosing(*numbers).log_probs()))
    law, logs = made(np.array([14, 12, 0, 15], np.int32), 0.8, 1e-3)
    outcomes = audit.draws(law.sample, 100_000)
    audit.assert_law(outcomes, np.exp(np.asarray(logs)), no_answer=True)
    assert np.min(outcomes) == -1
    rare, _ = made(np.array([1], np.int32), 1.0, 1e-10)
    assert sampler_probabilities(rare)[0] == pytest.approx(1e-10, rel=1e-4)
    common, logs = made(np.array([94], np.int32), 0.5, 0.1)  # no answer about 1e-10 here
    np.testing.assert_allclose(sampler_probabilities(common), np.exp(np.asarray(logs)), rtol=1e-6)
    assert sampler_probabilities(common)[1] < 1e-8


def test_utility_line(audit):
    scores, epsilon, delta = np.array([60, 55, 31, 48], np.int32), 1.0, 1e-6
    law = np.exp(audit.log_probs(choosing, scores[None], epsilon, delta))[0]
    gate = 1 + 2 * math.log(1 / delta)
    assert law[-1] <= math.exp(-epsilon / 2 * (60 - gate))
    for beta in (0.5, 0.1, 1e-3):
        assert law[:-1][scores < 60 - 2 * math.log(4 / beta)].sum() <= beta


@pytest.mark.parametrize(
    ("growth", "epsilon", "delta", "beta"),
    [(1, 1.0, 1e-3, 0.1), (3, 1.99, 1e-6, 1e-3), (2, 0.1, 0.5, 0.01), (1, 0.02, 0.9, 0.5)],
)
def test_the_printed_bound_holds(audit, growth, epsilon, delta, beta):
    """Yan 2025, Lemma 1: the best score just beyond the bound, and all n rows' other candidates at score 1."""
    n = next(2**i for i in range(64) if 2**i > 18 / epsilon * math.log(4 * growth * 2**i / (beta * epsilon * delta)))
    bound = 16 / epsilon * math.log(4 * growth * n / (beta * epsilon * delta))
    best = math.floor(bound) + 2
    scores = np.ones(1 + min(growth * (n - best), 10**5), np.int32)
    scores[0] = best
    law = np.exp(audit.log_probs(growing(growth), scores[None], epsilon, delta))[0]
    assert best - 1 > bound and best < n and 1 - law[0] <= beta


def test_degenerate_inputs(audit):
    @jax.jit
    def both(scores, where, epsilon, delta):
        law = choosing(scores, epsilon, delta, where=where)
        return law.log_probs(), law.sample(jax.random.key(0))

    for scores, where in (([], None), ([0, 0], None), ([5, 9], [False, False]), ([-3, 0], None)):
        logs, drawn = both(np.array(scores, np.int32), None if where is None else np.array(where), 1.0, 1e-6)
        assert np.asarray(logs)[-1] == 0
        assert drawn == -1
    scores, where = np.array([5, 50, 7], np.int32), np.array([True, False, True])
    masked = jax.jit(lambda scores: choosing(scores, 1.0, 1e-3, where=where).log_probs())(scores)
    plain = _jitted(np.array([5, 7], np.int32), 1.0, 1e-3)
    np.testing.assert_allclose(np.asarray(masked)[[0, 2, 3]], plain, rtol=1e-6)
    assert _jitted(np.array([10**6], np.int32), 1.0, 0.0).tolist() == [-np.inf, 0]
    for arguments in ((jnp.array([1.5]), 1.0, 0.1), (jnp.ones((2, 2), jnp.int32), 1.0, 0.1)):
        with pytest.raises(InputError):
            choosing(*arguments)
    for bad in (dict(growth=0), dict(growth=1.5)):
        with pytest.raises(InputError, match="growth"):
            choosing(jnp.array([1]), 1.0, 0.1, **bad)
    with pytest.raises(InputError, match="delta"):
        choosing_guarantee(1.0, 0.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-5, 10**6), min_size=5, max_size=5),
    st.sampled_from([1e-6, 0.1, 1.0, 1e4]),
    st.sampled_from([0.0, 1e-30, 1e-12, 0.4, 0.999]),
)
def test_total_and_a_function_of_the_scores(scores, epsilon, delta):
    scores = np.array(scores, np.int32)
    law = np.asarray(_jitted(scores, epsilon, delta))
    assert not np.any(np.isnan(law))
    assert np.sum(np.exp(law)) == pytest.approx(1)
    assert np.all(np.isneginf(law[:-1][scores < 1]))
    turned = np.asarray(_jitted(scores[::-1], epsilon, delta))
    np.testing.assert_allclose(turned[:-1][::-1], law[:-1], rtol=1e-6)


_jitted = jax.jit(lambda s, e, d: choosing(s, e, d).log_probs())


def test_vmap_is_a_loop_and_epsilon_is_traced_once():
    scores = np.array([[3, 1, 0], [0, 0, 0], [9, 9, 9]], np.int32)
    run = jax.jit(chex.assert_max_traces(lambda s, e, d: choosing(s, e, d).log_weights, n=1))
    together = jax.jit(jax.vmap(lambda s, e, d: choosing(s, e, d).log_weights, (0, None, None)))(scores, 0.7, 1e-4)
    np.testing.assert_array_equal(together, np.stack([run(s, 0.7, 1e-4) for s in scores]))
    for epsilon, delta in ((0.1, 1e-3), (1.0, 1e-6), (2.0, 0.5)):
        run(scores[0], epsilon, delta)


@pytest.mark.optimized
@pytest.mark.parametrize("capacity", [101, pytest.param(256, marks=pytest.mark.slow), 300])
def test_the_buffer_changes_no_draw(key, capacity):
    """Also where "no answer" is as likely as the candidates."""
    keys = jax.random.split(key, 200)
    first = draws_in_a_buffer(100, keys)
    assert 20 < np.sum(first == -1) < 180
    np.testing.assert_array_equal(first, draws_in_a_buffer(capacity, keys))


@lru_cache
def sampler(capacity):
    return jax.jit(jax.vmap(lambda key, scores: choosing(scores, 1.0, 0.1).sample(key), (0, None)))


def draws_in_a_buffer(capacity, keys):
    scores = np.zeros(capacity, np.int32)
    scores[:4] = [3, 5, 2, 4]
    return np.asarray(sampler(capacity)(keys, scores))
