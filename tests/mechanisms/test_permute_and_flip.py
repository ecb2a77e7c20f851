"""Permute-and-flip: its law against brute force over all orders, its privacy by enumeration, its two samplers."""

import itertools
import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.mechanisms import exponential, permute_and_flip, permute_and_flip_guarantee, permute_and_flip_sample
from dpjax.mechanisms.permute_and_flip import _quadrature
from tests.oracles.categorical import sampler_probabilities

ADD = Neighboring.ADD_OR_REMOVE_ONE


def brute_force(scores, epsilon):
    """Average over all orders of the probability that each candidate is the first with heads."""
    heads = np.exp(epsilon / 2 * (np.asarray(scores, np.float64) - max(scores)))
    law = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for candidate in order:
            law[candidate] += left * heads[candidate]
            left *= 1 - heads[candidate]
    return law / math.factorial(len(scores))


def monotone(scores, epsilon):
    return permute_and_flip(scores, epsilon, monotonic=True, neighboring=ADD)


def doubled(scores, epsilon):
    return permute_and_flip(2 * scores, epsilon, sensitivity=2)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_the_law_is_that_of_the_algorithm(audit, epsilon):
    for scores in ([4], [0, 7], [3, 3, 1], [5, 0, 2, 5], [1, 2, 3, 4, 5], [9, 9, 9, 9, 9, 0]):
        law = np.exp(audit.log_probs(permute_and_flip, np.array([scores], np.int32), epsilon))[0]
        np.testing.assert_allclose(law, brute_force(scores, epsilon), rtol=1e-12)
        assert law @ np.asarray(scores) >= _mean_of_exponential(scores, epsilon) - 1e-12


def _mean_of_exponential(scores, epsilon):
    weights = np.exp(epsilon / 2 * (np.asarray(scores, np.float64) - max(scores)))
    return weights @ np.asarray(scores) / weights.sum()


def test_quadrature_with_few_nodes_is_as_good_as_the_exact_one():
    rng = np.random.default_rng(0)
    for size in (101, 400, 3000):
        nodes, weights = _quadrature(size)
        assert len(nodes) == min(math.ceil(size / 2), math.ceil(5 * math.sqrt(size)))
        many, fine = np.polynomial.legendre.leggauss(math.ceil(size / 2)) if size < 2000 else (None, None)
        for heads in (np.ones(size), rng.random(size), np.exp(-rng.exponential(5, size))):
            value = weights @ np.exp(np.log1p(-nodes[:, None] * heads[1:]).sum(1))
            if heads[0] == 1 and np.all(heads == 1):
                assert value == pytest.approx(1 / size, rel=1e-12)
            if many is not None:
                exact = fine @ np.exp(np.log1p(-(many[:, None] + 1) / 2 * heads[1:]).sum(1)) / 2
                assert value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_pure_privacy_is_attained(audit, epsilon):
    databases = np.array(list(itertools.product(range(4), repeat=3)), np.int32)

    def any_scores(old, new):
        return np.ones(len(old), bool)

    pairs = audit.moved(databases, list(itertools.product((-1, 0, 1), repeat=3)), any_scores)
    assert audit.loss(permute_and_flip, pairs, epsilon) == pytest.approx(epsilon, rel=1e-9)
    up = audit.moved(databases, list(itertools.product((0, 1), repeat=3)), any_scores)
    assert audit.loss(monotone, up, epsilon) == pytest.approx(epsilon, rel=1e-9)
    assert audit.loss(monotone, pairs, epsilon) > 1.5 * epsilon
    assert audit.loss(permute_and_flip, pairs, 2 * epsilon) > 1.5 * epsilon  # half the noise
    assert audit.loss(doubled, pairs, epsilon) <= epsilon * (1 + 1e-9)


def test_it_is_not_bounded_range(audit):
    """Which is why its zCDP is that of any pure mechanism."""
    old, new = audit.log_probs(permute_and_flip, np.array([[0, 0], [1, -1], [0, 1]], np.int32), 0.1)[:2]
    assert np.ptp(old - new) > 0.1
    assert permute_and_flip_guarantee(0.1).bounded_range is None
    assert permute_and_flip_guarantee(0.1).rho == pytest.approx(0.005, rel=0.01)


def test_refusals():
    with pytest.raises(InputError, match="REPLACE_ONE"):
        permute_and_flip(jnp.array([1, 2]), 1.0, monotonic=True)
    with pytest.raises(InputError, match="REPLACE_ONE"):
        permute_and_flip_guarantee(1.0, monotonic=True)
    assert permute_and_flip_guarantee(1.0, monotonic=True, neighboring=ADD).epsilon == 1
    for scores in (jnp.zeros(0, jnp.int32), jnp.zeros((2, 2))):
        with pytest.raises(InputError, match="scores"):
            permute_and_flip(scores, 1.0)
    for sensitivity in (0, -1, math.inf):
        with pytest.raises(InputError, match="sensitivity"):
            permute_and_flip(jnp.array([1, 2]), 1.0, sensitivity=sensitivity)


@jax.jit
def law_and_log_probs(scores, epsilon, where=None):
    law = permute_and_flip(scores, epsilon, where=where)
    return law, law.log_probs()


@pytest.mark.statistical
def test_both_samplers_draw_from_the_law(audit):
    scores = np.array([10, 8, 10, 3, 0, 9], np.int32)
    law, logs = law_and_log_probs(scores, 0.9)
    chances = np.exp(np.asarray(logs))
    audit.assert_law(audit.draws(law.sample, 100_000), chances)
    audit.assert_law(audit.draws(lambda key: permute_and_flip_sample(key, jnp.asarray(scores), 0.9), 100_000), chances)


def test_far_tails():
    law, _ = law_and_log_probs(np.array([46, 0], np.int32), 1.0)  # q = exp(-23) = 1e-10
    q = math.exp(-23)
    np.testing.assert_allclose(sampler_probabilities(law), [1 - q / 2, q / 2], rtol=1e-5)


@pytest.mark.optimized
def test_masks_and_padding(audit):
    scores, nothing = np.array([7, 99, 5, 6], np.int32), np.zeros(4, bool)
    where = np.array([True, False, True, True])
    masked = np.asarray(law_and_log_probs(scores, 1.0, where)[1])
    plain = law_and_log_probs(np.array([7, 5, 6], np.int32), 1.0)[1]
    np.testing.assert_allclose(masked[[0, 2, 3]], plain, rtol=1e-6)
    assert masked[1] == -np.inf

    @jax.jit
    def draw(key, where, epsilon):
        law = permute_and_flip(scores, epsilon, where=where)
        return law.sample(key), permute_and_flip_sample(key, jnp.asarray(scores), epsilon, where=where)

    assert [int(one) for one in draw(jax.random.key(0), nothing, 1.0)] == [-1, -1]
    drawn = audit.draws(lambda key: draw(key, where, 0.1)[1], 100)
    assert set(drawn.tolist()) == {0, 2, 3}


@jax.jit
def _jitted(s, w, e):
    return permute_and_flip(s, e, where=w).log_weights, exponential(s, e, where=w).log_probs()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=5),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.sampled_from([1e-6, 0.1, 1.0, 1e4]),
)
def test_total_and_never_worse_than_exponential(scores, where, epsilon):
    scores, where = np.array(scores, np.int32), np.array(where)
    law, other = map(np.asarray, _jitted(scores, where, epsilon))
    assert not np.any(np.isnan(law))
    assert np.array_equal(np.isneginf(law), ~where)
    if not np.any(where):
        return
    law = law - np.logaddexp.reduce(law)
    assert np.sum(np.exp(law)) == pytest.approx(1)
    best = int(np.argmax(np.where(where, scores, np.iinfo(np.int32).min)))

    assert law[best] >= other[best] - 1e-5


def test_vmap_is_a_loop_and_epsilon_is_traced_once():
    scores = np.array([[3, 1, 0], [0, 0, 0], [9, 9, 8]], np.int32)
    run = jax.jit(chex.assert_max_traces(lambda s, e: permute_and_flip(s, e).log_weights, n=1))
    together = jax.jit(jax.vmap(lambda s: permute_and_flip(s, 0.7).log_weights))(scores)
    np.testing.assert_allclose(together, np.stack([run(s, 0.7) for s in scores]), rtol=1e-6)
    run(scores[0], 3.0)


def test_keys_are_used_once():
    with jax.debug_key_reuse(True):
        permute_and_flip_sample(jax.random.key(0), jnp.array([1, 2]), 1.0)
