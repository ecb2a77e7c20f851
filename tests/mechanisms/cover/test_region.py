"""A base measure that follows the polygon left so far: its law and bounds, the polygon, and no bit from a buffer."""

import importlib.util
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import clipping
from dpjax.concepts.plane import Plane
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms.cover import Following, Gain, Literals, cover_plan, set_cover
from dpjax.mechanisms.cover.lines import sweep
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut, Rows
from dpjax.mechanisms.cover.lines.envelope import envelope
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Box, Kinematic
from dpjax.mechanisms.cover.lines.refine import bound_between
from dpjax.mechanisms.cover.lines.rejection import CutLaw
from dpjax.mechanisms.cover.score import Score

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
spec = importlib.util.spec_from_file_location("brute_force", Path(__file__).with_name("brute_force.py"))
brute = importlib.util.module_from_spec(spec)
spec.loader.exec_module(brute)

D = 8
POINTS = np.array([[0, 0], [8, 8], [3, 5], [5, 3], [1, 7], [3, 5], [8, 0]])
TARGET = np.array([1, 0, 1, 1, 0, 0, 1], bool)
CORNERS = np.array([[1, 2], [6, 3], [4, 7], [1, 2], [1, 2]], np.uint64)
COARSE = {"slabs": 2, "bins": 2, "spare": 5, "walls": 2}  # most proposals are rejected


def corners_of(points):
    with jax.enable_x64(True):
        return jnp.asarray(np.asarray(points).astype(np.uint64))


@cache
def drawing(family, many):
    def draw(keys, x, target, other, state):
        score = Score.of(jnp.float32(3.4), 2, jnp.float32(1.5))
        one = lambda key: family.hits(family.select(key, x, target, other, score, state), x)  # noqa: E731
        return jax.lax.map(one, keys)

    return jax.jit(draw)


def check_law(family, count, stats, seed):
    """Both parts of the mixture from its definition, on a fine grid of slopes."""
    masses = 0.0
    for chart in (0, 1):
        s, width = brute.middles(-1.0, 1.0, 6_000)
        weight = width * (1 + s * s) ** -1.5
        value = lambda points, s=s, c=chart: points[:, 1 - c] - s[:, None] * points[:, c]  # noqa: E731
        near = value(CORNERS.astype(float))
        box = np.stack([np.full(6_000, -1.25 * D), np.full(6_000, 2.25 * D)])
        favored = np.stack([near.min(axis=1) - 1, near.max(axis=1) + 1])
        extra = 9 * 2 * 2**0.5 * 3.5 * D / (2 * (5 + 5) + 8)  # of .9 and .1, the mass of all lines, and a perimeter
        for ends, times in ((box, 1.0), (favored, extra)):
            masses = masses + times * brute.masses(value(POINTS), *ends, weight)
    law = brute.law(masses, TARGET, ~TARGET, 1.7, 1.5)
    keys = jax.random.split(jax.random.key(seed), count)
    rows = jnp.asarray(POINTS, jnp.int32), jnp.asarray(TARGET), jnp.asarray(~TARGET)
    hits = np.asarray(drawing(family, count)(keys, *rows, corners_of(CORNERS)))
    stats.chi_square(np.bincount(brute.patterns(hits), minlength=len(law)), law)


@pytest.mark.statistical
def test_the_law_of_a_draw(stats):
    check_law(HalfPlanes(D, **COARSE, follow=0.9), 8_000, stats, 3)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("words", [1, 2, 4])
def test_the_law_of_many_draws(words, stats):
    for sizes in (COARSE, {"slabs": 16, "bins": 32}):
        check_law(HalfPlanes(D, **sizes, words=words, follow=0.9), 50_000, stats, words)


def database(seed, n=29):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 1001, (n, 2))
    if seed % 2:
        x = np.clip(x[rng.integers(0, 3, n)] + rng.integers(-1, 2, (n, 2)), 0, 1000)
    target = rng.random(n) < 0.5
    corners = np.sort(rng.integers(0, 1001, (2, 2)), axis=0)
    triangle = np.array([corners[0], [corners[1, 0], corners[0, 1]], corners[1], corners[0]])
    return jnp.asarray(x, jnp.int32), jnp.asarray(target), jnp.asarray(~target), corners_of(triangle)


@pytest.mark.parametrize("words", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_weight_exceeds_its_bounds(words):
    """Of fixed bins over whole cells, and of moving walls over parts of them, at both ends and at a random slope."""
    family = HalfPlanes(1000, slabs=6, words=words, follow=0.9)

    @jax.jit
    def run(key, x, target, other, corners, pairs, coefficient):
        with jax.enable_x64(True):
            score = Score.of(jnp.float32(8), 2, coefficient).capped(LARGEST)
            rows, cells = Rows.of(family, x, target, other, family.favored(corners)), family.cells()
            (low, high), chart = (sweep.integers(part, words) for part in (cells.low, cells.high)), cells.chart
            bound = envelope(family, rows, score, 8)
            theta = low + sweep.below(key, high - low)

            def excess(chart, low, high, theta, bound):
                ends = [low, high - 1, theta]
                law = [
                    family.log_density(chart, end) + sweep.sweep(family, rows, chart, end, score).log_total()
                    for end in ends
                ]
                later = bound_between(family, rows, score, pairs, (chart, theta, high))
                return jnp.stack([*(one - bound for one in law), law[1] - later, law[2] - later])

            return jax.lax.map(lambda each: excess(*each), (jnp.asarray(chart), low, high, theta, bound))

    worst = []
    for seed in range(24):
        pairs = np.random.default_rng(seed).integers(0, 29, (6, 2)).astype(np.int32)
        found = np.asarray(run(jax.random.key(seed), *database(seed), pairs, jnp.float32((0.0, 0.2, 3.0)[seed % 3])))
        assert np.all(np.isfinite(found))
        worst.append(found.max())
    assert max(worst) < 0


def test_bounds_of_rows_that_are_closer_than_a_unit_of_the_bins():
    """The largest grid: all others, the favored lines and all targets have values in two units; others come first."""
    family, ys = HalfPlanes(2**64 - 1, slabs=2, follow=0.9), (0, 400, 511)
    points = [(5, ys[0])] * 40 + [(5, ys[2])] * 40
    x, target = jnp.asarray(Plane(family.d).encode(points)), jnp.asarray(np.arange(80) >= 40)

    @jax.jit
    def excess():
        score, favored = Score.of(jnp.float32(80), 2, 20.0).capped(LARGEST), corners_of([(5, ys[1])] * 4)
        rows = Rows.of(family, x, target, ~target, family.favored(favored))
        cells = family.cells()
        bound = envelope(family, rows, score, 8)
        law = lambda one: family.log_density(*one) + sweep.sweep(family, rows, *one, score).log_total()  # noqa: E731
        low = sweep.integers(cells.low, family.grid.words)
        return jax.lax.map(law, (jnp.asarray(cells.chart), low)) - bound

    with jax.enable_x64(True):
        assert np.max(np.asarray(excess())) < 0


@pytest.mark.parametrize("pairs", [[[0, 0]], [[40, 40]], [[0, 0], [40, 40]], [[40, 40], [0, 0]]], ids=str)
def test_bounds_at_the_steepest_slopes_of_the_smallest_grid(pairs):
    """Twice an end of the favored lines does not fit into a word there. Equal up to rounding where walls are rows."""
    family = HalfPlanes(1, slabs=2, follow=0.9)
    points, target = jnp.asarray([(1, 1)] * 40 + [(0, 0)] * 40, jnp.int32), jnp.asarray(np.arange(80) >= 40)

    @jax.jit
    def excess(chart, low):
        score = Score.of(jnp.float32(80), 2, 1.0).capped(LARGEST)
        rows = Rows.of(family, points, target, ~target, family.favored(family.start(2)))
        law = family.log_density(chart, low) + sweep.sweep(family, rows, chart, low, score).log_total()
        return law - bound_between(family, rows, score, jnp.asarray(pairs, jnp.int32), (chart, low, low + 1))

    with jax.enable_x64(True):
        for slope in (-(2**60), 2**60 - 1):
            for chart in (0, 1):
                assert excess(jnp.int32(chart), jnp.full(1, slope, jnp.int64)) < 0


@pytest.mark.slow
def test_bounds_are_sharp_in_small_cells():
    family = HalfPlanes(1000, slabs=2**13, follow=0.9)
    x, target, other, corners = database(0)
    with jax.enable_x64(True):
        rows, score = Rows.of(family, x, target, other, family.favored(corners)), Score.of(jnp.float32(8), 2, 0.2)
        cells = family.cells()
        bound = jax.jit(lambda: envelope(family, rows, score, 2**10))()
        law = lambda one: family.log_density(*one) + sweep.sweep(family, rows, *one, score).log_total()  # noqa: E731
        exact = jax.lax.map(law, (jnp.asarray(cells.chart[::997]), jnp.asarray(cells.low[::997])))
    assert np.max(np.asarray(bound)[::997] - np.asarray(exact)) < 0.1


@pytest.mark.parametrize("d", [2**10, 2**30, 2**64 - 1])
def test_the_polygon_is_what_no_cut_hits(d):
    """Corners against exact clipping in floats, for random lines near the middle; one that hits all changes nothing."""
    family, rounds = HalfPlanes(d, follow=0.5), 9
    follow, rng = jax.jit(family.followed), np.random.default_rng(d % 97)
    for _ in range(4):
        state, piece = family.start(rounds), clipping.square(1.0)
        for _ in range(rounds):
            angle = rng.uniform(0, 2 * np.pi)
            normal, c = (np.cos(angle), np.sin(angle)), 0.5 * (np.cos(angle) + np.sin(angle)) + rng.uniform(0.15, 0.4)
            cut = cut_of(family, normal, c)
            state = follow(state, cut)
            piece = clipping.clipped(piece, [normal], [c])
            corners = np.asarray(state).astype(float) / d
            x, y = corners.T
            area = abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
            assert area == pytest.approx(clipping.area(piece), abs=20 / d + 1e-9)
        assert state.shape == (rounds + 4, 2) and np.asarray(state).max() <= d
        np.testing.assert_array_equal(follow(state, cut_of(family, (1.0, 0.0), -1.0)), state)


def cut_of(family, normal, c):
    """Excludes a x + b y > c d."""
    from dpjax.concepts import ConvexPolygons

    concepts = ConvexPolygons(family.d, 1)
    return jax.tree.map(lambda leaf: leaf[0], concepts.cuts(jnp.asarray(concepts.of_lines([normal], [c * family.d]))))


def test_the_weight_of_a_cut_counts_whether_it_is_favored():
    family = HalfPlanes(D, follow=0.9)
    rows = jnp.asarray(POINTS, jnp.int32), jnp.asarray(TARGET), jnp.asarray(~TARGET)
    score = Score.of(jnp.float32(3), 2, jnp.float32(0.0))
    favored, sizes = family.favored(corners_of(CORNERS)), (family, 8, 8, 8)
    for y, extra in ((5, True), (7.5, True), (8, True), (8.01, False), (0.99, False), (1, True)):
        with jax.enable_x64(True):
            cut = Cut.of(
                jnp.int32(0), jnp.zeros(1, jnp.int64), jnp.int64(int(y * 2**family.grid.bits)), jnp.bool_(True)
            )
        one, other = (float(CutLaw(*rows, score, *sizes, part).log_weight(cut)) for part in (favored, None))
        assert one - other == pytest.approx(np.log1p(float(favored.extra)) if extra else 0.0)


def learned(family, capacity, batch):
    """Three rounds on 40 rows in a buffer, by several keys at once."""
    rng = np.random.default_rng(3)
    x = np.random.default_rng(capacity).integers(0, 1025, (capacity, 2)).astype(np.int32)
    x[:40] = rng.integers(0, 1025, (40, 2))
    inside, real = ((x - 500) ** 2).sum(axis=1) < 90_000, np.arange(capacity) < 40
    plan = cover_plan(Privacy(20.0, 1e-6), 3, 2, Neighboring.ADD_OR_REMOVE_ONE, score=Gain(2.5))
    run = lambda key: set_cover(key, family, x, real & ~inside, real & inside, plan)[0]  # noqa: E731
    keys, many = jax.random.split(jax.random.key(8), 4), jax.jit(jax.vmap(run))
    found = [many(part) for part in keys.reshape(-1, batch)]
    return jax.tree.map(lambda *leaves: np.concatenate([np.asarray(leaf) for leaf in leaves]), *found)


@pytest.mark.parametrize(
    "sizes", [((40, 4), (94, 1)), pytest.param(((40, 4), (61, 4), (62, 2)), marks=pytest.mark.slow)]
)
def test_no_bit_comes_from_the_capacity_or_the_batch(sizes):
    family = HalfPlanes(1024, slabs=4, bins=16, spare=64, walls=16, follow=0.9)
    found = [learned(family, *size) for size in sizes]
    for other in found[1:]:
        assert all(np.array_equal(*pair) for pair in zip(*map(jax.tree.leaves, (found[0], other)), strict=True))
    assert len(np.unique(found[0].t, axis=0)) > 1


def test_what_follows():
    assert isinstance(HalfPlanes(8), Following) and not isinstance(Literals(4, True), Following)
    assert HalfPlanes(8).start(3) is None and HalfPlanes(8, follow=0.5).start(3).shape == (7, 2)
    assert HalfPlanes(8, follow=0.5).size == pytest.approx(2 * HalfPlanes(8).size)
    assert Kinematic(0.0).mass(10) == pytest.approx(2 * 2**0.5 * 30)
    for wrong in (1.0, -0.1, np.nan):
        with pytest.raises(InputError, match="follow"):
            HalfPlanes(8, follow=wrong)
    with pytest.raises(InputError, match="mass"):
        HalfPlanes(8, Box(), follow=0.5)
