"""The test of p <= e^epsilon q + delta: its level by enumeration, its power beside two intervals."""

import itertools

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

from dpjax.audit import delta_lower, epsilon_lower, p_value
from dpjax.core.checks import InputError

LEVEL = 0.05
GRID = np.unique(np.concatenate([np.linspace(0, 1, 101), np.geomspace(1e-4, 0.1, 30)]))


def rejections(n, m, epsilon, delta, level=LEVEL):
    x, y = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    return p_value(x, n, y, m, epsilon, delta, significance=level) <= level


@pytest.mark.grid
@pytest.mark.parametrize(
    ("n", "m", "epsilon", "delta"),
    [(20, 20, 1.0, 0.0), (40, 25, 0.5, 0.01), (15, 60, 2.0, 0.0), (30, 30, 0.0, 0.2), (50, 50, 0.1, 0.0), (1, 1, 1, 0)],
)
def test_no_null_law_is_rejected_too_often(n, m, epsilon, delta):
    """Exactly, over all outcomes, on the border of the hypothesis and inside it."""
    rejected = rejections(n, m, epsilon, delta)
    worst = 0.0
    for q, inside in itertools.product(GRID, (1.0, 0.9)):
        p = min(1.0, (np.exp(epsilon) * q + delta) * inside)
        chance = binom.pmf(np.arange(n + 1), n, p) @ rejected @ binom.pmf(np.arange(m + 1), m, q)
        worst = max(worst, chance)
    assert worst <= LEVEL
    assert n < 20 or worst > 0.01, "a test that never rejects is valid, too"


@pytest.mark.parametrize(
    ("n", "delta"),
    [
        (12, 0.0),
        (12, 0.1),
        pytest.param(30, 0.0, marks=pytest.mark.slow),
        pytest.param(30, 0.1, marks=pytest.mark.slow),
    ],
)
def test_whoever_is_rejected_is_rejected_at_smaller_epsilon(n, delta):
    """So that a lower bound excludes every epsilon below it."""
    before = rejections(n, n, 0.0, delta)
    for epsilon in np.linspace(0.05, 3, 20):
        now = rejections(n, n, epsilon, delta)
        assert not np.any(now & ~before)
        before = now


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_bounds_invert_the_test(delta):
    x, y = (part.ravel() for part in np.meshgrid([0, 3, 20, 70, 100], [0, 1, 7, 40, 100]))
    bound = epsilon_lower(x, 100, y, 100, delta)
    found = bound > 0
    assert found.any() and not found.all()
    assert np.all(p_value(x, 100, y, 100, bound, delta)[found] <= LEVEL)
    assert np.all(p_value(x, 100, y, 100, bound + 1e-3, delta) > LEVEL)
    other = delta_lower(x, 100, y, 100, 0.5)
    assert np.all(p_value(x, 100, y, 100, 0.5, other)[other > 0] <= LEVEL)
    assert np.all(p_value(x, 100, y, 100, 0.5, other + 1e-3) > LEVEL)


@pytest.mark.slow
def test_it_needs_far_fewer_trials_than_two_intervals():
    """Laplace, true epsilon 1, the best event known: mean bounds, beside Clopper-Pearson at half the level each."""
    generator = np.random.default_rng(0)
    for n, least in ((1000, 0.866), (10_000, 0.948), (100_000, 0.986)):
        x, y = generator.binomial(n, 0.5, 300), generator.binomial(n, 0.5 / np.e, 300)
        ours = epsilon_lower(x, n, y, n).mean()
        low, high = betaincinv(x, n - x + 1, LEVEL / 2), betaincinv(y + 1, n - y, 1 - LEVEL / 2)
        assert ours >= least - 0.003
        assert 1 - ours < 0.8 * (1 - np.log(low / high).mean())


@pytest.mark.parametrize("n", [1000, 10**8])
def test_extremes(n):
    assert epsilon_lower(n, n, 0, n) > np.log(n) - 4
    assert epsilon_lower(0, n, n, n) == 0
    assert epsilon_lower(n, n, n, n) == 0
    assert delta_lower(n, n, 0, n, 1.0) > 1 - 50 / n
    assert 0.5 < p_value(n // 2, n, n // 2, n, 0.1, 0.0) <= 1


def test_finer_cells_only_sharpen():
    coarse, fine = (p_value(60, 100, 20, 100, 0.5, 0.0, cells=cells) for cells in (8, 512))
    assert fine < coarse


@pytest.mark.parametrize("bad", [(3, 2, 1, 2), (-1, 2, 1, 2), (1, 0, 1, 2), (1.5, 2, 1, 2)])
def test_counts_are_checked(bad):
    with pytest.raises(InputError, match="whole successes"):
        p_value(*bad, 1.0, 0.0)


def test_the_p_value_has_a_floor():
    """A share of the level pays for not knowing q, however strong the evidence."""
    for level in (0.05, 1e-4):
        found = float(p_value(1000, 1000, 0, 1000, 1.0, 0.0, significance=level))
        assert found == pytest.approx(level / 100, rel=1e-6)
