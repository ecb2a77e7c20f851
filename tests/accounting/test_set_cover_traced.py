"""The coefficient of set cover inside a program: certified at whatever epsilon and delta are met."""

import itertools
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.accounting.cover.closed import closed_coefficient, pure_coefficient
from dpjax.accounting.cover.guarantee import set_cover_delta
from dpjax.accounting.cover.table import CoverTable, cover_table
from dpjax.core.types import Neighboring, Privacy, at_most
from dpjax.mechanisms.cover.coefficient import coefficient_at, cover_guarantee

ADD, REPLACE = Neighboring.ADD_OR_REMOVE_ONE, Neighboring.REPLACE_ONE
ROUNDS, K = 6, 2
NUMBERS = (float("nan"), -1.0, 0.0, 1e-300, 0.037, 1.0, 30.0, float("inf"))


def table(relation, noisy):
    return cover_table(ROUNDS, K, relation, 1e-5, (0.3, 1.0, 4.0), noisy)


@lru_cache(maxsize=64)
def program(chosen):
    return jax.jit(lambda privacy: coefficient_at(chosen, privacy))


def at(chosen, epsilon, delta):
    with jax.enable_x64(True):
        budget = program(chosen)(Privacy(jnp.float64(epsilon), jnp.float64(delta)))
    assert budget.coefficient.dtype == jnp.float64
    return [float(number) for number in budget]


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("relation", list(Neighboring))
def test_certified_at_every_budget(relation, noisy):
    chosen = table(relation, noisy)
    for epsilon, delta in itertools.product((0.05, 0.3, 0.7, 4.0, 9.0), (0.0, 1e-12, 1e-5, 1e-2, 0.7)):
        coefficient, scale, _ = at(chosen, epsilon, delta)
        within = set_cover_delta(epsilon, coefficient, ROUNDS, K, relation, scale)
        assert within <= delta * (1 + 1e-6), (epsilon, delta)
        pure = pure_coefficient(epsilon, ROUNDS, relation, None if noisy else K, 0.2 if noisy else 0.0)
        assert coefficient >= pure * (1 - 1e-8) > 0
        if noisy and delta:
            assert coefficient >= closed_coefficient(epsilon, delta, ROUNDS, relation, 0.2) * (1 - 1e-8)


@pytest.mark.parametrize("noisy", [False, True])
def test_entries_are_used_from_their_own_float32_on(noisy):
    chosen = table(ADD, noisy)
    for epsilon, entry in zip(chosen.epsilons, chosen.coefficients, strict=True):
        for delta in (at_most(1e-5), at_most(1e-3)):
            coefficient, scale, offset = at(chosen, at_most(epsilon), delta)
            assert coefficient == entry
            assert (scale, offset) == ((ROUNDS / (0.2 * epsilon), ROUNDS / (0.4 * epsilon)) if noisy else (0, 0))
            assert at(chosen, epsilon * 1.2, delta)[0] >= entry
        assert at(chosen, epsilon * 0.99999, 1e-5)[0] < entry
        assert at(chosen, epsilon, 0.99999e-5)[0] < entry


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("relation", list(Neighboring))
def test_total(relation, noisy):
    chosen = table(relation, noisy)
    for epsilon, delta in itertools.product(NUMBERS, NUMBERS):
        coefficient, scale, offset = at(chosen, epsilon, delta)
        assert np.isfinite([coefficient, scale, offset]).all() and min(coefficient, scale, offset) >= 0
        if not epsilon > 0:
            assert coefficient == 0 and scale == (2.0**60 if noisy else 0)


@pytest.mark.parametrize("relation", list(Neighboring))
def test_same_numbers_with_and_without_64_bit_types(relation):
    chosen = table(relation, True)
    for epsilon, delta in ((0.3, 1e-6), (1.0, 1e-4), (2.5, 0.0)):
        privacy = Privacy(jnp.float32(epsilon), jnp.float32(delta))
        found = []
        for wide in (False, True):
            with jax.enable_x64(wide):
                found.append([float(number) for number in jax.jit(lambda p: coefficient_at(chosen, p))(privacy)])
        assert found[0] == found[1]


def test_larger_budgets_get_more():
    for relation, noisy in itertools.product(Neighboring, (False, True)):
        chosen = table(relation, noisy)
        by_epsilon = [at(chosen, epsilon, 1e-5)[0] for epsilon in np.geomspace(0.01, 20, 30)]
        assert np.all(np.diff(by_epsilon) >= 0)
        by_delta = [at(chosen, 1.0, delta)[0] for delta in (0, 1e-9, 1e-5, 1e-3, 0.1)]
        assert np.all(np.diff(by_delta) >= 0)


def test_one_program_for_all_budgets():
    chosen = cover_table(4, 2, REPLACE, 1e-4, (0.5, 2.0), True)
    for epsilon in (0.1, 1.0, 5.0):
        at(chosen, epsilon, 1e-4 * epsilon)
    assert program(chosen)._cache_size() == 1


def test_static_and_equal_by_value():
    assert hash(table(ADD, True)) == hash(CoverTable(**vars(table(ADD, True))))
    assert table(ADD, True) != table(REPLACE, True)


def test_guarantee():
    chosen = table(REPLACE, True)
    whole = cover_guarantee(chosen, 1.0, 1e-5, "disjunctions")
    assert (whole.epsilon, whole.delta, whole.neighboring, whole.rounds) == (1.0, 1e-5, REPLACE, ROUNDS)
    assert whole.parts[0].epsilon == 2 * chosen.coefficients[1] and whole.parts[1].epsilon == pytest.approx(
        0.2 / ROUNDS
    )
    assert "disjunctions" in str(whole)
