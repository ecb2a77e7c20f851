"""The reference by slabs: areas against Fractions, agreement with sorted crossings, the law of draws, base measures."""

import importlib.util
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import kstest

from dpjax.core.checks import InputError
from tests.oracles import events
from tests.oracles.slabs import Frame, Trapezoids, slab_cells, slab_select

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
DRAWS = 4_000
spec = importlib.util.spec_from_file_location("arrangement", Path(__file__).with_name("arrangement.py"))
arrangement = importlib.util.module_from_spec(spec)
spec.loader.exec_module(arrangement)

SMALL, TURNED, MEDIUM, LARGE = Frame.box(8), Frame.rotations(8), Frame.rotations(2**10), Frame.rotations(2**17)


def _targets(x, frame):
    """Trapezoids with every row in turn as the only target: as many programs as frames."""
    return jax.vmap(lambda target: slab_cells(x, target, ~target, frame))(jnp.eye(8, dtype=bool))


_labelled = jax.jit(_targets, static_argnums=1)


@pytest.mark.parametrize("frame", [SMALL, LARGE, pytest.param(MEDIUM, marks=pytest.mark.slow)], ids=str)
def test_slabs_give_every_cell(frame):
    for family in arrangement.FAMILIES:
        points = arrangement.points(family, 8, frame.d)
        many = _labelled(jnp.asarray(points, jnp.int32), frame)
        cells = jax.tree.map(lambda part: part[0], many)
        label = (np.asarray(many.below)[..., 0] << np.arange(8)[:, None]).sum(axis=0)
        found = arrangement.histogram(cells, label)
        assert arrangement.error(found, points.tolist(), frame) <= max(1e-14, frame.d**2 * 2.0**-52), family


def by_counts(cells):
    """{(chart, targets below, others below): mass}."""
    below = np.asarray(cells.below)
    return arrangement.histogram(cells, below[:, 0] * 1000 + below[:, 1])


@pytest.mark.slow
@pytest.mark.parametrize("frame", [SMALL, MEDIUM], ids=str)
def test_slabs_and_events_agree(frame):
    """With weights, and rows that do not count."""
    programs = [jax.jit(function, static_argnums=3) for function in (slab_cells, events.cells)]
    for family in arrangement.FAMILIES:
        x = jnp.asarray(arrangement.points(family, 15, frame.d), jnp.int32)
        kind = np.random.default_rng(7).integers(0, 3, 15)
        slabs, crossings = (
            by_counts(run(x, jnp.asarray(kind == 0), jnp.asarray(kind == 1), frame)) for run in programs
        )
        assert set(slabs) == set(crossings)
        assert slabs == pytest.approx(crossings, rel=1e-9)


@partial(jax.jit, static_argnums=6)
def _draws(keys, x, target, other, budget, coefficient, frame):
    return jax.lax.map(lambda own: slab_select(own, x, target, other, budget, 2, coefficient, frame), keys)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [SMALL, TURNED], ids=str)
def test_draws_have_the_law_of_lines_that_more_points_see(frame, key, stats):
    """Lines drawn by the quality on five rows, told apart by eight."""
    rows, read, budget, coefficient = arrangement.points("random", 8, 8, 2), 5, 2.6, 0.7
    exact = arrangement.law(rows.tolist(), read, frame, budget, 2, coefficient)
    x, even = jnp.asarray(rows, jnp.int32), np.arange(8) % 2 == 0
    target, other = jnp.asarray(even & (np.arange(8) < read)), jnp.asarray(~even & (np.arange(8) < read))
    keys = jax.random.split(key, DRAWS)
    lines = _draws(keys, x, target, other, jnp.float32(budget), jnp.float32(coefficient), frame)
    hits = np.asarray(jax.vmap(lambda line: line.hits(x))(lines)) @ (1 << np.arange(8))
    counts = dict.fromkeys(exact, 0)
    for outcome in zip(np.asarray(lines.chart).tolist(), np.asarray(lines.sign).tolist(), hits.tolist(), strict=True):
        counts[outcome] += 1  # a line that no cell allows is a KeyError
    assert stats.false_alarm == FALSE_ALARM
    stats.chi_square(list(counts.values()), list(exact.values()))


@pytest.mark.slow
def test_padding_changes_no_line(key):
    points, even = np.random.default_rng(9).integers(0, 8, (8, 2), endpoint=True), np.arange(8) % 2 == 0
    drawn = []
    for capacity in (8, 21):
        rows, masks = np.full((capacity, 2), 3), np.zeros((2, capacity), bool)
        rows[:8], masks[:, :8] = points, (even, ~even)
        buffer = jnp.asarray(rows, jnp.int32), jnp.asarray(masks[0]), jnp.asarray(masks[1])
        drawn.append(_draws(jax.random.split(key, DRAWS), *buffer, jnp.float32(3), jnp.float32(0.5), TURNED))
    jax.tree.map(np.testing.assert_array_equal, *drawn)
    assert len(np.unique(drawn[0].slope)) == DRAWS and set(np.asarray(drawn[0].chart).tolist()) == {0, 1}


@pytest.mark.slow
def test_without_rows_both_charts_are_as_likely(key, stats):
    none, empty = jnp.zeros((0, 2), jnp.int32), jnp.zeros(0, bool)

    def draw(own):
        return slab_select(own, none, empty, empty, jnp.float32(1), 1, jnp.float32(1), MEDIUM).chart

    charts = jax.jit(lambda keys: jax.lax.map(draw, keys))(jax.random.split(key, 1000))
    stats.frequency(int(charts.sum()), 1000, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("kinematic", [False, True])
def test_points_of_a_trapezoid_follow_the_base_measure(kinematic, key):
    """Kolmogorov-Smirnov: slopes against the distribution function of each shape, offsets uniform between the sides."""
    frame = Frame(10, -8, 20, kinematic)
    draw = jax.jit(lambda cells, keys: jax.lax.map(lambda own: cells.select(own, 0.0, 1, 0.0), keys))
    shapes = [
        ((-1, 1), (0, 3)),
        ((-1, 1), (3, 0)),
        ((-1, 1), (2, 2)),
        ((0.3, 0.31), (1, 0.01)),
        ((-1, -0.5), (1e-9, 2)),
    ]
    for slopes, height in shapes:
        with jax.enable_x64(True):
            ends, rise = (jnp.asarray([part], jnp.float64) for part in (slopes, height))
            p, q = (jnp.stack([jnp.ones((), jnp.float64), ends[0, i]]) for i in range(2))
            mass = frame.mass(p, q, q[1] - p[1], rise[0, 0], rise[0, 1])
            none = jnp.zeros((1, 2), jnp.int32)
            cells = Trapezoids(none[:, 0], ends, ends * 2 + 1, rise, mass[None], none, none[0], frame)
            lines = draw(cells, jax.random.split(key, 4000))
        s = np.linspace(*slopes, 200_001)
        span = height[0] + (height[1] - height[0]) * (s - slopes[0]) / (slopes[1] - slopes[0])
        density = span * (1 + s * s) ** -1.5 if kinematic else span
        law = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)]) * (s[1] - s[0])
        assert law[-1] == pytest.approx(float(mass), rel=1e-8)
        slope, offset = np.asarray(lines.slope), np.asarray(lines.offset)
        across = (offset - 2 * slope - 1) / np.interp(slope, s, span)
        assert kstest(np.interp(slope, s, law / law[-1]), "uniform").pvalue >= FALSE_ALARM
        assert kstest(across, "uniform").pvalue >= FALSE_ALARM
        assert kstest(across[slope < np.median(slope)], "uniform").pvalue >= FALSE_ALARM


def test_base_measures():
    """Total masses in closed form, and a frame that does not hold the domain's lines."""
    assert Frame.box(8) == Frame(8, -128, 128, False) and hash(Frame.box(8)) == hash(Frame(8, -128, 128, False))
    assert Frame.box(8).wall == 128 and Frame.box(8).charts == 1
    assert Frame.rotations(8) == Frame(8, -10, 18, True) and Frame.rotations(9) == Frame(9, -12, 21, True)
    assert Frame.rotations(8).wall == 1 and Frame.rotations(8).charts == 2
    none, empty = jnp.zeros((0, 2), jnp.int32), jnp.zeros(0, bool)
    for frame, total in ((SMALL, 4 * 128.0**2), (Frame.rotations(8), 2 * 28 * 2**0.5)):
        cells = jax.jit(slab_cells, static_argnums=3)(none, empty, empty, frame)
        assert np.asarray(cells.mass).sum() == pytest.approx(total, rel=1e-15)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Frame.box(2**30 + 1),
        lambda: Frame.rotations(2**64),
        lambda: Frame.box(0),
        lambda: Frame(2**61 + 1, -(2**62), 2**62, True),
        lambda: Frame(8, 3, 3, True),
        lambda: Frame(8, -5, 2**63, True),
        lambda: Frame(8, -(2**70) - 1, 2**62, True),
        lambda: Frame(8, 0, 2**63, False),
        lambda: Frame(8, "low", 9, True),
        lambda: Frame(8, -10, 18.5, True),
    ],
)
def test_frames_that_do_not_fit_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_slabs_refuse_what_they_cannot_tell_apart():
    x, no = jnp.zeros((2, 2), jnp.int32), jnp.zeros(2, bool)
    with pytest.raises(InputError, match="use events"):
        slab_cells(x, no, no, Frame.box(2**17 + 1))
