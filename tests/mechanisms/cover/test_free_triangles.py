"""Triangles of any lines: the law of a draw against the arrangement's cells, its bounds, and what must not matter."""

import importlib.util
import itertools
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.checks import InputError
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.unions import Unions
from dpjax.mechanisms.cover.cuts import Rows, signed
from dpjax.mechanisms.cover.free_triangles import FreeTriangles, first_boxes, split
from dpjax.mechanisms.cover.measures import Kinematic, Net
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.mechanisms.cover.slabs import Frame
from dpjax.mechanisms.cover.sweep import Score

spec = importlib.util.spec_from_file_location("arrangement", Path(__file__).with_name("arrangement.py"))
arrangement = importlib.util.module_from_spec(spec)
spec.loader.exec_module(arrangement)

DRAWS = 1_000
SMALL = FreeTriangles(8, spare=2**11)


@cache
def selector(family):
    def draw(keys, x, target, other, budget, coefficient):
        def one(key):
            h = family.select(key, x, target, other, budget, 2, coefficient)
            return h, family.hits(h, x)

        return jax.lax.map(one, keys)

    return jax.jit(draw)


def law(points, frame, target, other, share, coefficient):
    """Over the rows that a triangle holds, as bits: from the cells that each edge may lie in, all triples of them."""
    full, masses = (1 << len(points)) - 1, np.zeros(1 << len(points))
    for (_, below), mass in arrangement.masses(points, frame).items():
        masses[below] += float(mass)
        masses[full ^ below] += float(mass)
    seen = np.flatnonzero(masses)
    found = np.zeros(len(masses))
    for one, two in itertools.product(seen, repeat=2):
        np.add.at(found, seen & one & two, masses[seen] * masses[one] * masses[two])
    held = (np.arange(len(masses))[:, None] >> np.arange(len(points))) & 1
    q = np.minimum(held @ target - share, -(held @ other))
    weights = found * np.exp(coefficient * (q - q.max()))
    return weights / weights.sum()


@pytest.mark.statistical
@pytest.mark.parametrize(("family", "kind", "coefficient"), [
    (SMALL, "random", 1.5),
    *(pytest.param(*row, marks=pytest.mark.slow) for row in (
        (FreeTriangles(8, spare=0), "grid", 0.5), (FreeTriangles(8), "collinear", 2.5),
        (FreeTriangles(100), "near-collinear", 2.0), (FreeTriangles(8), "duplicates", 1.5),
        (FreeTriangles(2**30), "random", 2.0))),
])  # fmt: skip
def test_the_law_of_a_draw(family, kind, coefficient, key, stats):
    points, share = arrangement.points(kind, 6, family.d, 1), 3.0
    target = np.arange(6) % 2 == 0
    expected = law(points.tolist(), Frame.rotations(family.d), target, ~target, share, coefficient)
    assert (expected > 0.01).sum() > 3
    numbers = jnp.float32(2 * share), jnp.float32(coefficient)
    x = jnp.asarray(points, jnp.int32)
    hits = np.asarray(selector(family)(jax.random.split(key, DRAWS), x, target, ~target, *numbers)[1])
    stats.chi_square(np.bincount(hits @ (1 << np.arange(6)), minlength=64), expected)


@pytest.mark.statistical
def test_without_rows_edges_are_drawn_from_the_measure(key, stats):
    """Slopes by (1 + s^2)^(-3/2), whose integral is s / sqrt(1 + s^2); t beyond all values as often."""
    none = np.zeros(1, bool)
    draws = selector(SMALL)(
        jax.random.split(key, 4000), jnp.zeros((1, 2), jnp.int32), none, none, *map(jnp.float32, (0, 1))
    )
    slope = np.abs(signed(draws[0].theta)[..., 0]) / (1 << SMALL.planes.grid.bits)
    t = signed(draws[0].t)
    below, above = t == SMALL.planes.first, t == SMALL.planes.last + 1
    assert set(np.unique(draws[0].chart)) == {0, 1} == {*np.unique(draws[0].above).astype(int)}
    kind = 4 * np.where(below, 0, np.where(above, 1, 2)) + np.digitize(slope, [0.25, 0.5, 0.75])
    steps = np.array([0, 0.25, 0.5, 0.75, 1])
    by_slope = np.diff(steps / np.sqrt(1 + steps**2)) * np.sqrt(2)
    stats.chi_square(
        np.bincount(kind.ravel(), minlength=12), np.outer([0.25 / 3.5, 0.25 / 3.5, 3 / 3.5], by_slope).ravel()
    )


def workload(n, d, seed=0):
    x = np.random.default_rng(seed).integers(0, d + 1, (n, 2)).astype(np.int32)
    return jnp.asarray(x), jnp.asarray(((x - d / 2) ** 2).sum(axis=1) < (d / 4) ** 2)


@cache
def torn(family):
    """A jitted (x, target, coefficient, rounds) -> the score with k = 1, and the boxes after so many rejections."""

    def run(x, target, coefficient, rounds):
        with jax.enable_x64(True):
            rows = Rows.of(family.planes, x, target, ~target)
            score = Score.of(jnp.sum(target), 1, coefficient)
            boxes = first_boxes(family.planes, rows, score, family.spare)
            boxes = jax.lax.fori_loop(0, rounds, lambda _, old: split(family.planes, rows, score, old), boxes)
            return (score.coefficient, score.share), boxes

    return jax.jit(run)


@pytest.mark.parametrize("coefficient", [0.0, 0.3, pytest.param(5.0, marks=pytest.mark.slow)])
def test_no_proposal_is_above_its_bound(coefficient, key):
    """And where rows do not matter, what is rejected is for the density alone."""
    family = FreeTriangles(2**10, Kinematic(0.0) if coefficient == 5 else Kinematic(), 2**12)
    x, target = workload(60, 2**10)

    @jax.jit
    def run(keys, boxes, score):
        with jax.enable_x64(True):
            return jax.lax.map(lambda own: family.proposal(own, x, target, ~target, Score(*score), boxes)[1], keys)

    accepted = []
    for rounds in (0, 3, 12):
        score, boxes = torn(family)(x, target, jnp.float32(coefficient), jnp.int32(rounds))
        found = np.asarray(run(jax.random.split(key, 4000), boxes, score))
        assert found.max() <= 1e-12
        accepted.append(np.exp(found).mean())
    if coefficient:
        assert accepted[0] < accepted[2]
    else:
        assert accepted[0] > 0.3  # (1 + s^2)^(-3/2) is 2^(-1/2) on average


@pytest.mark.parametrize("rounds", [0, 5])
def test_boxes_hold_each_order_of_edges_once(rounds):
    """Whatever was split: of the six orders of any three cuts, the boxes that hold them count for six."""
    family, (x, target) = FreeTriangles(2**10, spare=2**11), workload(40, 2**10, 2)
    planes, draw = family.planes, np.random.default_rng(3)
    boxes = jax.tree.map(np.asarray, torn(family)(x, target, jnp.float32(0.5), jnp.int32(rounds))[1])
    assert (boxes.used > 364) == (rounds > 0) and (boxes.used <= len(boxes.weight))
    edges, one = boxes.edges, 1 << planes.grid.bits
    real = np.where(np.isfinite(boxes.weight), np.exp(boxes.orders), 0.0)

    def cut():  # at the ends of rectangles more often than by chance
        values = np.array([planes.first, planes.last + 1, draw.integers(planes.first, planes.last)])
        t = draw.choice(np.concatenate([values, draw.choice(edges.first[real > 0].ravel(), 3)]))
        slope = draw.choice([draw.integers(-one, one), min(draw.choice(edges.high[real > 0].ravel()), one - 1)])
        return draw.integers(2), slope, t, bool(draw.integers(2)), t in values[:2] and draw.integers(2)

    def held(which):
        chart, slope, t, above, tail = which
        inside = (edges.low <= slope) & (slope < edges.high) & (edges.first <= t) & (t <= edges.last)
        return inside & (edges.chart == chart) & (edges.above == above) & (edges.tail == tail)

    for _ in range(300):
        three = cut(), cut(), cut()
        three = (three[0], three[0], three[2]) if draw.integers(4) == 0 else three
        found = [held(which) for which in three]
        orders = sum(
            real @ (found[i][:, 0] & found[j][:, 1] & found[k][:, 2]) for i, j, k in itertools.permutations(range(3))
        )
        assert orders == pytest.approx(6)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


def test_buffer_order_batch_and_64_bit_types_change_nothing(key):
    family, (x, target) = SMALL, workload(40, 8)
    keys, numbers = jax.random.split(key, 12), (jnp.float32(9), jnp.float32(0.4))
    found = jax.tree.map(np.asarray, selector(family)(keys, x, target, ~target, *numbers)[0])
    order = np.random.default_rng(1).permutation(40)
    assert same(found, selector(family)(keys, x[order], target[order], ~target[order], *numbers)[0])
    junk, none = np.random.default_rng(2).integers(-(2**31), 2**31, (50, 2)).astype(np.int32), np.zeros(50, bool)
    padded = np.concatenate([junk, x]), np.concatenate([none, target]), np.concatenate([none, ~target])
    one = lambda own, x, *roles: family.select(own, x, *roles, numbers[0], 2, numbers[1])  # noqa: E731
    with jax.enable_x64(True):
        assert same(found, jax.jit(jax.vmap(one, (0, None, None, None)))(keys, *padded))
    assert len(np.unique(np.asarray(found.t)[..., 1])) > 20


def test_every_database_has_an_answer(key):
    """Two rows on four points, no rows, and numbers that are none."""
    family, points = FreeTriangles(1, spare=64), np.array(list(itertools.product((0, 1), repeat=2)), np.int32)
    run, own, seen = selector(family), key[None], set()
    for first, roles in itertools.product(range(4), itertools.product(range(3), repeat=2)):
        role = np.array(roles)
        hits = run(own, points[[first, 3]], role == 0, role == 1, jnp.float32(1), jnp.float32(9))[1]
        seen.add(np.asarray(hits).tobytes())
    assert len(seen) > 2
    yes, no = np.ones(2, bool), np.zeros(2, bool)
    for budget, coefficient in itertools.product((0.0, -1e9, np.nan, np.inf), (0.0, 1e30, np.nan, -1.0)):
        for target in (yes, no):
            found = run(own, points[:2], target, no, jnp.float32(budget), jnp.float32(coefficient))[0]
            assert (np.asarray(found.chart) < 2).all()
            t = signed(found.t)
            assert ((family.planes.first <= t) & (t <= family.planes.last + 1)).all()
    empty = run(own, points[:0], no[:0], no[:0], jnp.float32(1), jnp.float32(1))
    assert empty[0].t.shape == (1, 3, 2) and empty[1].shape == (1, 0)


def test_proposals_for_a_few_hundred_rows(key):
    """Tens at coefficient 0.12; at 0.25 one or two hundred, where boxes that do not get better would take thousands."""
    family, (x, target) = FreeTriangles(2**10), workload(300, 2**10)
    budget, own = jnp.sum(target).astype(jnp.float32), jax.random.split(key, 10)
    run = jax.jit(lambda key, coefficient: family.draw(key, x, target, ~target, budget, 2, coefficient)[1])
    for coefficient, most in ((0.12, 100), (0.25, 500)):
        assert np.mean([int(run(one, jnp.float32(coefficient))) for one in own]) < most


@pytest.mark.slow
def test_a_union_of_such_triangles(key):
    """A set cover takes the family as it is, and what it returns are the words of a union."""
    concepts, (x, _) = Unions(2**10, 1), workload(40, 2**10)
    target = x[:, 0] > x[:, 1]
    family = FreeTriangles(2**10)
    run = jax.jit(lambda own: set_cover(own, family, x, target, ~target, 3, 1, jnp.float32(1))[0])
    wrong = []
    for own in jax.random.split(key, 6):
        found = run(own)
        union = Hypothesis.of(concepts.of_cuts(found)[None])
        held = [family.hits(jax.tree.map(lambda part, i=i: part[i], found), x) for i in range(3)]
        said = concepts.predict(union, x.astype(jnp.uint32))[:, 0]
        assert np.array_equal(said, np.any(held, axis=0))
        wrong.append(int(jnp.sum(said != target)))
    assert np.mean(wrong) < 10 < int(target.sum())


def test_what_makes_no_family_is_refused():
    for given in ({"d": 0}, {"d": 2**30 + 1}, {"d": 9, "spare": -1}, {"d": 9, "spare": 2**21}):
        with pytest.raises(InputError):
            FreeTriangles(**given)
    assert FreeTriangles(9) == FreeTriangles(9) != FreeTriangles(9, Kinematic(0.5))
    with pytest.raises(InputError, match="use Triangles"):
        FreeTriangles(2**10, Net(64))
