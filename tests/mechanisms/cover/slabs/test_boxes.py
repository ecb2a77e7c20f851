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
from dpjax.mechanisms.cover.slabs.boxes import ABOVE, CHARTS, Boxes, Instance, evaluate, unsheared, upper_bound
from dpjax.mechanisms.cover.slabs.nodes import Nodes
from dpjax.mechanisms.cover.slabs.ordered import Ordered
from dpjax.mechanisms.cover.slabs.pairs import reachable

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


@partial(jax.jit, static_argnames="grid")
def values(grid, points, target, other, where, low, high, at):
    """Bounds of parts of roots, weights and t of points, and where to split. Roots: ``where``, ``int32[b]``."""
    given = Ordered.of(points, target, other)
    instance = Instance.of(given, Nodes.of(given, grid.d, 1), reachable(Score(jnp.float64(COEFFICIENT), SHARE), given))
    roots = jax.tree.map(lambda part: part[where], Boxes.roots(grid, instance.nodes))
    boxes = Boxes(roots.node, roots.kind, low, high)
    inside = Boxes.point(roots.node, roots.kind, at)
    found, _ = jax.vmap(lambda box: evaluate(grid, instance, box))(boxes)
    found = replace(found, log=upper_bound(instance, found.log))
    exact = jax.vmap(lambda box: evaluate(grid, instance, box)[0].log)(inside)
    t = jax.vmap(lambda box: unsheared(grid, instance, box, box.low))(inside)
    return instance.nodes, encoded(roots.low), encoded(roots.high), roots.node, roots.kind, found, exact, encoded(t)


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
        run = partial(values, grid, points, role == 1, role == 2, where)
        zeros = integers(np.zeros((32, 2, 2), object), grid.words)
        nodes, low, high, node, kind, *_ = run(zeros, zeros + 1, zeros)
        exists = np.asarray(nodes.exists)[np.asarray(node)]
        low, high = (on_host(part).astype(object) for part in (low, high))
        nodes, at, gained = jax.tree.map(np.asarray, nodes), low, []
        for step in range(40):
            parts = np.array([int(part * 2**50) for part in rng.random(low.size)]).reshape(low.shape)
            at = low + parts * (high - low) // 2**50
            words = (integers(part, grid.words) for part in (low, high, at))
            *_, found, exact, t = run(*words)
            t, log, exact = on_host(t), np.asarray(found.log), np.asarray(exact)
            seen = exists & (t >= grid.first).all(1) & (t <= grid.last + 1).all(1)
            assert (log >= exact)[seen].all()
            assert not np.isnan(log).any() and np.isneginf(log[~exists]).all()
            for i in np.flatnonzero(seen)[: 4 if step % 10 == 0 else 0]:
                slopes = at[i, :, 0]
                wanted = expected(grid, points, role, nodes, node[i], np.asarray(kind)[i], slopes, t[i])
                np.testing.assert_allclose(exact[i], wanted, rtol=1e-9)
            gained.append(np.median(log[seen] - exact[seen]) if seen.any() else 0.0)
            middle, axis = on_host(encoded(found.middle)), np.asarray(found.axis)
            for i in range(32):  # the half with the point
                place = np.unravel_index(axis[i], (2, 2))
                if low[i][place] < middle[i] < high[i][place]:
                    side = low if at[i][place] >= middle[i] else high
                    side[i][place] = int(middle[i])
    assert gained[-1] < 0.5 * gained[0]


@pytest.mark.optimized
@pytest.mark.skipif("fusion_emitters=false" in os.environ["XLA_FLAGS"], reason="users' programs have these emitters")
def test_padding_changes_no_bit():
    grid, (points, role) = HalfPlanes(1023).planes.grid, rows(1023, 24, 3)
    rng = np.random.default_rng(1)
    low = np.stack([rng.integers(-(2**50), 2**49, (32, 2)), rng.integers(-(2**58), 2**59, (32, 2))], -1)
    boxes = rng.integers(0, 27, 32).astype(np.int32), low, low + 2**47, low + 2**40
    with jax.enable_x64(True):
        made = [values(grid, points, role == 1, role == 2, *boxes)]
        for spare in (3, 90):
            more = np.concatenate([points, np.full((spare, 2), 7, np.uint64)])[::-1]
            wide = np.concatenate([role, np.zeros(spare, int)])[::-1]
            made.append(values(grid, more, wide == 1, wide == 2, *boxes))
    for other in made[1:]:
        jax.tree.map(np.testing.assert_array_equal, made[0], other)
