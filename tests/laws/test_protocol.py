"""Every law keeps the protocol: its samples follow its support, and its support is its log_prob."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2, kstest

from dpjax.concepts import Domain, Points, Thresholds
from dpjax.concepts.hashing import HashLaw
from dpjax.core import bit_strings as B
from dpjax.core import random
from dpjax.laws import (
    Categorical,
    DiscreteLaplace,
    Geometric,
    IntegerWeights,
    Laplace,
    Product,
    RoundedLaplace,
    Uniform,
)
from dpjax.mechanisms.cover.counts import NoisyCount
from dpjax.mechanisms.histogram import stability_histogram
from dpjax.mechanisms.intervals import interval_exponential
from dpjax.mechanisms.median import exponential_median
from dpjax.mechanisms.permute_and_flip import PermuteAndFlip
from dpjax.mechanisms.resample import Resample
from dpjax.mechanisms.shuffle import Matching, Shuffle
from dpjax.mechanisms.sparse_vector import SparseVector
from dpjax.sanitizers.joint_law import JointLaw

LIMIT, TRIALS = 1 << 13, 1 << 15


def _interval(concepts):
    x = jnp.asarray([[0, 1], [0, 2], [0, 2]], jnp.uint32)
    return interval_exponential(concepts.pieces(x, jnp.asarray([True, False, True]), jnp.ones(3, bool)), 1.0)


def _median():
    x = jnp.asarray(B.encode([0, 1, 1, 5], 3))
    return exponential_median(x, jnp.ones(4, bool), 1.0, bits=3)


def _joint():
    rows = jnp.asarray(B.encode([0, 1, 1, 3], 2))
    return JointLaw.of(rows, jnp.int32(4), jnp.asarray([1, 1, 2], jnp.int32), jnp.float32(0.5), 2)


FINITE = {
    "categorical": lambda: Categorical(jnp.asarray([0.0, 1.0, -jnp.inf, -1.0])),
    "no answer": lambda: Categorical(jnp.asarray([0.0, 1.0, 0.5]), no_answer=True),
    "impossible": lambda: Categorical(jnp.full(3, -jnp.inf)),
    "rounded laplace": lambda: RoundedLaplace.of(Laplace(jnp.int32(3), jnp.float32(1.5)), jnp.int32(5), 8),
    "rounded laplaces": lambda: RoundedLaplace.of(Laplace(jnp.asarray([1, 9]), jnp.float32(1.5)), jnp.int32(2), 3, -1),
    "geometric": lambda: Geometric(random.geometric_table(2.5), 6),
    "geometric, to its last digit": lambda: Geometric(random.geometric_table(2.5, 2), 6),
    "product": lambda: Product((Categorical(jnp.asarray([0.0, 1.0])), Geometric(random.geometric_table(1.0), 3))),
    "interval of thresholds": lambda: _interval(Thresholds(Domain(4))),
    "interval of points": lambda: _interval(Points(Domain(4))),
    "median": _median,
    "joint quantiles": _joint,
    "histogram, rounded": lambda: stability_histogram(jnp.asarray([0, 1, 4], jnp.int32), 1.0, 0.3).rounded(5, 6),
    "shuffle": lambda: Shuffle(jnp.int32(3), 4),
    "matching": lambda: Matching(jnp.int32(3), 4),
    "resample": lambda: Resample(jnp.int32(2), 3, 4),
    "permute and flip": lambda: PermuteAndFlip(jnp.asarray([0.0, -1.0, -jnp.inf, -0.3])),
    "sparse vector": lambda: SparseVector(
        jnp.asarray([0, 1, -1, 0], jnp.int32), jnp.float32(0.7), jnp.asarray([True, True, True, False]), False, 2
    ),
    "integer weights": lambda: IntegerWeights(jnp.asarray([5, 0, 1, 2], jnp.uint32)),
    "uniform": lambda: Uniform(jnp.int32(5), 7),
    "hash": lambda: HashLaw(1, 1, 2),
}
CONTINUOUS = {
    "laplace": (lambda: Laplace(jnp.float32(2), jnp.float32(3)), lambda law, v: np.exp(jax.jit(law.log_cdf)(v)))
}
UNBOUNDED = {
    "discrete laplace": (lambda: DiscreteLaplace.of(jnp.int32(2), 1.5), range(-8, 13)),
    "noisy count": (lambda: NoisyCount(jnp.int32(2), jnp.float32(1.5)), range(-8, 13)),
}


@functools.partial(jax.jit, static_argnums=1)
def samples(law, trials=TRIALS):
    return jax.vmap(law.sample)(jax.random.split(jax.random.key(5), trials))


@jax.jit
def listed(law):
    """Its support, and `log_prob` of what is listed there."""
    support = law.support(LIMIT)
    return support, jax.vmap(law.log_prob)(support.outcomes)


def rows_of(outcomes, count):
    leaves = [np.ascontiguousarray(np.asarray(leaf)).reshape(count, -1) for leaf in jax.tree.leaves(outcomes)]
    raw = np.concatenate([leaf.view(np.uint8).reshape(count, -1) for leaf in leaves], axis=1)
    return [row.tobytes() for row in raw]


def goodness(counts, chances):
    """p-value of a chi-square test; cells with few expected draws are put together."""
    few = chances * counts.sum() < 10
    counts = np.append(counts[~few], counts[few].sum())
    chances = np.append(chances[~few], chances[few].sum())
    counts, chances = counts[chances > 0], chances[chances > 0]
    if len(chances) == 1:
        return 1.0
    expected = chances / chances.sum() * counts.sum()
    return float(chi2.sf(np.sum((counts - expected) ** 2 / expected), len(chances) - 1))


ALIKE = "impossible", "rounded laplaces", "geometric, to its last digit", "interval of points", "matching", "product"
SHORT = [pytest.param(name, marks=pytest.mark.slow) if name in ALIKE else name for name in FINITE]


@pytest.mark.parametrize("name", SHORT)
def test_samples_follow_the_support(name):
    law = jax.jit(FINITE[name])()
    support, again = jax.tree.map(np.asarray, listed(law))
    mass = support.log_mass
    assert mass.dtype == np.float64 and abs(logsumexp(mass)) < 1e-9
    rows = rows_of(support.outcomes, support.size)
    alive = np.flatnonzero(mass > -np.inf)
    assert len({rows[i] for i in alive}) == len(alive), "an outcome stands twice"
    shapes = jax.eval_shape(law.sample, jax.random.key(0))
    for one, drawn in zip(jax.tree.leaves(support.outcomes), jax.tree.leaves(shapes), strict=True):
        assert one.shape[1:] == drawn.shape and one.dtype == drawn.dtype
    place = {rows[i]: i for i in alive}
    counts = np.bincount([place[row] for row in rows_of(samples(law), TRIALS)], minlength=support.size)
    assert goodness(counts, np.exp(mass)) > 1e-4
    assert again.dtype == np.float64
    np.testing.assert_allclose(again[alive], mass[alive], atol=1e-12)
    assert jax.eval_shape(lambda law: law.support(1), law) is None or support.size <= 1


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_of_continuous_laws_follow_the_distribution(name):
    law, cdf = CONTINUOUS[name][0](), CONTINUOUS[name][1]
    assert law.support(LIMIT) is None
    drawn = np.asarray(samples(law, 4096))
    assert kstest(drawn, lambda v: np.asarray(cdf(law, v))).pvalue > 1e-4
    at = np.linspace(-3.3, 7, 20)
    steps = np.asarray(jax.jit(jax.vmap(law.log_prob))(at))
    slope = (np.asarray(cdf(law, at + 0.01)) - np.asarray(cdf(law, at - 0.01))) / 0.02
    np.testing.assert_allclose(np.exp(steps), slope, rtol=1e-2)


@pytest.mark.parametrize("name", UNBOUNDED)
def test_samples_of_unbounded_laws_follow_their_masses(name):
    law, values = UNBOUNDED[name][0](), np.array(UNBOUNDED[name][1], np.int32)
    assert law.support(LIMIT) is None
    chances = np.exp(jax.jit(jax.vmap(law.log_prob))(values))
    drawn = np.asarray(samples(law))
    counts = np.array([np.sum(drawn == value) for value in values])
    rest = TRIALS - counts.sum()
    assert goodness(np.append(counts, rest), np.append(chances, 1 - chances.sum())) > 1e-4


def test_a_histogram_with_its_noise_has_a_density_and_no_support():
    law = jax.jit(lambda: stability_histogram(jnp.asarray([0, 5], jnp.int32), 1.0, 0.3))()
    assert law.support(LIMIT) is None
    released, noisy = samples(law, 4096)
    log_p = np.asarray(jax.jit(jax.vmap(law.log_prob))((released, noisy)))
    assert np.all(np.isfinite(log_p))
    no = float(np.asarray(jax.jit(law.release_log_probs)()[1])[1])
    np.testing.assert_allclose(log_p[~np.asarray(released)[:, 1]], no, atol=1e-6)
