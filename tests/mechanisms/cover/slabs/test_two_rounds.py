"""Two rounds of a set cover by slab wedges: the exact law of all small databases, audited, and drawn by the program."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import combinations_with_replacement, product

import jax
import numpy as np
import pytest

from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms.cover import Saturating, SlabWedges, cover_plan
from dpjax.mechanisms.cover.rounds import set_cover
from dpjax.mechanisms.cover.slabs.law import WedgeLaw
from dpjax.mechanisms.cover.slabs.rejection import Sizes

POINTS, ROWS = np.array(list(product(range(2), repeat=2)), np.int32), 3
FAMILY = SlabWedges(1, bits=0, sizes=Sizes(boxes=64, batch=2, points=2, depth=0))
PLAN = cover_plan(Privacy(2.0, 1e-4), 2, 1, Neighboring.REPLACE_ONE, "noise_free", 0.0)
FLOORED = replace(PLAN, score=Saturating(1, 1))
STATES = [rows for count in range(ROWS + 1) for rows in combinations_with_replacement(range(8), count)]
"""Multisets of rows; row i is at point i // 2, a target if i is even."""


def masks(rows):
    """Points, targets and others of a database."""
    row = np.array([*rows, *[0] * (ROWS - len(rows))])
    present = np.arange(ROWS) < len(rows)
    return POINTS[row // 2], present & (row % 2 == 0), present & (row % 2 == 1)


def laws(coefficient, plan=PLAN):
    """Of each database, the law of which of the four points two wedges hit: ``float64[16, 16]`` by database."""

    @jax.jit
    @jax.vmap
    def listed(x, target, other):
        count = target.sum()
        score = plan.scoring.of(count.astype(float), coefficient)
        return WedgeLaw(x, target, other, score, FAMILY).support(2000)

    with jax.enable_x64(True):
        support = listed(*map(np.stack, zip(*map(masks, STATES), strict=True)))
        cuts = jax.tree.map(lambda part: part[0], support.outcomes)
        hit = np.asarray(jax.vmap(lambda cut: FAMILY.hits(cut, POINTS))(cuts))
    pattern, mass = hit @ (1 << np.arange(4)), np.exp(np.asarray(support.log_mass))
    first = {rows: np.bincount(pattern, one, 16) for rows, one in zip(STATES, mass, strict=True)}
    left = lambda rows, hit: tuple(row for row in rows if not hit >> (row // 2) & 1)  # noqa: E731
    return {rows: np.stack([first[rows][hit] * first[left(rows, hit)] for hit in range(16)]) for rows in STATES}


def excess(law, epsilon):
    """The largest hockey-stick divergence of databases that differ in one row."""
    pairs = product([rows for rows in law if len(rows) == ROWS], repeat=2)
    close = [(one, two) for one, two in pairs if (Counter(one) & Counter(two)).total() == ROWS - 1]
    return max(np.maximum(law[one] - np.exp(epsilon) * law[two], 0).sum() for one, two in close)


@pytest.mark.slow
def test_no_database_exceeds_the_guarantee():
    epsilon, delta = float(PLAN.claim.epsilon), float(PLAN.claim.delta)
    assert excess(laws(PLAN.coefficient), epsilon) <= delta
    assert excess(laws(4 * PLAN.coefficient), epsilon) > delta
    assert excess(laws(PLAN.coefficient, FLOORED), epsilon) <= delta
    assert excess(laws(16 * PLAN.coefficient, FLOORED), epsilon) > delta


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("plan", [PLAN, FLOORED], ids=["plain", "floor"])
def test_the_program_draws_it(stats, plan):
    exact = laws(plan.coefficient, plan)
    run = jax.jit(jax.vmap(partial(set_cover, plan=plan), (0, None, None, None, None)), static_argnums=1)
    for rows in [(0, 1, 6), (0, 0, 3), (2, 5, 7)]:
        chosen, _ = run(jax.random.split(jax.random.key(len(rows)), 8192), FAMILY, *masks(rows))
        hit = jax.vmap(jax.vmap(lambda cut: FAMILY.hits(cut, POINTS)))(chosen)
        pattern = np.asarray(hit) @ (1 << np.arange(4))
        seen = np.zeros((16, 16))
        np.add.at(seen, tuple(pattern.T), 1)
        stats.chi_square(seen.reshape(-1), exact[rows].reshape(-1))
