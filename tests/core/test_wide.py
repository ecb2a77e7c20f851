"""64-bit integers as limbs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.core import wide

CORNERS = [0, 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]


def test_limbs_are_most_significant_first():
    np.testing.assert_array_equal(wide.encode([2**32 + 7]), [[1, 7]])
    np.testing.assert_array_equal(wide.encode([7], 1), [[7]])
    assert wide.encode(5).shape == (2,) and wide.encode([[1, 2]]).shape == (1, 2, 2)
    assert wide.encode(CORNERS).dtype == np.uint32


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5))
def test_decode_inverts_encode(values):
    assert [int(v) for v in wide.decode(wide.encode(values))] == values
    low = [v % 2**32 for v in values]
    assert [int(v) for v in wide.decode(wide.encode(low, 1))] == low


def test_device_and_host_agree():
    limbs = wide.encode(CORNERS)
    with jax.enable_x64(True):
        joined = wide.join(jnp.asarray(limbs))
        assert joined.dtype == jnp.uint64
        assert [int(v) for v in joined] == CORNERS
        np.testing.assert_array_equal(wide.split(joined), limbs)
        np.testing.assert_array_equal(wide.split(joined, 1), limbs[:, 1:])
        np.testing.assert_array_equal(wide.join(jnp.asarray(limbs[:, 1:])), [v % 2**32 for v in CORNERS])
        np.testing.assert_array_equal(wide.word(jnp.asarray(limbs[:, 0]), jnp.asarray(limbs[:, 1])), joined)


@pytest.mark.parametrize("bits", [32, 2])
@pytest.mark.parametrize("below", [2**20, 2**60 - 1, 2**60, 2**62 - 1, 2**62, 2**64 - 1, 2**64])
@pytest.mark.parametrize("columns", [0, 1, 2])
def test_sort_puts_real_rows_first_in_order(below, columns, bits):
    generator = np.random.default_rng(below % 1000 + columns)
    count = 40
    corners = np.array([*(v for v in CORNERS if v < below), below - 1], np.uint64)
    values = np.concatenate(
        [generator.integers(0, below, count - 20, np.uint64, endpoint=False), generator.choice(corners, 20)]
    )
    values[: count // 2] = generator.choice(values, count // 2)  # ties
    carried = [generator.integers(0, 3, count).astype(np.uint32) for _ in range(columns)]
    real = generator.random(count) < 0.7
    values = np.where(real, values, generator.integers(0, 2**64 - 1, count, np.uint64))  # garbage in the padding
    with jax.enable_x64(True):
        columns_in = tuple(jnp.asarray(c) for c in carried)
        sizes = (bits,) * columns
        got = wide.sort(jnp.asarray(values), columns_in, real=jnp.asarray(real), below=below, bits=sizes)
    rows = sorted(zip(values[real].tolist(), *(c[real].tolist() for c in carried), strict=True))
    assert len(got) == columns + 1
    n = int(real.sum())
    for i, part in enumerate(got):
        assert np.asarray(part)[:n].tolist() == [row[i] for row in rows]
