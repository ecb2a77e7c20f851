"""Unions of triangles: polygons triangulated by whole numbers, predictions against crossings counted, targets."""

from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import pi

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Hypothesis
from dpjax.concepts.plane import UniformPlane
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.concepts.triangulation import doubled_area, triangulated, turn
from dpjax.concepts.unions import Unions
from dpjax.core.checks import InputError


def crossings_say(corners, point):
    """Even-odd rule by Fractions; None on the boundary."""
    x, y = point
    inside = False
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
        if turn((ax, ay), (bx, by), point) == 0 and min(ax, bx) <= x <= max(ax, bx) and min(ay, by) <= y <= max(ay, by):
            return None
        if (ay > y) != (by > y):
            inside ^= x < ax + Fraction((bx - ax) * (y - ay), by - ay)
    return inside


def near(corners, point, margin):
    """Whether an edge is within ``margin`` of the point, in the larger coordinate of its normal."""
    edges = zip(corners, corners[1:] + corners[:1], strict=True)
    return any(abs(turn(a, b, point)) <= margin * max(abs(a[0] - b[0]), abs(a[1] - b[1])) for a, b in edges)


def crossing(tour):
    """Two edges of a closed tour that cross, by their first corners, or None."""
    edges = list(zip(tour, tour[1:] + tour[:1], strict=True))
    for (i, (a, b)), (j, (p, q)) in combinations(enumerate(edges), 2):
        if turn(a, b, p) * turn(a, b, q) < 0 and turn(p, q, a) * turn(p, q, b) < 0:
            return i, j
    return None


def untangled(generator, d, count):
    """A random simple polygon, far from star-shaped: edges of a random tour that cross are exchanged."""
    while True:
        tour = [(int(x), int(y)) for x, y in generator.integers(0, d + 1, (count, 2))]
        while (found := crossing(tour)) is not None:
            i, j = found
            tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
        with suppress(InputError):  # corners on a line, or the same twice
            triangulated(tour)
            return tour


def starred(generator, d, count):
    angles = np.sort(generator.random(count)) * 2 * pi
    radii = generator.uniform(0.1, 0.5, count)
    centre = generator.uniform(0.5, 0.5, (1, 2))
    points = centre + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return [(int(x), int(y)) for x, y in np.floor(points * d)]


@pytest.mark.parametrize("d", [12, 2**10, 2**30])
def test_triangles_tile_the_polygon(d):
    """Their areas add up, and a point off all edges is in exactly one or none."""
    generator = np.random.default_rng(d)
    for i in range(18):
        corners = untangled(generator, d, 4 + i % 9)
        found = triangulated(corners)
        assert len(found) <= len(corners) - 2 and all(turn(*one) > 0 for one in found)
        assert sum(turn(*one) for one in found) == abs(doubled_area(corners))
        assert triangulated(corners[::-1]) != [] and triangulated(corners[2:] + corners[:2])
        for x in generator.integers(0, d + 1, (30, 2)).tolist():
            sides = [[turn(a, b, tuple(x)) for a, b in ((p, q), (q, r), (r, p))] for p, q, r in found]
            if all(0 not in side for side in sides) and crossings_say(corners, tuple(x)) is not None:
                assert sum(min(side) > 0 for side in sides) == crossings_say(corners, tuple(x))


def test_corners_that_say_nothing_are_dropped():
    square = [(0, 0), (4, 0), (4, 4), (0, 4)]
    more = [(0, 0), (0, 0), (2, 0), (4, 0), (4, 3), (4, 4), (4, 4), (1, 4), (0, 4), (0, 1)]
    assert len(triangulated(more)) == len(triangulated(square)) == 2
    comb = [(0, 0), (6, 0), (6, 5), (5, 1), (4, 5), (3, 1), (2, 5), (1, 1), (0, 5)]
    assert sum(turn(*one) for one in triangulated(comb)) == doubled_area(comb)
    for wrong in (
        [],
        [(0, 0), (1, 1)],
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (2, 2), (2, 0), (0, 2)],
        [(0, 0), (4, 0), (4, 4), (2, 0), (0, 4)],
        [(0, 0), (4, 0), (6, 0), (4, 0), (4, 4)],
        [(0, 0), (4, 0), (4, 4), (0, 4), (0, 0), (4, 0), (4, 4), (0, 4)],
    ):
        with pytest.raises(InputError, match="polygon"):
            triangulated(wrong)


@cache
def program(concepts):
    return jax.jit(lambda words, x: concepts.predict(Hypothesis.of(words), x))


def predicted(concepts, words, x):
    return np.asarray(program(concepts)(words, x))


@pytest.mark.parametrize("d", [20, 2**10, 2**30])
def test_predictions_are_the_polygons(d):
    """Against counted crossings, edges between triangles included; no point off the boundary errs, but for d = 2**30 a
    grid unit's distance."""
    generator = np.random.default_rng(d)
    concepts, checked = Unions(d, 20), [0, 0]
    margin = 2 if d == 2**30 else 0
    for _ in range(8):
        polygons = [untangled(generator, d, 8), starred(generator, d, 5) if d > 20 else [(0, 0), (5, 1), (3, 9)]]
        try:
            words = concepts.of_polygons(polygons)
        except InputError:
            continue  # a star whose corners are too close in angle
        between = [(p[i] + p[j]) // 2 for p in map(np.array, polygons) for i in range(len(p)) for j in range(i)]
        x = np.concatenate([generator.integers(0, d + 1, (300, 2)), between])
        found = predicted(concepts, words[None], x.astype(np.uint32))[:, 0]
        for row, says in zip(map(tuple, x.tolist()), found.tolist(), strict=True):
            if any(crossings_say(p, row) is None or near(p, row, margin) for p in polygons):
                continue
            assert says == any(crossings_say(p, row) for p in polygons)
            checked[says] += 1
    assert min(checked) > 300


def test_a_union_of_one_is_a_convex_polygon_of_three():
    parts, concepts = ConvexPolygons(2**10, 3), Unions(2**10, 3, 3)
    words = np.asarray(parts.targets(6))
    x = UniformPlane(2**10, 500).points()
    single = predicted(parts, words, x)
    both = np.concatenate([words[:3], words[3:]], axis=1)
    np.testing.assert_array_equal(predicted(concepts, both, x), single[:, :3] | single[:, 3:])
    cuts = jax.tree.map(lambda part: np.asarray(part).reshape(2, 3, *part.shape[1:]), jax.jit(parts.cuts)(both[0]))
    inside = type(cuts)(cuts.chart, cuts.theta, cuts.t, ~cuts.above)
    np.testing.assert_array_equal(jax.jit(concepts.of_cuts)(inside), both[0])
    zero = Hypothesis(both, np.ones(3, bool), np.zeros(3, np.int32))
    assert not np.asarray(jax.jit(concepts.predict)(zero, x)).any()
    assert predicted(concepts, both, np.zeros((0, 2), np.uint32)).shape == (0, 3)


@pytest.mark.parametrize("triangles", [2, 12, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 7))])
def test_random_targets_have_the_area_that_they_should(triangles):
    concepts, law = Unions(2**16, triangles), UniformPlane(2**16)
    words = concepts.targets(6, seed=triangles)
    assert words.shape == (6, 20 * triangles) and words.dtype == jnp.uint32
    share = predicted(concepts, words, law.points()).mean(axis=0)
    assert (share > 0.1).all() and (share < 0.51).all() and len(set(share.tolist())) == 6
    np.testing.assert_array_equal(words, concepts.targets(6, seed=triangles))


def test_errors_count_probes():
    concepts, law = Unions(2**10, 7), UniformPlane(2**10, 1000)
    words = concepts.targets(3)
    both = predicted(concepts, words, law.points())
    error = jax.jit(lambda one, other: concepts.error(law, Hypothesis.of(one), Hypothesis.of(other)))
    with jax.enable_x64(True):
        found = error(words, np.asarray(words)[[1, 1, 0]])
        assert found.dtype == jnp.uint64
    expected = (both != both[:, [1, 1, 0]]).sum(axis=0)
    assert found.tolist() == expected.tolist() and expected[1] == 0 < expected[0]
    with pytest.raises(InputError, match="one over Plane"):
        concepts.error(UniformPlane(5), Hypothesis.of(words), Hypothesis.of(words))


def test_what_makes_no_sense_is_refused():
    concepts = Unions(9, 2)
    for attempt, says in (
        (lambda: Unions(9, 0), "triangles"),
        (lambda: Unions(0, 3), "d: "),
        (lambda: concepts.of_polygons([]), "polygons"),
        (lambda: concepts.of_polygons([[(0, 0), (3, 0), (4, 2), (2, 5), (0, 2)]]), "polygons"),
        (lambda: concepts.of_polygons([[(0, 0), (10, 0), (4, 2)]]), "element"),
        (lambda: Unions(1, 9).targets(1), "fine enough"),
    ):
        with pytest.raises(InputError, match=says):
            attempt()
    assert Unions(9, 2).size == 2**1280 and Unions(9, 2) == concepts != Unions(9, 3)
