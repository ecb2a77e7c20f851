"""AboveThreshold and sparse vector: law against closed forms, privacy by enumeration, sampler against law."""

import itertools
import math
from functools import partial
from types import SimpleNamespace

import chex
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.mechanisms import above_threshold, above_threshold_guarantee, sparse_vector, sparse_vector_guarantee

ADD = Neighboring.ADD_OR_REMOVE_ONE


@partial(jax.jit, static_argnames=("sensitivity", "monotonic", "neighboring"))
def log_probs(queries, threshold, epsilon, where=None, **how):
    return above_threshold(queries, threshold, epsilon, where=where, **how).log_probs()


def law(queries, epsilon, threshold=0, **how):
    with jax.enable_x64(True):
        return np.asarray(log_probs(np.asarray(queries), threshold, np.float64(epsilon), **how))


def plain(queries, epsilon):
    return above_threshold(queries, 0, epsilon)


def monotone(queries, epsilon):
    return above_threshold(queries, 0, epsilon, monotonic=True, neighboring=ADD)


@pytest.mark.parametrize("lead", [0, -1, -7, -50, -100, 3, 40])
def test_one_query_has_a_closed_form(lead):
    def tail(y):  # P[query's noise - threshold's >= y] for scales 2 and 1, y >= 0
        return (4 * math.exp(-y / 2) - math.exp(-y)) / 6

    def equal(y):  # both of scale 1
        return (1 + y / 2) * math.exp(-y) / 2

    for how, form in ((dict(), tail), (dict(monotonic=True, neighboring=ADD), equal)):
        found = np.exp(law([lead], 1.0, **how))  # threshold's scale is 2
        rare = form(abs(lead) / 2)
        expected = [rare, 1 - rare] if lead < 0 else [1 - rare, rare]
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=math.exp(-64))


def mp_law(leads, epsilon, ratio):
    """By 30-digit quadrature between the kinks."""
    meets = [mpmath.mpf(epsilon) / 2 * lead for lead in leads]

    def above(u, a):
        x = (u - a) / ratio
        return mpmath.exp(-x) / 2 if x > 0 else 1 - mpmath.exp(x) / 2

    def density(u, index):
        value = mpmath.exp(-abs(u)) / 2
        for a in meets[:index]:
            value *= 1 - above(u, a)
        return value * above(u, meets[index]) if index < len(meets) else value

    with mpmath.workdps(30):
        cuts = sorted({mpmath.mpf(0), *meets, *(mpmath.mpf(x) for x in (-80, -20, -5, 5, 20, 80))})
        return [float(mpmath.quad(lambda u, i=i: density(u, i), cuts)) for i in range(len(leads) + 1)]


@pytest.mark.parametrize(
    "leads", [[-3, 0, 5], [-30, -31, -29, -60], pytest.param([4, 4, 4, 4], marks=pytest.mark.slow)]
)
def test_many_queries_against_high_precision(leads):
    np.testing.assert_allclose(np.exp(law(leads, 0.7)), mp_law(leads, 0.7, 2), rtol=1e-9, atol=1e-13)
    how = dict(monotonic=True, neighboring=ADD)
    np.testing.assert_allclose(np.exp(law(leads, 0.7, **how)), mp_law(leads, 0.7, 1), rtol=1e-9, atol=1e-13)


def test_a_thousand_equal_queries():
    """P(none) = E[F^m]: a steep transition that a fixed grid must not miss."""
    found = np.exp(law(np.full(1000, -20), 1.0))
    assert found.sum() == pytest.approx(1, abs=1e-12)

    def none(u):
        x = (u + 10) / 2
        below = 1 - mpmath.exp(-x) / 2 if x > 0 else mpmath.exp(x) / 2
        return mpmath.exp(-abs(u)) / 2 * below**1000

    with mpmath.workdps(25):
        exact = float(mpmath.quad(none, [-70, -10, -5, 0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 40, 80]))
    assert found[-1] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.slow), 2.0])
def test_pure_privacy_by_enumeration(audit, epsilon):
    def any_queries(old, new):
        return np.ones(len(old), bool)

    far = round(8 / min(epsilon, 1))
    queries = np.array(list(itertools.product((-far, 0, 2, far), repeat=3)), np.int32)
    near = audit.moved(queries, list(itertools.product((-1, 0, 1), repeat=3)), any_queries)
    up = audit.moved(queries, list(itertools.product((0, 1), repeat=3)), any_queries)
    general, monotonic = audit.loss(plain, near, epsilon), audit.loss(monotone, up, epsilon)
    assert 0.7 * epsilon < general <= epsilon
    assert 0.7 * epsilon < monotonic <= epsilon
    assert audit.loss(monotone, near, epsilon) > 1.1 * epsilon  # refused under REPLACE_ONE for a reason
    assert audit.loss(plain, near, 2 * epsilon) > 1.1 * epsilon  # half the noise


def test_the_bound_is_approached(audit):
    """Many queries far above and one far below, which is the first above: all noises are in their tails."""
    old = np.array([[40] * 40 + [-40]], np.int32)
    new = old + np.array([1] * 40 + [-1], np.int32)
    assert 0.99 < audit.loss(plain, (old, new), 1.0) <= 1 + 1e-9
    assert 0.99 < audit.loss(monotone, (old, old + (old > 0)), 1.0) <= 1 + 1e-9


def test_integers_are_exact_and_thresholds_shift():
    base = 2**28
    np.testing.assert_array_equal(law([base + 3, base - 1], 1.0, base), law([3, -1], 1.0))
    np.testing.assert_allclose(law([1.5, 0.25], 1.0, 0.75), law([3, -2], 0.25))
    np.testing.assert_allclose(law([2, 4], 1.0, sensitivity=2), law([1, 2], 1.0))


def test_masks_and_degenerate_inputs():
    where = np.array([True, False, True])
    masked = law([1, 500, -2], 1.0, where=where)
    np.testing.assert_allclose(masked[[0, 2, 3]], law([1, -2], 1.0))
    assert masked[1] == -np.inf
    assert law(np.zeros(0, np.int32), 1.0).tolist() == pytest.approx([0], abs=1e-12)
    assert law([3, 4], 1.0, where=np.zeros(2, bool))[-1] == pytest.approx(0, abs=1e-12)
    never = jax.jit(lambda key: above_threshold(jnp.array([3]), 0, 1.0, where=jnp.zeros(1, bool)).sample(key))
    assert never(jax.random.key(0)) == -1
    for bad in (dict(sensitivity=0), dict(monotonic=True)):
        with pytest.raises(InputError):
            above_threshold(jnp.array([3]), 0, 1.0, **bad)
        with pytest.raises(InputError):
            sparse_vector(jax.random.key(0), jnp.array([3]), 0, 1.0, count=1, **bad)
    with pytest.raises(InputError, match="queries"):
        above_threshold(jnp.zeros((2, 2)), 0, 1.0)
    with pytest.raises(InputError, match="REPLACE_ONE"):
        above_threshold_guarantee(1.0, monotonic=True)


_jitted = jax.jit(lambda q, e, t: above_threshold(q, t, e).log_probs())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-(10**6), 10**6) | st.integers(-5, 5), min_size=4, max_size=4),
    st.sampled_from([1e-6, 0.1, 1.0, 1e4]),
    st.integers(-3, 3),
)
def test_total(queries, epsilon, threshold):
    found = np.asarray(_jitted(np.array(queries, np.int32), epsilon, threshold))
    assert not np.any(np.isnan(found))
    assert np.sum(np.exp(found)) == pytest.approx(1)


@pytest.mark.statistical
def test_law_and_sampler_agree(audit):
    queries = np.array([-2, 1, 0, 3, -1], np.int32)
    exact = jax.jit(lambda queries: above_threshold(queries, 0, 1.0))(queries)
    chances = np.exp(np.asarray(_jitted(queries, 1.0, 0)))
    audit.assert_law(audit.draws(exact.sample, 100_000), chances, no_answer=True)
    above = audit.draws(lambda key: sparse_vector(key, jnp.asarray(queries), 0, 1.0, count=1), 100_000)
    assert above.sum(1).max() == 1
    first = np.where(above.any(1), above.argmax(1), -1)
    audit.assert_law(first, chances, no_answer=True)


def two_answers(queries, epsilon):
    """The exact law of sparse vector with c = 2, by running AboveThreshold twice: (i, j), i < j <= m = none."""
    size = queries.shape[0]
    first = plain(queries, epsilon / 2).log_probs()
    behind = jnp.arange(size)[None, :] > jnp.arange(size)[:, None]
    again = jax.vmap(lambda asked: above_threshold(queries, 0, epsilon / 2, where=asked).log_probs())(behind)
    none = jnp.where(jnp.arange(size + 1) == size, first[-1], -jnp.inf)
    cells = jnp.concatenate([first[:-1, None] + again, none[None, :]])
    return SimpleNamespace(log_probs=lambda: cells.reshape(-1))


@pytest.mark.statistical
def test_sparse_vector_restarts_with_fresh_noise(audit):
    queries = np.array([1, -1, 2, 0], np.int32)
    above = audit.draws(lambda key: sparse_vector(key, jnp.asarray(queries), 0, 2.0, count=2), 100_000)
    assert above.sum(1).max() == 2
    padded = np.concatenate([above, np.ones((len(above), 1), bool)], axis=1)
    i = padded.argmax(1)
    padded[np.arange(len(above)), i] = False
    padded[:, -1] = True
    j = padded.argmax(1)
    audit.assert_law(i * 5 + j, np.exp(audit.log_probs(two_answers, queries[None], 2.0)[0]))


def test_sparse_vector_is_private_by_enumeration(audit):
    queries = np.array(list(itertools.product((-16, 0, 16), repeat=3)), np.int32)
    moves = list(itertools.product((-1, 1), repeat=3))
    pairs = audit.moved(queries, moves, lambda old, new: np.ones(len(old), bool))
    assert 0.3 < audit.loss(two_answers, pairs, 1.0) <= 1
    old = np.array([[80] * 8 + [-80] + [80] * 8 + [-80]], np.int32)  # the worst case of AboveThreshold, twice
    pair = (old, old + np.sign(old))
    assert 0.95 < audit.loss(two_answers, pair, 1.0) <= 1 + 1e-9
    assert audit.loss(two_answers, pair, 2.0) > 1.9  # half the noise
    guarantee = sparse_vector_guarantee(1.0, count=4)
    assert (guarantee.epsilon, guarantee.delta, guarantee.parts[0].epsilon) == (1.0, 0.0, 0.25)
    with pytest.raises(InputError, match="count"):
        sparse_vector_guarantee(1.0, count=0)


def test_sparse_vector_masks_prefixes_and_keys():
    queries, ask = np.array([5, 500, -2, 40], np.int32), jax.jit(sparse_vector, static_argnames="count")
    where = np.array([True, False, True, True])
    above = ask(jax.random.key(0), queries, 0, 50.0, count=3, where=where)
    assert above.tolist() == [True, False, False, True]
    assert ask(jax.random.key(0), queries, 0, 50.0, count=1).tolist() == [True, False, False, False]
    short = ask(jax.random.key(7), queries[:3], 0, 0.1, count=2)
    assert short.tolist() == ask(jax.random.key(7), queries, 0, 0.1, count=2).tolist()[:3]
    with jax.debug_key_reuse(True):
        sparse_vector(jax.random.key(0), jnp.asarray(queries), 0, 1.0, count=2)


def test_float32_agrees_with_float64_and_epsilon_is_traced_once():
    queries = np.array([-9, -3, 1], np.int32)
    run = jax.jit(chex.assert_max_traces(lambda q, e: above_threshold(q, 0, e).log_weights, n=1))
    np.testing.assert_allclose(run(queries, 0.5), law(queries, 0.5), rtol=1e-6)
    together = jax.jit(jax.vmap(lambda q: above_threshold(q, 0, 0.5).log_weights))(np.stack([queries, -queries]))
    np.testing.assert_allclose(together, np.stack([run(queries, 0.5), run(-queries, 0.5)]), rtol=1e-6)
    run(queries, 2.0)
