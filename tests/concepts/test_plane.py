"""The grid in the plane: elements, uniform draws, probes that measure areas."""

import random

import chex
import jax
import numpy as np
import pytest

from dpjax.concepts import ConvexPolygons, Hypothesis
from dpjax.concepts.plane import Plane, UniformPlane, UniformSquare
from dpjax.core.checks import InputError


def test_elements_are_pairs_or_numbers():
    plane = Plane(10)
    assert plane.size == 121 and plane.limbs == 2
    encoded = plane.encode([(3, 4), 3 * 11 + 4, 120, (0, 0)])
    assert encoded.dtype == np.uint32 and encoded.tolist() == [[3, 4], [3, 4], [10, 10], [0, 0]]
    assert plane.decode(encoded).tolist() == encoded.tolist()
    assert plane.encode([]).shape == (0, 2)
    for wrong in ([(0, 11)], [(-1, 0)], [(0.5, 0)], [(1, 2, 3)], [121]):
        with pytest.raises(InputError, match="element"):
            plane.encode(wrong)
    for size in (0, 2**64):
        with pytest.raises(InputError, match="d: "):
            Plane(size)


@pytest.mark.statistical
@pytest.mark.grid
@pytest.mark.parametrize("d", [1, 4, 2**30, 2**32 - 1, 2**64 - 1])
def test_draws_are_uniform(d, key, stats):
    law = UniformPlane(d)
    drawn = np.asarray(jax.jit(lambda k: law.draw(k, 20_000))(key))
    assert drawn.dtype == np.uint32 and drawn.shape == (20_000, Plane(d).limbs)
    np.testing.assert_array_equal(law.draw(key, 7), drawn[:7])
    cells, points = min(d + 1, 5), Plane(d).decode(drawn)
    assert points.max() <= d
    x, y = (points.astype(object) * cells // (d + 1)).astype(np.int64).T
    stats.chi_square(np.bincount((x * cells + y).astype(int), minlength=cells**2), np.full(cells**2, cells**-2.0))


@pytest.mark.parametrize("d", [2**30 + 1, 2**31, 2**32 - 1, 2**32, 2**45 + 7, 2**64 - 1])
def test_elements_of_large_grids(d):
    plane = Plane(d)
    assert plane.limbs == (2 if d < 2**32 else 4)
    draw = random.Random(d)
    points = [(0, d), (d, 0), *((draw.randint(0, d), draw.randint(0, d)) for _ in range(50))]
    words = plane.encode(points)
    assert plane.decode(words).tolist() == [list(point) for point in points]
    np.testing.assert_array_equal(plane.encode([x * (d + 1) + y for x, y in points]), words)


@pytest.mark.parametrize("d", [2**10, 2**30, 2**32 - 1, 2**64 - 1])
def test_probes_measure_areas(d):
    """Of halfplanes through the square in 500 random directions, against clipped areas."""
    from dpjax.concepts.clipping import area, clipped, square

    points = Plane(d).decode(UniformPlane(d).points())
    assert points.shape == (2**14, 2) and points.max() <= d
    scaled = (points + 0.5) / (d + 1)
    generator, off = np.random.default_rng(0), []
    for angle in generator.random(500) * 2 * np.pi:
        normal = (np.cos(angle), np.sin(angle))
        offset = normal @ generator.random(2)
        exact = area(clipped(square(1.0), [normal], [offset]))
        off.append(abs(np.mean(scaled @ normal <= offset) - exact))
    assert max(off) < 3e-3 and np.median(off) < 5e-4


def test_a_square_at_any_place_is_one_program(key):
    """Draws, probes and errors of the grid of the square's side, moved; another place compiles nothing new."""

    @jax.jit
    @chex.assert_max_traces(n=1)
    def run(law, key, words):
        found = Hypothesis.of(words[None])
        with jax.enable_x64(True):
            return law.draw(key, 50), concepts.error(law, found, Hypothesis.of(words[None] ^ np.uint32(2)))

    concepts, whole = ConvexPolygons(1000, 3), UniformPlane(100, 512)
    words = concepts.of_lines([(1.0, 0.0)], [520.0])  # x <= 520
    for low in ((500, 30), (900, 900)):
        law = UniformSquare(1000, 512, side=100, low=np.array(low, np.uint32))
        drawn, wrong = run(law, key, words)
        np.testing.assert_array_equal(drawn, np.asarray(whole.draw(key, 50)) + np.array(low, np.uint32))
        np.testing.assert_array_equal(law.points(), whole.points() + np.array(low, np.uint32))
        assert law.total == 512 and wrong.shape == (1,)
    for wrong_side in (0, 1001):
        with pytest.raises(InputError, match="side"):
            UniformSquare(1000, side=wrong_side, low=np.zeros(2, np.uint32))
    with pytest.raises(InputError, match="d: "):
        UniformSquare(2**32, side=5, low=np.zeros(2, np.uint32))
