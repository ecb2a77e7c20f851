"""Blocks of rows: proportions, disjointness, sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.learners.blocks import Blocks


def test_equal_weights_take_turns():
    assert Blocks.of([7, 7, 7]).order == (0, 1, 2) and Blocks.of([5]).order == (0,)


@pytest.mark.parametrize("weights", [(1, 2), (100, 1), (3, 5, 8, 13), (1, 1000, 999), (25, 19, 19, 19)])
def test_proportions_are_kept_from_below(weights):
    """Every block has its fraction of the largest, at most 1/32 of that more, in every stretch of rows."""
    blocks, most = Blocks.of(weights), max(weights)
    counts = [blocks.order.count(i) for i in range(len(weights))]
    for count, weight in zip(counts, weights, strict=True):
        assert weight / most <= count / max(counts) < weight / most + 1 / 32
    for n in range(3 * len(blocks.order)):
        for i, count in enumerate(counts):
            assert abs(blocks.rows(i, n) - n * count / len(blocks.order)) <= len(weights)


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize("weights", [(1, 2), (3, 5, 8, 13), (25, 19, 19, 19)])
@pytest.mark.parametrize("n", [1, 2, 50, 131])
def test_blocks_are_the_rows_that_the_pattern_names(weights, n):
    blocks, capacity = Blocks.of(weights), 131
    x = jnp.arange(capacity, dtype=jnp.uint32)[:, None]
    mask = jnp.arange(capacity) < n
    take = jax.jit(blocks.take, static_argnums=1)
    parts = [take(dp.Sample(x, mask[:, None], mask), i) for i in range(len(weights))]
    rows = [np.asarray(part.x[:, 0])[np.asarray(part.mask)] for part in parts]
    assert sorted(np.concatenate(rows).tolist()) == list(range(n))
    for i, own in enumerate(rows):
        assert len(own) == blocks.rows(i, n) and np.all(np.diff(own.astype(int)) > 0)
        assert all(blocks.order[j % len(blocks.order)] == i for j in own)


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 2), (3, 5, 8, 13)])
@pytest.mark.parametrize("size", [1, 2, 17, 400])
def test_the_least_rows_that_fill_all_blocks(weights, size):
    blocks = Blocks.of(weights)
    sizes = [size + 3 * i for i in range(len(weights))]
    n = blocks.needed(sizes)
    assert all(blocks.rows(i, n) >= own for i, own in enumerate(sizes))
    assert any(blocks.rows(i, n - 1) < own for i, own in enumerate(sizes))
