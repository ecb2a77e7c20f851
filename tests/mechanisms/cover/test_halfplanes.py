"""Halfplanes: the law of a draw, hard databases, every database, no bit from padding, batch or 64-bit types."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import integers
from dpjax.core.checks import InputError
from dpjax.core.integers import on_host
from dpjax.mechanisms.cover.lines.cuts import Cut, Rows
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Box, Kinematic, Net
from dpjax.mechanisms.cover.score import Score

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
spec = importlib.util.spec_from_file_location("brute_force", Path(__file__).with_name("brute_force.py"))
brute = importlib.util.module_from_spec(spec)
spec.loader.exec_module(brute)

D = 8
SMALL = {"slabs": 4, "bins": 8, "spare": 40, "walls": 8}
COARSE = {"slabs": 2, "bins": 2, "spare": 5, "walls": 2}  # most proposals are rejected


def lines(points, measure, d, count):
    """Values, ends and weights of a fine grid of slopes in both charts, from the measure's definition."""
    parts = []
    for chart in (0, 1):
        offset, slope = (points[:, 1], points[:, 0]) if chart == 0 else (points[:, 0], points[:, 1])
        if isinstance(measure, Kinematic):
            s, width = brute.middles(-1.0, 1.0, count)
            weight, reach = width * (1 + s * s) ** -1.5, np.array([-1.25 * d, 2.25 * d]) + 0 * s[:, None]
        elif chart == 0:
            s, width = brute.middles(-1.0, 1.0, count)
            weight, reach = width + 0 * s, np.array([-2.0, 2.0]) * d * d + 0 * s[:, None]
        else:  # |s|^-3 ds, uniform in s^-2
            square, width = brute.middles(1.0, 4.0 * d**4, 40 * count)
            s = np.concatenate([square**-0.5, -(square**-0.5)])
            weight, reach = width / 2 + 0 * s, np.abs(s)[:, None] * np.array([-2.0, 2.0]) * d * d
        parts.append((offset - s[:, None] * slope, reach[:, 0], reach[:, 1], weight))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def net(points, family):
    """The same for a finite set: all its values, in the middle between two t."""
    cells, grid = family.cells(), family.grid
    scale, step = 2.0**-grid.bits, 2.0**family.step
    v = np.where(
        cells.chart[:, None] == 0,
        points[:, 1] * 2.0**grid.bits - cells.low * points[:, 0],
        points[:, 0] * 2.0**grid.bits - cells.low * points[:, 1],
    )
    ends = np.array([(family.first - 1) // 2**family.step, (family.last + 1) // 2**family.step], float)
    return np.floor(v / step), *(np.full(len(v), end) for end in ends), np.full(len(v), scale)


POINTS = np.array([[0, 0], [8, 8], [3, 5], [5, 3], [1, 7], [3, 5], [8, 0]])
TARGET = np.array([1, 0, 1, 1, 0, 0, 1], bool)


def check_law(measure, sizes, count, stats):
    family = HalfPlanes(D, measure, **sizes)
    grid = net(POINTS, family) if isinstance(measure, Net) else lines(POINTS, measure, D, 6_000)
    law = brute.gaps(*grid, TARGET, ~TARGET, 1.7, 1.5)
    brute.compare(stats, family, POINTS, TARGET, ~TARGET, 1.7, 1.5, law, count)


MEASURES = [Kinematic(), Box(), Net(12, 40)]


@pytest.mark.slow  # `test_same_law` always compares this sampler with exact laws
@pytest.mark.statistical
@pytest.mark.parametrize("measure", MEASURES[:2], ids=str)
def test_the_law_of_a_draw(measure, stats):
    check_law(measure, COARSE, 8_000, stats)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_the_law_of_many_draws(measure, stats):
    for sizes in (COARSE, SMALL, {}):
        check_law(measure, sizes, 100_000, stats)


def hard(d, spread=0):
    """282 targets and 282 others in one place, and 120 targets in another, up to ``spread``."""
    places = np.repeat([[3 * d // 10, 3 * d // 10], [7 * d // 10, 6 * d // 10]], [564, 120], axis=0)
    places = places + np.random.default_rng(1).integers(-spread, spread + 1, places.shape)
    return places, np.arange(684) % 2 == 0 if spread else (np.arange(684) < 282) | (np.arange(684) >= 564)


HARD = HalfPlanes(2**20, slabs=8, bins=32, spare=512)


@pytest.mark.slow
@pytest.mark.statistical
def test_a_database_that_defeats_fixed_cells(stats):
    """What may be hit weighs e^11 times what is, and no partition at rest can see it. The law is that of two rows."""
    share, coefficient = 201.0, 0.136
    places, target = hard(HARD.d)
    grid = lines(places[[0, 683]], Kinematic(), HARD.d, 100_000)
    law = brute.gaps(*grid, np.array([282, 120]), np.array([282, 0]), share, coefficient)
    _, hits, rounds = brute.draws(HARD, places, target, ~target, share, coefficient, 250, seed=5, many=10)
    stats.chi_square(np.bincount(brute.patterns(hits[:, [0, 683]]), minlength=4), law)
    assert rounds.max() < 200  # where one proposal in thousands would be accepted


@pytest.mark.slow
@pytest.mark.parametrize("spread", [2, 3000])
def test_close_rows_are_as_easy_as_equal_ones(spread):
    places, target = hard(HARD.d, spread)
    assert brute.draws(HARD, places, target, ~target, 201.0, 1.0, 10, many=10)[2].max() < 500


def databases(d):
    rng = np.random.default_rng(3)
    line = np.stack([np.arange(0, 30), 2 * np.arange(0, 30)], 1)
    yield "one", np.array([[d, 0]]), np.array([True])
    yield "equal", np.full((20, 2), d), np.arange(20) % 3 == 0
    yield "line", line % (d + 1), np.arange(30) > 11
    yield "column", np.stack([np.full(25, 1), rng.integers(0, d + 1, 25)], 1), rng.random(25) < 0.5
    yield "corners", np.repeat([[0, 0], [0, d], [d, 0], [d, d]], 5, axis=0), rng.random(20) < 0.5
    yield "outside", rng.integers(-(2**31), 2**31, (20, 2)), rng.random(20) < 0.5


TOTAL = {"slabs": 8, "bins": 16, "spare": 256, "walls": 16}
NUMBERS = ((12, 0.3), (np.nan, np.inf), (-1e30, -1.0), (1e30, 1e9), (0, np.nan))


def check_total(family):
    for seed, (name, points, target) in enumerate(databases(family.d)):
        points, target = np.resize(points, (32, 2)), np.resize(target, 32)
        real = np.arange(32) < (0 if seed == 0 else 30)
        for share, coefficient in NUMBERS:
            data = (points.astype(np.int32), target & real, ~target & real)
            hits = brute.draws(family, *data, share, coefficient, 1, seed, many=1)[1]
            assert hits.shape == (1, 32), name
    both = np.ones(32, bool)
    brute.draws(family, points.astype(np.int32), both, both, 3, 1.0, 1, many=1)


@pytest.mark.slow
def test_every_database_has_a_law():
    check_total(HalfPlanes(2**30, **TOTAL))


@pytest.mark.slow
@pytest.mark.parametrize("measure", [Kinematic(), Box(), Net(6, 4)], ids=str)
@pytest.mark.parametrize("d", [1, 3, 2**30])
def test_every_database_has_a_law_under_any_measure(d, measure):
    check_total(HalfPlanes(d, measure, **TOTAL))


@pytest.mark.parametrize("n", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_buffer_may_be_empty(n):
    family, none = HalfPlanes(4, **SMALL), np.zeros(n, bool)
    if n:
        assert brute.draws(family, np.zeros((n, 2)), none, none, 0.0, 1.0, 1, many=1)[1].shape == (1, n)
    key, x, masks = jax.random.key(0), np.zeros((n, 2), np.int32), (none, none)
    cut = jax.eval_shape(lambda: family.select(key, x, *masks, Score.of(jnp.float32(0), 1, jnp.float32(1))))
    assert cut.theta.shape == (1, 2) and cut.t.dtype == jnp.uint32


def workload(n, d=1024, seed=0):
    points = np.random.default_rng(seed).integers(0, d + 1, (n, 2))
    return points.astype(np.int32), points @ [1, 2] > 1.4 * d


def words(cut):
    columns = [np.asarray(part).reshape(len(cut.chart), -1).astype(np.int64) for part in jax.tree.leaves(cut)]
    return np.concatenate(columns, axis=1)


def chosen(family, points, target, batch, capacity, x64):
    """112 draws from 32 rows, in their order among others that count for nothing."""
    keys = jax.random.split(jax.random.key(8), 112)
    place = np.sort(np.random.default_rng(capacity).permutation(capacity)[:32])
    x = np.random.default_rng(batch).integers(-9, 2000, (capacity, 2)).astype(np.int32)
    x[place] = points
    t, o = np.zeros((2, capacity), bool)
    t[place], o[place] = target, ~target
    with jax.enable_x64(x64):
        x, t, o = jnp.asarray(x), jnp.asarray(t), jnp.asarray(o)
        score = Score.of(jnp.float32(16), 2, jnp.float32(0.3))
        one = lambda key: family.select(key, x, t, o, score)  # noqa: E731
        many = jax.jit(jax.vmap(one) if batch > 1 else lambda key: jax.tree.map(lambda leaf: leaf[None], one(key[0])))
        parts = [words(many(part)) for part in keys.reshape(-1, batch)]
    return np.concatenate(parts)


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "capacity", "x64"), [(7, 200, False), (56, 64, False), (1, 96, True)])
def test_no_bit_comes_from_the_batch_the_capacity_the_padding_or_64_bit_types(batch, capacity, x64):
    """Against draws one by one, by the program of the tests around."""
    family = HalfPlanes(2**30, **TOTAL)
    points, target = workload(32, family.d)
    expected = words(brute.draws(family, points, target, ~target, 8, 0.3, 112, 8, many=1)[0])
    assert len(np.unique(expected, axis=0)) == 112
    assert np.array_equal(chosen(family, points, target, batch, capacity, x64), expected)


def test_hits_are_decided_by_whole_numbers():
    family = HalfPlanes(2**30, **TOTAL)
    points, target = workload(32, 2**30)
    parts = [brute.draws(family, points, target, ~target, 8, 0.1, 1, seed, many=1) for seed in range(60)]
    columns = list(zip(*parts, strict=True))[:2]
    cuts, hits = (jax.tree.map(lambda *leaves: np.concatenate(leaves), *column) for column in columns)
    normals = family.normal(cuts)
    for i in range(60):
        s, bound, bits = int(on_host(cuts.theta)[i, 0]), int(on_host(cuts.t)[i]), family.grid.bits
        assert abs(s) <= 2**bits and family.grid.words == 2
        flat = int(cuts.chart[i]) == 0
        values = [(int(y) << bits) - s * int(x) if flat else (int(x) << bits) - s * int(y) for x, y in points]
        assert [bool((v >= bound) == bool(cuts.above[i])) for v in values] == hits[i].tolist()
        far = points @ normals[i, :2] - normals[i, 2]
        sure = np.abs(far) > 1e-3
        assert sure.sum() > 28 and np.array_equal(far[sure] > 0, hits[i][sure])


def test_a_row_on_the_line_belongs_to_what_is_above():
    for d in (1, 8, 2**30):
        family = HalfPlanes(d, **SMALL)
        x = np.array([[0, 0], [1, 0], [0, 1], [d, d]], np.int32)

        @jax.jit
        def hits(chart, i, j, family=family, x=x):
            theta = integers.integers([1 << (family.grid.bits - 1)], family.grid.words)
            t = Rows.of(family, jnp.asarray(x), *[jnp.ones(4, bool)] * 2).values(chart, theta)[i] + j
            return [family.hits(Cut.of(chart, theta, t, jnp.bool_(above)), x)[i] for above in (1, 0)]

        with jax.enable_x64(True):
            for chart in (0, 1):
                for i, j in ((0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (0, -1)):
                    hit = hits(np.int32(chart), np.int32(i), integers.integers(j, family.grid.words))
                    assert [bool(part) for part in hit] == [j <= 0, j > 0]


def test_the_base_measures_have_their_masses():
    """Lattice sums of the density over cells of a coarse lattice against integrals."""
    for measure, mass in ((Kinematic(), 2 * 2**0.5), (Box(), 2 + 2 * 0.5 * (4 * 8**4 - 1))):
        family = HalfPlanes(8, measure, slabs=64)
        cells, scale = family.cells(), 2.0**-family.grid.bits
        with jax.enable_x64(True):
            peak = np.asarray(jax.jit(jax.vmap(family.log_peak))(cells.chart, cells.low, cells.high))
            log_density, total = jax.jit(jax.vmap(family.log_density)), 0.0
            for i in range(32):  # midpoints inside each cell
                theta = cells.low + ((cells.high - cells.low) // 64) * (2 * i + 1)
                density = np.asarray(log_density(cells.chart, theta))
                assert np.all(density <= peak + 1e-12)
                total += float(np.sum(np.exp(density) * (cells.high - cells.low)[:, 0] * scale / 32))
        assert abs(total / mass - 1) < 2e-3, measure
        assert all(np.array_equal(a, b) for a, b in zip(*[sorted_ends(cells, c) for c in (0, 0)], strict=True))


def sorted_ends(cells, chart):
    own = cells.chart == chart
    order = np.argsort(cells.low[own, 0])
    low, high = cells.low[own][order, 0], cells.high[own][order, 0]
    assert np.array_equal(low[1:], high[:-1])
    return low, high


@pytest.mark.parametrize("wrong", [{"d": 0}, {"d": 2**64}, {"slabs": 1}, {"bins": 1}, {"spare": -1}, {"walls": 1}])
def test_what_a_person_may_get_wrong(wrong):
    with pytest.raises(InputError):
        HalfPlanes(**({"d": 8} | wrong))


def test_other_mistakes():
    with pytest.raises(InputError):
        Kinematic(margin=2.0)
    with pytest.raises(InputError):
        Net(directions=1)
    for x in (np.zeros((3, 3), np.int32), np.zeros((3, 2), np.float32)):
        with pytest.raises(InputError, match="shape"):
            HalfPlanes(8).features(x)


def test_families_are_equal_by_value():
    assert HalfPlanes(8, Kinematic(), **SMALL) == HalfPlanes(8, **SMALL)
    assert hash(HalfPlanes(8, Net(3, 4))) == hash(HalfPlanes(8, Net(3, 4)))
    assert HalfPlanes(8, Box()) != HalfPlanes(8)
