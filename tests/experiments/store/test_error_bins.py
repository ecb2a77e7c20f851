"""One byte a trial: bins decide exactly at their edges, for any distribution and any noise."""

from fractions import Fraction
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.experiments.store import error_bins
from dpjax.experiments.sweep import error_mass


def byte(mass, alpha, total, scale=Fraction(1), silent=False, valid=True):
    with jax.enable_x64(True):
        parts = jnp.asarray(mass, jnp.uint64), jnp.asarray([silent]), jnp.asarray([valid])
        return np.asarray(error_mass.binned(*parts, jnp.asarray(error_mass.limits(alpha, total, scale))))


def test_the_grid_fits_into_seven_bits_and_has_what_people_ask_for():
    grid = error_bins.GRID
    assert list(grid) == sorted(set(grid)) and len(grid) + 1 < error_bins.INVALID < error_bins.SILENT
    assert all(Fraction(text) in grid for text in ("0.01", "0.02", "0.05", "0.1", "0.2", "0.25", "0.4", "0.5"))
    steps = [float(b / a) for a, b in pairwise(grid[1:])]
    assert min(steps) > 1.1 and max(steps) < 1.16


@pytest.mark.grid(keep=12)
@pytest.mark.parametrize("total", [10, 1000, 2**32, 10**9 + 7, 2**63, 2**64])
@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.123456789, 1 / 3, 1e-9, 0.999])
@pytest.mark.parametrize("noise", [Fraction(0), Fraction(1, 10)])
def test_success_is_decided_exactly(total, alpha, noise):
    """At the largest mass whose share is at most alpha, and one unit above."""
    scale = 1 - 2 * noise
    end = min(total, 2**64 - 1)
    most = min(int(Fraction(repr(alpha)) / scale * total), end)
    for mass in (max(0, most - 1), most, min(most + 1, end)):
        found = byte([mass], alpha, total, scale)
        assert bool(error_bins.successes(found, alpha)) == (mass * scale <= Fraction(repr(alpha)) * total)
    if end == total:
        assert error_bins.bins(byte([total], alpha, total, scale)) < error_bins.INVALID
        assert error_bins.bins(byte([total + 1], alpha, total, scale)) == error_bins.INVALID, "more than everything"


def test_the_largest_of_the_errors_counts():
    assert byte([3, 90, 5], 0.1, 100) == byte([90], 0.1, 100) != byte([3], 0.1, 100)


def test_silence_is_a_bit_and_an_error_beside_it():
    quiet, told = byte([5], 0.1, 100, silent=True), byte([5], 0.1, 100)
    assert error_bins.silent(quiet) and not error_bins.silent(told) and error_bins.bins(quiet) == error_bins.bins(told)
    assert error_bins.successes(quiet, 0.1)


def test_what_is_no_error_has_its_own_bin():
    with jax.enable_x64(True):
        for share, right in ((0.25, True), (np.nan, False), (-0.1, False), (1.5, False), (1.0, True)):
            mass, valid = error_mass.as_mass(jnp.asarray([share]))
            assert bool(valid[0]) == right
            if right:
                assert int(mass[0]) == int(share * error_mass.SHARES)
    assert error_bins.bins(byte([5], 0.1, 100, valid=False)) == error_bins.INVALID


def test_other_alphas_are_read_from_the_grid():
    found = np.array([byte([mass], 0.123, 1000) for mass in range(0, 1000, 7)])
    masses = np.arange(0, 1000, 7)
    for at_most in (0.05, 0.1, 0.25, 0.9):
        np.testing.assert_array_equal(error_bins.successes(found, 0.123, at_most), masses <= 1000 * at_most)
    between = error_bins.successes(found, 0.123, 0.11)  # no edge: what cannot be told from more counts as more
    np.testing.assert_array_equal(between, masses <= 100)


def test_quantiles_are_upper_ends():
    found = np.array([byte([mass], 0.1, 1000) for mass in range(1000)])
    for level, end in zip((0.1, 0.5, 0.95), error_bins.quantiles(found, 0.1, (0.1, 0.5, 0.95)), strict=True):
        assert level - 0.002 <= end <= 1.13 * level


@pytest.mark.parametrize("alpha", [0.0, 1.0, float("nan")])
def test_an_alpha_that_is_none_is_refused(alpha):
    with pytest.raises(InputError):
        error_mass.limits(alpha, 10)
