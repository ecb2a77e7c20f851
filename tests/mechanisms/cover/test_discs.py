"""Discs: the law of a draw, every database, hits by whole numbers."""

import importlib.util
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.core.integers import on_host
from tests.mechanisms.cover.discs import Discs

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
spec = importlib.util.spec_from_file_location("brute_force", Path(__file__).with_name("brute_force.py"))
brute = importlib.util.module_from_spec(spec)
spec.loader.exec_module(brute)

SMALL = Discs(8, slabs=3, bins=8, spare=40, walls=8)
POINTS = np.array([[0, 0], [8, 8], [3, 5], [5, 3], [1, 7], [3, 5], [8, 0]])
TARGET = np.array([1, 0, 1, 1, 0, 0, 1], bool)


def centres(d, points, count):
    """Values |p|^2 - 2 c . p on a fine grid of centres, with t from -4 d^2 to 4 d^2."""
    axis, width = brute.middles(-d / 2, 1.5 * d, count)
    c = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    values = np.sum(points**2, 1) - 2 * c @ points.T
    end = np.full(len(c), 4.0 * d * d)
    return values, -end, end, np.full(len(c), width**2)


def check_law(family, count, stats):
    law = brute.gaps(*centres(8, POINTS, 300), TARGET, ~TARGET, 1.7, 1.5)
    brute.compare(stats, family, POINTS, TARGET, ~TARGET, 1.7, 1.5, law, count)


@pytest.mark.statistical
@pytest.mark.slow
def test_the_law_of_a_draw(stats):
    check_law(Discs(8, slabs=2, bins=2, spare=3, walls=2), 6_000, stats)


@pytest.mark.slow
@pytest.mark.statistical
def test_the_law_of_many_draws(stats):
    for family in (SMALL, Discs(8)):
        check_law(family, 100_000, stats)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 3, 2**28])
def test_every_database_has_a_law(d):
    family = Discs(d, slabs=4, bins=16, spare=256, walls=16)
    rng = np.random.default_rng(4)
    for points in (np.full((32, 2), d), rng.integers(-(2**31), 2**31, (32, 2)), np.stack([np.arange(32)] * 2, 1)):
        target = rng.random(32) < 0.5
        for real in (np.zeros(32, bool), np.arange(32) < 30):
            for share, coefficient in ((8, 0.3), (np.nan, 5.0), (-1e30, -1.0), (0, np.nan)):
                data = (points.astype(np.int32), target & real, ~target & real)
                assert brute.draws(family, *data, share, coefficient, 1, many=1)[1].shape == (1, 32)


def test_hits_are_decided_by_whole_numbers():
    cuts, hits, _ = brute.draws(SMALL, POINTS, TARGET, ~TARGET, 1.7, 0.2, 100, seed=3)
    circles, bits = SMALL.circle(cuts), SMALL.bits
    for i in range(100):
        centre, t = [int(c) for c in on_host(cuts.theta)[i]], int(on_host(cuts.t)[i])
        values = [(int(x * x + y * y) << bits) - 2 * (int(x) * centre[0] + int(y) * centre[1]) for x, y in POINTS]
        assert [bool((v >= t) == bool(cuts.above[i])) for v in values] == hits[i].tolist()
        inside = np.sum((POINTS - circles[i, :2]) ** 2, 1) < circles[i, 2]
        assert np.array_equal(inside != bool(cuts.above[i]), hits[i])


def test_centres_and_values_fill_their_range():
    for d in (1, 3, 1000, 2**28):
        family = Discs(d, slabs=5)
        cells = family.cells()
        assert int(cells.low.min()) * 2 == -(d << family.bits) and int(cells.high.max()) * 2 == 3 * d << family.bits
        sizes = (cells.high - cells.low).astype(object)
        assert sum(np.prod(size) for size in sizes) == (2 * d << family.bits) ** 2
        extreme = [
            (p << family.bits) * p - 2 * p * c for p in (0, d) for c in (int(cells.low.min()), int(cells.high.max()))
        ]
        assert family.first <= 2 * min(extreme) and 2 * max(extreme) <= family.last < 2**61


def test_what_a_person_may_get_wrong():
    for wrong in ({"d": 0}, {"d": 2**28 + 1}, {"d": 8, "slabs": 1}):
        with pytest.raises(InputError):
            Discs(**wrong)
    with pytest.raises(InputError, match="shape"):
        Discs(8).features(jnp.zeros((3, 3), jnp.int32))
    assert Discs(8) == Discs(8) and hash(Discs(8)) == hash(Discs(8))
