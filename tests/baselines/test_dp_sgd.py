"""The peer DP-SGD: what its noise is worth, how far one row reaches, what lies under a mask, and that it learns."""

from math import exp, sqrt

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from scipy.integrate import quad
from scipy.stats import binom, norm

from dpjax.accounting import gaussian_epsilon, poisson_pair
from dpjax.accounting.gaussian import gaussian_delta
from dpjax.baselines.dp_sgd import DPSGD, Numbers, batch_for, gradients, noise_multiplier, poisson_batch, score
from dpjax.core.checks import InputError
from dpjax.core.types import Sample

EPSILON, DELTA, D = 1.0, 1e-6, 2**10


# --- the noise -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 30])
def test_whole_batches_are_composed_gaussians(steps):
    spent = gaussian_epsilon(sqrt(steps) / noise_multiplier(EPSILON, DELTA, 1.0, steps), DELTA)
    assert 0.99 * EPSILON <= spent <= EPSILON


def hockey_stick(first, second):
    """The integral of (first - e^EPSILON second)+ over the line."""
    return quad(lambda z: max(0.0, first(z) - exp(EPSILON) * second(z)), -30, 30, limit=500, points=[0, 1, 5])[0]


@pytest.mark.parametrize("rate", [0.01, 0.2])
def test_one_subsampled_step_by_quadrature(rate):
    sigma = noise_multiplier(EPSILON, DELTA, rate, 1)

    def without(z):
        return norm.pdf(z, 0, sigma)

    def with_row(z):
        return (1 - rate) * norm.pdf(z, 0, sigma) + rate * norm.pdf(z, 1, sigma)

    spent = max(hockey_stick(with_row, without), hockey_stick(without, with_row))
    assert 0.97 * DELTA <= spent <= DELTA


@pytest.mark.parametrize(("rate", "steps"), [(0.02, 300), (0.6, 30)])
def test_between_the_best_bound_for_one_step_and_renyi(rate, steps):
    sigma = noise_multiplier(EPSILON, DELTA, rate, steps)
    accountant = RdpAccountant(range(2, 65))
    accountant.compose(dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(sigma)), steps)
    assert EPSILON < accountant.get_epsilon(DELTA) < 1.35 * EPSILON  # Renyi divergences lose something, not much
    assert sigma < noise_multiplier(EPSILON, DELTA, 1.0, steps)
    assert sigma < noise_multiplier(EPSILON, DELTA, rate, 2 * steps)
    assert sigma < noise_multiplier(EPSILON / 2, DELTA, rate, steps)


def test_one_subsampled_step_by_the_theorem():
    """Balle, Barthe, Gaboardi: from (e, d) to (ln(1 + rate (e^e - 1)), rate d), so no more noise is needed."""
    rate = 0.1
    sigma = noise_multiplier(EPSILON, DELTA, rate, 1)
    inner = np.log1p(np.expm1(EPSILON) / rate)
    epsilon, delta = poisson_pair(inner, gaussian_delta(1 / sigma, inner), rate)
    np.testing.assert_allclose([epsilon, delta], [EPSILON, DELTA], rtol=0.02)


@pytest.mark.parametrize(
    "given", [(0.0, 1e-6, 0.1, 3), (1.0, 0.0, 0.1, 3), (1.0, 1e-6, 0.0, 3), (1.0, 1e-6, 1.5, 3), (1.0, 1e-6, 0.1, 0)]
)
def test_no_noise_makes_these_private(given):
    with pytest.raises(InputError):
        noise_multiplier(*given)


# --- batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "expected"), [(300, 256), (1000, 64), (10**6, 256)])
def test_batches_are_hardly_ever_too_large(size, expected):
    steps = 100
    room = batch_for(expected, steps, EPSILON, DELTA)
    lost = steps * binom.sf(room, size, expected / size)
    assert (1 + exp(EPSILON)) * lost <= 1e-3 * DELTA
    assert expected < room < 2.5 * expected


@pytest.mark.statistical
def test_every_real_row_is_in_a_batch_with_the_rate(key, stats):
    mask, rate, draws = jnp.asarray(np.arange(100) < 60), 0.3, 2000
    batches = jax.jit(jax.vmap(lambda own: poisson_batch(own, mask, rate, 60)))
    index, there = batches(jax.random.split(key, draws))
    rows = np.asarray(index)[np.asarray(there)]
    assert rows.max() < 60
    stats.frequency(len(rows), 60 * draws, rate)
    sizes = np.bincount(np.asarray(there).sum(axis=1), minlength=61)
    stats.chi_square(sizes, binom.pmf(np.arange(61), 60, rate))


def test_a_batch_has_no_more_rows_than_it_has_room(key):
    index, there = jax.jit(lambda key: poisson_batch(key, jnp.ones(100, bool), 1.0, 7))(key)
    assert index.tolist() == list(range(7)) and np.asarray(there).all()


# --- one row ---------------------------------------------------------------------------------------------------------


def sample(n, room, garbage=0):
    generator = np.random.default_rng(garbage)
    x = generator.integers(0, D + 1, (room, 2)).astype(np.uint32)
    y = generator.random((room, 1)) < 0.5
    own = np.random.default_rng(5).integers(0, D + 1, (n, 2))
    x[:n], y[:n, 0] = own, own @ [2, 1] > 1.4 * D
    return Sample(jnp.asarray(x), jnp.asarray(y), jnp.asarray(np.arange(room) < n))


def flat(layers):
    return np.concatenate([np.ravel(part) for part in jax.tree.leaves(layers)])


def test_one_row_reaches_no_farther_than_the_clip(key):
    """One step of plain descent on all rows: without one of them, the parameters move by clip / expected at most."""
    net, rows, n = DPSGD(D, (8, 8), 1, 50, 50, "momentum"), sample(50, 50), 50
    fit = jax.jit(lambda mask, clip: net.fit(key, Sample(rows.x, rows.y, mask), Numbers(1.0, 0.0, 1.0, clip)))
    for clip in (1e-3, 0.1, 1e3):
        whole = flat(fit(rows.mask, clip)).astype(np.float64)
        moved = [np.linalg.norm(whole - flat(fit(rows.mask.at[i].set(False), clip))) * n for i in range(n)]
        rounding = 2e-4  # of n times the parameters
        assert max(moved) <= clip + rounding
        if clip < 1:  # every row is clipped
            np.testing.assert_allclose(moved, clip, atol=rounding)


def test_noise_has_the_deviation_that_was_asked_for(key):
    """With no rows one step is noise alone: clip times multiplier over the expected batch."""
    net, none = DPSGD(D, (64, 64), 1, 20, 50, "momentum"), sample(0, 50)
    fit = jax.jit(lambda multiplier: net.fit(key, none, Numbers(1.0, multiplier, 1.0, 0.1)))
    noise = (flat(fit(3.0)) - flat(fit(0.0))) * 20 / (3.0 * 0.1)
    assert abs(noise.std() - 1) < 4.9 / sqrt(2 * len(noise)) and abs(noise.mean()) < 4.9 / sqrt(len(noise))


@pytest.mark.slow
def test_what_lies_under_a_mask_never_matters(key):
    net = DPSGD(D, (8,), 5, 20, 60)
    fit = jax.jit(lambda rows: net.fit(key, rows, Numbers(0.4, 2.0, 0.1, 0.5, 2.0, 0.5)))
    found = [flat(fit(sample(50, room, garbage))) for room, garbage in ((50, 0), (64, 1), (64, 2))]
    assert all(np.array_equal(found[0], other) for other in found)
    assert not np.array_equal(found[0], flat(fit(sample(49, 64, 1))))


def test_gradients_are_those_of_rows_that_are_there(key):
    x, y = jnp.array([[0.1, 0.2], [jnp.nan, 1.0], [0.3, -0.4]]), jnp.array([1.0, 0.0, 1.0])

    @jax.jit
    def both(key):
        layers = DPSGD(D, (4,), 1, 1, 1)._start(key, 1.0)
        found = gradients(layers, x, y, jnp.array([True, True, False]))
        return found, jax.grad(lambda own: -jax.nn.log_sigmoid(score(own, x[0])))(layers)

    found, expected = jax.tree.map(np.asarray, both(key))
    assert all(np.isfinite(part).all() and not np.any(part[1:]) for part in jax.tree.leaves(found))
    for part, right in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(part[0], right, rtol=1e-5, atol=1e-7)


# --- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("optimizer", "rate"), [pytest.param("adam", 0.03, marks=pytest.mark.slow), ("momentum", 1.0)])
def test_a_halfplane_is_learned_without_noise(key, optimizer, rate):
    net, rows = DPSGD(D, (16,), 200, 64, 150, optimizer), sample(1000, 1000)
    fit, predict = jax.jit(net.fit), jax.jit(net.predict)
    layers = fit(key, rows, Numbers(0.064, 0.0, rate, 1.0, 1.0, 0.25))
    fresh = np.random.default_rng(9).integers(0, D + 1, (4000, 2))
    wrong = np.asarray(predict(layers, jnp.asarray(fresh, jnp.uint32)))[:, 0] != (fresh @ [2, 1] > 1.4 * D)
    assert wrong.mean() < 0.02
    drowned = fit(key, rows, Numbers(0.064, 1e4, rate, 1.0, 1.0, 0.25))
    other = np.asarray(predict(drowned, jnp.asarray(fresh, jnp.uint32)))[:, 0] != (fresh @ [2, 1] > 1.4 * D)
    assert other.mean() > 0.1


def test_other_numbers_need_no_other_program(key):
    net, rows = DPSGD(D, (4,), 3, 10, 30), sample(20, 32)

    @jax.jit
    @chex.assert_max_traces(n=1)
    def run(sample, numbers):
        return net.fit(key, sample, numbers)

    for numbers in (Numbers(0.5, 1.0, 0.1, 1.0), Numbers(0.2, 0.0, 0.2, 2.0, 3.0, 0.5)):
        jax.eval_shape(run, rows, numbers)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"widths": (0,)}, {"batch": 9}, {"optimizer": "adamm"}])
def test_programs_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError):
        DPSGD(**({"d": D, "widths": (4,), "steps": 1, "expected": 10, "batch": 10} | wrong))
