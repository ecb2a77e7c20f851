"""Halfplanes by rejection and by sorted crossings, on point sets hard to cut by: against Fractions, and one another."""

import importlib.util
from functools import lru_cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts.plane import Plane
from dpjax.core import wide
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Box, Kinematic
from tests.oracles import events
from tests.oracles.slabs import Frame

FALSE_ALARM = 1e-6  # of each chi-square, over its fixed seed; `stats` has the same


def beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


brute, arrangement = beside("brute_force"), beside("arrangement")
SHORT = ("random", "duplicates", "near-collinear", "Fibonacci")
CASES = [
    pytest.param(name, measure, marks=() if measure == "kinematic" and name in SHORT else pytest.mark.slow)
    for name in arrangement.FAMILIES
    for measure in ("kinematic", "box")
]
ROWS, D, SHARE, COEFFICIENT = 7, 8, 1.7, 1.5
SIZES = {"slabs": 2, "bins": 2, "spare": 5, "walls": 2}  # most proposals are rejected
MEASURES = {"box": (Box(), Frame.box), "kinematic": (Kinematic(), Frame.rotations)}
EVEN = np.arange(ROWS) % 2 == 0


@lru_cache
def instance(name, measure):
    """Points, and the law of the rows that a halfplane hits, ``float64[2**ROWS]``, from areas as Fractions."""
    points = arrangement.points(name, ROWS, D, 4)
    exact = arrangement.law(points.tolist(), ROWS, MEASURES[measure][1](D), 2 * SHARE, 2, COEFFICIENT)
    law = np.zeros(2**ROWS)
    for (_, _, hit), chance in exact.items():
        law[hit] += chance
    return points, law


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "measure"), CASES)
def test_rejection_has_the_exact_law(name, measure, stats):
    points, law = instance(name, measure)
    family = HalfPlanes(D, MEASURES[measure][0], **SIZES)
    brute.compare(stats, family, points, EVEN, ~EVEN, SHARE, COEFFICIENT, law, 5000, seed=11)
    assert stats.false_alarm == FALSE_ALARM


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("words", [2, 3, 4])
def test_rejection_has_the_exact_law_by_integers_of_several_words(words, stats):
    points, law = instance("random", "kinematic")
    family = HalfPlanes(D, **SIZES, words=words)
    brute.compare(stats, family, points, EVEN, ~EVEN, SHARE, COEFFICIENT, law, 20_000, seed=words)


@lru_cache
def lines(frame):
    """A jitted (keys, rows, target, other, budget, coefficient) -> which rows the lines hit, k = 2."""

    def draw(keys, x, target, other, budget, coefficient):
        cells = events.cells(x, target, other, frame)
        return jax.lax.map(lambda own: cells.select(own, budget, 2, coefficient).hits(x), keys)

    return jax.jit(draw)


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "measure"), CASES)
def test_sorted_crossings_have_the_exact_law(name, measure, stats):
    points, law = instance(name, measure)
    data = jnp.asarray(points, jnp.int32), jnp.asarray(EVEN), jnp.asarray(~EVEN)
    numbers = jnp.float32(2 * SHARE), jnp.float32(COEFFICIENT)
    hits = lines(MEASURES[measure][1](D))(jax.random.split(jax.random.key(12), 5000), *data, *numbers)
    stats.chi_square(np.bincount(brute.patterns(np.asarray(hits)), minlength=len(law)), law)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("d", [2**10, 2**30, 2**62, 2**64 - 1])
@pytest.mark.parametrize("name", arrangement.FAMILIES)
def test_rejection_has_the_law_of_all_cells_of_many_rows(name, d, stats):
    """60 rows: how many targets and others are hit, against the masses of all cells by sorted crossings."""
    family = HalfPlanes(d, slabs=16, bins=16, spare=64, walls=16)
    points, even = arrangement.points(name, 60, d, 9), np.arange(60) % 2 == 0
    law = counted(points, even, Frame.rotations(d), 2 * 6.0, 0.4)
    data = Plane(d).encode(points.tolist()) if d > 2**31 else points
    hits = brute.draws(family, data, even, ~even, 6.0, 0.4, 3000, seed=13)[1]
    seen = hits[:, even].sum(axis=1) * 100 + hits[:, ~even].sum(axis=1)
    stats.chi_square(np.bincount(seen, minlength=len(law)), law)


@lru_cache
def tables(frame):
    """A jitted (rows, target, other, budget, coefficient) -> chances, T and O of every cell and sign, k = 2."""

    def table(x, target, other, budget, coefficient):
        cells = events.cells(x, target, other, frame)
        with jax.enable_x64(True):
            return jnp.exp(cells.law(budget, 2, coefficient).log_probs()), *cells.table()[1:]

    return jax.jit(table)


def counted(points, even, frame, budget, coefficient):
    """The law of 100 T + O."""
    x = jnp.asarray(wide.encode(points)) if frame.d > 2**31 else jnp.asarray(points, jnp.int32)
    data = x, jnp.asarray(even), jnp.asarray(~even)
    chance, target, other = (
        np.asarray(part).reshape(-1) for part in tables(frame)(*data, jnp.float32(budget), jnp.float32(coefficient))
    )
    return np.bincount(target * 100 + other, chance, 100 * 100)
