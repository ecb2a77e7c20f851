"""The exponential mechanism on whole numbers of any span."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.types import Neighboring
from dpjax.mechanisms import exponential, permute_and_flip

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
