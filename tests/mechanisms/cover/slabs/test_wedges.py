"""The family of slab wedges: its size, how lines on its lattice divide a grid, pieces of triangles, learners."""

from dataclasses import dataclass
from itertools import combinations, product
from math import exp

import jax
import numpy as np
import pytest

from dpjax.concepts.unions import Unions
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners.unions import UnionLearner
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes, Planar
from dpjax.mechanisms.cover.score import Gained, Score
from dpjax.mechanisms.cover.slabs.law import WedgeLaw, lines_of
from dpjax.mechanisms.cover.slabs.rejection import Sizes
from dpjax.mechanisms.cover.slabs.selection import select_wedge
from dpjax.mechanisms.cover.triangles.strips import all_hit
from dpjax.mechanisms.cover.triangles.triangles import Triangles

BUDGET, GOAL = Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)


@pytest.mark.parametrize(("d", "nats"), [(63, 51), (1023, 79), (2**20, 148), (2**64 - 1, 453)])
def test_nats(d, nats):
    family = SlabWedges(d)
    assert isinstance(family, Planar) and family.complete
    assert family.log_cost == pytest.approx(nats, abs=0.6)
    assert family.size == pytest.approx(exp(family.log_cost))


def lower(points, d):
    """The rows on or above a line that is not vertical, in all ways: lines turn about a point of two, or are steep."""
    x, y = points.T
    found = {tuple(y >= height) for height in range(d + 2)}
    for (one, up), (two, other) in combinations(points.tolist(), 2):
        if one != two:
            value = ((y - up) * (two - one) - (x - one) * (other - up)) * np.sign(two - one)
            for end, before in product(range(d + 2), (False, True)):
                found.add(tuple((value > 0) | ((value == 0) & ((x < end) == before))))
    for column, height, right in product(range(d + 1), range(d + 2), (False, True)):
        found.add(tuple(((x > column) if right else (x < column)) | ((x == column) & (y >= height))))
    return found


@pytest.mark.parametrize("d", [1, 2])
def test_every_way_that_a_line_divides_a_grid_has_its_mass(d):
    bits = 2 * (d - 1).bit_length() + 6  # as few as `Grid.exact` allows
    family = SlabWedges(d, bits=bits)
    assert family.complete
    kind, slope, t = lines_of(family)
    points = np.array(list(product(range(d + 1), repeat=2)))
    charts, above = np.array([0, 1, 1])[kind], np.array([True, False, True])[kind]
    pattern = np.zeros(len(kind), int)
    for i, point in enumerate(points):
        value = (point[1 - charts] << bits) - slope * point[charts]
        pattern += ((value >= t) == above) << i
    mass = np.bincount(pattern, (1 + (slope / 2.0**bits) ** 2) ** -1.5, 2 ** len(points))
    mass /= mass.sum()
    assert mass[mass > 0].min() >= 1 / (189.75 * d**4)
    ways = {tuple(((number >> np.arange(len(points))) & 1).astype(bool)) for number in np.flatnonzero(mass)}
    assert ways == lower(points, d)


def test_a_triangle_costs_two_wedges():
    learner = UnionLearner(Unions(1023, 3), family=SlabWedges(1023))
    assert learner.members == 6
    rows = learner.sample_size(BUDGET, GOAL)
    assert 2e5 < rows < 2e6
    with pytest.raises(NoTheoremError, match="at least 6"):
        UnionLearner(Unions(1023, 3), k=5, family=SlabWedges(1023)).sample_size(BUDGET, GOAL)
    with pytest.raises(NoTheoremError, match="complete"):
        UnionLearner(Unions(1023, 3), family=SlabWedges(1023, bits=8)).sample_size(BUDGET, GOAL)


def test_mistakes_of_users():
    with pytest.raises(InputError, match="bits"):
        SlabWedges(1023, bits=8).size  # noqa: B018
    with pytest.raises(InputError, match="boxes"):
        Sizes(boxes=10)
    with pytest.raises(InputError, match="batch"):
        Sizes(boxes=9, depth=0)
    for other in (Pieces(9), Triangles(7), HalfPlanes(7)):
        with pytest.raises(InputError, match="pieces"):
            SlabWedges(7, other)
    x, some = np.zeros((2, 2), np.int32), np.array([True, False])
    with pytest.raises(InputError, match="score"):
        SlabWedges(7).select(jax.random.key(0), x, some, ~some, Gained(np.float32(1), np.float32(1)))


def test_a_law_that_can_be_listed():
    family = SlabWedges(1, bits=0)
    x, target = np.array([[0, 1], [1, 0], [1, 1]], np.int32), np.array([True, False, True])
    law = WedgeLaw(x, target, ~target, Score.of(1.0, 1, 0.5), family)
    support = law.support(2000)
    assert support.size == 20**2 * 3 and law.support(1000) is None
    np.testing.assert_allclose(np.exp(np.asarray(support.log_mass)).sum(), 1)
    hit = np.asarray(jax.vmap(lambda cut: family.hits(cut, x))(support.outcomes))
    best = hit[np.argmax(support.log_mass)]
    assert (best[0] or best[2]) and not best[1]  # one target is enough for a score of 0


def test_a_polygon_of_k_edges_costs_k_less_one():
    separate, whole = Unions(1023, 4), Unions(1023, 4, polygons=1)  # a hexagon is four triangles
    family = SlabWedges(1023)
    assert UnionLearner(separate, family=family).members == 8
    learner = UnionLearner(whole, family=family)
    assert learner.members == 5
    assert learner.sample_size(BUDGET, GOAL) < UnionLearner(separate, family=family).sample_size(BUDGET, GOAL) / 1.5
    assert whole.targets(3).shape == separate.targets(3).shape
    with pytest.raises(InputError, match="at most 1"):
        whole.of_polygons([[(0, 0), (9, 0), (0, 9)], [(20, 20), (29, 20), (20, 29)]])


def test_corners_count_and_not_the_triangles_of_some_triangulation():
    """A hexagon that is a union of two triangles needs four wedges."""
    hexagon = [(7, 0), (9, 5), (12, 5), (4, 12), (0, 5), (2, 5)]
    assert Unions(12, 2).of_polygons([hexagon]).size == Unions(12, 2).limbs
    with pytest.raises(InputError, match="6"):
        Unions(12, 2, polygons=1).of_polygons([hexagon])
    assert Unions(12, 4, polygons=1).of_polygons([hexagon]).size == Unions(12, 4).limbs


@dataclass(frozen=True)
class Upright(Planar):
    """A family from outside: the rectangle of all rows alone, of weight 1."""

    d: int

    planes = property(lambda self: HalfPlanes(self.d))
    edges = 4

    def log_total(self, x, target, other, score):
        counts = (rows.sum().astype(float) for rows in (target, other))
        return score.log_weight(*counts)

    def select(self, key, x, target, other, score):
        return SlabWedges(self.d, bits=0).select(key, x, target & False, other & False, score)

    def hits(self, h, x):
        return all_hit(self.planes, h, x)


@pytest.mark.slow
def test_another_family_stands_beside_the_wedges():
    """All rows are targets, and the rectangle of all rows has half of the measure."""
    family = SlabWedges(7, Upright(7), sizes=Sizes(boxes=256, batch=4, points=4, depth=2))
    x, all_ = np.array([[i, 7 - i] for i in range(8)], np.int32), np.ones(8, bool)
    run = jax.jit(jax.vmap(lambda key: select_wedge(family, key, x, all_, ~all_, Score.of(8.0, 1, 20.0)).piece))
    assert run(jax.random.split(jax.random.key(0), 64)).mean() > 0.9
