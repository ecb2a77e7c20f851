"""The error of a synthetic database, against its definition; cuts of ranks; weights."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.sanitizers import Sanitized, error
from dpjax.sanitizers.thresholds import boundaries

sanitized = jax.jit(Sanitized.of)
cuts = jax.jit(boundaries, static_argnums=1)


def by_definition(points, weights, rows):
    """The largest difference over every threshold of a small domain."""
    if not len(rows):
        return Fraction(0)
    total = int(weights.sum())
    return max(
        abs(Fraction(int(weights[points <= t].sum()), total) - Fraction(int(np.sum(rows <= t)), len(rows)))
        for t in range(20)
    )


@pytest.mark.parametrize("width", [1, 2, 3])
def test_the_error_is_the_largest_over_all_thresholds(width):
    generator = np.random.default_rng(width)
    for _ in range(60):
        n, capacity = int(generator.integers(0, 8)), 8
        rows, points = generator.integers(0, 16, capacity), generator.integers(0, 16, 5)
        weights = generator.integers(0, 4, 5)
        weights[0] += not weights.any()
        lift = 2 ** (32 * (width - 1)) + 1 if width > 1 else 1  # so that every limb matters
        x, z = (B.encode([int(v) * lift for v in values], 32 * width) for values in (rows, points))
        made = sanitized(z, weights.astype(np.int32))
        assert error(made, x, np.arange(capacity) < n) == by_definition(points, weights, rows[:n])


def test_large_weights_and_many_rows_do_not_overflow():
    n = 1 << 17
    x = np.zeros((n, 1), np.uint32)
    made = sanitized(np.array([[0], [9]], np.uint32), np.array([1, 2**30], np.int32))
    assert error(made, x, np.ones(n, bool)) == 1 - Fraction(1, 2**30 + 1)


def test_no_weight_becomes_equal_weight():
    made = sanitized(np.zeros((3, 1), np.uint32), np.zeros(3, np.int32))
    np.testing.assert_array_equal(made.weights, 1)
    np.testing.assert_allclose(jax.jit(Sanitized.share)(made, np.zeros(1, np.uint32)), 1)


@pytest.mark.parametrize("parts", [1, 3, 10])
def test_boundaries_cut_evenly(parts):
    for n in (0, 1, 9, 10, 11, 2**31 - 1):
        ends = np.asarray(cuts(jnp.int32(n), parts)).astype(np.int64)
        sizes = np.diff(ends)
        assert ends.tolist() == [i * n // parts for i in range(parts + 1)]
        assert ends[0] == 0 and ends[-1] == n and sizes.min() >= 0 and sizes.max() - sizes.min() <= 1
