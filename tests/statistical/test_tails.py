"""Events of small probability really happen as often as they should: the noise behind a test at ln(1/delta)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import random
from dpjax.laws import Categorical

NAMES = ("exponential", "laplace")
SURVIVAL = {"exponential": lambda t: np.exp(-t), "laplace": lambda t: np.exp(-t) / 2}


def exceedances(name, thresholds, draws, block=1 << 18):
    """How many of so many draws lie beyond each threshold."""
    sampler = getattr(random, name)

    def count(key):
        drawn = sampler(key, (block,))
        return jnp.sum(drawn[:, None] > jnp.asarray(thresholds, jnp.float32)[None, :], axis=0, dtype=jnp.int32)

    keys = jax.random.split(jax.random.key(31), -(-draws // block))
    return np.asarray(jax.jit(lambda k: jax.lax.map(count, k))(keys)).sum(axis=0), len(keys) * block


@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_far_exceedances(name, stats):
    thresholds = [2.0, 5.0, 9.0, 12.0]
    hits, trials = exceedances(name, thresholds, 2_000_000)
    for t, h in zip(thresholds, hits, strict=True):
        stats.frequency(h, trials, SURVIVAL[name](t))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_far_exceedances_long(name, stats):
    """Beyond 16 scales, where the plain float32 samplers have stopped."""
    thresholds = [9.0, 14.0, 16.7, 18.0]
    hits, trials = exceedances(name, thresholds, 600_000_000)
    assert hits[2] > 0
    for t, h in zip(thresholds, hits, strict=True):
        stats.frequency(h, trials, SURVIVAL[name](t))


def assert_rare_outcome(stats, failure, draws):
    """A law with one outcome of small probability, drawn until it must have shown."""
    law = Categorical(jnp.asarray([np.log1p(-failure), np.log(failure)], jnp.float32))
    draw = jax.jit(lambda keys: jax.lax.map(lambda k: jnp.sum(jax.vmap(law.sample)(jax.random.split(k, 4096))), keys))
    hits = int(np.asarray(draw(jax.random.split(jax.random.key(5), draws // 4096))).sum())
    stats.frequency(hits, draws // 4096 * 4096, failure)


@pytest.mark.statistical
def test_a_rare_outcome_is_drawn_at_its_rate(stats):
    assert_rare_outcome(stats, 1e-3, 100_000)


@pytest.mark.slow
@pytest.mark.statistical
def test_a_rare_outcome_is_drawn_at_its_rate_long(stats):
    assert_rare_outcome(stats, 1e-6, 20_000_000)
