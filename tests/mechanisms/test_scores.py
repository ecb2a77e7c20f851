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
    stability,
    stability_histogram,
)
from dpjax.mechanisms._inputs import difference

LOW, HIGH = -(2**31), 2**31 - 1


@pytest.mark.parametrize("mechanism", [exponential, permute_and_flip])
def test_scores_that_span_more_than_their_type_holds(mechanism):
    scores = jnp.array([LOW, -5, 0, HIGH - 3, HIGH], jnp.int32)
    found = np.asarray(mechanism(scores, 1.0).log_probs())
    assert np.all(found[:3] < -(2**28)) and found[4] > found[3] > -3
    assert int(mechanism(scores, 1.0).sample(jax.random.key(0))) in (3, 4)


@pytest.mark.parametrize("mechanism", [exponential, permute_and_flip])
def test_saturated_differences_are_private(mechanism):
    """At a small epsilon the farthest candidates have mass, and one step moves no log-ratio by more than epsilon."""
    epsilon, moves = 1e-8, np.array([[-1, 1, 1, 0, -1], [0, 1, -1, 1, -1], [1, 0, 0, 0, -1]])
    base = np.array([LOW + 1, LOW + 2, -1, 0, HIGH - 1])
    with jax.enable_x64(True):
        laws = [
            mechanism(jnp.asarray(row, jnp.int32), jnp.float64(epsilon)).log_probs() for row in (base, *base + moves)
        ]
    for law in laws[1:]:
        assert np.max(np.abs(np.asarray(law) - np.asarray(laws[0]))) <= epsilon * (1 + 1e-6)


def test_unsigned_scores():
    how = {"monotonic": True, "neighboring": Neighboring.ADD_OR_REMOVE_ONE}
    found = exponential(jnp.array([1, 3, 2], jnp.uint32), 1.0, **how).log_probs()
    chex.assert_trees_all_close(found, exponential(jnp.array([1, 3, 2], jnp.int32), 1.0, **how).log_probs())


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
    found = difference(jnp.asarray(left, jnp.int32), jnp.asarray(right, jnp.int32))
    np.testing.assert_array_equal(found, np.clip(left - right, LOW, HIGH))


def test_queries_far_from_the_threshold_keep_their_side():
    """Also where the types differ: a threshold of 300 is above every int8."""
    laws = [above_threshold(jnp.array([count], jnp.int32), -5, 1.0) for count in (HIGH - 6, HIGH)]
    laws.append(above_threshold(jnp.array([100], jnp.int8), 300, 1.0))
    found = np.exp([np.asarray(law.log_probs())[0] for law in laws])
    assert found[0] == found[1] == 1 and found[2] < 1e-15


SCORES = jnp.array([3, 1, 0], jnp.int32)


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
