"""Rows that no union fits, at the rates of plans: a draw ends within a stated number of steps."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Unions
from dpjax.core.checks import NoTheoremError
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import UnionLearner
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.mechanisms.cover.slabs.selection import select_wedge

D, ROWS = 1023, 224
FAMILY = SlabWedges(D)
STEPS = {
    **{"horizontal": 80, "vertical": 30, "diagonal": 130, "steep": 30, "random on a line": 30, "rounded": 100},
    **{"two lines": 350, "few lines": 500, "place": 6, "places": 18},
    **{"random": 600, "checkerboard": 400, "noisy": 240},
}
"""About twice as many as with the worst of three keys. A step tries 48 points, and splits 32 boxes."""


def database(kind):
    """Points and labels."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, D + 1, (2, ROWS))
    coins = rng.random(ROWS)
    return {
        "random": (x, y, coins < 0.4),
        "checkerboard": (x, y, (x // 128 + y // 128) % 2 == 0),
        "horizontal": (x, np.full(ROWS, 341), x // 26 % 2 == 0),
        "vertical": (np.full(ROWS, 341), x, x // 26 % 2 == 0),
        "diagonal": (x, x, x // 26 % 2 == 0),
        "steep": (3 * (x // 7), 7 * (x // 7), x // 26 % 2 == 0),
        "random on a line": (3 * (x // 7), 7 * (x // 7), coins < 0.5),
        "rounded": (x, 200 + 31 * x // 100, x // 26 % 2 == 0),
        "two lines": (x, np.where(y % 2 == 0, x, D - 7 * x // 10), x // 26 % 2 == 0),
        "few lines": (np.where(y % 2 == 0, x, x // 256 * 256), np.where(y % 2 == 0, y // 256 * 256, y), coins < 0.5),
        "place": (np.full(ROWS, 341), np.full(ROWS, 511), coins < 0.5),
        "places": (x // 342 * 300, x // 342 * (y // 512) * 100, coins < 0.5),
        "noisy": (x, y, (x + y < D) ^ (coins < 0.2)),
    }[kind]


@pytest.fixture(scope="module")
def steps():
    """(points, label, plan) -> the number of steps of one selection."""

    @jax.jit
    def run(points, label, plan):
        score = plan.scoring.of(jnp.sum(label).astype(jnp.float32), plan.coefficient)
        return select_wedge(FAMILY, jax.random.key(0), points, label, ~label, score).steps

    return lambda *given: int(run(*given))


@pytest.mark.parametrize("kind", list(STEPS))
def test_a_draw_ends(steps, kind):
    x, y, label = database(kind)
    plan = UnionLearner(Unions(D, 8), family=FAMILY).plan(Privacy(10.0, 1e-6), Accuracy(0.1, 0.1), ROWS)
    assert plan.coefficient * label.sum() / plan.k > 60  # without a floor, up to this many nats for one acceptance
    assert 0 < steps(np.stack([x, y], 1).astype(np.int32), label, plan) <= STEPS[kind]


def test_plans_have_a_floor():
    """Few nats below the theorem's rows, where only measured plans run, and the theorem's from there on."""
    learner = UnionLearner(Unions(D, 1), family=FAMILY)
    budget, accuracy = Privacy(4.0, 1e-6), Accuracy(0.1, 0.1)
    n = learner.sample_size(budget, accuracy)
    below, theorem, unknown = (learner.plan(budget, accuracy, rows).scoring.nats for rows in (n - 1, n, None))
    assert below == 40 and theorem == unknown > FAMILY.log_cost
    assert UnionLearner(Unions(D, 1), family=Pieces(D)).plan(budget, accuracy, n).score is None
    assert UnionLearner(Unions(D, 1)).plan(budget, accuracy, n - 1).scoring.nats == 40
    coarse = replace(learner, family=SlabWedges(D, bits=20))
    assert coarse.plan(budget, accuracy, n).scoring.nats == 40
    with pytest.raises(NoTheoremError, match="complete"):
        coarse.sample_size(budget, accuracy)
    noisy = replace(learner, noisy=True)
    assert noisy.plan(budget, accuracy).scoring.nats > theorem
    assert n < noisy.sample_size(budget, accuracy) < 4 * n
