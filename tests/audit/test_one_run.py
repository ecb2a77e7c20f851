"""One run with Gaussian canaries: a bound near the truth, and false alarms as rare as promised."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpjax import audit, evidence
from dpjax.accounting import Guarantee, gaussian_epsilon
from dpjax.audit.sampling.one_run import GaussianBorder, mu_lower
from dpjax.audit.sampling.ratio_test import p_value_of_border
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy

TRUE = gaussian_epsilon(1.0, 1e-5)
CLAIM = Guarantee(TRUE, 1e-5, Neighboring.ADD_OR_REMOVE_ONE, "Gaussian noise, mu = 1")


def canaries(seed, n=10_000, mu=1.0):
    generator = np.random.default_rng(seed)
    inside = generator.random(n) < 0.5
    scores = generator.normal(size=n) + mu * inside
    return scores[inside], scores[~inside]


@pytest.mark.slow
def test_gaussian_canaries():
    """mu = 1, ten thousand canaries, delta 1e-5: the truth is 4.377."""
    assert pytest.approx(4.377, abs=1e-3) == TRUE
    reports = [audit.one_run(*canaries(seed), CLAIM, gaussian=True) for seed in range(40)]
    found = np.array([report.epsilon_found for report in reports])
    assert found.mean() > 3.9 and found.min() > 3.5
    alarms = sum(report.violated for report in reports)
    assert binom.sf(alarms - 1, 40, 0.05) > 1e-6
    assert audit.one_run(
        *canaries(0), Guarantee(2.0, 1e-5, CLAIM.neighboring, "too little noise"), gaussian=True
    ).violated


def test_the_level_is_exact():
    """No mu-Gaussian pair of rates is rejected too often, over all outcomes."""
    n, level = 30, 0.05
    x, y = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    for mu in (0.3, 1.0, 2.5):
        border = GaussianBorder(np.full((1, 1, 1), mu))
        rejected = p_value_of_border(x, np.full_like(x, n), y, np.full_like(x, n), border, significance=level) <= level
        for q, inside in itertools.product(np.linspace(0.001, 0.999, 60), (1.0, 0.9)):
            p = norm.cdf(norm.ppf(q) + mu) * inside
            chance = binom.pmf(np.arange(n + 1), n, p) @ rejected @ binom.pmf(np.arange(n + 1), n, q)
            assert chance <= level


def test_nothing_is_found_where_nothing_is():
    assert audit.one_run(*canaries(1, mu=0.0), CLAIM, gaussian=True).epsilon_found < 0.5
    assert mu_lower(0, 100, 100, 100) == 0
    assert mu_lower(1000, 1000, 0, 1000) > 4


@pytest.mark.parametrize("bad", [np.zeros(5), np.zeros((200, 2)), np.full(200, np.nan)])
def test_bad_scores(bad):
    with pytest.raises(InputError, match="finite scores"):
        audit.one_run(bad, np.zeros(200), CLAIM)


@pytest.mark.slow
def test_any_mechanism_by_the_line():
    """Laplace noise on a count for each canary: near the truth, and never above it too often."""
    found = evidence.mechanism_target("laplace_mechanism")
    reports = [audit.one_run_of(found, Privacy(1.0, 0.0), canaries=20_000, seed=seed) for seed in range(60)]
    bounds = np.array([report.epsilon_found for report in reports])
    assert bounds.mean() > 0.9
    assert binom.sf(np.sum(bounds > 1) - 1, 60, 0.05) > 1e-6
    broken = replace(found, canaries=lambda key, inside, p: found.canaries(key, 2 * inside.astype(np.int32), p))
    assert audit.one_run_of(broken, Privacy(1.0, 0.0), canaries=20_000).violated


def test_targets_without_scores_are_refused():
    with pytest.raises(InputError, match="one-run"):
        audit.one_run_of(evidence.mechanism_target("exponential"), Privacy(1.0, 0.0))


@pytest.mark.parametrize("name", ["laplace_mechanism", "gaussian_mechanism"])
def test_canaries_are_given_the_plan(name):
    found = evidence.mechanism_target(name)
    report = audit.one_run_of(found, Privacy(1.0, 1e-5), canaries=2_000, confidence=1 - 1e-6)
    assert not report.violated
    louder = replace(found, plan=lambda privacy: found.plan(Privacy(20.0, 1e-5)))
    assert audit.one_run_of(louder, Privacy(1.0, 1e-5), canaries=2_000).violated
