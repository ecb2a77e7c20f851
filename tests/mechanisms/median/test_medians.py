"""Private medians end to end: success at the proved n on every family, edges, and what must not change an answer."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.core.checks import InputError
from dpjax.core.plans import stack_plans
from dpjax.mechanisms import median as m
from dpjax.mechanisms.median.plan_search import records_for_median
from dpjax.mechanisms.median.private_median import median_margins

from .families import FAMILIES, draw

EPSILON, DELTA, BETA = 1.0, 1e-6, 0.1
METHODS = m.RACED
SHORT = ("majority", "recprefix")  # the others are slow
ALPHA = 1 / 3
BITS, ROWS, TRIALS = 64, 400, 64  # of one program for success and all edges


@cache
def compiled(alpha=None):
    """One function for all plans: a plan's structure decides whether it compiles."""
    return jax.jit(jax.vmap(partial(m.private_median, alpha=alpha), (0, 0, 0, None)))


def program(design, alpha=None):
    return lambda *arguments: compiled(alpha)(*arguments, design.plan())


def light(plan):
    """Where the test of a method turns."""
    step = plan.steps[0] if getattr(plan, "steps", ()) else None
    return getattr(step, "count", None) or (step.deepest // 2 if step else 40)


def answers(plan, name, n, trials, alpha=None, seed=0, capacity=None):
    """(rows as Python integers, elements, outcomes) of trials on databases of one family, in a buffer of n or more."""
    generator = np.random.default_rng([seed, n, len(name)])
    rows = np.stack([draw(name, generator, n, plan.bits, light(plan)) for _ in range(trials)])
    buffer = np.pad(rows, ((0, 0), (0, (capacity or n) - n), (0, 0)))
    mask = np.tile(np.arange(buffer.shape[1]) < n, (trials, 1))
    keys = jax.random.split(jax.random.key(seed), trials)
    found = program(plan, alpha)(keys, buffer, mask)
    return B.decode(rows), B.decode(np.asarray(found.element)), np.asarray(found.outcome)


def successes(plan, name, n, trials, alpha=None, seed=0, capacity=None):
    rows, element, outcome = answers(plan, name, n, trials, alpha, seed, capacity)
    below = np.sum(rows <= element[:, None], axis=1)
    above = np.sum(rows >= element[:, None], axis=1)
    needed = 1 if alpha is None else int(median_margins(jnp.int32(n), alpha)[0])
    return int(np.sum((outcome == 0) & (np.minimum(below, above) >= needed)))


# --- utility: the theorem ---------------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize(
    "method", [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in METHODS]
)
def test_success_at_the_proved_n(method, stats):
    plan = m.plan_for(method, BITS, EPSILON, DELTA, BETA)
    n, trials = plan.required(), 16 if method == "rsc" else TRIALS
    for name in FAMILIES:
        stats.mostly(successes(plan, name, n, trials, capacity=max(n, ROWS)), trials, BETA)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("bits", [16, 64, 1024])
@pytest.mark.parametrize("method", METHODS)
def test_success_at_the_proved_n_long(method, bits, stats):
    plan = m.plan_for(method, bits, EPSILON, DELTA, BETA)
    for name in FAMILIES:
        found = sum(successes(plan, name, plan.required(), 250, seed=seed) for seed in range(8))
        stats.mostly(found, 2000, BETA)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("method", METHODS)
def test_an_alpha_median_at_the_proved_n(method, stats):
    plan = m.plan_for(method, 20, EPSILON, DELTA, BETA)
    for name in ("uniform", "constant", "nested", "borderline 1.0", "cluster and uniform"):
        stats.mostly(successes(plan, name, plan.required(ALPHA), 64, ALPHA), 64, BETA)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("method", ["treelog", "recprefix"])
def test_two_levels(method, stats):
    plan = m.plan_for(method, 40, EPSILON, DELTA, BETA, 2)
    for name in ("uniform", "constant", "nested", "borderline 1.0"):
        stats.mostly(successes(plan, name, plan.required(), 32), 32, BETA)


@pytest.mark.parametrize(
    "method", [*SHORT, pytest.param("treelog", marks=pytest.mark.slow), pytest.param("rsc", marks=pytest.mark.slow)]
)
def test_with_a_tenth_of_the_rows_it_fails(method):
    """And says so, or answers outside: the n of the plan is no formality."""
    plan = m.plan_for(method, BITS, EPSILON, DELTA, BETA)
    n = plan.required()
    assert successes(plan, "nested and filled", n // 10, TRIALS, capacity=max(n, ROWS)) < 0.9 * TRIALS


@pytest.mark.slow
def test_both_branches_of_treelog_are_taken():
    """Between two far values in equal parts the answer is v0111...; on constant data it is the value itself."""
    plan = m.plan_treelog(16, EPSILON, DELTA, BETA)
    rows = jnp.asarray(B.encode([0] * 200 + [40_000] * 200, 16))
    keys = jax.random.split(jax.random.key(0), 32)
    found = program(plan)(keys, jnp.tile(rows, (32, 1, 1)), jnp.ones((32, 400), bool))
    assert np.mean(B.decode(np.asarray(found.element)) == 2**15 - 1) > 0.9
    rows, element, outcome = answers(plan, "constant", 400, 32)
    assert np.mean((outcome == 0) & (element == rows[:, 0])) > 0.9


# --- edges: total functions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [pytest.param(1, marks=pytest.mark.slow), BITS])
@pytest.mark.parametrize(
    "method", [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in METHODS]
)
def test_tiny_databases_and_domains_have_answers_or_none(method, bits):
    plan = m.plan_for(method, bits, EPSILON, DELTA, BETA)
    rows = np.tile(B.encode([(1 << bits) - 1] * ROWS, bits), (TRIALS, 1, 1))
    for n in (0, 1, 2, 5):
        mask = np.tile(np.arange(ROWS) < n, (TRIALS, 1))
        found = program(plan)(jax.random.split(jax.random.key(0), TRIALS), rows, mask)
        element, outcome = B.decode(np.asarray(found.element)), np.asarray(found.outcome)
        assert np.isin(outcome, (0, -1)).all()
        assert all(0 <= value < 1 << bits for value in element) and (element[outcome == -1] == 0).all()


@pytest.mark.parametrize("method", [*SHORT, pytest.param("treelog", marks=pytest.mark.slow)])
def test_any_budget_runs(method):
    """Integers run at budgets they were not made for; without delta the choosing mechanism never answers."""
    design = m.plan_for(method, BITS, EPSILON, DELTA, BETA)
    rows = draw("uniform", np.random.default_rng(1), ROWS, BITS)
    rows, mask = np.tile(rows, (TRIALS, 1, 1)), np.ones((TRIALS, ROWS), bool)
    for epsilon, delta in itertools.product((1e-3, 1.0, 90.0), (0.0, 1e-12, 0.4)):
        plan = replace(design, epsilon=epsilon, delta=max(delta, 1e-12)).plan()
        if delta == 0:  # as no planner makes it
            plan = jax.tree.map(lambda leaf: np.float32(0) if leaf < 1e-9 else leaf, plan)
        found = compiled()(jax.random.split(jax.random.key(0), TRIALS), rows, mask, plan)
        outcome = np.asarray(found.outcome)
        assert np.isin(outcome, (0, -1)).all()
        assert delta > 0 or (outcome == -1).all()
        assert epsilon < 90 or delta == 0 or (outcome == 0).all()


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(
            name, marks=pytest.mark.optimized if name == "majority" else () if name in SHORT else pytest.mark.slow
        )
        for name in METHODS
    ],
)
def test_buffer_order_and_batch_do_not_matter(method):
    plan = m.plan_for(method, 40, EPSILON, DELTA, BETA)
    n = 150
    rows = draw("nested and filled", np.random.default_rng(2), n, 40)
    keys = jax.random.split(jax.random.key(5), TRIALS)

    def found(capacity, order, keys=keys):
        x = np.random.default_rng(capacity).integers(0, 2**32, (capacity, 2)).astype(np.uint32)
        x[:n] = rows[order]
        mask, count = np.arange(capacity) < n, len(keys)
        got = program(plan)(keys, np.tile(x, (count, 1, 1)), np.tile(mask, (count, 1)))
        return np.asarray(got.element), np.asarray(got.outcome)

    first, turned = found(200, np.arange(n)), found(200, np.arange(n)[::-1])
    few = found(256, np.random.default_rng(0).permutation(n), keys[2:5])
    for whole, other, part in zip(first, turned, few, strict=True):
        np.testing.assert_array_equal(whole, other)
        np.testing.assert_array_equal(whole[2:5], part)


def test_margins():
    """ceil((1/2 - alpha) n), exactly where it is whole."""
    cases = ((600, 1 / 3), (601, 1 / 3), (0, 1 / 3), (10, 0.4), (11, 0.4), (2**20, 0.25))
    n = np.array([n for n, _ in cases], np.int32)
    found = jax.jit(lambda n: [median_margins(n[i], alpha)[0] for i, (_, alpha) in enumerate(cases)])(n)
    assert [int(margin) for margin in found] == [100, 101, 1, 1, 2, 2**18]
    assert median_margins(jnp.int32(9), None) == (1, 1)
    for bad in (0.0, 0.5, -1.0):
        with pytest.raises(InputError, match="alpha"):
            median_margins(jnp.int32(9), bad)


SMALL_ALPHAS = (1e-2, 7e-4, 2e-4, 1e-4, 1 / 7001, 3e-6, 1e-8)


@pytest.mark.parametrize("alpha", SMALL_ALPHAS)
def test_the_margins_of_a_small_alpha_leave_the_records_of_an_interior_point(alpha):
    """They were n / 2, so that no record was left."""
    for interior in (1, 2, 37, 373):
        first = records_for_median(interior, alpha)
        for n in (n for n in (first, first + 1, 3 * first) if n < 2**31):
            margin = int(median_margins(jnp.int32(n), alpha)[0])
            assert n - 2 * (margin - 1) >= interior
            assert margin == max(1, math.ceil((Fraction(1, 2) - Fraction(alpha).limit_denominator(1 << 32)) * n))
    assert median_margins(jnp.int32(10**6), 1e-4) == (499_900, 499_900)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("method", ["recprefix", "treelog"])
def test_a_median_of_small_alpha_at_the_proved_n(method, stats):
    """They abstained in all runs."""
    plan = m.plan_for(method, 20, 2.0, 1e-4, BETA)
    stats.mostly(successes(plan, "uniform", plan.required(4e-4), 8, 4e-4), 8, BETA)


# --- guarantees -------------------------------------------------------------------------------------------------------


FEW = {"exponential": 50, "majority": 2, "recprefix": 20, "treelog": 5, "rsc": 5}  # budgets
MANY = {"exponential": 200, "majority": 200, "recprefix": 200, "treelog": 40, "rsc": 40}


@pytest.mark.parametrize("counts", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
@pytest.mark.parametrize("method", METHODS)
def test_what_is_spent_is_the_budget(method, counts):
    """Random budgets; what one step cannot use of delta is not spent."""
    generator = np.random.default_rng(METHODS.index(method))
    for _ in range(counts[method]):
        epsilon, delta = (float(np.exp(generator.uniform(*np.log(ends)))) for ends in ((1e-4, 20), (1e-12, 1e-2)))
        plan = m.plan_for(method, int(generator.choice([1, 20, 64])), epsilon, delta, BETA).plan()
        spent = m.median_guarantee(plan)
        assert 0.999 * epsilon <= spent.epsilon <= epsilon and spent.delta <= delta
        assert spent.delta >= 0.999 * min(delta, epsilon / 1000) * (method != "exponential")


@pytest.mark.parametrize("method", METHODS)
def test_budgets_are_traced_once(method):
    plans = [m.plan_for(method, 20, float(epsilon), DELTA, BETA).plan() for epsilon in np.geomspace(0.25, 4, 4)]
    rows, mask = draw("nested", np.random.default_rng(3), 500, 20), np.ones(500, bool)
    run = jax.jit(chex.assert_max_traces(m.private_median, n=1))
    chex.clear_trace_counter()
    for plan in plans:
        run.trace(jax.random.key(1), rows, mask, plan)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_budgets_at_once_answer_as_one_by_one(method):
    plans = [m.plan_for(method, 20, float(epsilon), DELTA, BETA).plan() for epsilon in np.geomspace(0.25, 4, 8)]
    rows, mask = draw("nested", np.random.default_rng(3), 500, 20), np.ones(500, bool)
    run = partial(m.private_median, jax.random.key(1), rows, mask)
    alone = [jax.jit(run)(plan) for plan in plans]
    together = jax.jit(jax.vmap(run))(stack_plans(plans))
    chex.assert_trees_all_equal(jax.tree.map(lambda *parts: np.stack(parts), *alone), together)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_delta_whose_parts_are_no_float32_numbers_is_refused(method):
    with pytest.raises(InputError, match=r"^delta of a median: expected a number of at least 1e-33, got 1e-37"):
        m.plan_for(method, 64, EPSILON, 1e-37, BETA)
    assert m.plan_for("auto", 256, EPSILON, 1e-37, BETA) == m.plan_exponential(256, EPSILON, BETA)


def test_a_design_is_not_a_plan():
    for wrong in ("median", m.plan_exponential(1, 1.0, 0.1)):
        with pytest.raises(InputError, match="plan_for"):
            m.private_median(jax.random.key(0), np.zeros((3, 1), np.uint32), np.ones(3, bool), wrong)
