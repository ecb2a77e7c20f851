"""Triangles: which rows they hold, the law of one choice against brute force, its draws, and what must not matter."""

import itertools
import math
from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts.plane import Plane
from dpjax.core.checks import InputError
from dpjax.mechanisms.cover.lines.cuts import cut_hits
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.triangles import corners
from dpjax.mechanisms.cover.triangles.corners import corner_counts, log_sum, packed
from dpjax.mechanisms.cover.triangles.triangles import Triangles


def parts(generator, count):
    """Random disjoint targets and others, and rows under neither."""
    role = generator.integers(0, 3, count)
    return role == 0, role == 1


def numbers(*values):
    with jax.enable_x64(True):
        return [jnp.float64(value) for value in values]


@cache
def every(family):
    """All triples in the order of their numbers: (three cuts, each leaf ``[size, 3, ...]``)."""
    sides = np.array(list(itertools.product(range(2 * family.bins), repeat=3)), np.int32)
    lines = np.repeat(family.groups(), len(sides), axis=0)
    return jax.jit(jax.vmap(family.cuts))(lines, np.tile(sides, (len(lines) // len(sides), 1)))


@cache
def all_hits(family):
    return jax.jit(lambda cuts, x: jax.vmap(family.hits, (0, None))(cuts, x))


@pytest.mark.parametrize(("bins", "count"), [(1, 5), (2, 0), (3, 40), (5, 300)])
def test_counts_of_corners(bins, count):
    generator = np.random.default_rng(bins)
    place = generator.integers(0, bins, (3, count)).astype(np.int32)
    target, other = parts(generator, count)
    kept = [np.arange(bins) <= i for i in range(bins)] + [np.arange(bins) >= i for i in range(bins)]
    with jax.enable_x64(True):
        found = jax.jit(lambda p, *roles: corner_counts(*p, packed(*roles), bins))(list(place), target, other)
    found = [np.asarray(part) for part in found]
    for i, j, k in itertools.product(range(2 * bins), repeat=3):
        inside = kept[i][place[0]] & kept[j][place[1]] & kept[k][place[2]]
        for part, role in zip(found, (target, other), strict=True):
            assert part[i, j, k] == (inside & np.asarray(role)).sum()


def test_sums_do_not_depend_on_the_order():
    generator = np.random.default_rng(2)
    logs = generator.normal(size=(40, 50)) * 30 - 1000
    with jax.enable_x64(True):
        total = jax.jit(log_sum)
        found = [float(total(jnp.asarray(generator.permutation(logs.reshape(-1)).reshape(40, 50)))) for _ in range(5)]
        assert float(total(jnp.asarray([[-np.inf, 3.0, -1e9]]))) == 3.0
    assert len(set(found)) == 1
    top = logs.max()
    assert found[0] == pytest.approx(top + math.log(math.fsum(np.exp(logs - top).reshape(-1))), rel=1e-14)


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize(
    ("d", "directions", "bins"),
    [
        (1, 3, 1),
        (1, 5, 4),
        (2**64 - 1, 5, 6),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((6, 5, 4), (2**10, 12, 16), (2**30, 7, 5))),
    ],
)
def test_strips_are_what_the_cuts_say(d, directions, bins):
    """Bins and cuts decide alike for every row, next to the lines and outside of the square too."""
    family = Triangles(d, directions, bins)
    generator = np.random.default_rng(d)
    ends = np.array(list(itertools.product((-5, 0, 1, d - 1, d, d + 5), repeat=2)), object)
    x = np.concatenate([ends, generator.integers(0, d, (100, 2), np.uint64, endpoint=True).astype(object)])
    x = Plane(d).encode(np.clip(x, 0, d).tolist()) if d > 2**30 else x.astype(np.int32)
    found = np.asarray(jax.jit(family.prepare)(x).bins)
    assert found.dtype == np.int32 and found.min() >= 0 and found.max() <= bins - 1
    if d >= 2**10:
        assert (found.min(axis=1) == 0).all() and (found.max(axis=1) == bins - 1).all()
    lines = np.resize(np.arange(directions, dtype=np.int32), (-(-directions // 3), 3))

    @jax.jit
    def hits(side):
        cuts = jax.vmap(lambda line: family.cuts(line, jnp.broadcast_to(side, 3)))(lines)
        return jax.vmap(jax.vmap(lambda cut: cut_hits(family.planes, cut, x)))(cuts)

    for side in range(2 * bins):
        kept = found <= side if side < bins else found >= side - bins
        np.testing.assert_array_equal(np.asarray(hits(np.int32(side))).reshape(-1, len(x))[:directions], kept)
        assert kept.all() or side not in (bins - 1, bins)


def test_lines_are_equally_spaced():
    family = Triangles(2**12, 12, 16)
    chart, slope, ends = family.lines()
    width = ends[:, 2] - ends[:, 1]
    least = ends[:, 1] - width
    assert (np.diff(ends[:, 1:-1], axis=1) == width[:, None]).all()
    assert (ends[:, 0] == family.planes.first).all() and (ends[:, -1] == family.planes.last + 1).all()
    unit = 2.0**-family.planes.grid.bits
    angles = np.where(chart == 0, np.arctan(slope * unit), np.pi / 2 - np.arctan(slope * unit))
    np.testing.assert_allclose(np.diff(angles), np.pi / 12, rtol=1e-9)
    spans = 2**12 * (1 + np.abs(slope) * unit)  # of the values over the square
    np.testing.assert_allclose(width * unit * 16, spans, rtol=1e-9)
    np.testing.assert_allclose(least * unit, -(2**12) * np.maximum(slope * unit, 0), rtol=1e-9)


def brute_force(family, x, target, other, budget, k, coefficient):
    """Log-probabilities of all triples, from what the cuts hit and exact qualities."""
    table = np.asarray(all_hits(family)(every(family), x))
    hit, wrong = (table[:, np.asarray(role)].sum(axis=1).tolist() for role in (target, other))
    share = Fraction(budget) / k
    score = [min(t - share, Fraction(-o)) for t, o in zip(hit, wrong, strict=True)]
    best = max(score)
    logs = [coefficient * float(s - best) for s in score]
    total = math.log(math.fsum(math.exp(part) for part in logs))
    return np.array(logs) - total


@cache
def law_of(family, k):
    return jax.jit(lambda x, target, other, b, c: family.law(x, target, other, Score.of(b, k, c)).log_probs())


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize(
    ("d", "directions", "bins", "count", "k"), [(5, 3, 2, 0, 1), (9, 3, 3, 7, 2), (2**30, 4, 2, 40, 5)]
)
def test_the_law_is_the_exponential_of_the_quality(d, directions, bins, count, k):
    generator, family = np.random.default_rng(3), Triangles(d, directions, bins)
    law = law_of(family, k)
    x = generator.integers(0, d + 1, (count, 2)).astype(np.int32)
    for coefficient in (0.0, 0.05, 1.3, 40.0):
        target, other = parts(generator, count)
        for budget in (float(target.sum()), float(target.sum()) - 3.25, -17.0, 1e6):
            found = law(x, target, other, *numbers(budget, coefficient))
            wanted = brute_force(family, x, target, other, budget, k, coefficient)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-9 if budget == 1e6 else 1e-12)


def index_of(family, drawn):
    """The numbers of drawn triples, which differ in their words."""

    def words(cuts):
        leaves = [np.asarray(part).reshape(len(part), -1).astype(np.uint32) for part in jax.tree.leaves(cuts)]
        return [row.tobytes() for row in np.concatenate(leaves, axis=1)]

    place = {word: i for i, word in enumerate(words(every(family)))}
    assert len(place) == family.size
    return np.array([place[word] for word in words(drawn)])


@pytest.mark.statistical
def test_draws_follow_the_law(key, stats):
    """Directions and sides together, 10,000 draws over 256 triples."""
    generator, family, k = np.random.default_rng(4), Triangles(30, 4, 2), 2
    x = generator.integers(0, 31, (25, 2)).astype(np.int32)
    target, other = parts(generator, 25)
    budget, coefficient = float(target.sum()) + 1.5, 0.4
    given = numbers(budget, coefficient)
    draw = jax.jit(jax.vmap(lambda own: family.select(own, x, target, other, Score.of(given[0], k, given[1]))))
    drawn = index_of(family, draw(jax.random.split(key, 10_000)))
    law = np.exp(brute_force(family, x, target, other, budget, k, coefficient))
    assert law.max() > 3 * law.min()
    stats.chi_square(np.bincount(drawn, minlength=family.size), law)


def test_a_row_moves_a_probability_by_less_than_twice_the_coefficient():
    """Replaced, the budget fixed or the exact count; and there are rows for which it is more than once."""
    generator, family, coefficient, moved = np.random.default_rng(6), Triangles(20, 3, 2), 0.7, []
    law = law_of(family, 2)
    x, role = generator.integers(0, 21, (12, 2)), generator.integers(0, 2, 12)
    for i in range(60):
        other_x, other_role = x.copy(), role.copy()
        other_x[i % 12], other_role[i % 12] = generator.integers(0, 21, 2), generator.integers(0, 2)
        budgets = [6.0, 6.0] if i % 2 else [float((r == 0).sum()) for r in (role, other_role)]
        first, second = (
            np.asarray(law(rows.astype(np.int32), *(r == c for c in (0, 1)), *numbers(budget, coefficient)))
            for rows, r, budget in zip((x, other_x), (role, other_role), budgets, strict=True)
        )
        moved.append(np.abs(first - second).max())
    assert coefficient / 2 < max(moved) <= 2 * coefficient + 1e-9


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


@pytest.mark.slow
def test_buffer_order_batch_and_64_bit_types_change_nothing(key):
    family, generator = Triangles(2**10, 5, 6), np.random.default_rng(7)
    x = generator.integers(0, 1025, (90, 2)).astype(np.int32)
    target, other = parts(generator, 90)
    budget, coefficient = numbers(17.5, 0.2)
    score = Score.of(budget, 3, coefficient)
    one = lambda own, x, target, other: family.select(own, x, target, other, score)  # noqa: E731
    prepared = lambda own, x, *roles: one(own, family.prepare(x), *roles)  # noqa: E731
    keys, run = jax.random.split(key, 20), jax.jit(jax.vmap(one, (0, None, None, None)))
    found = run(keys, x, target, other)
    order = generator.permutation(90)
    pad, none = generator.integers(-(2**31), 2**31, (38, 2)).astype(np.int32), np.zeros(38, bool)
    padded = [np.concatenate((part[order], more)) for part, more in ((x, pad), (target, none), (other, none))]
    found = jax.tree.map(np.asarray, found)
    with jax.enable_x64(True):
        alone = jax.jit(prepared)
        for i in range(20):
            assert same(jax.tree.map(lambda part, i=i: part[i], found), alone(keys[i], *padded))
    assert len(np.unique(np.asarray(found.t)[..., 1])) > 5


def test_every_database_has_an_answer(key):
    """All databases of two rows on four points, no rows, and numbers that are none."""
    family = Triangles(1, 3, 2)
    points = np.array(list(itertools.product((0, 1), repeat=2)), np.int32)
    draw = jax.jit(lambda x, target, other, b, c: family.select(key, x, target, other, Score.of(b, 2, c)))
    hits, seen = jax.jit(family.hits), set()
    for first, second in itertools.product(range(4), repeat=2):
        for roles in itertools.product(range(3), repeat=2):
            role = np.array([*roles, 2, 2])  # two more rows that count for nothing
            rows = points[[first, second, 0, 3]]
            h = draw(rows, role == 0, role == 1, *numbers(float((role == 0).sum()), 9.0))
            assert h.t.shape == (3, 2) and (np.asarray(h.chart) < 2).all()
            seen.add(np.asarray(hits(h, points)).tobytes())
    assert len(seen) > 3
    nothing = np.zeros((0, 2), np.int32), np.zeros(0, bool), np.zeros(0, bool)
    for budget, coefficient in itertools.product((0.0, -1e9, np.nan, np.inf), (0.0, 1e100, np.nan, -1.0)):
        for rows in (nothing, (points, np.ones(4, bool), np.zeros(4, bool))):
            h = draw(*rows, *numbers(budget, coefficient))
            assert hits(h, points).shape == (4,)


def test_what_makes_no_family_is_refused(monkeypatch):
    for given in ((0, 3, 2), (9, 2, 2), (9, 65, 2), (9, 3, 0), (9, 3, 65), (2**64, 3, 3)):
        with pytest.raises(InputError):
            Triangles(*given)
    assert Triangles(4, 3, 2) == Triangles(4, 3, 2) != Triangles(4, 3, 3)
    monkeypatch.setattr(corners, "MOST_ROWS", 3)
    with pytest.raises(InputError, match="rows"):
        packed(np.zeros(4, bool), np.zeros(4, bool))
    with pytest.raises(InputError, match="x"):
        Triangles(9, 3, 2).prepare(np.zeros((4, 3), np.int32))


def test_the_finest_family_abstractly():
    """No array of size n directions^3 or directions^3 bins^3."""
    family = Triangles(2**30, 64, 64)
    arrays = np.zeros((1000, 2), np.int32), np.zeros(1000, bool), np.zeros(1000, bool)
    budget, coefficient = numbers(1, 1)
    h = jax.eval_shape(lambda key: family.select(key, *arrays, Score.of(budget, 3, coefficient)), jax.random.key(0))
    assert h.t.shape == (3, 4) and h.theta.shape == (3, 1, 4) and h.above.shape == (3,)
    assert family.size == 41664 * 128**3


def test_the_law_has_the_coefficient_that_select_clips():
    family = Triangles(8, 3, 2)
    rows = np.array([[0, 0], [8, 8]], np.int32), np.array([True, False]), np.array([False, True])
    laws = [family.law(*rows, Score.of(1, 2, coefficient)).log_probs() for coefficient in (64.0, 1e4)]
    np.testing.assert_array_equal(*laws)
