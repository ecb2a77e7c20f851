"""Convex polygons: halfplanes in words and back, predictions by whole numbers, areas."""

from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Hypothesis
from dpjax.concepts.clipping import area, clipped, square
from dpjax.concepts.plane import UniformPlane
from dpjax.concepts.polygons import ConvexPolygons
from dpjax.core.checks import InputError


@cache
def program(concepts):
    return jax.jit(lambda words, x: concepts.predict(Hypothesis.of(words), x))


def predicted(concepts, words, x):
    return np.asarray(program(concepts)(words, x))


@pytest.mark.parametrize("d", [7, 2**30, *(pytest.param(one, marks=pytest.mark.slow) for one in (1, 2**10))])
def test_lines_are_what_they_say(d):
    """Against Fractions, on random points and near the lines: no point farther than the lattice is fine errs."""
    generator = np.random.default_rng(d)
    concepts = ConvexPolygons(d, 3)
    grid = concepts.family.grid
    rounding = Fraction(d, 2**50 if grid.words == 1 else 2 ** (grid.bits - 2))
    x = generator.integers(0, d + 1, (400, 2)).astype(np.uint32)
    for _ in range(8):
        normals = generator.normal(size=(3, 2)).round(3).tolist()
        offsets = [float(np.dot(normal, x[i].astype(float))) + 0.25 for i, normal in enumerate(normals)]
        found = predicted(concepts, concepts.of_lines(normals, offsets)[None], x)[:, 0]
        for row, says in zip(x.tolist(), found.tolist(), strict=True):
            gaps = [
                Fraction(c) - Fraction(a) * row[0] - Fraction(b) * row[1]
                for (a, b), c in zip(normals, offsets, strict=True)
            ]
            margin = min(
                abs(gap) / (abs(Fraction(a)) + abs(Fraction(b))) for gap, (a, b) in zip(gaps, normals, strict=True)
            )
            assert says == all(gap >= 0 for gap in gaps) or margin <= rounding


@pytest.mark.parametrize(("d", "each"), [(2**18, 5), (2**20, 9), (2**64 - 1, 17)])
def test_words_and_cuts_are_inverse(d, each):
    concepts = ConvexPolygons(d, 5)
    words = concepts.targets(4)
    assert words.shape == (4, 5 * each) and words.dtype == jnp.uint32
    again = jax.jit(jax.vmap(lambda row: concepts.of_cuts(concepts.cuts(row))))(words)
    np.testing.assert_array_equal(again, words)


@pytest.mark.parametrize("edges", [12, *(pytest.param(one, marks=pytest.mark.slow) for one in (3, 4))])
def test_random_polygons_have_the_area_that_they_should(edges):
    concepts, law = ConvexPolygons(2**16, edges), UniformPlane(2**16)
    words = concepts.targets(8, seed=edges)
    share = predicted(concepts, words, law.points()).mean(axis=0)
    assert (share > 0.247).all() and (share < 0.603).all() and len(set(share.tolist())) == 8
    np.testing.assert_array_equal(words, concepts.targets(8, seed=edges))


def test_errors_count_probes():
    concepts, law = ConvexPolygons(2**10, 4), UniformPlane(2**10, 1000)
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


def test_areas_by_clipping():
    assert area(clipped(square(1.0), [], [])) == 1
    assert area(clipped(square(1.0), [(1.0, 0.0)], [0.25])) == pytest.approx(0.25)
    assert area(clipped(square(1.0), [(1.0, 1.0), (-1.0, 0.0)], [1.0, -0.5])) == pytest.approx(0.125)
    assert area(clipped(square(1.0), [(1.0, 0.0)], [-0.1])) == 0


def test_what_makes_no_sense_is_refused():
    concepts = ConvexPolygons(9, 3)
    for attempt, says in (
        (lambda: ConvexPolygons(9, 0), "edges"),
        (lambda: ConvexPolygons(0, 3), "d: "),
        (lambda: concepts.of_lines([(0, 0)], [1.0]), "normal"),
        (lambda: concepts.of_lines([], []), "normals"),
        (lambda: concepts.of_lines([(1, 0)] * 4, [1.0] * 4), "normals"),
        (lambda: ConvexPolygons(9, 2).targets(1), "at least 3"),
    ):
        with pytest.raises(InputError, match=says):
            attempt()
