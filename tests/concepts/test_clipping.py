"""Halfplanes and the square: which ones matter there, and hypotheses without those that do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shapely

from dpjax.concepts import ConvexPolygons, Hypothesis, Unions
from dpjax.concepts.areas import area_error, region
from dpjax.concepts.clipping import crosses, meets

D = 15
GRID = np.stack(np.meshgrid(np.arange(D + 1), np.arange(D + 1)), axis=-1).reshape(-1, 2).astype(np.uint32)


def lines_at_random(rng, count):
    """Halfplanes a x + b y <= c with whole numbers, of which many meet the square in nothing, a corner or a side."""
    normals = rng.integers(-4, 5, (count, 2))
    normals[(normals == 0).all(axis=1)] = 1
    corners = normals @ np.array([[0, 0, D, D], [0, D, 0, D]])
    low, high = corners.min(axis=1), corners.max(axis=1)
    return np.column_stack([normals, rng.integers(low - 20, high + 20)]).astype(float)


def test_crosses_and_meets_against_all_corners_and_shapely():
    rng = np.random.default_rng(0)
    square = shapely.box(0, 0, D, D)
    found = {True: 0, False: 0}
    for line in lines_at_random(rng, 500):
        a, b, c = line
        beyond = max(a * x + b * y for x in (0, D) for y in (0, D)) - c
        if beyond != 0:  # 0 is in doubt
            assert crosses(D, line) == (beyond > 0)
    for _ in range(500):
        corners = rng.integers(-30, 46, (3, 2)).astype(float)
        triangle = shapely.Polygon(corners)
        if triangle.area < 1:
            continue
        (x0, y0), (x1, y1), (x2, y2) = corners if shapely.is_ccw(triangle.exterior) else corners[::-1]
        edges = (((x0, y0), (x1, y1)), ((x1, y1), (x2, y2)), ((x2, y2), (x0, y0)))
        lines = np.array([(v - y, x - u, (v - y) * x + (x - u) * y) for (x, y), (u, v) in edges])
        if (gap := shapely.distance(triangle, square)) > 1e-6 or shapely.intersection(triangle, square).area > 1e-6:
            assert meets(D, lines) == (gap == 0)
            found[gap == 0] += 1
    assert min(found.values()) > 50


@pytest.mark.parametrize("d", [D, 2**40])
def test_a_trimmed_polygon_has_the_same_labels(d):
    rng, dropped = np.random.default_rng(1), 0
    concepts, scale = ConvexPolygons(d, 6), d / D
    predict = jax.jit(concepts.predict)
    x = concepts.domain.encode([tuple(int(c * scale) for c in row) for row in GRID.tolist()])
    for _ in range(5):
        lines = lines_at_random(rng, 6)
        words = concepts.of_lines(list(map(tuple, lines[:, :2])), list(lines[:, 2] * scale))
        whole = Hypothesis.of(jnp.asarray(words)[None])
        small = concepts.trimmed(whole)
        np.testing.assert_array_equal(predict(small, jnp.asarray(x)), predict(whole, jnp.asarray(x)))
        left = small.concept.shape[1] // concepts.words
        dropped += 6 - left
        assert concepts.describe(small) == [f"1 iff in all of {left} halfplanes"]
        if d == D:
            assert area_error(concepts, small, whole) < 1e-9
        assert concepts.trimmed(small).concept.shape == small.concept.shape
    assert dropped >= 5


def test_a_trimmed_union_has_the_same_labels():
    rng, dropped, nowhere = np.random.default_rng(2), 0, 0
    concepts, parts = Unions(D, 5, 3), ConvexPolygons(D, 3)
    x, predict = jnp.asarray(GRID), jax.jit(concepts.predict)
    for size in (5, 1):
        for _ in range(8):
            words = []
            for _ in range(size):
                centre = rng.uniform(-D, 2 * D, 2)
                angles = rng.uniform(0, 2 * np.pi) + np.array([0, 2.1, 4.2])
                normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
                words += parts.of_lines(list(map(tuple, normals)), list(normals @ centre + 3)).tolist()
            whole = Hypothesis.of(jnp.asarray(words, jnp.uint32)[None])
            small = concepts.trimmed(whole)
            np.testing.assert_array_equal(predict(small, x), predict(whole, x))
            assert shapely.equals_exact(region(concepts, small), region(concepts, whole), 1e-6) or (
                region(concepts, small).symmetric_difference(region(concepts, whole)).area < 1e-6
            )
            nowhere += bool(small.zero[0])
            dropped += size - small.concept.shape[1] // 15
    assert dropped > 8 and nowhere > 0


def test_what_matters_to_nothing_is_one_edge_or_zero():
    polygon, union = ConvexPolygons(D, 2), Unions(D, 1, 3)
    everywhere = Hypothesis.of(jnp.asarray(polygon.of_lines([(1, 0), (0, 1)], [99, 99]))[None])
    small = polygon.trimmed(everywhere)
    assert small.concept.shape == (1, 5) and polygon.predict(small, jnp.asarray(GRID)).all()
    lines = polygon.of_lines([(1, 0)], [-5])
    assert not polygon.predict(polygon.trimmed(Hypothesis.of(jnp.asarray(lines)[None])), jnp.asarray(GRID)).any()
    outside = ConvexPolygons(D, 3).of_lines([(-1, 0), (0, -1), (1, 1)], [-20, 0, 40])
    small = union.trimmed(Hypothesis.of(jnp.asarray(outside)[None]))
    assert bool(small.zero[0]) and union.describe(small) == ["0 everywhere"]
