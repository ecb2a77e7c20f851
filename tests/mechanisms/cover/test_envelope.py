"""Bounds of cells are bounds, the law at one theta is right, and bounds become sharp where cells become small."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.mechanisms.cover.lines import rejection, sweep
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Rows
from dpjax.mechanisms.cover.lines.envelope import envelope, log_upper
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Box, Kinematic, Net
from dpjax.mechanisms.cover.lines.refine import bound_between
from dpjax.mechanisms.cover.score import Score
from tests.mechanisms.cover.discs import Discs

spec = importlib.util.spec_from_file_location("brute_force", Path(__file__).with_name("brute_force.py"))
brute = importlib.util.module_from_spec(spec)
spec.loader.exec_module(brute)

ROWS = 31
FAMILIES = [
    HalfPlanes(1000, Kinematic(), slabs=16),
    HalfPlanes(100, Box(), slabs=8),
    Discs(50, slabs=6),
    HalfPlanes(1000, Net(20, 100)),
]


def database(family, kind, seed):
    dimension = 2
    rng = np.random.default_rng(seed)
    x = rng.integers(0, family.d + 1, (ROWS, dimension))
    if kind == "clusters":
        x = x[rng.integers(0, 3, ROWS)] + rng.integers(-1, 2, (ROWS, dimension))
    target = rng.random(ROWS) < 0.5
    return jnp.asarray(x, jnp.int32), jnp.asarray(target), jnp.asarray(~target & (rng.random(ROWS) < 0.9))


def score(coefficient, budget=8.0):
    return Score.of(jnp.float32(budget), 2, jnp.float32(coefficient)).capped(LARGEST)


def exact(family, rows, chart, theta, coefficient):
    """log_density + log_total at each theta, ``float64[m]``."""

    def one(chart, theta):
        law = sweep.sweep(family, rows, chart, theta, score(coefficient))
        return family.log_density(chart, theta) + law.log_total()

    return jax.vmap(one)(chart, theta)


def excesses(family, bins):
    """A jitted (seed key, x, target, other, coefficient) -> weight minus bound at one random theta of each cell."""

    def run(key, x, target, other, coefficient):
        with jax.enable_x64(True):
            rows, cells = Rows.of(family, x, target, other), family.cells()
            chart, low, high = (jnp.asarray(part) for part in (cells.chart, cells.low, cells.high))
            bound = envelope(family, rows, score(coefficient), bins)
            theta = low + sweep.below(key, high - low)
            ends = [low, high - 1, theta]
            return jnp.stack([exact(family, rows, chart, end, coefficient) - bound for end in ends])

    return jax.jit(run)


def check_bounds(family, bins, runs):
    run, worst, seen = excesses(family, bins), -np.inf, 0
    for seed in range(runs):
        data = database(family, ("spread", "clusters")[seed % 2], seed)
        found = np.asarray(run(jax.random.key(seed), *data, jnp.float32((0.0, 0.2, 3.0)[seed % 3])))
        assert np.all(np.isfinite(found))
        worst, seen = max(worst, found.max()), seen + found.size
    assert worst < 0, worst
    return seen


@pytest.mark.parametrize("family", FAMILIES[:4:2], ids=lambda f: f"{type(f).__name__}")
def test_no_weight_exceeds_the_bound_of_its_cell(family):
    assert check_bounds(family, 16, 60) > 5000


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_no_weight_in_a_million_exceeds_the_bound_of_its_cell(family):
    seen = sum(check_bounds(family, bins, 1 + 500_000 // (3 * len(family.cells().chart))) for bins in (4, 64))
    assert seen > 1_000_000


def refined(family):
    """A jitted (key, x, target, other, coefficient) -> (weight - bound, rows that a wall fails to separate)."""

    def run(key, x, target, other, pairs, size, coefficient):
        with jax.enable_x64(True):
            rows, cells = Rows.of(family, x, target, other), family.cells()
            place = key_index(key, len(cells.chart))
            chart, low = jnp.asarray(cells.chart)[place], jnp.asarray(cells.low)[place]
            high = jnp.minimum(jnp.asarray(cells.high)[place], low + size)
            bound = bound_between(family, rows, score(coefficient), pairs, (chart, low, high))
            theta = low[None] + sweep.below(key, jnp.tile((high - low)[None], (8, 1)))
            return exact(family, rows, jnp.broadcast_to(chart, 8), theta, coefficient) - bound

    return jax.jit(run)


def key_index(key, count):
    return (jax.random.bits(key, (), jnp.uint32) % jnp.uint32(count)).astype(jnp.int32)


def check_refined(family, runs):
    run, gaps = refined(family), []
    rng = np.random.default_rng(1)
    for seed in range(runs):
        data = database(family, ("spread", "clusters")[seed % 2], seed)
        pairs = jnp.asarray(rng.integers(0, ROWS, (12, 2)), jnp.int32)
        with jax.enable_x64(True):
            size = jnp.asarray(2 ** int(rng.integers(0, 60)), jnp.int64)
        found = np.asarray(run(jax.random.key(seed), *data, pairs, size, jnp.float32((0.2, 3.0)[seed % 2])))
        assert np.all(np.isfinite(found)) and found.max() < 0, (seed, found.max())
        gaps.append(-found.max())
    return np.array(gaps)


@pytest.mark.parametrize("family", FAMILIES[:3:2], ids=lambda f: f"{type(f).__name__}")
def test_walls_between_any_rows_give_a_bound(family):
    check_refined(family, 200)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_walls_between_any_rows_give_a_bound_often(family):
    check_refined(family, 10_000)


def test_walls_between_neighbors_are_sharp_on_a_small_cell():
    family = FAMILIES[0]
    x, target, other = database(family, "spread", 5)

    def gap():
        with jax.enable_x64(True):
            rows = Rows.of(family, x, target, other)
            chart, low = jnp.int32(0), jnp.full(1, 12345, jnp.int64)
            values = rows.values(chart, low)
            order = jnp.argsort(jnp.where(rows.code > 0, values, family.last + 1)).astype(jnp.int32)
            real = jnp.sum(rows.code > 0)
            own = order[jnp.minimum(jnp.arange(ROWS), real - 1)]
            found = bound_between(family, rows, score(0.5), jnp.stack([own, own], 1), (chart, low, low + 5))
            return found - exact(family, rows, chart[None], low[None], 0.5)[0]

    assert 0 < float(jax.jit(gap)()) < 1e-6


def test_the_law_at_one_theta():
    """Gaps, signs and tails against a count of every cut; the total against a sum in another order."""
    family = HalfPlanes(3, Net(4, 12))
    x, target, other = (
        np.array([[0, 0], [3, 1], [3, 1], [1, 3]]),
        np.array([1, 1, 0, 1], bool),
        np.array([0, 1, 1, 0], bool),
    )

    def law(coefficient):
        with jax.enable_x64(True):
            rows = Rows.of(family, jnp.asarray(x, jnp.int32), jnp.asarray(target), jnp.asarray(other))
            theta = jnp.full(1, 1 << (family.grid.bits - 1), jnp.int64)
            found = sweep.sweep(family, rows, jnp.int32(0), theta, score(coefficient))
            return found.start, found.width, found.log_weights, found.log_total()

    start, width, weights, total = (np.asarray(part) for part in jax.jit(law)(jnp.float32(0.75)))
    values = (x[:, 1] - 0.5 * x[:, 0]) * 2.0**family.grid.bits
    steps = np.arange(((family.first - 1) >> family.step) + 1, ((family.last + 1) >> family.step) + 1)
    t = steps * 2.0**family.step
    assert width.sum() == len(t) and start[0] == steps[0] - 1
    hit = values[None] >= t[:, None]
    sides = np.concatenate([hit, ~hit]).astype(int)
    q = np.minimum(sides @ target - 4.0, -(sides @ other))
    np.testing.assert_allclose(total, np.log(np.exp(0.75 * q).sum()), rtol=1e-13)
    np.testing.assert_allclose(np.exp(weights).sum(), np.exp(total), rtol=1e-13)


def test_upper_bounds_of_sums():
    rng = np.random.default_rng(2)
    for _ in range(20):
        width = rng.integers(0, 2**40, 50) * (rng.random(50) < 0.8)
        weights, tails = rng.normal(0, 200, (2, 50)), np.array([-np.inf, 3.0, rng.normal(0, 50), -np.inf])
        with jax.enable_x64(True):
            found = float(log_upper(jnp.asarray(width), jnp.asarray(weights), jnp.asarray(tails)))
        with np.errstate(divide="ignore"):
            true = np.logaddexp.reduce(np.concatenate([(weights + np.log(width)).reshape(-1), tails]))
        assert true < found < true + 1e-8 + 1e-12 * abs(true)


@pytest.mark.parametrize("family", [HalfPlanes(10, slabs=4), Discs(10, slabs=3)], ids=str)
def test_splitting_keeps_a_partition(family):
    cells = family.cells()
    with jax.enable_x64(True):
        table = rejection._first_table(family, jnp.zeros(len(cells.chart)), 3)
        half = jax.jit(
            lambda table, cell: rejection._split(table, cell, jnp.float64(-9), lambda low, high: jnp.float64(-1))
        )

        def points(table):
            return sum(np.prod(size, dtype=object) for size in np.asarray(table.high - table.low).astype(object))

        before = points(table)
        for cell in (0, 0, 1, 0, 2):  # room for three
            table = half(table, jnp.int32(cell))
            assert points(table) == before
        assert int(table.used) == len(cells.chart) + 3
        assert np.asarray(table.bound[-3:]).tolist() == [-1.0] * 3
        single = table._replace(high=table.low + 1)
        assert float(half(single, jnp.int32(1)).bound[1]) == -9


def test_numbers_out_of_range_count_as_some_in_it():
    for given, counts in ((1e9, 64), (np.inf, 64), (-1.0, 0), (np.nan, 0), (0.5, 0.5)):
        with jax.enable_x64(True):
            assert float(score(given).coefficient) == counts
            assert np.isfinite(float(score(0.1, given).share))
