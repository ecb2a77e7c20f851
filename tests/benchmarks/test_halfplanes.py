"""The rows on halfplanes at tiny size: what is compared draws from one law, and the numbers are what they say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2_contingency

from benchmarks import halfplanes
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes

ROWS, DRAWS = 12, 1500


def hit(draw):
    """How many targets and others are hit, as one number, ``int[draws]``."""
    x, target, other = (jnp.asarray(part[0]) for part in halfplanes.rows(ROWS))

    def one(key):
        found = draw(key, x, target, other)
        hits = found.hits(x) if hasattr(found, "hits") else HalfPlanes(halfplanes._D).hits(found, x)
        return jnp.sum(hits & target) * 100 + jnp.sum(hits & other)

    return np.asarray(jax.jit(lambda keys: jax.lax.map(one, keys))(jax.random.split(jax.random.key(7), DRAWS)))


@pytest.mark.slow
@pytest.mark.statistical
def test_the_samplers_that_race_draw_from_one_law(stats):
    """Chi-square of the numbers of rows hit, three samplers side by side; numbers below 30 in all are one cell."""
    found = [hit(draw) for draw in (halfplanes.by_rejection, halfplanes.by_slabs, halfplanes.by_events)]
    values, place = np.unique(np.concatenate(found), return_inverse=True)
    table = np.array([np.bincount(part, minlength=len(values)) for part in np.split(place, 3)])
    rare = table.sum(axis=0) < 30
    table = np.concatenate([table[:, ~rare], table[:, rare].sum(axis=1, keepdims=True)], axis=1)
    assert table.shape[1] > 10
    assert chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue >= stats.false_alarm


@pytest.mark.slow
@pytest.mark.parametrize(
    "measured",
    [
        lambda: halfplanes.within(ROWS, 0.5, 0.0),
        lambda: halfplanes.against(halfplanes.by_slabs, ROWS, 0.0),
        pytest.param(lambda: halfplanes.against(halfplanes.by_events, ROWS, 0.0), marks=pytest.mark.slow),
        pytest.param(lambda: halfplanes.together(ROWS, 4, 0.0), marks=pytest.mark.slow),
    ],
)
def test_ratios_are_of_the_rates(measured):
    found = measured()
    assert found.value > 0 and found.ratio == pytest.approx(found.value / found.peer_value)


def test_rows_are_of_both_classes_and_every_trial_has_its_own():
    x, target, other = halfplanes.rows(50, 3)
    assert x.shape == (3, 50, 2) and x.dtype == np.int32
    assert (target ^ other).all() and 10 < other.sum() < 140
    assert len(np.unique(x.reshape(3, -1), axis=0)) == 3
