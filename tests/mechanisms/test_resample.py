"""Rows with replacement: every sample as likely as the next, whatever the buffer."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.mechanisms.resample import Resample


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
