"""Halfspaces in three dimensions: the law of a draw, every database, hits by whole numbers."""

import importlib.util
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.checks import InputError
from dpjax.mechanisms.cover.cuts import signed
from dpjax.mechanisms.cover.halfspaces import HalfSpaces3

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
spec = importlib.util.spec_from_file_location("brute_force", Path(__file__).with_name("brute_force.py"))
brute = importlib.util.module_from_spec(spec)
spec.loader.exec_module(brute)

SMALL = HalfSpaces3(8, slabs=2, bins=8, spare=40, walls=8)
POINTS = np.array([[0, 0, 1], [8, 8, 3], [3, 5, 4], [5, 3, 8], [1, 7, 0], [3, 5, 4], [8, 0, 2]])
TARGET = np.array([1, 0, 1, 1, 0, 0, 1], bool)
OTHERS = ((1, 2), (0, 2), (0, 1))


def planes(d, points, count):
    """Values on a fine grid of slopes in the three charts, with the density (1 + |s|^2)^-2."""
    axis, width = brute.middles(-1.0, 1.0, count)
    s = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    values = np.concatenate([points[:, c] - s @ points[:, OTHERS[c]].T for c in range(3)])
    weight = np.tile(width**2 * (1 + np.sum(s * s, 1)) ** -2, 3)
    return values, np.full(len(values), -2.0 * d), np.full(len(values), 3.0 * d), weight


def check_law(family, count, stats):
    law = brute.gaps(*planes(8, POINTS, 200), TARGET, ~TARGET, 1.7, 1.5)
    brute.compare(stats, family, POINTS, TARGET, ~TARGET, 1.7, 1.5, law, count)


@pytest.mark.statistical
@pytest.mark.slow
def test_the_law_of_a_draw(stats):
    check_law(HalfSpaces3(8, slabs=2, bins=2, spare=3, walls=2), 6_000, stats)


@pytest.mark.slow
@pytest.mark.statistical
def test_the_law_of_many_draws(stats):
    for family in (SMALL, HalfSpaces3(8)):
        check_law(family, 50_000, stats)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2**28])
def test_every_database_has_a_law(d):
    family = HalfSpaces3(d, slabs=4, bins=16, spare=256, walls=16)
    rng = np.random.default_rng(4)
    for points in (np.full((32, 3), d), rng.integers(-(2**31), 2**31, (32, 3)), np.stack([np.arange(32)] * 3, 1)):
        target = rng.random(32) < 0.5
        for real in (np.zeros(32, bool), np.arange(32) < 30):
            for share, coefficient in ((8, 0.3), (np.nan, 5.0), (-1e30, -1.0), (0, np.nan)):
                data = (points.astype(np.int32), target & real, ~target & real)
                assert brute.draws(family, *data, share, coefficient, 1, many=1)[1].shape == (1, 32)


def test_hits_are_decided_by_whole_numbers():
    cuts, hits, _ = brute.draws(SMALL, POINTS, TARGET, ~TARGET, 1.7, 0.2, 100, seed=3)
    normals, bits = SMALL.normal(cuts), SMALL.bits
    for i in range(100):
        s, t, c = [int(part) for part in signed(cuts.theta)[i]], int(signed(cuts.t)[i]), int(cuts.chart[i])
        values = [(int(p[c]) << bits) - sum(s[j] * int(p[OTHERS[c][j]]) for j in range(2)) for p in POINTS]
        assert [bool((v >= t) == bool(cuts.above[i])) for v in values] == hits[i].tolist()
        assert np.array_equal(POINTS @ normals[i, :3] > normals[i, 3], hits[i])


def test_slopes_fill_their_range():
    cells = HalfSpaces3(100, slabs=3).cells()
    bits = HalfSpaces3(100).bits
    for chart in range(3):
        sizes = (cells.high - cells.low)[cells.chart == chart].astype(object)
        assert sum(np.prod(size) for size in sizes) == (2 << bits) ** 2


def test_what_a_person_may_get_wrong():
    for wrong in ({"d": 0}, {"d": 2**28 + 1}, {"d": 8, "bins": 1}):
        with pytest.raises(InputError):
            HalfSpaces3(**wrong)
    with pytest.raises(InputError, match="shape"):
        HalfSpaces3(8).features(jnp.zeros((3, 2), jnp.int32))
    assert HalfSpaces3(8) == HalfSpaces3(8) and hash(HalfSpaces3(8)) == hash(HalfSpaces3(8))
