"""Threshold sanitizers in use: the error they promise, total on every input, the same whatever the buffer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.core.types import Accuracy, Privacy
from dpjax.sanitizers import (
    Hierarchy,
    IndependentQuantiles,
    JointQuantiles,
    RankBlocks,
    RecursiveQuantiles,
    Slices,
    WindowHierarchy,
    candidates,
    error,
    worst_gap,
)

PRIVACY, ALPHA, BETA, BITS = Privacy(1.0, 1e-6), 0.35, 0.1, 32
RUNS = 4  # of each family
CAPACITY = 256

SMALL = {
    "blocks": RankBlocks(40, blocks=3),
    "blocks, recprefix": RankBlocks(40, blocks=2, median="recprefix"),
    "slices": Slices(40, count=3),
    "hierarchy": Hierarchy(40, levels=1),
    "majority": WindowHierarchy(40, levels=1),
    "independent": IndependentQuantiles(40, count=3),
    "recursive": RecursiveQuantiles(40, levels=1, ties=6),
    "joint": JointQuantiles(40, count=4, ties=6),
}


def short(*names):
    """These always, the others where time is no matter."""
    plain = [name for name in SMALL if name not in names and name != "blocks, recprefix"]
    return [*names, *(pytest.param(name, marks=pytest.mark.slow) for name in plain)]


@pytest.fixture(scope="module")
def planned():
    return candidates(ALPHA, BITS, PRIVACY, BETA)


@pytest.mark.statistical
@pytest.mark.parametrize("name", short("joint"))
def test_the_error_is_at_most_alpha_from_the_proved_number_on(name, planned, families, stats, key):
    sanitizer, n = planned[name]
    capacity = 1 << (n - 1).bit_length()
    mask, total, worst = jnp.asarray(np.arange(capacity) < n), 0, {}
    plan = sanitizer.plan(PRIVACY, Accuracy(ALPHA, BETA))

    @jax.jit
    def gaps(x):
        def one(own):
            return worst_gap(sanitizer.sanitize(own, x, mask, plan), x, mask)

        return jax.lax.map(one, jax.random.split(key, RUNS))

    for number, family in enumerate(families.FAMILIES):
        x = np.full((capacity, 1), 77, np.uint32)
        x[:n] = families.draw(family, np.random.default_rng(number), n, BITS)
        over, under = (np.asarray(part) for part in gaps(jnp.asarray(x)))
        bad = int(np.sum(over > ALPHA * under))
        stats.mostly(RUNS - bad, RUNS, BETA)
        total, worst[family] = total + bad, float(np.max(over / under))
    stats.mostly(len(worst) * RUNS - total, len(worst) * RUNS, BETA)
    assert max(worst.values()) > ALPHA / 5  # not so easy that anything would do


@pytest.mark.slow
def test_published_recursion_fails_on_atoms(run, key):
    """60% of the rows are one value: half of the rest lie below it, not a quarter of all."""
    place = np.arange(2048)[:, None]
    x, mask = np.where(place < 1229, 2**15, place << 5).astype(np.uint32), np.ones(2048, bool)
    assert error(run(RecursiveQuantiles(16, levels=2, ties=0))(key, x, mask, 4.0), x, mask) > 0.3


@pytest.mark.parametrize("name", short("blocks, recprefix"))
def test_total_on_every_database_in_one_trace(name, run, key):
    sanitizer, mask = SMALL[name], np.arange(CAPACITY)
    for n in (0, 1, 2, 7):
        for value, (epsilon, delta) in ((0, (1.0, 1e-6)), (5, (1e-3, 1e-12)), (2**40 - 1, (100.0, 0.5))):
            x = np.asarray(B.encode([value] * CAPACITY, 40))
            made = run(sanitizer)(key, x, mask < n, epsilon, delta)
            weights, points = np.asarray(made.weights), B.decode(made.points)
            assert weights.min() >= 0 and weights.sum() > 0 and set(np.asarray(made.outcome)) <= {0, -1}
            assert all(0 <= point < 2**40 for point in points)
            assert 0 <= error(made, x, mask < n) <= 1
    assert run(sanitizer).program._cache_size() == 1


@pytest.mark.optimized
@pytest.mark.parametrize("name", short("joint"))
def test_neither_padding_nor_capacity_nor_order_matters(name, run, key):
    sanitizer, n = SMALL[name], 200
    generator = np.random.default_rng(5)
    values = [int(v) for v in generator.integers(0, 2**40, n) >> generator.integers(0, 30, n)]
    rows, found = np.asarray(B.encode(values, 40)), []
    for capacity, filler in ((CAPACITY, 0), (CAPACITY, 0xFFFFFFFF), (517, 3)):
        x = np.full((capacity, 2), filler, np.uint32)
        x[:n] = rows[generator.permutation(n)]
        made = run(sanitizer)(key, x, np.arange(capacity) < n)
        found.append([np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(made)])
    assert all(entry == found[0] for entry in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", short("joint"))
def test_a_batch_changes_nothing(name, run, key):
    sanitizer = SMALL[name]
    x = np.asarray(B.encode([3 * i for i in range(CAPACITY)], 40))
    keys, n = jax.random.split(key, 3), np.array([9, 64, 40])
    alone = [run(sanitizer)(k, x, np.arange(CAPACITY) < count) for k, count in zip(keys, n, strict=True)]
    plan = sanitizer.plan(PRIVACY, Accuracy(ALPHA, BETA))
    batch = jax.jit(jax.vmap(lambda k, mask: sanitizer.sanitize(k, jnp.asarray(x), mask, plan)))(
        keys, jnp.asarray(np.arange(CAPACITY) < n[:, None])
    )
    batch = jax.tree.map(np.asarray, batch)
    for at, one in enumerate(alone):
        jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[at]), one, batch)  # noqa: B023


@pytest.mark.slow
@pytest.mark.parametrize("name", ["independent", "hierarchy"])
def test_one_bit_and_large_alpha(name, run, key):
    sanitizer, n = candidates(0.6, 1, PRIVACY, 0.05)[name]
    plan = sanitizer.plan(PRIVACY, Accuracy(0.6, 0.05))
    capacity = 1 << (n - 1).bit_length()
    for ones in (0, n // 3, n):
        x = (np.arange(capacity) < ones).astype(np.uint32)[:, None]
        mask = np.arange(capacity) < n
        assert error(jax.jit(sanitizer.sanitize)(key, x, mask, plan), x, mask) <= 0.6


def test_a_block_without_an_answer_says_so(run, key):
    """Few rows that differ: RecPrefix does not answer, weights and shape stay."""
    made = run(SMALL["blocks, recprefix"])(
        key, np.asarray(B.encode([1, 2**39, 7, 2**38] * 64, 40)), np.arange(CAPACITY) < 4
    )
    np.testing.assert_array_equal(made.outcome, -1)
    np.testing.assert_array_equal(made.points, 0)
    np.testing.assert_array_equal(made.weights, 2)
