"""Randomized response: exactly as private as it says, which is what audits are tested with."""

import itertools
import math
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.numeric.profile import epsilon_at
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.mechanisms import (
    randomized_response,
    randomized_response_guarantee,
    revealing_randomized_response,
    revealing_randomized_response_guarantee,
)
from tests.oracles.categorical import sampler_probabilities


@lru_cache
def pure(categories):
    return lambda value, e: randomized_response(value, e, categories=categories)


@lru_cache
def approximate(categories):
    return lambda value, e, d: revealing_randomized_response(value, e, d, categories=categories)


def pairs(categories):
    both = np.array(list(itertools.permutations(range(categories), 2)), np.int32)
    return both[:, 0], both[:, 1]


@pytest.mark.parametrize("categories", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 3.0, 50.0])
def test_pure_is_attained(audit, categories, epsilon):
    law = pure(categories)
    assert audit.loss(law, pairs(categories), epsilon) == pytest.approx(epsilon, rel=1e-9)
    truth = math.exp(epsilon) / (math.exp(epsilon) + categories - 1)
    assert np.exp(audit.log_probs(law, np.array([1], np.int32), epsilon)[0, 1]) == pytest.approx(truth)


@pytest.mark.parametrize("categories", [2, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 0.3), (4.0, 1e-12)])
def test_approximate_is_attained(audit, categories, epsilon, delta):
    law = approximate(categories)
    both = pairs(categories)
    assert audit.delta(law, both, epsilon, epsilon, delta)[0] == pytest.approx(delta, rel=1e-9, abs=1e-15)
    p, q = (audit.log_probs(law, side, epsilon, delta) for side in both)
    np.testing.assert_allclose(epsilon_at(p, q, delta * (1 + 1e-9) + 1e-14), epsilon, rtol=1e-3)
    assert audit.delta(law, both, epsilon, 1.1 * epsilon, delta)[0] > delta


@pytest.mark.statistical
def test_what_is_sampled_is_the_law(audit):
    law = revealing_randomized_response(jnp.int32(1), 1.0, 0.05, categories=3)
    audit.assert_law(audit.draws(law.sample, 100_000), np.exp(law.log_probs()))
    law = randomized_response(jnp.int32(2), 1.0, categories=4)
    audit.assert_law(audit.draws(law.sample, 100_000), np.exp(law.log_probs()))
    tail = revealing_randomized_response(jnp.int32(0), 1.0, 1e-10)
    assert sampler_probabilities(tail)[2] == pytest.approx(1e-10, rel=1e-5)


def test_total_and_refusals():
    for epsilon, delta in itertools.product((1e-6, 1e4), (0.0, 1e-30, 0.999)):
        for value in (-5, 0, 99):
            assert not np.any(np.isnan(revealing_randomized_response(jnp.int32(value), epsilon, delta).log_probs()))
    with pytest.raises(InputError, match="categories"):
        randomized_response(jnp.int32(0), 1.0, categories=1)
    with pytest.raises(InputError, match="vmap"):
        randomized_response(jnp.array([0, 1]), 1.0)
    with pytest.raises(InputError, match="REPLACE_ONE"):
        randomized_response_guarantee(1.0, neighboring=Neighboring.ADD_OR_REMOVE_ONE)
    assert randomized_response_guarantee(1.0).delta == 0
    assert revealing_randomized_response_guarantee(1.0, 0.1).delta == 0.1


def test_several_people_by_vmap():
    laws = jax.vmap(lambda v: randomized_response(v, 1.0, categories=3))(jnp.array([0, 2], jnp.int32))
    assert laws.log_weights.shape == (2, 3)
