"""Plans of all sanitizers: what they spend at random budgets, and programs of a sweep over epsilon."""

import contextlib
import dataclasses
import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Finite
from dpjax.core.checks import InputError
from dpjax.core.plans import stack_plans, up
from dpjax.core.types import Accuracy, Privacy
from dpjax.sanitizers import (
    BLR,
    MWEM,
    Hierarchy,
    IndependentQuantiles,
    JointQuantiles,
    PointCounts,
    RankBlocks,
    RecursiveQuantiles,
    Slices,
    WindowHierarchy,
)

ACCURACY = Accuracy(0.3, 0.1)
QUERIES = Finite.of([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]])
SANITIZERS = {
    "blocks": RankBlocks(16),
    "blocks, recprefix": RankBlocks(64, median="recprefix"),
    "slices": Slices(16),
    "hierarchy": Hierarchy(16),
    "majority": WindowHierarchy(16, levels=2),
    "independent": IndependentQuantiles(16),
    "recursive": RecursiveQuantiles(16),
    "joint": JointQuantiles(16),
    "points": PointCounts(Domain(2**16)),
    "BLR": BLR(QUERIES),
    "MWEM": MWEM(QUERIES),
    "MWEM, few rounds": MWEM(QUERIES, 3),
}
TIED = ("recursive", "joint", "majority")  # bits for ties, and windows, grow with the rows
EPSILONS = np.geomspace(0.25, 4, 8)


def budgets(count):
    generator = np.random.default_rng(3)
    for _ in range(count):
        yield Privacy(
            float(np.exp(generator.uniform(np.log(1e-3), np.log(20)))), float(10 ** generator.uniform(-12, -2))
        )


@pytest.mark.parametrize("name", SANITIZERS)
def test_extreme_budgets_have_a_plan_or_an_input_error(name):
    for epsilon, delta in ((1e6, 1e-6), (1e300, 0.5), (1e4, 1e-300), (1e-9, 1e-6)):
        try:
            plan = SANITIZERS[name].plan(Privacy(epsilon, delta), ACCURACY)
        except InputError:
            continue
        spent = SANITIZERS[name].guarantee(plan)
        assert spent.epsilon <= epsilon and spent.delta <= delta
        if hasattr(SANITIZERS[name], "sample_size"):
            with contextlib.suppress(InputError):
                assert SANITIZERS[name].sample_size(Privacy(epsilon, delta), ACCURACY) >= 1


@pytest.mark.parametrize("count", [3, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SANITIZERS)
def test_random_budgets_are_spent_and_not_exceeded(name, count):
    sanitizer = SANITIZERS[name]
    for privacy in budgets(count):
        spent = sanitizer.guarantee(sanitizer.plan(privacy, ACCURACY))
        assert 0.999 * privacy.epsilon <= spent.epsilon <= privacy.epsilon, privacy
        assert spent.delta <= privacy.delta and (spent.delta == 0 or sanitizer.spends == "approximate"), privacy


@pytest.mark.parametrize("name", SANITIZERS)
def test_a_sweep_over_epsilon_is_one_program(name):
    """At most four where bits that tell equal rows apart, or buffers of windows, depend on the rows."""
    sanitizer = SANITIZERS[name]
    x, mask = np.zeros((16, 2 if sanitizer.bits > 32 else 1), np.uint32), np.ones(16, bool)
    sweep = EPSILONS if name in TIED else EPSILONS[::3]
    plans = [sanitizer.plan(Privacy(float(epsilon), 1e-6), ACCURACY) for epsilon in sweep]
    chex.clear_trace_counter()

    @jax.jit
    @functools.partial(chex.assert_max_traces, n=4 if name in TIED else 1)
    def sanitize(key, plan):
        return sanitizer.sanitize(key, jnp.asarray(x), jnp.asarray(mask), plan)

    for plan in plans:
        made = jax.eval_shape(sanitize, jax.random.key(0), plan)
        assert made.points.shape[0] == plan.size
    if name not in TIED:
        stack_plans(plans)
    structures = {jax.tree.structure(plan) for plan in plans}
    assert len(structures) <= (4 if name in TIED else 1)


def test_plans_stack_and_run_in_one_call(key):
    """A batch of budgets gives the bits of each of them."""
    sanitizer = Hierarchy(4, levels=1)
    plans = [sanitizer.plan(Privacy(float(epsilon)), ACCURACY) for epsilon in (0.5, 2.0)]
    x, mask = np.arange(64, dtype=np.uint32)[:, None] * 999, np.arange(64) < 50
    batched = jax.jit(jax.vmap(sanitizer.sanitize, (None, None, None, 0)))
    together = batched(key, x, mask, stack_plans(plans))
    together, run = jax.tree.map(np.asarray, together), jax.jit(sanitizer.sanitize)
    for at, plan in enumerate(plans):
        chex.assert_trees_all_equal(run(key, x, mask, plan), jax.tree.map(lambda part: part[at], together))  # noqa: B023


def test_the_guarantee_reads_the_leaves_that_run():
    sanitizer = Hierarchy(16)
    plan = sanitizer.plan(Privacy(1.0), ACCURACY)
    quieter = dataclasses.replace(plan, scale=up(2 * float(plan.scale)))
    assert sanitizer.guarantee(quieter).epsilon < 0.95 * sanitizer.guarantee(plan).epsilon
    slices = Slices(16)
    plan = slices.plan(Privacy(1.0, 1e-6), ACCURACY)
    with pytest.raises(InputError, match="lengths for the plan's rate"):
        slices.guarantee(dataclasses.replace(plan, rate=up(2 * float(plan.rate))))


def test_a_hierarchy_of_too_few_levels_plans_for_what_they_reach():
    """No number of rows gives alpha = 0.01 with 5 levels; the counts' part of the budget is no worse for it."""
    found = [Hierarchy(levels=5, bits=16).plan(Privacy(1.0), Accuracy(alpha, 0.05)) for alpha in (0.01, 2**-5)]
    assert float(found[0].scale) == float(found[1].scale) < 10
    assert Hierarchy(levels=5, bits=16, counts=0.025).plan(Privacy(1.0), Accuracy(0.01, 0.05)).scale > 79
