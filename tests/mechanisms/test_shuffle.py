"""Random orders and matchings: uniform, the same for every capacity, and the law that is audited."""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.mechanisms.shuffle import Matching, Shuffle, _slow_order


@pytest.mark.parametrize("kind", [Shuffle, Matching])
def test_probabilities_add_up_and_the_law_is_what_runs(kind, key, stats):
    for n, capacity in ((0, 1), (4, 4), (3, 4), (4, 6)):
        law = kind(jnp.int32(n), capacity)
        support = law.support(1000)
        outcomes, chances = np.asarray(support.outcomes), np.exp(np.asarray(support.log_mass))
        np.testing.assert_allclose(chances.sum(), 1, atol=1e-12)
        drawn = np.asarray(jax.jit(jax.vmap(law.sample))(jax.random.split(key, 4000)))
        assert (np.sort(drawn, axis=1) == np.arange(capacity)).all() and (drawn[:, n:] == np.arange(n, capacity)).all()
        expected, seen = Counter(), Counter(canonical(row, n, kind) for row in drawn)
        for row, chance in zip(outcomes, chances, strict=True):
            expected[canonical(row, n, kind)] += chance
        codes = [code for code, chance in expected.items() if chance > 0]
        stats.chi_square([seen[code] for code in codes], np.array([expected[code] for code in codes]))


def canonical(order, n, kind):
    """What the order means."""
    if kind is Shuffle:
        return tuple(order[:n])
    return tuple(sorted(tuple(sorted(order[2 * i : 2 * i + 2])) for i in range(n // 2)))


@pytest.mark.parametrize("kind", [Shuffle, Matching])
def test_the_capacity_and_64_bit_types_change_nothing(kind, key):
    draws = []
    for capacity, on in ((50, False), (64, False), (1000, True)):
        with jax.enable_x64(on):
            order = jax.jit(kind(jnp.int32(50), capacity).sample)(key)
            assert order.dtype == jnp.int32
            draws.append(np.asarray(order)[:50])
    assert all(np.array_equal(draws[0], other) for other in draws)


@pytest.mark.slow
def test_large_buffers(key):
    """Equal keys are drawn again; beyond a million rows the keys are longer."""
    n = 1 << 20
    for capacity in (n, n + 1):
        order = np.asarray(jax.jit(Shuffle(jnp.int32(n), capacity).sample)(key))
        assert (np.sort(order) == np.arange(capacity)).all()
        assert abs(np.corrcoef(order[:n], np.arange(n))[0, 1]) < 6 / np.sqrt(n)
    small = np.asarray(_slow_order(key, jnp.int32(5), 8))
    assert (np.sort(small[:5]) == np.arange(5)).all() and (small[5:] == np.arange(5, 8)).all()
