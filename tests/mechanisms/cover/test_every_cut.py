"""Every way in which a line can cut points of the grid has lines of the lattice, as many as the theorems count on."""

import random
from dataclasses import dataclass
from functools import lru_cache
from math import isclose, log, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts.plane import Plane
from dpjax.core import integers
from dpjax.core.checks import InputError
from dpjax.mechanisms.cover.lines.cuts import LARGEST, Cut, Rows
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Box, Kinematic, Net
from dpjax.mechanisms.cover.lines.sweep import sweep
from dpjax.mechanisms.cover.score import Score
from tests.oracles.lattice import Gap, allowed, ways

SIDES = [
    1,
    3,
    2**5,
    2**10,
    2**15,
    2**16,
    2**18,
    2**18 + 1,
    2**20,
    2**21,
    2**22,
    2**24,
    2**30,
    2**39,
    2**39 + 1,
    2**45,
    2**53,
    2**60,
    2**60 + 1,
    2**63,
    2**64 - 1,
]


def fibonacci(d, draw=None):
    """(0, 0) and two points whose coordinates are consecutive Fibonacci numbers; with ``draw`` anywhere, turned."""
    numbers = [0, 1]
    while numbers[-1] + numbers[-2] <= d:
        numbers.append(numbers[-1] + numbers[-2])
    last = len(numbers) - 1 if draw is None else draw.randint(min(3, len(numbers) - 1), len(numbers) - 1)
    triple = [(0, 0), (numbers[last - 1], numbers[max(last - 2, 0)]), (numbers[last], numbers[last - 1])]
    if draw is None:
        return triple
    across, up = (draw.randint(0, d - numbers[last]), draw.randint(0, d - numbers[last - 1]))
    triple = [(x + across, y + up) for x, y in triple]
    turned = [(y, x) for x, y in triple] if draw.random() < 0.5 else triple
    return [(d - x, y) for x, y in turned] if draw.random() < 0.5 else turned


def triples(d, count, seed):
    """So many random ones and as many of Fibonacci numbers."""
    draw = random.Random(seed)
    spread = [[(draw.randint(0, d), draw.randint(0, d)) for _ in range(3)] for _ in range(count)]
    return spread + [fibonacci(d, draw) for _ in range(count)]


@lru_cache
def at(family):
    """A jitted (elements [N, 3], chart, theta, t [N, 2]) -> (numbers of t with 1 and 2 rows above, what t hit)."""
    score = Score.of(jnp.float32(0), 2, jnp.float32(0.5)).capped(LARGEST)

    def one(x, chart, theta, t):
        with jax.enable_x64(True):
            slope, ends = integers.decoded(theta), integers.decoded(t)
            rows = Rows.of(family, x, jnp.ones(3, bool), jnp.zeros(3, bool))
            law = sweep(family, rows, chart, slope[None], score)
            above = [Cut.of(chart, slope[None], ends[i], jnp.bool_(True)) for i in range(2)]
            return integers.encoded(law.width[1:3]), jnp.stack([family.hits(cut, x) for cut in above])

    return jax.jit(jax.vmap(one))


def encoded(values, words):
    return integers.wide.pack([v % (1 << (64 * words)) for v in values], 2 * words)


def gaps(points, hit, bits):
    """Where exactly the rows ``hit`` are above a line or exactly they are below it, in both charts."""
    rest = set(range(len(points))) - hit
    return [Gap(points, above, chart, bits) for above in (hit, rest) for chart in (0, 1)]


def check_triples(d, count):
    family, cases = HalfPlanes(d), []
    for points in triples(d, count, d):
        for hit in ways(points):
            real = [gap for gap in gaps(points, hit, family.grid.bits) if gap.low <= gap.high]
            assert bool(real) == allowed(points, hit), (points, hit)
            for gap in real:
                for theta in {gap.low, (gap.low + gap.high) // 2, gap.high}:
                    cases.append((points, gap.above, gap.chart, theta, *gap.ends(theta)))
    points, above, chart, theta, low, high = zip(*cases, strict=True)
    words = family.grid.words
    x = np.stack([Plane(d).encode(own) for own in points])
    ends = np.stack([encoded(low, words), encoded(high, words)], axis=1)
    width, hits = at(family)(x, np.array(chart, np.int32), encoded(theta, words), ends)
    for i, own in enumerate(integers.on_host(np.asarray(width)).tolist()):
        assert own[2 - len(above[i])] == high[i] - low[i] > 0
        assert set(np.flatnonzero(np.asarray(hits)[i, 1])) == above[i]  # t as large as it may be
        assert not set(np.flatnonzero(np.asarray(hits)[i, 0])) <= above[i]  # one less than it must be
    return len(cases)


@pytest.mark.parametrize("d", [2**18, 2**64 - 1, pytest.param(2**22, marks=pytest.mark.slow)])
def test_triples_are_cut_in_every_way(d):
    assert check_triples(d, 25) > 300


@pytest.mark.slow
@pytest.mark.parametrize("d", SIDES)
def test_a_thousand_triples_are_cut_in_every_way(d):
    check_triples(d, 1000)


def thin(d):
    """Four points with a cell of area 1 / (2 d^3), nearly the smallest that there is."""
    return [(0, 1), (1, 2), (d - 1, d - 1), (d, d)]


@pytest.mark.parametrize("d", [3, 5, *SIDES[2:]])
def test_cells_have_the_mass_that_the_theorem_counts_on(d):
    """Sums over all lines of the lattice; densities are at least 2^(-3/2) and 1, and least in these places."""
    sides = HalfPlanes(d).grid
    unit = 2 * sides.bits * log(2)
    totals = {Kinematic(): log(4 * sqrt(2) * 3.5 * d), Kinematic(1.0): log(4 * sqrt(2) * 5 * d), Box(): log(33 * d**4)}
    least = {Kinematic(): -1.5 * log(2), Kinematic(1.0): -1.5 * log(2), Box(): 0.0}
    smallest = {measure: 0.0 for measure in totals}
    for points in (fibonacci(d), thin(d), [(0, 0), (d, 1), (1, 0)], [(0, 0), (d // 2, 1), (d, 1)]):
        for above in ways(points):
            count = sum(gap.lattice_points() for gap in gaps(points, above, sides.bits))
            if count:
                for measure, total in totals.items():
                    share = log(count) + least[measure] - unit - total
                    assert share > -measure.log_cost(d), (measure, points, above)
                    smallest[measure] = min(smallest[measure], share)
    assert all(smallest[measure] < -0.5 * measure.log_cost(d) for measure in totals if d > 3)


@dataclass(frozen=True)
class Claimed(Kinematic):
    """A measure whose author is mistaken."""

    cost: float = 1.0

    def log_cost(self, d):
        return self.cost


def test_costs_by_hand():
    assert isclose(Kinematic().log_cost(2**10), log(442.75) + 40 * log(2))
    assert isclose(Kinematic(1.0).log_cost(7), log(632.5) + 4 * log(7))
    assert isclose(Box().log_cost(2**10), log(96) + 70 * log(2))
    assert isclose(log(HalfPlanes(2**64 - 1, Box()).size), log(96) + 448 * log(2))
    with pytest.raises(InputError, match="smooth"):
        Net().log_cost(8)
    for wrong in (float("nan"), float("inf"), -1.0):
        with pytest.raises(InputError, match="log_cost"):
            _ = HalfPlanes(8, Claimed(cost=wrong)).size


def test_lattices_of_one_word_end_at_two_to_the_eighteenth():
    assert [HalfPlanes(d).grid.words for d in (1, 2**18, 2**18 + 1, 2**39, 2**60, 2**64 - 1)] == [1, 1, 2, 2, 3, 4]
    for d in SIDES:
        family = HalfPlanes(d)
        assert family.grid.exact and 2 ** (family.grid.bits - 6) >= d * d
        assert family.last <= 2 ** (64 * family.grid.words - 3) and family.size > d**4
    for d in (2**22, 2**30):  # where one word has no line between the three points
        narrow, points = HalfPlanes(d, words=1), fibonacci(d)
        real = [any(gap.low <= gap.high for gap in gaps(points, hit, narrow.grid.bits)) for hit in ways(points)]
        assert sum(real) == 4 and all(allowed(points, hit) for hit in ways(points))
        with pytest.raises(InputError, match="words"):
            _ = narrow.size
    for wrong in ({"d": 2**30 + 1, "words": 1}, {"d": 8, "words": 5}, {"d": 8, "words": 0}):
        with pytest.raises(InputError, match="words"):
            HalfPlanes(**wrong)
