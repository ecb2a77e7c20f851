"""Cells by sorted crossings: every area against Fractions, nothing missing, the law of draws, no bit from padding."""

import importlib.util
import itertools
from functools import lru_cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import wide
from dpjax.core.checks import InputError
from tests.oracles import events
from tests.oracles.slabs import Frame

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
CAPACITY = 12
DRAWS = 12_000
spec = importlib.util.spec_from_file_location("arrangement", Path(__file__).with_name("arrangement.py"))
arrangement = importlib.util.module_from_spec(spec)
spec.loader.exec_module(arrangement)

_weighted = jax.jit(events.weighted_cells, static_argnums=2)
_cells = jax.jit(events.cells, static_argnums=3)
WIDE = 2**64 - 1
BOX, KINEMATIC = Frame.box(8), Frame.rotations(1000)  # of what is drawn


@jax.jit
def _draws(cells, keys, budget, coefficient):
    return jax.lax.map(lambda own: cells.select(own, budget, 2, coefficient), keys)


def encoded(rows, frame):
    return jnp.asarray(rows, jnp.int32) if frame.d < 2**31 else jnp.asarray(wide.encode(rows))


def labelled(points, frame, capacity=CAPACITY):
    """Cells of points padded with rows of weight 0, and which points lie below each, as bits."""
    n = len(points)
    x = encoded(np.concatenate([points, np.full((capacity - n, 2), 3)]), frame)
    with jax.enable_x64(True):
        weights = jnp.asarray([[1 << i if i < n else 0] for i in range(capacity)], jnp.int32)
        cells = _weighted(x, weights, frame)
        return cells, np.asarray(cells.below)[:, 0]


FRAMES = [Frame.box(2**30), Frame.rotations(2**10), Frame.rotations(2**30), Frame.rotations(WIDE)]
MORE = [
    Frame.box(3),
    Frame.box(2**10),
    Frame.box(2**17),
    Frame.box(2**26),
    Frame.rotations(3),
    Frame.rotations(2**20),
    Frame.rotations(2**45),
    Frame.rotations(2**61),
    Frame.rotations(2**63),
    Frame(100, -7, 55, True),
    Frame(100, 20, 90, False),
]


def check(frame, seeds):
    for family in arrangement.FAMILIES:
        for seed in range(seeds):
            points = arrangement.points(family, 8, frame.d, seed)
            found = arrangement.histogram(*labelled(points, frame))
            assert arrangement.error(found, points.tolist(), frame) <= 1e-14, (family, seed)


@pytest.mark.parametrize("frame", FRAMES[:1], ids=str)
def test_every_cell_is_there_with_its_mass(frame):
    check(frame, 2)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [*FRAMES, *MORE], ids=str)
def test_every_cell_is_there_with_its_mass_at_length(frame):
    check(frame, 12)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [Frame.box(2**30), Frame.rotations(2**30)], ids=str)
def test_the_masses_of_many_rows_add_up(frame):
    total = 16 * 2.0**120 if frame == Frame.box(2**30) else 2 * 2**0.5 * (frame.high - frame.low)
    even = np.arange(100) % 2 == 0
    for family in arrangement.FAMILIES:
        x = jnp.asarray(arrangement.points(family, 100, frame.d), jnp.int32)
        found = np.asarray(_cells(x, jnp.asarray(even), jnp.asarray(~even), frame).mass).sum()
        assert found == pytest.approx(total, rel=1e-13), family


def test_the_oracle_sees_a_lost_cell_and_a_wrong_mass():
    points, frame = arrangement.points("random", 8, 2**10), Frame.box(2**30)
    found = arrangement.histogram(*labelled(points, frame))
    least = min(found, key=found.get)
    assert arrangement.error(found | {least: found[least] * (1 + 1e-13)}, points.tolist(), frame) > 1e-14
    del found[least]
    with pytest.raises(AssertionError):
        arrangement.error(found, points.tolist(), frame)


@pytest.mark.slow
def test_kinematic_masses_by_quadrature():
    """From the definition: sorted values at Gauss-Legendre nodes between neighboring crossings, times the density."""
    frame, points = Frame.rotations(2**10), arrangement.points("random", 7, 2**10, 5)
    found = arrangement.histogram(*labelled(points, frame))
    nodes, weights = np.polynomial.legendre.leggauss(30)
    bits = 2 ** np.arange(len(points))
    expected = {}
    for chart in range(2):
        x, y = (points[:, ::-1] if chart else points).astype(float).T
        i, j = np.triu_indices(len(points), 1)
        slopes = (y[i] - y[j])[x[i] != x[j]] / (x[i] - x[j])[x[i] != x[j]]
        edges = np.sort([-1, 1, *slopes[abs(slopes) < 1]])
        for left, right in itertools.pairwise(edges):
            s = (left + right) / 2 + nodes * (right - left) / 2
            values = y[:, None] - x[:, None] * s
            order = np.argsort(values[:, 15])
            sides = np.concatenate([np.full((1, 30), frame.low), values[order], np.full((1, 30), frame.high)])
            parts = np.diff(sides, axis=0) @ (weights * (1 + s * s) ** -1.5) * (right - left) / 2
            for below, part in zip([0, *np.cumsum(bits[order]).tolist()], parts, strict=True):
                expected[chart, below] = expected.get((chart, below), 0) + part
    assert set(found) == set(expected)
    assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("d", "times"), [(6, 1.8), (20, 1.17), (1000, 1.003), (10**6, 1.000000)])
def test_the_smallest_cell_of_four_points_nears_its_bound(d, times):
    """Points (0, 1), (1, 2), (d - 1, d - 1), (d, d): area x d**3 goes to 1, so no bound above d**-3 can hold."""
    cells = arrangement.histogram(*labelled(np.array([(0, 1), (1, 2), (d - 1, d - 1), (d, d)]), Frame.box(2**30)))
    assert min(cells.values()) * d**3 == pytest.approx(times, abs=5e-3)


def test_no_cell_is_smaller_than_half_of_d_to_the_minus_three():
    smallest = {}
    for d in (2, 3, 5, 8, 40, 2**10, 2**20, 2**30):
        for family in arrangement.FAMILIES:
            for seed in range(4):
                found = arrangement.histogram(
                    *labelled(arrangement.points(family, CAPACITY, d, seed), Frame.box(2**30))
                )
                smallest[d, family, seed] = min(found.values()) * d**3
    assert min(smallest.values()) >= 0.5, min(smallest, key=smallest.get)
    assert min(smallest.values()) < 5


def padded(rows, target, other, capacity=CAPACITY, order=None, frame=KINEMATIC):
    """Rows and what counts among them, in a buffer of junk, behind each other or at places drawn from a seed."""
    junk = np.random.default_rng(capacity).integers(0, 9, (capacity, 2)).astype(rows.dtype)
    masks = np.zeros((2, capacity), bool)
    place = np.arange(len(rows)) if order is None else np.random.default_rng(order).permutation(capacity)[: len(rows)]
    junk[place], masks[0, place], masks[1, place] = rows, target, other
    return encoded(junk, frame), jnp.asarray(masks[0]), jnp.asarray(masks[1])


@pytest.mark.slow
@pytest.mark.parametrize("frame", [BOX, KINEMATIC, Frame.rotations(WIDE)], ids=str)
def test_draws_have_the_law_of_lines_that_more_points_see(frame, key, stats):
    """Lines drawn by the quality on five rows, told apart by nine: inside a trapezoid, too, the law must be right."""
    rows, read, (budget, coefficient) = arrangement.points("random", 9, frame.d, 1), 5, (2.6, 0.7)
    exact = arrangement.law(rows.tolist(), read, frame, budget, 2, coefficient)
    even, bits = np.arange(read) % 2 == 0, jnp.asarray(2 ** np.arange(9), jnp.int32)
    cells = _cells(*padded(rows[:read], even, ~even, frame=frame), frame)
    lines = _draws(cells, jax.random.split(key, DRAWS), jnp.float32(budget), jnp.float32(coefficient))
    hits = jax.vmap(lambda line: jnp.sum(jnp.where(line.hits(encoded(rows, frame)), bits, 0)))(lines)
    counts = dict.fromkeys(exact, 0)
    for outcome in zip(*(np.asarray(part).tolist() for part in (lines.chart, lines.sign, hits)), strict=True):
        counts[outcome] += 1  # a line that no cell allows is a KeyError
    assert stats.false_alarm == FALSE_ALARM
    stats.chi_square(list(counts.values()), list(exact.values()))


@pytest.mark.slow
def test_the_table_is_the_law():
    points, even = arrangement.points("random", 8, KINEMATIC.d), np.arange(8) % 2 == 0
    cells = _cells(*padded(points, even, ~even), KINEMATIC)
    log_mass, target, other = (np.asarray(part) for part in cells.table())
    assert log_mass.dtype == np.float64 and target.dtype == other.dtype == np.int32 and log_mass.shape == target.shape
    found = {}
    signs = np.tile([1, -1], len(target))
    columns = np.repeat(cells.chart, 2), signs, target.reshape(-1), other.reshape(-1), np.exp(log_mass).reshape(-1)
    for row in zip(*(column.tolist() for column in columns), strict=True):
        found[row[:4]] = found.get(row[:4], 0) + row[4]
    expected = {}
    for (chart, below), mass in arrangement.masses(points.tolist(), KINEMATIC).items():
        for sign, hit in ((1, below), (-1, 255 ^ below)):
            outcome = chart, sign, (hit & 0x55).bit_count(), (hit & 0xAA).bit_count()
            expected[outcome] = expected.get(outcome, 0) + float(mass)
    assert {outcome: mass for outcome, mass in found.items() if mass} == pytest.approx(expected, rel=1e-13)
    with jax.enable_x64(True):
        weights = np.asarray(cells.law(jnp.float64(3.5), 2, jnp.float64(0.3)).log_weights)
    np.testing.assert_allclose(weights, (log_mass + 0.3 * np.minimum(target - 1.75, -other)).reshape(-1), rtol=1e-14)


@lru_cache
def drawn(frame, capacity=CAPACITY, order=None, on=False):
    """Masses and seven lines of 8 points in a buffer."""
    even = np.arange(8) % 2 == 0
    with jax.enable_x64(on):
        buffer = padded(arrangement.points("near-collinear", 8, frame.d), even, ~even, capacity, order)
        cells = _cells(*buffer, frame)
        lines = _draws(cells, jax.random.split(jax.random.key(3), 7), jnp.float32(3), jnp.float32(0.5))
        return np.asarray(cells.mass), jax.tree.map(np.asarray, lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frame", "capacity", "order", "on"),
    [(KINEMATIC, CAPACITY, 1, False), (KINEMATIC, 33, 2, True), (BOX, CAPACITY, 4, False)],
)
def test_padding_order_and_64_bit_types_change_no_bit(frame, capacity, order, on):
    masses, lines = drawn(frame)
    others, other_lines = drawn(frame, capacity, order, on)
    common = min(len(masses), len(others))
    np.testing.assert_array_equal(others[:common], masses[:common])
    assert not others[common:].any() and not masses[common:].any()
    jax.tree.map(np.testing.assert_array_equal, lines, other_lines)


@pytest.mark.slow
def test_a_line_depends_on_no_other_trial():
    rows = arrangement.points("random", 5 * 8, KINEMATIC.d).reshape(5, 8, 2)
    even = np.arange(8) % 2 == 0
    x, target, other = (jnp.stack(part) for part in zip(*(padded(each, even, ~even) for each in rows), strict=True))
    keys = jax.random.split(jax.random.key(0), 5)
    cells = jax.jit(jax.vmap(lambda *buffer: events.cells(*buffer, KINEMATIC)))(x, target, other)
    lines = jax.jit(jax.vmap(lambda part, own: part.select(own, jnp.float32(2), 2, jnp.float32(0.5))))(cells, keys)
    for i in range(5):
        one = _cells(x[i], target[i], other[i], KINEMATIC)
        np.testing.assert_array_equal(one.mass, cells.mass[i])
        line = _draws(one, keys[i : i + 1], jnp.float32(2), jnp.float32(0.5))
        jax.tree.map(lambda many, single, i=i: np.testing.assert_array_equal(many[i], single[0]), lines, line)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [BOX, KINEMATIC], ids=str)
def test_every_database_has_a_law(frame):
    """None that counts, one, all equal, all of one class or in both, rows outside of the domain; and no rows at all."""
    total = float(sum(arrangement.masses([], frame).values()))
    some, yes, no = arrangement.points("random", 4, frame.d), np.ones(4, bool), np.zeros(4, bool)
    far = np.array([[-(2**31), 2**31 - 1], [0, 0], [2**31 - 1, -(2**31)], [5, 5]])
    cases = [
        (some, no, no),
        (some, yes, no),
        (some, no, yes),
        (np.ones((4, 2)), yes, yes),
        (far, yes, no),
        (some, np.arange(4) == 0, no),
    ]
    buffers = [padded(*case) for case in cases]
    if frame == BOX:
        buffers.append((jnp.zeros((0, 2), jnp.int32), jnp.zeros(0, bool), jnp.zeros(0, bool)))
    for buffer in buffers:
        cells = _cells(*buffer, frame)
        assert np.asarray(cells.mass).sum() == pytest.approx(total, rel=1e-12)
        lines = _draws(cells, jax.random.split(jax.random.key(1), 7), jnp.float32(-3), jnp.float32(2))
        slope, offset = np.asarray(lines.slope), np.asarray(lines.offset)
        assert np.all(np.abs(slope) <= frame.wall) and np.all((frame.low <= offset) & (offset <= frame.high))
        assert np.all(np.abs(np.asarray(lines.sign)) == 1)


def test_too_much_is_refused():
    with pytest.raises(InputError, match="at most 16384 rows"):
        jax.eval_shape(
            lambda x: _cells(x, x[:, 0] > 0, x[:, 0] < 0, Frame.box(9)), jnp.zeros((2**14 + 1, 2), jnp.int32)
        )
