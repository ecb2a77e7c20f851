"""The row on unions at tiny size: both sides draw from one law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2_contingency

from benchmarks import peers, unions
from dpjax.mechanisms.cover import Pieces

ROWS = 12


@pytest.mark.statistical
@pytest.mark.parametrize("draws", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_both_sides_draw_from_one_law(draws, monkeypatch, stats):
    """Chi-square of the numbers of targets and others that are hit; numbers below 30 in all are one cell."""
    monkeypatch.setattr(unions, "FAMILY", Pieces(unions.FAMILY.d, 3, 3))
    x, *labels = unions.rows(ROWS)
    data = [jnp.asarray(part) for part in (x, *labels)]
    run = jax.jit(lambda keys: jax.lax.map(lambda key: unions.chosen(key, *data), keys))
    choose = peers.numpy_pieces(unions.FAMILY, x, *labels, unions.score(labels[0]))
    hits = np.concatenate([run(jax.random.split(jax.random.key(5), draws)), [choose() for _ in range(draws)]])
    numbers = (hits & labels[0]).sum(axis=1) * 100 + (hits & labels[1]).sum(axis=1)
    values, place = np.unique(numbers, return_inverse=True)
    table = np.array([np.bincount(part, minlength=len(values)) for part in np.split(place, 2)])
    rare = table.sum(axis=0) < 30
    table = np.concatenate([table[:, ~rare], table[:, rare].sum(axis=1, keepdims=True)], axis=1)
    assert table.shape[1] > 4
    assert chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue >= stats.false_alarm
