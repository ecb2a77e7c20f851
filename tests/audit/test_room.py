"""Exact audits that the host's memory does not hold are refused, with their size, before they are computed."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax import audit
from dpjax.accounting import Guarantee
from dpjax.audit.enumeration import outcomes
from dpjax.audit.enumeration.outcomes import exact_law
from dpjax.audit.target import room
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring, Privacy
from dpjax.mechanisms import randomized_response

CLAIM = Guarantee(1.0, 0.0, Neighboring.REPLACE_ONE, "as claimed")


@pytest.fixture
def small(monkeypatch):
    """A host of three MiB."""
    for module in (room, outcomes):
        monkeypatch.setattr(module, "room", lambda: 1 << 20)
    outcomes._traced.cache_clear()
    yield
    outcomes._traced.cache_clear()


def own_number(key, data, plan):
    """Each database has outcomes of its own."""
    return data, randomized_response(data % 2, 1.0).sample(key)


def test_a_table_of_too_many_outcomes(small):
    assert exact_law(own_number, np.arange(16, dtype=np.int32), None)[0].shape == (16, 32)
    with pytest.raises(audit.NotListable, match=r"GiB of memory for 1600 outcomes on each of 800 databases"):
        exact_law(own_number, np.arange(800, dtype=np.int32), None)


def test_it_is_refused_before_all_databases_are_run(small):
    runs = []

    def table(databases, plan):
        runs.append(len(databases))
        return np.full((len(databases), 64), -np.log(64))

    universe = audit.Universe(np.arange(1 << 14), np.array([[0, 1], [1, 0]]), Neighboring.REPLACE_ONE, "many", int)
    target = audit.Target("many", lambda epsilon, delta: CLAIM, own_number, lambda: [universe], list, table)
    with pytest.raises(audit.NotListable, match="at least 64 outcomes on each of 16384 databases"):
        audit.exact(target, Privacy(1.0))
    assert runs == [1 << 8]


def test_paths_of_wide_arrays(small):
    """Eight paths of 2^20 numbers, where three MiB hold none."""

    def run(key, data, plan):
        return jnp.sum(jnp.zeros(1 << 20, jnp.int32).at[data].set(1)) + randomized_response(data, 1.0).sample(key)

    with pytest.raises(audit.NotListable, match=r"at most 1 paths, got 2, 0\.0469 GiB of memory"):
        exact_law(run, np.arange(1, dtype=np.int32), None)


def test_universes_that_are_too_large(small):
    with pytest.raises(
        InputError, match=r"votes: expected at most .* for the pairs of neighbors of 30 rows on 6 cells"
    ):
        audit.histograms(30, 6, Neighboring.REPLACE_ONE)
    with pytest.raises(InputError, match="length: expected at most 16777216 databases, got"):
        audit.vectors(range(100), 8, [[1] * 8], Neighboring.REPLACE_ONE)


def test_a_table_cannot_change_the_databases():
    def table(databases, plan):
        databases[:] = 0
        return np.zeros((len(databases), 1))

    universe = audit.Universe(np.arange(2), np.array([[0, 1], [1, 0]]), Neighboring.REPLACE_ONE, "two", int)
    target = audit.Target("two", lambda epsilon, delta: CLAIM, own_number, lambda: [universe], list, table)
    with pytest.raises(ValueError, match="read-only"):
        audit.exact(target, Privacy(1.0))
    honest = replace(target, table=lambda databases, plan: np.zeros((len(databases), 1)))
    assert audit.exact(honest, Privacy(1.0)).verdict.startswith("vacuous")
