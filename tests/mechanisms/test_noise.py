"""Additive noise: privacy profiles, exact tails, lattice and ideal contracts."""

import math

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.numeric.profile import hockey_stick
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.laws import DiscreteLaplace
from dpjax.mechanisms import (
    discrete_laplace_mechanism,
    discrete_laplace_mechanism_guarantee,
    discrete_laplace_plan,
    laplace_mechanism,
    laplace_mechanism_guarantee,
)
from dpjax.mechanisms.noise import upper_quantile


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_discrete_laplace_is_private_and_tight(epsilon, sensitivity):
    values = jnp.arange(-400, 401, dtype=jnp.int32)
    rows = []
    for value in (0, sensitivity):
        law = discrete_laplace_mechanism(jnp.full(801, value, jnp.int32), epsilon, sensitivity=sensitivity)
        rows.append(np.asarray(law.log_probability(values), np.float64))
    assert np.max(np.abs(rows[0] - rows[1])) == pytest.approx(epsilon, rel=1e-4)
    if sensitivity / epsilon < 5:
        found = hockey_stick(rows[0], rows[1], 0.5 * epsilon)
        q = math.exp(-epsilon / sensitivity)
        exact = sum(  # in closed form over the values up to the location, and between
            max(0.0, (1 - q) / (1 + q) * (q ** abs(k) - math.exp(0.5 * epsilon) * q ** abs(k - sensitivity)))
            for k in range(-400, 401)
        )
        assert found == pytest.approx(exact, rel=1e-4)


@pytest.mark.statistical
def test_discrete_laplace_draws(audit):
    law = discrete_laplace_mechanism(jnp.array([5, -2], jnp.int32), 0.8, sensitivity=1)
    with jax.numpy_rank_promotion("allow"):
        drawn = audit.draws(law.sample, 100_000)
    for column, centre in ((0, 5), (1, -2)):
        shifted = np.clip(drawn[:, column] - centre, -12, 12) + 12
        q = math.exp(-0.8)
        pmf = (1 - q) / (1 + q) * q ** np.abs(np.arange(-12.0, 13.0))
        pmf[[0, -1]] = q**12 / (1 + q)
        audit.assert_law(shifted, pmf)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_laplace_profile(epsilon):
    """P - exp(e) Q between shifts by the sensitivity integrates to 1 - exp((e - epsilon) / 2)."""
    with jax.enable_x64(True):
        laws = [laplace_mechanism(jnp.float64(value), jnp.float64(epsilon), sensitivity=2) for value in (0, 2)]
        cuts = jnp.linspace(-2.0, 4.0, 60_001)
        rows = []
        for law in laws:
            survival = np.exp(np.asarray(law.log_survival(cuts)))
            cells = np.concatenate([[1 - survival[0]], survival[:-1] - survival[1:], [survival[-1]]])
            rows.append(np.log(cells))
    for at in (0.0, 0.5 * epsilon, 0.9 * epsilon):
        for p, q in (rows, rows[::-1]):
            assert hockey_stick(p, q, at) == pytest.approx(-math.expm1((at - epsilon) / 2), rel=1e-3)
    assert hockey_stick(rows[0], rows[1], epsilon) < 1e-9


def test_laplace_noise_is_as_large_as_stated():
    """KMMS Theorem 2.13: it exceeds D in size with probability exp(-epsilon D / s)."""
    law, sizes = laplace_mechanism(jnp.array(7, jnp.int32), 0.4, sensitivity=2), np.array([0.5, 3.0, 40.0])
    for more in (7 + sizes, 7 - sizes):
        tails = np.exp(np.asarray(law.log_survival(jnp.asarray(more, jnp.float32))))
        np.testing.assert_allclose(tails if more[0] > 7 else 1 - tails, np.exp(-0.4 * sizes / 2) / 2, rtol=1e-3)


def test_laplace_vectors_share_one_budget():
    value, moved = jnp.array([3, 4, 5], jnp.int32), jnp.array([4, 3, 5], jnp.int32)  # L1 distance 2
    p, q = (laplace_mechanism(x, 0.7, sensitivity=2) for x in (value, moved))
    far = jnp.array([90.0, -90.0, 5.0], jnp.float32)
    assert float(jnp.sum(q.log_density(far) - p.log_density(far))) == pytest.approx(0.7, rel=1e-4)
    assert p.sample(jax.random.key(0)).shape == (3,)


def test_upper_quantile():
    for delta in (1e-30, 1e-12, 0.3, 0.5, 0.7, 0.999):
        x = float(upper_quantile(jnp.float32(delta)))
        back = math.exp(-x) / 2 if x > 0 else 1 - math.exp(x) / 2
        assert back == pytest.approx(delta, rel=2e-5)
    assert float(upper_quantile(jnp.float32(0))) == math.inf
    assert float(upper_quantile(jnp.float32(1))) == -math.inf


def test_extreme_budgets_are_defined():
    for epsilon in (1e-6, 1e4):
        law = laplace_mechanism(jnp.array([1, 2], jnp.int32), epsilon, sensitivity=1)
        assert np.all(np.isfinite(law.sample(jax.random.key(0))))
        assert discrete_laplace_mechanism(jnp.int32(3), epsilon, sensitivity=1).sample(jax.random.key(0)).shape == ()
    assert int(discrete_laplace_mechanism(jnp.int32(3), 1e4, sensitivity=1).sample(jax.random.key(0))) == 3


def test_guarantees_and_refusals():
    ideal = laplace_mechanism_guarantee(0.5, sensitivity=2, neighboring=Neighboring.ADD_OR_REMOVE_ONE)
    assert (ideal.epsilon, ideal.delta, ideal.contract) == (0.5, 0, "ideal")
    assert ideal.neighboring is Neighboring.ADD_OR_REMOVE_ONE
    assert discrete_laplace_mechanism_guarantee(0.5, sensitivity=2).contract == "lattice"
    with pytest.raises(InputError, match="whole"):
        discrete_laplace_mechanism(jnp.array([0.5]), 1.0, sensitivity=1)
    with pytest.raises(InputError, match="sensitivity"):
        discrete_laplace_mechanism(jnp.array([1]), 1.0, sensitivity=0.5)
    with pytest.raises(InputError, match="sensitivity"):
        laplace_mechanism(jnp.array([1]), 1.0, sensitivity=0)
    with pytest.raises(InputError, match="epsilon"):
        jax.jit(lambda epsilon: discrete_laplace_mechanism(jnp.array([1]), epsilon, sensitivity=1).scale)(1.0)
    for epsilon in (0, -1, math.nan, math.inf):
        with pytest.raises(InputError, match="epsilon"):
            laplace_mechanism_guarantee(epsilon, sensitivity=1)


def test_one_program_for_several_plans():
    value = jnp.array([3, -1], jnp.int32)

    @jax.jit
    @chex.assert_max_traces(1)
    def draw(key, plan):
        return discrete_laplace_mechanism(value, plan, sensitivity=1).sample(key)

    for epsilon in (1e-6, *np.geomspace(0.25, 4, 8), 50.0):
        plan = discrete_laplace_plan(float(epsilon), sensitivity=1)
        assert float(plan.scale) >= 1 / epsilon
        found = draw(jax.random.key(1), plan)
        unpadded = DiscreteLaplace.of(value, float(plan.scale), len(plan.table.digits))
        chex.assert_trees_all_equal(found, unpadded.sample(jax.random.key(1)))
