"""The law and the mechanism pass the conformance suite of dpjax. Run by pytest."""

import jax.numpy as jnp
import pytest

import dpjax as dp
from dpjax import audit, testing
from dpjax.templates.mechanism import law, noisy_count, noisy_count_guarantee, target


def test_samples_follow_the_law():
    """Draws, support and log_prob agree."""
    testing.assert_passed(testing.check_law(law()))


def test_no_guarantee_is_exceeded():
    """Exactly, over all pairs of neighbors."""
    testing.assert_passed(testing.check_mechanism(target()))


def test_a_count_with_too_little_noise_is_found():
    """Two rows of one person change the count by 2, and the audit detects it."""
    universe = audit.histograms(4, 2, dp.Neighboring.REPLACE_ONE)
    findings = testing.check_mechanism(
        lambda histogram, plan: noisy_count(2 * histogram[1], plan.epsilon, most=8),
        lambda epsilon, delta: noisy_count_guarantee(epsilon),
        universe=universe,
    )
    with pytest.raises(AssertionError, match="no guarantee is exceeded"):
        testing.assert_passed(findings)


def test_an_empty_histogram_counts_nothing():
    """A large budget gives the true count."""
    assert int(noisy_count(jnp.int32(0), 1000.0, most=6).sample(dp.keys.root(0))) == 0
