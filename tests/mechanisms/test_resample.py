"""Rows with replacement: every sample as likely as the next, whatever the buffer."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import wide
from dpjax.mechanisms.resample import Resample, WeightedResample


@pytest.mark.parametrize(("n", "capacity"), [(0, 1), (1, 3), (2, 3), (3, 3)])
def test_the_law_is_what_runs(n, capacity, key, stats):
    law = Resample(jnp.int32(n), 2, capacity)
    chances = np.exp(np.asarray(law.support(100).log_mass))
    np.testing.assert_allclose(chances.sum(), 1, atol=1e-12)
    drawn = np.asarray(jax.jit(jax.vmap(law.sample))(jax.random.split(key, 4000)))
    assert drawn.dtype == np.int32 and drawn.min() == 0 and drawn.max() == max(n, 1) - 1
    possible = list(itertools.product(range(max(n, 1)), repeat=2))
    stats.chi_square(
        [(drawn == pair).all(axis=1).sum() for pair in possible], np.full(len(possible), 1 / len(possible))
    )


def test_the_capacity_and_64_bit_types_change_nothing(key):
    draws = []
    for capacity in (1000, 1024, 4096):
        for on in (False, True):
            with jax.enable_x64(on):
                draws.append(np.asarray(jax.jit(Resample(jnp.int32(1000), 500, capacity).sample)(key)))
    assert all(np.array_equal(draws[0], other) for other in draws)
    assert len(np.unique(draws[0])) == pytest.approx(1000 * (1 - np.exp(-0.5)), abs=40)


@pytest.mark.parametrize(
    "weights",
    [
        [1],
        [0, 0, 2**62],
        [0, 0],
        *(pytest.param(one, marks=pytest.mark.slow) for one in ([3, 0, 5], [2**61, 1, 2**61])),
    ],
)
def test_weighted_rows_follow_their_weights(weights, key, stats):
    law = WeightedResample(jnp.asarray(wide.encode(weights)), 2)
    total = sum(weights)
    chance = np.array([w / total for w in weights]) if total else np.array([1.0, 0.0])
    support = law.support(100)
    np.testing.assert_allclose(
        np.exp(np.asarray(support.log_mass)), np.outer(chance, chance).reshape(-1), rtol=1e-12, atol=0
    )
    drawn = np.asarray(jax.jit(jax.vmap(law.sample))(jax.random.split(key, 4000)))
    assert drawn.dtype == np.int32
    pairs = np.asarray(support.outcomes)
    stats.chi_square([(drawn == pair).all(axis=1).sum() for pair in pairs], np.outer(chance, chance).reshape(-1))


@pytest.mark.optimized
def test_padding_does_not_change_weighted_draws(key):
    weights = np.arange(1, 1001) ** 2
    draws = []
    for capacity in (1000, 1024, 4096):
        padded = jnp.asarray(wide.encode(np.pad(weights, (0, capacity - 1000))))
        for on in (False, True):
            with jax.enable_x64(on):
                draws.append(np.asarray(jax.jit(WeightedResample(padded, 500).sample)(key)))
    assert all(np.array_equal(draws[0], other) for other in draws)
    assert draws[0].mean() == pytest.approx(750, abs=40)  # of rows whose weight is the square of their number
