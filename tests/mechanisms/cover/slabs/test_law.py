"""The law of a draw of a slab wedge, against enumeration: both lines and the interval; mistakes that this must see."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.mechanisms.cover import Pieces
from dpjax.mechanisms.cover.score import Floored
from dpjax.mechanisms.cover.slabs import boxes, rejection
from dpjax.mechanisms.cover.triangles.strips import all_hit

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
SIDES = boxes.sides
spec = importlib.util.spec_from_file_location("enumerated", Path(__file__).with_name("enumerated.py"))
enumerated = importlib.util.module_from_spec(spec)
spec.loader.exec_module(enumerated)


@pytest.fixture(scope="module")
def run():
    """One program for all instances."""
    return enumerated.sampler()


def compare(stats, run, seed, count):
    """Classes of both lines and the interval together, and each by itself, for more rows in a cell."""
    lower, upper, pair, _ = enumerated.draws(run, seed, count)
    mass = enumerated.law(*enumerated.instance(seed))[2]
    observed = np.zeros(mass.shape)
    np.add.at(observed, (lower, upper, pair), 1)
    for axes in [(), (1, 2), (0, 2), (0, 1)]:
        stats.chi_square(observed.sum(axis=axes).reshape(-1), mass.sum(axis=axes).reshape(-1))


@pytest.mark.statistical
def test_the_law_of_a_draw(stats, run):
    for seed in (2, 8, 31):
        compare(stats, run, seed, 2048)


def mean_weight(family, points, role, share, coefficient, least):
    """The mean of exp(coefficient q) + exp(least) over the pieces of a family, from the definition of the score."""
    groups, choices = jnp.asarray(family.groups()), np.arange(family.size // len(family.groups()))
    hits = lambda group, number: all_hit(family.planes, family.piece(group, number), points)  # noqa: E731
    hit = np.asarray(jax.vmap(lambda group: jax.vmap(lambda number: hits(group, number))(choices))(groups))
    targets, others = ((hit & (role == one)).sum(-1) for one in (1, 2))
    return (np.exp(coefficient * np.minimum(targets - max(share, 0), -others)) + np.exp(least)).mean()


@pytest.mark.statistical
@pytest.mark.parametrize("seeds", [(8,), pytest.param((1, 31), marks=pytest.mark.slow)], ids=["short", "more"])
def test_pieces_have_their_part_of_the_law(stats, seeds):
    pieces = Pieces(enumerated.D, 3, 2)
    family = replace(enumerated.FAMILY, pieces=pieces)
    assert family.log_cost == pytest.approx(enumerated.FAMILY.log_cost + np.log(2))
    draw = enumerated.sampler(family)
    is_piece = jax.jit(lambda *given: draw(*given)[2])  # without what follows the choice, half of the program
    for seed in seeds:
        points, role, share, coefficient, least = enumerated.instance(seed)
        numbers = max(share, 0), coefficient, least
        of_pieces = np.mean([mean_weight(part, points, role, *numbers) for part in pieces.families()])
        with jax.enable_x64(True):
            score = Floored(*(jnp.float64(part) for part in (coefficient, max(share, 0), least)))
            total = pieces.log_total(points, role == 1, role == 2, score)
        np.testing.assert_allclose(total, np.log(of_pieces), rtol=1e-12)
        of_wedges = np.exp(enumerated.law(points, role, *numbers)[-1] - family.log_measure)
        keys = jax.random.split(jax.random.key(seed), 4096)
        piece = is_piece(keys, points, role == 1, role == 2, share, coefficient, least)
        stats.frequency(int(piece.sum()), len(keys), of_pieces / (of_pieces + of_wedges))


@pytest.mark.slow
@pytest.mark.statistical
def test_the_law_on_many_instances(stats, run):
    for seed in range(44):
        compare(stats, run, seed, 4 * 1024)


def without_the_undecided(grid, points, line, kind, place):
    """Rows that are in a wedge for some lines of a box only do not count."""
    made = SIDES(grid, points, line, kind, place)
    return made._replace(outside=~made.inside)


def without_density(grid, box):
    return jnp.float64(0)


def with_a_cap(attempt, improve, done, given, state):
    """What a sampler with a limit of two steps would do: it returns the last point that it tried."""
    state = attempt(given, state)
    again = attempt(given, improve(given, state))
    return jax.tree.map(lambda one, two: jnp.where(done(state), one, two), state, again)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("module", "name", "mistake"),
    [(boxes, "sides", without_the_undecided), (boxes, "log_peak", without_density), (rejection, "retry", with_a_cap)],
    ids=["bound", "density", "cap"],
)
def test_a_mistake_is_seen(stats, monkeypatch, module, name, mistake):
    monkeypatch.setattr(module, name, mistake)
    wrong = enumerated.sampler()

    def compared():
        for seed in (8, 12, 31, 32):
            compare(stats, wrong, seed, 12 * 1024)

    with pytest.raises(AssertionError):
        compared()


@pytest.mark.slow
@pytest.mark.statistical
def test_a_table_that_is_full_has_the_same_law(stats, monkeypatch):
    smallest = rejection.Sizes(boxes=9, batch=2, points=2, depth=0)
    monkeypatch.setattr(enumerated, "FAMILY", enumerated.SlabWedges(enumerated.D, bits=2, sizes=smallest))
    full = enumerated.sampler()
    for seed in (8, 12, 17):
        compare(stats, full, seed, 8 * 1024)
