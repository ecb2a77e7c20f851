"""Mechanisms on whole numbers of any span, of signed types."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.mechanisms import (
    above_threshold,
    choosing,
    discrete_laplace_mechanism,
    exponential,
    laplace_mechanism,
    permute_and_flip,
    release,
    stability,
    stability_histogram,
)
from dpjax.mechanisms._inputs import difference
from dpjax.mechanisms.exponential import LESS
from dpjax.mechanisms.median.treelog import TreeStep, stability_test
from tests.oracles.categorical import sampler_probabilities

LOW, HIGH = -(2**31), 2**31 - 1


@pytest.mark.parametrize("mechanism", [exponential, permute_and_flip])
def test_scores_that_span_more_than_their_type_holds(mechanism):
    @jax.jit
    def both(scores, key):
        law = mechanism(scores, 1.0)
        return law.log_probs(), law.sample(key)

    found, drawn = both(np.array([LOW, -5, 0, HIGH - 3, HIGH], np.int32), jax.random.key(0))
    found = np.asarray(found)
    assert np.all(found[:3] < -(2**28)) and found[4] > found[3] > -3
    assert int(drawn) in (3, 4)


@pytest.mark.parametrize("mechanism", [exponential, permute_and_flip])
def test_saturated_differences_are_private(mechanism):
    """At a small epsilon the farthest candidates have mass, and one step moves no log-ratio by more than epsilon."""
    epsilon, moves = 1e-8, np.array([[-1, 1, 1, 0, -1], [0, 1, -1, 1, -1], [1, 0, 0, 0, -1]])
    base = np.array([LOW + 1, LOW + 2, -1, 0, HIGH - 1])
    law = jax.jit(lambda row, epsilon: mechanism(row, epsilon).log_probs())
    with jax.enable_x64(True):
        first, *laws = (np.asarray(law(row.astype(np.int32), np.float64(epsilon))) for row in (base, *base + moves))
    for law in laws:
        assert np.max(np.abs(law - first)) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 6.0])
def test_a_bad_candidate_is_chosen_as_rarely_as_stated(epsilon):
    """BNS Proposition 3.8, KMMS Proposition 2.15: P[x or more below the best] <= |F| exp(-epsilon x / 2)."""
    law = jax.jit(lambda scores: exponential(scores, epsilon).log_probs())
    for scores in [*np.random.default_rng(4).integers(-60, 60, (9, 20)), np.array([40, *[0] * 19])]:
        chances = np.exp(np.asarray(law(scores.astype(np.int32))))
        for x in np.unique(scores.max() - scores)[1:]:
            assert chances[scores <= scores.max() - x].sum() <= 20 * np.exp(-epsilon * x / 2) * (1 + 1e-6)


def test_unsigned_scores():
    how = {"monotonic": True, "neighboring": Neighboring.ADD_OR_REMOVE_ONE}
    law = jax.jit(lambda scores: exponential(scores, 1.0, **how).log_probs())
    scores = np.array([1, 3, 2])
    chex.assert_trees_all_close(law(scores.astype(np.uint32)), law(scores.astype(np.int32)))


@pytest.mark.parametrize(
    "call",
    [
        lambda counts: choosing(counts, 1.0, 1e-2),
        lambda counts: stability(counts, 1.0, 1e-2),
        lambda counts: stability_histogram(counts, 1.0, 1e-2),
        lambda counts: above_threshold(counts, 10, 1.0),
        lambda counts: above_threshold(counts.astype(jnp.int32), counts[0], 1.0),
        lambda counts: discrete_laplace_mechanism(counts, 1.0, sensitivity=1),
    ],
)
def test_unsigned_counts_are_refused_where_differences_may_be_negative(call):
    with pytest.raises(InputError, match="signed whole numbers"):
        call(jnp.array([3, 40], jnp.uint32))


def test_differences_saturate_and_move_by_no_more_than_their_terms():
    grid = np.concatenate([np.arange(LOW, LOW + 9), np.arange(-9, 9), np.arange(HIGH - 8, HIGH + 1)])
    left, right = (part.astype(np.int64) for part in np.meshgrid(grid, grid, indexing="ij"))
    found = jax.jit(difference)(left.astype(np.int32), right.astype(np.int32))
    np.testing.assert_array_equal(found, np.clip(left - right, LOW, HIGH))


def test_queries_far_from_the_threshold_keep_their_side():
    """Also where the types differ: a threshold of 300 is above every int8."""
    law = jax.jit(lambda count, threshold: above_threshold(count, threshold, 1.0).log_probs())
    laws = [law(np.array([count], np.int32), -5) for count in (HIGH - 6, HIGH)]
    laws.append(law(np.array([100], np.int8), 300))
    found = np.exp([np.asarray(law)[0] for law in laws])
    assert found[0] == found[1] == 1 and found[2] < 1e-15


SCORES = jnp.asarray(np.array([3, 1, 0], np.int32))


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, float("nan"), float("inf"), "1", None, True, np.float32(-1)], ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda epsilon: exponential(SCORES, epsilon),
        lambda epsilon: stability(SCORES, epsilon, 1e-3),
        lambda epsilon: stability_histogram(SCORES, epsilon, 1e-3),
        lambda epsilon: above_threshold(SCORES, 0, epsilon),
        lambda epsilon: laplace_mechanism(SCORES, epsilon, sensitivity=1),
    ],
)
def test_an_epsilon_that_is_none_is_refused(call, epsilon):
    with pytest.raises(InputError, match=r"^epsilon: expected a"):
        call(epsilon)


@pytest.mark.parametrize("delta", [-1.0, 1.0, 2.0, float("nan"), "0.1"], ids=repr)
@pytest.mark.parametrize("mechanism", [choosing, stability, stability_histogram])
def test_a_delta_that_is_none_is_refused(mechanism, delta):
    with pytest.raises(InputError, match=r"^delta: expected a"):
        mechanism(SCORES, 1.0, delta)


@pytest.mark.parametrize("sensitivity", [-1, 0, float("nan"), "1"], ids=repr)
def test_a_sensitivity_that_is_none_is_refused(sensitivity):
    with pytest.raises(InputError, match=r"^sensitivity: expected a"):
        exponential(SCORES, 1.0, sensitivity=sensitivity)


def test_scores_of_two_axes_are_refused():
    with pytest.raises(InputError, match="use vmap"):
        exponential(SCORES[None], 1.0)


@jax.jit
def exponential_and_log_probs(scores, epsilon, log_base):
    law = exponential(scores, epsilon, log_base=log_base)
    return law, law.log_probs()


POINTS = [(1.0, 80), (1e-2, 10**4), (1e-3, 10**5), (1e-4, 10**6), (1e-5, 10**7), (1e-6, 2**26), (1e-7, 2**30 + 1)]


@pytest.mark.parametrize("base", [None, 30.0])
@pytest.mark.parametrize(("epsilon", "rows"), POINTS)
def test_float32_spends_no_more_than_epsilon_and_nearly_all_of_it(epsilon, rows, base):
    """The law that runs, at many lags. With a base the log-weights are kept in two parts."""
    log_base = None if base is None else (np.arange(64) * base / 63).astype(np.float32)
    epsilon, losses = np.float32(epsilon), []
    for gap in np.random.default_rng(0).integers(rows // 2, rows, 40):
        scores = np.zeros(64, np.int32)
        scores[0] = -gap
        moved = np.where(np.arange(64) > 0, scores + 1, scores - 1)
        (law, one), (_, other) = (exponential_and_log_probs(each, epsilon, log_base) for each in (scores, moved))
        one, other = np.asarray(one), np.asarray(other)
        losses.append(np.max(np.abs(one - other)) / float(epsilon))
    assert 1 - 2 * LESS < max(losses) <= 1
    with jax.enable_x64(True):  # the sampler's own weights are those of log_probs
        np.testing.assert_allclose(sampler_probabilities(law), np.exp(one), rtol=1e-11)


@pytest.mark.parametrize("base", [None, 30.0])
def test_log_weights_in_float32_are_products_of_float64(base):
    """Within the error E that `scaled` claims, over lags up to 2**31."""
    lags = np.append(np.random.default_rng(1).integers(0, 2**31 - 1, 500) >> np.arange(500) % 31, [0, 2**31 - 1])
    log_base = None if base is None else np.full(502, base, np.float32)
    factor = np.float32(0.37 / 2) * np.float32(1 - LESS)
    found = np.asarray(exponential_and_log_probs((-lags).astype(np.int32), np.float32(0.37), log_base)[1])
    exact = -lags.astype(np.longdouble) * np.longdouble(factor)
    exact -= np.logaddexp.reduce(exact)
    assert np.max(np.abs(found - exact)) <= 2 * (2.0**-48 + 2.0**-52) * float(factor) * 2**31
    near = -exact < 100
    assert np.max(np.abs(found - exact)[near]) < 2e-12


def test_the_choosing_mechanism_keeps_its_budget_in_float32():
    epsilon, losses = np.float32(1e-5), []
    law = jax.jit(lambda scores: choosing(scores, epsilon, 1e-6).log_probs())
    for gap in np.random.default_rng(2).integers(10**6, 8 * 10**6, 40):
        scores = np.full(9, 10**7)
        scores[0] -= gap
        moved = np.where(np.arange(9) > 0, scores + 1, scores - 1)
        one, other = (np.asarray(law(each.astype(np.int32))) for each in (scores, moved))
        losses.append(np.max(np.abs(one - other)) / float(epsilon))
    assert 0.99 < max(losses) <= 1 + 1e-6


def lead(value):
    return jnp.asarray([value, 0], jnp.int32)


def step(test):
    return TreeStep(test, *(np.float32(0.5) for _ in range(6)), np.int32(4), np.int32(1), 2)


@pytest.mark.optimized
@pytest.mark.grid
@pytest.mark.parametrize(
    ("law", "epsilon"),
    [
        (lambda far, epsilon: stability(lead(far), epsilon, 1e-6, gap_sensitivity=1), 1e-5),
        (lambda far, epsilon: release(jnp.int32(far), epsilon, 1e-6, gap_sensitivity=1), 1e-5),
        (lambda far, epsilon: stability_test(jnp.int32(far), step(epsilon)), 1e-5),
        (lambda far, epsilon: permute_and_flip(lead(far), 2 * epsilon), 1e-5),
        (
            lambda far, epsilon: above_threshold(
                jnp.asarray([-(far % 1024) * 2.0**-26], jnp.float32), 1.0, 4 * epsilon, sensitivity=2.0**-26
            ),
            4e-7,
        ),
    ],
    ids=["stability", "release", "stability_test", "permute_and_flip", "above_threshold"],
)
def test_no_log_weight_is_rounded_to_float32(law, epsilon):
    """Neighbors far from a threshold, where a unit of the last place of a float32 log-weight is worth many percent."""
    epsilon, losses = np.float32(epsilon), []
    for far in np.random.default_rng(3).integers(10**6, 8 * 10**6, 20):
        one, other = (np.asarray(law(int(value), epsilon).log_probs()) for value in (far, far + 1))
        possible = np.isfinite(one)
        losses.append(np.max(np.abs(one[possible] - other[possible])) / float(epsilon))
    assert 0.9 < max(losses) <= 1 + 1e-6
