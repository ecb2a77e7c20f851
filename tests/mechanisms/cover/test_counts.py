"""The noisy count: its law, its draws, its far tails, and what it says at scales that no noise can have."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import random
from dpjax.mechanisms.cover import counts
from dpjax.mechanisms.cover.counts import NoisyCount


def law(count, scale):
    with jax.enable_x64(True):
        return NoisyCount(jnp.int32(count), jnp.float64(scale))


@jax.jit
def sampled(noisy, keys):
    return jax.vmap(noisy.sample)(keys)


@jax.jit
def log_probability(noisy, values):
    return noisy.log_probability(values)


def draws(count, scale, keys):
    return np.asarray(sampled(law(count, scale), keys))


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.2, 1.0, 7.5, 300.0])
def test_draws_follow_the_law(scale, key, stats):
    trials, center = 20_000, 40
    found = draws(center, scale, jax.random.split(key, trials))
    assert found.dtype == np.int32
    reach = int(3 * scale) + 1
    values = np.arange(center - reach, center + reach + 1)
    with jax.enable_x64(True):
        inside = np.exp(np.asarray(log_probability(law(center, scale), values.astype(np.int32))))
    q = np.exp(-1 / scale)
    outside = q ** (reach + 1) / (1 + q)
    np.testing.assert_allclose(inside.sum() + 2 * outside, 1, rtol=1e-12)
    np.testing.assert_allclose(inside, (1 - q) / (1 + q) * q ** np.abs(values - center), rtol=1e-10)
    place = np.clip(found - (center - reach - 1), 0, 2 * reach + 2)
    stats.chi_square(np.bincount(place, minlength=2 * reach + 3), np.concatenate([[outside], inside, [outside]]))


@pytest.mark.statistical
def test_it_is_the_law_of_the_table(key, stats):
    """Against the sampler in whole numbers, whose table is made on the host."""
    scale, trials = 2.5, 20_000
    table = random.geometric_table(scale)
    theirs = np.asarray(jax.jit(lambda: random.discrete_laplace(key, table, (trials,)))())
    ours = draws(0, scale, jax.random.split(key, trials))
    for at in (0, 1, 3, 8):
        share = np.exp(-(at + 1) / scale) * 2 / (1 + np.exp(-1 / scale)) if at else np.tanh(0.5 / scale)
        for found in (theirs, ours):
            hits = np.sum(np.abs(found) > at) if at else np.sum(found == 0)
            stats.frequency(int(hits), trials, share)


@pytest.mark.parametrize(("scale", "bits"), [(1.0, 30), (1.0, 100), (8.0, 100)])
def test_the_tails_are_real(scale, bits, key, monkeypatch):
    """With uniforms of 2**-bits every digit of larger probability is 1: exp(-2**i / scale) > 2**-bits."""

    def rare(key, shape, dtype):
        return jnp.full(shape, 2.0**-bits, dtype).at[counts._DIGITS].set(1.0)

    monkeypatch.setattr(random, "uniform", rare)
    ones = [2**i for i in range(counts._DIGITS) if np.exp(-(2.0**i) / scale) > 2.0**-bits]
    noisy = law(0, scale)
    found = type(noisy).sample.__wrapped__(noisy, key)  # as written: a compiled sampler keeps the real uniforms
    assert int(found) == -1 - sum(ones)
    assert sum(ones) > 0.6 * bits * scale / np.log2(np.e) - 1


@pytest.mark.parametrize("scale", [2.0**56, 1e30, np.inf, np.nan, 0.0, -1.0])
def test_a_scale_that_cannot_be_had_says_nothing_of_the_count(scale, key):
    keys = jax.random.split(key, 64)
    one, other = draws(0, scale, keys), draws(2**31 - 1, scale, keys)
    np.testing.assert_array_equal(one, other)
    assert set(one) == {-(2**31), 2**31 - 1}


def test_wide_noise_is_clipped_and_its_ends_hold_the_rest(key):
    scale = 2.0**33
    found = draws(1000, scale, jax.random.split(key, 2000))
    ends = np.sum((found == -(2**31)) | (found == 2**31 - 1))
    assert 1400 < ends < 1700  # exp(-1/4) = 0.78 of 2000
    with jax.enable_x64(True):
        at = np.array([-(2**31), 2**31 - 1], np.int32)
        shares = np.exp(np.asarray(log_probability(law(1000, scale), at)))
    np.testing.assert_allclose(shares, 0.5 * np.exp(-np.array([2**31 + 1000, 2**31 - 1001]) / scale), rtol=1e-9)


def test_64_bit_types_change_nothing(key):
    keys = jax.random.split(key, 50)
    found = []
    for on in (False, True):
        with jax.enable_x64(on):
            found.append(draws(3, 11.0, keys))
    np.testing.assert_array_equal(*found)
    assert len(np.unique(found[0])) > 10
