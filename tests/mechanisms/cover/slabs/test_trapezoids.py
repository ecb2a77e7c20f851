"""Trapezoids of lines: their points, by enumeration; their halves; and how few follow rows on one line at any scale."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.integers import encoded, integers, on_host, widened
from dpjax.mechanisms.cover.lines.measures import Grid
from dpjax.mechanisms.cover.slabs.splits import split_of
from dpjax.mechanisms.cover.slabs.trapezoids import Crossed, Split, Trapezoids

SHAPES = [(-3, 4, (-5, 9), (1, 2)), (0, 7, (0, 12), (0, 2)), (-6, 0, (3, 4), (2, 3)), (2, 3, (0, 5), (4, 4))]
"""low, high, base and slope; the second and the third have a side of one point, or none."""


def points_of(low, high, base, slope):
    """All (s, t), by Python."""
    return [(s, t) for s in range(low, high) for t in range(base[0] - s * slope[0], base[1] - s * slope[1])]


def made(low, high, base, slope, words=1):
    """Under 64-bit types."""
    return Trapezoids(*(integers(part, words) for part in (low, high, base)), jnp.asarray(slope, jnp.uint64))


@pytest.mark.statistical
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("words", [1, 2])
def test_points_are_uniform(stats, shape, words):
    points = points_of(*shape)
    with jax.enable_x64(True):
        one = made(*shape, words)
        np.testing.assert_allclose(one.log_points(), np.log(len(points)), rtol=1e-12)
        many = jax.vmap(lambda key: one.draw(key))(jax.random.split(jax.random.key(0), 4096))
        s, t = (on_host(encoded(part)) for part in (many.low, many.base[:, 0]))
    place = {point: i for i, point in enumerate(points)}
    observed = np.bincount([place[int(a), int(b)] for a, b in zip(s, t, strict=True)], minlength=len(points))
    stats.chi_square(observed, np.full(len(points), 1 / len(points)))


@pytest.mark.parametrize(("along", "at", "slope"), [(True, 2, 2), (True, 7, 2), (False, 0, 0), (False, 3, 0)])
def test_halves_have_the_points_on_either_side(along, at, slope):
    whole = SHAPES[0]
    with jax.enable_x64(True):
        split = Split(jnp.bool_(along), integers(at, 1), jnp.uint64(slope), jnp.bool_(True))
        halves = [jax.tree.map(np.asarray, half) for half in made(*whole).halves(split)]
    before, after = (points_of(half.low, half.high, half.base, half.slope.astype(int)) for half in halves)
    wanted = [(t < at - s * slope) if along else (s < at) for s, t in points_of(*whole)]
    assert before == [point for point, here in zip(points_of(*whole), wanted, strict=True) if here]
    assert sorted(before + after) == points_of(*whole) and before and after


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_are_above_or_below_a_trapezoid(shape):
    """t = base - s slope against all points; a trapezoid without a point at one end may leave more undecided."""
    points = np.array(points_of(*shape))
    lines = np.array([(base, slope) for base in range(-20, 30) for slope in range(5)])
    lower = points[:, 1] < lines[:, :1] - lines[:, 1:] * points[:, 0]
    with jax.enable_x64(True):
        one = made(*shape)
        crossed = Crossed.of(one, jnp.asarray(lines[:, 0]), jnp.asarray(lines[:, 1], jnp.uint64))
        over, under = np.asarray(crossed.over), np.asarray(crossed.under)
        least = min(int(one.height(one.low)), int(one.height(one.high - 1)))
    assert not (over & ~lower.all(1)).any() and not (under & lower.any(1)).any()
    if least > 0:
        assert (over == lower.all(1)).all() and (under == ~lower.any(1)).all()


LINES = {
    "horizontal": lambda i: (i, 341),
    "vertical": lambda i: (341, i),
    "diagonal": lambda i: (i, i),
    "falling": lambda i: (i, 1023 - i),
    "7/3": lambda i: (3 * (i // 3 % 146), 7 * (i // 3 % 146)),
    "two": lambda i: (i, i) if i % 2 else (i, 700 - i // 2),
}
MOST = 40
"""Splits of a tree; 31 at most."""


@pytest.mark.parametrize("chart", [0, 1])
def test_few_trapezoids_follow_rows_on_a_line(chart):
    """Until each leaves at most an eighth of the rows undecided."""
    grid, counts = Grid.fine(1023), {}
    unit = 1 << grid.bits
    split = jax.jit(lambda one, rows: undecided(grid, one, rows[chart], rows[1 - chart]))
    with jax.enable_x64(True):
        for name, line in LINES.items():
            rows = np.array([line(i) for i in range(0, 1023, 4)], np.uint64).T
            todo, done = [made(-unit, unit, (grid.first, grid.last + 2), (0, 0))], 0
            while todo and done <= MOST:
                count, halves = split(todo.pop(), rows)
                done += 1
                todo.extend(halves if count > rows.shape[1] // 8 else [])
            counts[name] = done
    assert max(counts.values()) <= MOST, counts


def undecided(grid, one, slope, offset):
    """How many rows a trapezoid leaves undecided, and its halves."""
    crossed = Crossed.of(one, (widened(jnp.asarray(offset), grid.words) << grid.bits) + 1, jnp.asarray(slope))
    unsure = ~(crossed.over | crossed.under)
    return jnp.sum(unsure), one.halves(split_of(one, crossed, unsure))
