"""Rectangles, and triangles with them: counts, laws and draws against brute force, and what must not matter."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.mechanisms.cover import Pieces
from dpjax.mechanisms.cover.score import Score
from dpjax.mechanisms.cover.triangles.corners import packed, range_counts
from dpjax.mechanisms.cover.triangles.rectangles import Rectangles
from dpjax.mechanisms.cover.triangles.strips import Binned

SMALL, BOTH = Rectangles(30, 4, 2), Pieces(30, 3, 1)


def rows(count, d=30, seed=4):
    generator = np.random.default_rng(seed)
    role = generator.integers(0, 3, count)
    return generator.integers(0, d + 1, (count, 2)).astype(np.int32), role == 0, role == 1


@cache
def every(family):
    """All pieces of a family of strips, in the order of their groups and numbers."""
    groups = family.groups()
    each = family.size // len(groups)
    place = np.repeat(groups, each, axis=0), np.tile(np.arange(each, dtype=np.int32), len(groups))
    return jax.jit(jax.vmap(family.piece))(*place)


def held(family, x):
    return np.asarray(jax.jit(lambda cuts: jax.vmap(family.hits, (0, None))(cuts, x))(every(family)))


@pytest.mark.parametrize(("bins", "count"), [(1, 5), (2, 0), (4, 60)])
def test_counts_of_ranges(bins, count):
    place = np.random.default_rng(bins).integers(0, bins, (2, count)).astype(np.int32)
    _, target, other = rows(count)
    low, high = np.triu_indices(bins)
    with jax.enable_x64(True):
        found = jax.jit(lambda p, *roles: range_counts(*p, packed(*roles), bins, low, high))(list(place), target, other)
    inside = [(one[:, None] <= row) & (row <= two[:, None]) for row in place for one, two in [(low, high)]]
    for part, role in zip(found, (target, other), strict=True):
        expected = np.einsum("in,jn,n->ij", *(side.astype(int) for side in inside), role.astype(int))
        np.testing.assert_array_equal(part, expected)


def test_a_rectangle_is_two_orthogonal_ranges():
    family, (x, _, _) = Rectangles(2**10, 6, 3), rows(200, 2**10)
    bins = np.asarray(jax.jit(lambda x: family.prepare(x).bins)(x))
    assert family.size == 3 * 6**2 == len(np.asarray(every(family).chart)) and family.edges == 4
    low, high = np.triu_indices(3)
    found = held(family, x).reshape(3, 6, 6, len(x))
    for i, (first, second) in enumerate([(0, 3), (1, 4), (2, 5)]):
        one, two = ((low[:, None] <= bins[side]) & (bins[side] <= high[:, None]) for side in (first, second))
        np.testing.assert_array_equal(found[i], one[:, None] & two[None])
    slope = family.lines()[1] / 2.0**family.planes.grid.bits
    chart = family.lines()[0]
    for first in range(3):  # orthogonal: slopes of opposite charts and signs
        assert chart[first] != chart[first + 3] and slope[first] == pytest.approx(-slope[first + 3], abs=1e-12)


def weights(family, x, target, other, share, coefficient):
    inside = held(family, x).astype(int)
    q = np.minimum(inside @ target - share, -(inside @ other))
    return np.exp(coefficient * q)


def test_the_law_is_the_exponential_of_the_quality():
    x, target, other = rows(40)
    with jax.enable_x64(True):
        score = Score.of(jnp.float64(7), 2, jnp.float64(0.8))
        found = np.exp(jax.jit(lambda *given: SMALL.law(*given, score).log_probs())(x, target, other))
    expected = weights(SMALL, x, target, other, 3.5, 0.8)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-9)


@cache
def drawer(family):
    """By the score's budget 12, k = 2 and coefficient 0.4: which rows each draw hits."""

    def draw(keys, x, target, other):
        with jax.enable_x64(True):
            score = Score.of(jnp.float64(12), 2, jnp.float64(0.4))
            one = lambda own: family.hits(family.select(own, x, target, other, score), x)  # noqa: E731
            return jax.lax.map(one, keys)

    return jax.jit(draw)


@pytest.mark.statistical
@pytest.mark.parametrize("family", [SMALL, BOTH])
def test_draws_follow_the_law(family, key, stats):
    """By the rows hit, 10,000 draws; of the mixture each family has half of the measure."""
    x, target, other = rows(25)
    found = np.asarray(drawer(family)(jax.random.split(key, 10_000), x, target, other))
    parts = family.families() if family is BOTH else (family,)
    inside = np.concatenate([held(part, x) for part in parts])
    weight = np.concatenate([weights(part, x, target, other, 6.0, 0.4) / part.size for part in parts])
    kinds, place = np.unique(inside, axis=0, return_inverse=True)
    law = np.bincount(place.reshape(-1), weights=weight) / weight.sum()
    index = {kind.tobytes(): i for i, kind in enumerate(kinds)}
    counts = np.bincount([index[row.tobytes()] for row in found], minlength=len(kinds))
    assert law.max() > 3 * law[law > 0].min() and len(kinds) > 10
    stats.chi_square(counts, law)


@pytest.mark.optimized
def test_buffer_batch_and_order_change_nothing(key):
    x, target, other = rows(30)
    keys = jax.random.split(key, 4)
    found = np.asarray(drawer(BOTH)(keys, x, target, other))
    order = np.random.default_rng(1).permutation(30)
    again = np.asarray(drawer(BOTH)(keys, x[order], target[order], other[order]))
    np.testing.assert_array_equal(again, found[:, order])
    none = np.zeros(9, bool)
    junk = np.random.default_rng(2).integers(-(2**31), 2**31, (9, 2)).astype(np.int32)
    padded = [np.concatenate(pair) for pair in ((junk, x), (none, target), (none, other))]
    np.testing.assert_array_equal(np.asarray(drawer(BOTH)(keys, *padded))[:, 9:], found)


def test_the_mixture():
    family = Pieces(2**10)
    triangles, rectangles = family.families()
    assert (rectangles.directions, rectangles.bins, family.edges) == (16, 24, 4)
    assert family.size == 2 * triangles.size > triangles.size + rectangles.size
    twice = jax.jit(family.prepare)(rows(5, 2**10)[0])
    assert all(isinstance(part, Binned) for part in twice.parts) and family.prepare(twice) is twice
    assert Pieces(9) == Pieces(9) != Pieces(9, 4) and hash(Pieces(9)) == hash(Pieces(9))


@pytest.mark.parametrize("wrong", [lambda: Rectangles(9, 5), lambda: Rectangles(0), lambda: Pieces(9, 2)])
def test_what_makes_no_family_is_refused(wrong):
    with pytest.raises(InputError, match=r"directions|d: "):
        wrong()
