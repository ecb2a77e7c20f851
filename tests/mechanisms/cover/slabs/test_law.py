"""The law of a draw of a slab wedge, against enumeration: both lines and the interval; mistakes that this must see."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.mechanisms.cover.slabs import boxes, rejection

FALSE_ALARM = 1e-6  # of each statistical test, over its fixed seed; `stats` has the same
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
    for seed in (1, 4, 6, 8, 12, 31):
        compare(stats, run, seed, 2048)


@pytest.mark.slow
@pytest.mark.statistical
def test_the_law_on_many_instances(stats, run):
    for seed in range(44):
        compare(stats, run, seed, 16 * 1024)


def too_small(log):
    return log - 0.7


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
    [(boxes, "slackened", too_small), (boxes, "log_peak", without_density), (rejection, "retry", with_a_cap)],
    ids=["bound", "density", "cap"],
)
def test_a_mistake_is_seen(stats, monkeypatch, module, name, mistake):
    monkeypatch.setattr(module, name, mistake)
    wrong = enumerated.sampler()

    def compared():
        for seed in (8, 12, 31, 32):
            compare(stats, wrong, seed, 4 * 1024)

    with pytest.raises(AssertionError):
        compared()


@pytest.mark.slow
@pytest.mark.statistical
def test_a_table_that_is_full_has_the_same_law(stats, monkeypatch):
    smallest = rejection.Sizes(boxes=9, batch=2, depth=0)
    monkeypatch.setattr(enumerated, "FAMILY", enumerated.SlabWedges(enumerated.D, 2, smallest))
    full = enumerated.sampler()
    for seed in (8, 12, 17):
        compare(stats, full, seed, 8 * 1024)
