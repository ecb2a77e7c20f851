"""The row on conjunctions at a few trials: both sides learn the same AND equally well."""

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import conjunctions


@pytest.mark.slow
@pytest.mark.statistical
def test_both_sides_have_errors_of_one_law(monkeypatch):
    """At fewer rows, where many fail."""
    monkeypatch.setattr(conjunctions, "EXAMPLES", 850)
    ours = np.asarray(conjunctions.learned(100)(jnp.uint32(0))).astype(float) / 2**64
    theirs = np.asarray(conjunctions.by_products(100)(jnp.uint32(0)))
    assert theirs.dtype == np.float64 and np.all((theirs >= 0) & (theirs <= 1))
    good = [np.sum(errors <= 0.1) for errors in (ours, theirs)]
    assert 10 < good[0] < 90
    assert abs(good[0] - good[1]) < 36  # five standard deviations of the difference, at most
