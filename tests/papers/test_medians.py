"""Success of private medians: one program for all plans of a shape, and the same answers as the medians themselves."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.mechanisms.median import plan_for, private_median, rank_quality
from dpjax.mechanisms.median.bits import encode
from dpjax.papers.medians import _program, interior_points, plan_near, put_together, taken_apart, turning_weight

TRIALS, BITS = 48, 20


def databases(n):
    """Two values far apart, a few rows at the rarer one: answers differ from key to key."""
    generator = np.random.default_rng(5)
    values = [[int(generator.integers(2**10)) + (2**19 if i % 4 else 0) for i in range(n)] for _ in range(TRIALS)]
    return np.stack([encode(row, BITS) for row in values])


@pytest.mark.slow
def test_answers_are_those_of_the_static_plan():
    plan, n = plan_near("recprefix", BITS, 1.0, 1e-6, 100), 100
    rows = databases(n)
    found = interior_points(keys.root(1), rows, n, plan, 1.0, 1e-6)

    def directly(key, x):
        answer = private_median(key, x, jnp.ones(n, bool), Privacy(jnp.float32(1), jnp.float32(1e-6)), plan)
        return (answer.outcome == 0) & (rank_quality(x, jnp.ones(n, bool), answer.element) >= 1)

    expected = jax.jit(jax.vmap(directly))(keys.per_index(keys.root(1), TRIALS), jnp.asarray(rows))
    np.testing.assert_array_equal(found, np.asarray(expected))
    assert 0 < found.sum() < TRIALS  # neither answer everywhere


def test_padding_trials_and_another_plan():
    """None changes an answer, and none compiles a program for the same buffer."""
    rows, plan = databases(60), plan_near("exponential", BITS, 1.0, 1e-6, 30)
    program = _program(taken_apart(plan)[0], TRIALS)
    compiled = program._cache_size()
    few = interior_points(keys.root(1), rows, 6, plan, 1.0, 1e-6)
    assert 0 < few.sum() < TRIALS
    interior_points(keys.root(2), rows, 31, replace(plan, epsilon=0.3), 0.3, 0.0)
    assert program._cache_size() == compiled + 1
    np.testing.assert_array_equal(interior_points(keys.root(1), rows[:, :6], 6, plan, 1.0, 1e-6), few)
    np.testing.assert_array_equal(interior_points(keys.root(1), rows[:5, :6], 6, plan, 1.0, 1e-6), few[:5])


@pytest.mark.parametrize("method", ["exponential", "recprefix", "treelog", "rsc"])
def test_a_plan_taken_apart_and_put_together(method):
    one, other = (plan_for(method, 40, epsilon, 1e-6, 0.1) for epsilon in (1.0, 2.0))
    shape, numbers = taken_apart(one)
    again = put_together(shape, numbers)
    for step, same in zip(getattr(one, "steps", ()), getattr(again, "steps", ()), strict=True):
        assert {name: float(value) for name, value in vars(step).items()} == pytest.approx(vars(same), rel=0, abs=0)
    assert method == "rsc" or shape == taken_apart(other)[0]
    assert method not in ("recprefix", "treelog") or float(again.base) == one.base


@pytest.mark.parametrize("method", ["recprefix", "treelog", "rsc"])
@pytest.mark.parametrize("n", [300, 700])
def test_plans_near_n(method, n):
    plan = plan_near(method, 64, 1.0, 1e-6, n)
    assert plan.bits == 64 and turning_weight(plan) > 1
    if plan.slack:
        assert plan.interior <= n
    if method == "recprefix":
        step = plan.steps[0]
        assert step.prefix + step.final + plan.base == 1 and step.margin == round(0.23 * n) and step.gap == 1
    larger = plan_near(method, 64, 1.0, 1e-6, 2 * n)
    assert larger.interior >= plan.interior


def test_refusals():
    plan = plan_near("exponential", BITS, 1.0, 1e-6, 60)
    with pytest.raises(InputError, match="limbs"):
        interior_points(keys.root(0), np.zeros((2, 60, 3), np.uint32), 60, plan, 1.0, 1e-6)
    with pytest.raises(InputError, match="n"):
        interior_points(keys.root(0), np.zeros((2, 60, 1), np.uint32), 61, plan, 1.0, 1e-6)
    with pytest.raises(InputError, match="method"):
        plan_near("median", BITS, 1.0, 1e-6, 60)
