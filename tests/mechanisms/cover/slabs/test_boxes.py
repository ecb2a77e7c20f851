"""Bounds of boxes: at least the weight of each of their points, which is that of Python's integers; padding; splits."""

import os
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.integers import encoded, integers, on_host
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.slabs.boxes import ABOVE, CHARTS, Boxes, Instance, bounds, evaluate, splits
from dpjax.mechanisms.cover.slabs.nodes import Nodes
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import reachable
from dpjax.mechanisms.cover.slabs.trapezoids import Trapezoids

SHARE, COEFFICIENT = 3.5, 0.7


def rows(d, count, seed=0):
    """Rows beside a line, and some anywhere; one point twice, with both labels."""
    rng = np.random.default_rng(seed)
    x = [int(part * d) for part in rng.random(count)]
    y = [min(d, v // 3 + int(rng.integers(0, 5))) for v in x]
    y[: count // 4] = [int(part * d) for part in rng.random(count // 4)]
    x[1], y[1] = x[0], y[0]
    role = rng.integers(0, 3, count)
    role[:2] = 1, 2
    return np.array([x, y], np.uint64).T, role


def contains(box, point):
    """Which boxes have a point of both lines, ``bool[b]``."""
    s, lines = point.lines.low, box.lines
    t, sides = point.lines.base[..., 0], lines.sides(s)
    return jnp.all((lines.low <= s) & (s < lines.high) & (sides[..., 0] <= t) & (t < sides[..., 1]), axis=-1)


@partial(jax.jit, static_argnames="grid")
def start(grid, points, target, other, where):
    """The instance, and roots at ``where``, ``int32[b]``."""
    given = Ordered.of(points, target, other)
    instance = Instance.of(given, Nodes.of(given, grid.d, 1), reachable(Score(jnp.float64(COEFFICIENT), SHARE), given))
    return instance, jax.tree.map(lambda part: part[where], Boxes.roots(grid, instance.nodes))


@partial(jax.jit, static_argnames="grid")
def values(grid, instance, boxes, key):
    """Bounds of boxes; points of them, with bounds and weights; the quarters with them; in how many quarters each is,
    and by how much the log of the number of points changes; bounds of all quarters, and of these with shared lines."""
    inside = boxes.draw(key)
    exact = jax.vmap(lambda box: evaluate(grid, instance, box)[0])(inside)
    split, use = jax.vmap(lambda box: splits(grid, instance, box))(boxes)
    quarters, exists = jax.vmap(Boxes.quarters)(boxes, split, use)
    here = jax.vmap(lambda four, point: contains(four, jax.tree.map(lambda part: part[None], point)))(quarters, inside)
    here = here & exists
    with_it = jax.vmap(lambda four, place: jax.tree.map(lambda part: part[place], four))(quarters, here.argmax(1))
    logs = jnp.where(exists, quarters.log_points(), -jnp.inf)
    change = jax.scipy.special.logsumexp(logs, axis=1) - boxes.log_points()
    flat = jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), quarters)
    alone, shared = bounds(grid, instance, flat), bounds(grid, instance, quarters).reshape(-1)
    some = jnp.where(exists.reshape(-1), alone, 0.0), jnp.where(exists.reshape(-1), shared, 0.0)
    of_points = bounds(grid, instance, inside)
    return bounds(grid, instance, boxes), inside, of_points, exact, with_it, here.sum(1), change, *some


def expected(grid, points, role, nodes, node, kind, slopes, t):
    """log of density times the sum over (a, b) by T and O, in Python's integers; a and b by all gaps of x."""
    kept, log = np.ones(len(points), bool), 0.0
    for line in range(2):
        chart, s = int(CHARTS[kind[line]]), int(slopes[line])
        side = [((int(p[1 - chart]) << grid.bits) - s * int(p[chart]) >= int(t[line])) for p in points]
        kept &= np.array(side) == ABOVE[line][kind[line]]
        log -= 1.5 * np.log1p((s / 2**grid.bits) ** 2)
    first, middle, last, leaf = (getattr(nodes, name)[node].item() for name in ("first", "middle", "last", "leaf"))
    cuts = sorted({int(x) for x, r in zip(points[:, 0], role, strict=True) if r})
    most_a, least_b = (last, first) if leaf else (middle, middle + 1)
    logs = []
    for i in range(len(cuts) + 1):  # a is after cut i - 1 and not after cut i; b is from cut j - 1 on and before cut j
        low_a = max(first, cuts[i - 1] + 1) if i else first
        high_a = min(most_a, cuts[i]) if i < len(cuts) else most_a
        for j in range(i, len(cuts) + 1):
            low_b = max(least_b, cuts[j - 1]) if j else least_b
            high_b = min(last, cuts[j] - 1) if j < len(cuts) else last
            if leaf and i == j:
                size = max(0, high_b - low_a + 1)
                count = size * (size + 1) // 2
            else:
                count = max(0, high_a - low_a + 1) * max(0, high_b - low_b + 1)
            if count:
                among = kept & np.isin(points[:, 0], np.array(cuts[i:j], np.uint64))
                targets, others = (among & (role == 1)).sum(), (among & (role == 2)).sum()
                logs.append(np.log(float(count)) + COEFFICIENT * min(targets - SHARE, -others))
    return log + np.logaddexp.reduce(logs)


@pytest.mark.parametrize("d", [1023, pytest.param(2**64 - 1, marks=pytest.mark.slow)])
def test_bounds_are_above_exact_weights(d):
    grid, count, rng = HalfPlanes(d).planes.grid, 24, np.random.default_rng(5)
    points, role = rows(d, count)
    with jax.enable_x64(True):
        where = rng.integers(0, 27, 32).astype(np.int32)
        instance, boxes = start(grid, points, role == 1, role == 2, where)
        nodes, gained = jax.tree.map(np.asarray, instance.nodes), []
        exists = nodes.exists[np.asarray(boxes.node)]
        for step in range(40):
            bound, inside, near, exact, part, many, change, alone, shared = values(
                grid, instance, boxes, jax.random.key(step)
            )
            assert (np.asarray(many) == 1).all()
            bound, near, exact = np.asarray(bound), np.asarray(near), np.asarray(exact)
            assert (bound >= near - 1e-9)[exists].all() and (near >= exact)[exists].all()
            assert not np.isnan(bound).any() and np.isneginf(bound[~exists]).all()
            np.testing.assert_array_equal(alone, shared)
            np.testing.assert_allclose(change, 0, atol=1e-9)  # no point is lost
            slopes, t = (on_host(encoded(part)) for part in (inside.lines.low, inside.lines.base[..., 0]))
            assert (t >= grid.first).all() and (t <= grid.last + 1).all()
            for i in np.flatnonzero(exists)[: 4 if step % 10 == 0 else 0]:
                node, kind = np.asarray(boxes.node)[i], np.asarray(boxes.kind)[i]
                wanted = expected(grid, points, role, nodes, node, kind, slopes[i], t[i])
                np.testing.assert_allclose(exact[i], wanted, rtol=1e-9)
            gained.append(np.median((bound - exact)[exists]))
            boxes = part
    assert gained[-1] < 0.5 * gained[0]


@pytest.mark.parametrize("more", [0, 1])
def test_a_line_through_a_row_has_it_above(more):
    """Lines with t the value of a row, or the next t, against Python's integers."""
    grid, rng = HalfPlanes(1023).planes.grid, np.random.default_rng(7)
    points, role = rows(1023, 24)
    with jax.enable_x64(True):
        instance, boxes = start(grid, points, role == 1, role == 2, np.arange(9, dtype=np.int32))
        slopes, kinds = on_host(encoded(boxes.draw(jax.random.key(0)).lines.low)), np.asarray(boxes.kind)
        t, real = np.empty((9, 2), object), np.flatnonzero(role)
        for i, line in np.ndindex(9, 2):
            chart, row = int(CHARTS[kinds[i, line]]), points[rng.choice(real)]
            t[i, line] = (int(row[1 - chart]) << grid.bits) - int(slopes[i, line]) * int(row[chart]) + more
        lines = Trapezoids.point(integers(slopes, grid.words), integers(t, grid.words))
        exact = values(grid, instance, replace(boxes, lines=lines), jax.random.key(0))[3]
    nodes = jax.tree.map(np.asarray, instance.nodes)
    wanted = [expected(grid, points, role, nodes, 0, kinds[i], slopes[i], t[i]) for i in range(9)]
    np.testing.assert_allclose(exact, wanted, rtol=1e-9)


@pytest.mark.optimized
@pytest.mark.skipif("fusion_emitters=false" in os.environ["XLA_FLAGS"], reason="users' programs have these emitters")
def test_padding_changes_no_bit():
    grid, (points, role) = HalfPlanes(1023).planes.grid, rows(1023, 24, 3)
    where = np.random.default_rng(1).integers(0, 27, 32).astype(np.int32)
    with jax.enable_x64(True):
        made = []
        for spare in (0, 3, 90):
            more = np.concatenate([points, np.full((spare, 2), 7, np.uint64)])[::-1]
            wide = np.concatenate([role, np.zeros(spare, int)])[::-1]
            instance, boxes = start(grid, more, wide == 1, wide == 2, where)
            for step in range(6):
                found = values(grid, instance, boxes, jax.random.key(step))
                made.append((spare, step, found))
                boxes = found[4]
    first = {step: found for spare, step, found in made if not spare}
    for _, step, found in made:
        jax.tree.map(np.testing.assert_array_equal, first[step], found)
