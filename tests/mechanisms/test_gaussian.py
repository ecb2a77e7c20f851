"""The Gaussian mechanism: calibration, the exact profile, tails."""

import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from dpjax.accounting import gaussian_delta
from dpjax.core import random
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.laws import Gaussian
from dpjax.mechanisms import gaussian_mechanism, gaussian_mechanism_guarantee, gaussian_plan


def test_plans_spend_their_budget_and_no_more():
    draw = np.random.default_rng(0)
    for _ in range(100):
        epsilon, delta = 10 ** draw.uniform(-3, math.log10(20)), 10 ** draw.uniform(-12, -2)
        plan = gaussian_plan(Privacy(epsilon, delta), sensitivity=3)
        assert all(leaf.dtype == np.float32 for leaf in jax.tree.leaves(plan))
        found = gaussian_mechanism_guarantee(plan, sensitivity=3)
        assert 0.999 * epsilon <= found.epsilon <= epsilon and 0.999 * delta <= found.delta <= delta
        assert gaussian_delta(3 / float(plan.sigma), epsilon) <= delta


def test_an_edited_claim_changes_the_statement_and_not_the_noise():
    plan = gaussian_plan(Privacy(1.0, 1e-6), sensitivity=1)
    looser = type(plan)(plan.sigma, type(plan.claim)(np.float32(9), np.float32(1e-12)))
    assert gaussian_mechanism_guarantee(looser, sensitivity=1).epsilon > 1.3


def test_one_program_for_all_budgets_and_one_refusal():
    @jax.jit
    @chex.assert_max_traces(1)
    def draw(key, plan):
        return gaussian_mechanism(jnp.array([1, 2], jnp.int32), plan, sensitivity=1).sample(key)

    scales = []
    for epsilon in np.geomspace(0.25, 4, 8):
        plan = gaussian_plan(Privacy(float(epsilon), 1e-6), sensitivity=1)
        scales.append((draw(jax.random.key(0), plan) - jnp.array([1, 2], jnp.float32)) / plan.sigma)
    chex.assert_trees_all_close(*scales, rtol=1e-4)
    with pytest.raises(InputError, match="delta"):
        gaussian_plan(Privacy(1.0), sensitivity=1)


def test_masses_of_intervals_keep_their_digits():
    with jax.enable_x64(True):
        law = Gaussian(jnp.float64(1), jnp.float64(2))
        low, high = (
            jnp.array([-jnp.inf, -60.0, -3.0, 0.5, 41.0, 61.0]),
            jnp.array([-59.0, -59.0, 4.0, 1.5, 43.0, jnp.inf]),
        )
        found = np.asarray(law.log_mass(low, high))
    z = (np.array([-59, -59, 4, 1.5, -39, -59]) - 1) / 2, (np.array([-np.inf, -60, -3, 0.5, -41, -np.inf]) - 1) / 2
    mirrored = [(1 - 41) / 2, (1 - 43) / 2, (1 - 61) / 2]
    assert found[0] == pytest.approx(norm.logcdf(-30), rel=1e-14)
    assert found[2] == pytest.approx(math.log(norm.cdf(z[0][2]) - norm.cdf(z[1][2])), rel=1e-14)
    assert found[3] == pytest.approx(math.log(norm.cdf(0.25) - norm.cdf(-0.25)), rel=1e-13)
    assert found[4] == pytest.approx(np.logaddexp(norm.logcdf(mirrored[0]), -np.inf), rel=1e-3)
    assert found[5] == pytest.approx(norm.logcdf(mirrored[2]), rel=1e-14)


def test_the_density_is_that_of_independent_normals():
    loc, scale, value = np.array([1.0, -3.0]), np.array([2.0, 0.25]), np.array([0.5, -2.0])
    found = float(Gaussian(*(jnp.asarray(part, jnp.float32) for part in (loc, scale))).log_prob(jnp.float32(value)))
    assert found == pytest.approx(norm.logpdf(value, loc, scale).sum(), rel=1e-12)


@pytest.mark.statistical
def test_normal_tails_are_as_likely_as_they_should_be(audit):
    drawn = audit.draws(lambda key: random.normal(key, (1000,)), 1000).reshape(-1)
    for cut in (-4.0, -2.0, 0.0, 1.0, 3.0, 4.5):
        audit.assert_frequency(np.sum(drawn >= cut), drawn.size, norm.sf(cut))


@pytest.mark.optimized
def test_normal_is_the_same_with_and_without_64_bit_types():
    key = jax.random.key(3)
    narrow = random.normal(key, (64,))
    with jax.enable_x64(True):
        chex.assert_trees_all_equal(narrow, random.normal(key, (64,)))
        wide = random.normal(key, (64,), jnp.float64)
    assert narrow.dtype == jnp.float32 and wide.dtype == jnp.float64
    chex.assert_trees_all_equal(random.normal(key, (64,))[:10], random.normal(key, (10,)))
