"""Success of private medians: one program for all plans of a shape, and the same answers as the medians themselves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import keys
from dpjax.core.bit_strings import encode
from dpjax.core.checks import InputError
from dpjax.mechanisms.median import plan_exponential, private_median, rank_quality
from scripts.median_domains import _program, interior_points, turning_weight
from scripts.median_plans import plan_near

TRIALS, BITS = 48, 20


def databases(n):
    """Two values far apart, a few rows at the rarer one: answers differ from key to key."""
    generator = np.random.default_rng(5)
    values = [[int(generator.integers(2**10)) + (2**19 if i % 4 else 0) for i in range(n)] for _ in range(TRIALS)]
    return np.stack([encode(row, BITS) for row in values])


@pytest.mark.slow
def test_answers_are_those_of_the_median():
    plan, n = plan_near("recprefix", BITS, 1.0, 1e-6, 100).plan(), 100
    rows = databases(n)
    found = interior_points(keys.root(1), rows, n, plan)

    def directly(key, x):
        answer = private_median(key, x, jnp.ones(n, bool), plan)
        return (answer.outcome == 0) & (rank_quality(x, jnp.ones(n, bool), answer.element) >= 1)

    expected = jax.jit(jax.vmap(directly))(keys.per_index(keys.root(1), TRIALS), jnp.asarray(rows))
    np.testing.assert_array_equal(found, np.asarray(expected))
    assert 0 < found.sum() < TRIALS  # neither answer everywhere


@pytest.mark.slow
def test_padding_trials_and_another_plan():
    """None changes an answer, and none compiles a program for the same buffer."""
    rows, plan = databases(60), plan_near("exponential", BITS, 1.0, 1e-6, 30).plan()
    program = _program(TRIALS)
    compiled = program._cache_size()
    few = interior_points(keys.root(1), rows, 6, plan)
    assert 0 < few.sum() < TRIALS
    interior_points(keys.root(2), rows, 31, plan_exponential(BITS, 0.3, 0.1).plan())
    assert program._cache_size() == compiled + 1
    np.testing.assert_array_equal(interior_points(keys.root(1), rows[:, :6], 6, plan), few)
    np.testing.assert_array_equal(interior_points(keys.root(1), rows[:5, :6], 6, plan), few[:5])


@pytest.mark.parametrize("method", ["recprefix", "treelog", "rsc"])
@pytest.mark.parametrize("n", [pytest.param(300, marks=pytest.mark.slow), 700])
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
    plan = plan_near("exponential", BITS, 1.0, 1e-6, 60).plan()
    with pytest.raises(InputError, match="limbs"):
        interior_points(keys.root(0), np.zeros((2, 60, 3), np.uint32), 60, plan)
    with pytest.raises(InputError, match="n"):
        interior_points(keys.root(0), np.zeros((2, 60, 1), np.uint32), 61, plan)
    with pytest.raises(InputError, match="method"):
        plan_near("median", BITS, 1.0, 1e-6, 60)
