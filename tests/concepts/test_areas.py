"""Shapes and their areas: known ones, predictions point by point, the errors that probes measure."""

import sys

import jax
import numpy as np
import pytest
import shapely

from dpjax.concepts import ConvexPolygons, Hypothesis, UniformPlane, Unions
from dpjax.concepts.areas import area_error, pieces, placed, region, rings
from dpjax.concepts.clipping import area, clipped, square
from dpjax.core import wide
from dpjax.core.checks import InputError

D = 1000
FAR = [(0, 0), (D, 0), (D, D), (0, D)]


def polygon(normals, offsets, d=D):
    concepts = ConvexPolygons(d, len(normals))
    return concepts, Hypothesis.of(concepts.of_lines(normals, offsets)[None])


def union(polygons, triangles, d=D):
    concepts = Unions(d, triangles)
    return concepts, Hypothesis.of(concepts.of_polygons(polygons)[None])


L_SHAPE = [(100, 100), (700, 100), (700, 300), (300, 300), (300, 800), (100, 800)]


@pytest.mark.parametrize(
    ("concept", "size"),
    [
        (polygon([(1, 0), (-1, 0), (0, 1), (0, -1)], [600, -200, 900, -300]), 400 * 600),
        (polygon([(-1, 0), (0, -1), (1, 1)], [0, 0, 500]), 500**2 / 2),
        (polygon([(1, 0)], [250]), 250 * D),
        (polygon([(1, 2)], [3 * D]), D * D),  # all of the square
        (polygon([(1, 0), (-1, 0)], [300, -400]), 0),  # nothing
        (polygon([(1, 0), (-1, 0)], [-5, 10**4]), 0),
        (union([L_SHAPE], 4), 600 * 200 + 200 * 500),
        (union([L_SHAPE, [(200, 200), (900, 200), (900, 900), (200, 900)]], 6), 120_000 + 100_000 + 490_000 - 100_000),
        (union([FAR], 2), D * D),
    ],
)
def test_known_areas(concept, size):
    found = region(*concept)
    assert found.is_valid and found.area == pytest.approx(size, abs=1e-4)
    assert found.is_empty == (size == 0)
    assert area_error(*concept, shapely.Polygon()) == pytest.approx(size / D**2, abs=1e-9)
    assert area_error(*concept, shapely.box(-50, -9, D + 7, 3 * D)) == pytest.approx(1 - size / D**2, abs=1e-9)
    assert area_error(*concept, concept[1]) == 0


def test_a_hole_is_kept():
    walls = [(100, 100, 900, 200), (100, 800, 900, 900), (100, 100, 200, 900), (800, 100, 900, 900)]
    ring = union([[(a, b), (c, b), (c, e), (a, e)] for a, b, c, e in walls], 8)
    found = rings(region(*ring))
    assert len(found) == 2 and {len(one) for one in found} == {5}  # nothing where triangles meet
    assert all((one[0] == one[-1]).all() for one in found)
    assert sorted(round(shapely.Polygon(one).area) for one in found) == [600**2, 800**2]
    assert area_error(*ring, shapely.box(100, 100, 900, 900)) == pytest.approx(0.36)
    assert rings(shapely.Polygon()) == []


@pytest.mark.parametrize(
    ("kind", "d"),
    [(ConvexPolygons, 2**64 - 1), (Unions, 2**10), pytest.param(Unions, 2**64 - 1, marks=pytest.mark.slow)],
)
def test_areas_are_those_of_the_predictions(kind, d):
    """A random place is predicted as the region says; the errors of probes are areas, up to the probes' resolution."""
    concepts, law = kind(d, 6), UniformPlane(d)
    words = np.asarray(concepts.targets(8, seed=d % 2**32))
    places = np.random.default_rng(d).integers(0, d, (4000, 2), np.uint64, endpoint=True)
    elements = wide.encode(places, concepts.domain.limbs // 2).reshape(4000, -1)
    one, other = Hypothesis.of(words), Hypothesis.of(np.roll(words, -1, axis=0))
    says = np.asarray(jax.jit(concepts.predict)(one, elements))
    with jax.enable_x64(True):
        errors = np.asarray(jax.jit(lambda a, b: concepts.error(law, a, b))(one, other)) / law.total
    off = []
    for j in range(8):
        alone, next_one = Hypothesis.of(words[j : j + 1]), Hypothesis.of(words[(j + 1) % 8][None])
        inside = shapely.intersects_xy(region(concepts, alone), *places.T.astype(float))
        np.testing.assert_array_equal(inside, says[:, j])
        off.append(abs(area_error(concepts, alone, next_one) - errors[j]))
    assert max(off) < 5e-3 and errors.min() > 0.02


def test_pieces_are_halfplanes_in_order():
    concepts, one = polygon([(1, 0), (0, -1), (3, 4)], [600, -200, 2500])
    found = pieces(concepts, one)
    assert found.shape == (1, 3, 3)
    scaled = found[0] / np.abs(found[0, :, :2]).max(axis=1, keepdims=True)
    np.testing.assert_allclose(scaled, [[1, 0, 600], [0, -1, -200], [0.75, 1, 625]], atol=1e-9)
    concepts, both = union([L_SHAPE], 5)
    assert pieces(concepts, both).shape == (5, 4, 3)


def test_nothing_is_no_area():
    concepts, one = polygon([(1, 0)], [600])
    zero = Hypothesis(one.concept, np.ones(1, bool), np.zeros(1, np.int32))
    assert region(concepts, zero).is_empty
    assert area_error(concepts, zero, one) == area_error(concepts, one, zero) == pytest.approx(0.6)


def test_clipping_by_lines_through_corners_and_along_edges():
    assert area(clipped(square(2.0), [(1, -1)], [0.0])) == 2
    assert area(clipped(square(2.0), [(0, 1)], [0.0])) == 0
    assert area(clipped(square(2.0), [(0, 1)], [2.0])) == 4
    assert clipped(square(2.0), [(0, 1)], [-1.0]) == []
    assert clipped(square(2.0), [], []) == square(2.0)
    assert region(*polygon([(0, 1)], [0])).is_empty  # an edge of the square has no area


def test_places_of_the_grid_in_other_coordinates():
    np.testing.assert_allclose(placed([[0, 0], [10, 10], [5, 2]], 10, (-3, 1, 7, 6)), [[-3, 1], [7, 6], [2, 2]])


def test_what_makes_no_sense_is_refused(monkeypatch):
    concepts, one = polygon([(1, 0)], [600])
    crossed = shapely.Polygon([(0, 0), (9, 9), (9, 0), (0, 9)])
    for truth in (crossed, shapely.Point(1, 1), None, [(0, 0), (1, 0), (1, 1)]):
        with pytest.raises(InputError, match="truth"):
            area_error(concepts, one, truth)
    with pytest.raises(InputError, match="one concept"):
        region(concepts, Hypothesis.of(np.concatenate([one.concept, one.concept])))
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(InputError, match=r"dpjax\[geo\]"):
        region(concepts, one)
