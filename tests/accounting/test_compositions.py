"""Basic, advanced, parallel and group composition against exact laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.accounting import (
    advanced,
    as_replace_one,
    basic,
    exponential_guarantee,
    group,
    group_delta,
    hockey_stick,
    optimal_delta,
    parallel,
)
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

ADD = Neighboring.ADD_OR_REMOVE_ONE


def test_basic_adds_everything(laws):
    parts = [laws.guarantee(0.25, 1e-6), exponential_guarantee(0.5), laws.guarantee(0.25, 2e-6)]
    whole = basic(parts, "whole", rounds=3)
    assert whole.epsilon == 3.0
    assert whole.delta == pytest.approx(9e-6)
    assert whole.rho is None
    assert basic([exponential_guarantee(0.5)], "w", 4).rho == pytest.approx(4 * 0.5**2 / 8)


def test_lattice_survives_only_if_all_parts_have_it(laws):
    lattice, ideal = laws.guarantee(1.0, contract="lattice"), laws.guarantee(1.0)
    assert basic([lattice, lattice], "w").contract == "lattice"
    assert basic([lattice, ideal], "w").contract == "ideal"


def test_mixed_relations_are_refused(laws):
    with pytest.raises(InputError, match="as_replace_one"):
        basic([laws.guarantee(1.0), laws.guarantee(1.0, neighboring=ADD)], "w")
    with pytest.raises(InputError, match="distance"):
        parallel([laws.guarantee(1.0), group(laws.guarantee(1.0), 2)], "index", "w")
    with pytest.raises(InputError, match="at least one"):
        basic([], "w")


def test_a_total_delta_of_one_is_refused(laws):
    with pytest.raises(InputError, match="fewer rounds"):
        basic([laws.guarantee(1.0, 0.01)], "w", 100)


def test_the_printed_theorem(laws):
    whole = advanced(laws.guarantee(0.1, 1e-8), 40, 1e-6)
    assert whole.epsilon == pytest.approx(math.sqrt(80 * math.log(1e6)) * 0.1 + 80 * 0.01)
    assert whole.delta == pytest.approx(40e-8 + 1e-6)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(st.floats(1e-4, 5), st.integers(1, 400), st.floats(1e-12, 0.5))
def test_advanced_composition_holds(epsilon, rounds, slack):
    for form in ("tight", "printed") if epsilon < 1 else ("tight",):
        from_theorem = advanced(_part(epsilon), rounds, slack, form).epsilon
        assert optimal_delta(epsilon, rounds, from_theorem) <= slack


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.floats(1e-4, 0.99), st.integers(1, 400), st.floats(1e-12, 0.5))
def test_advanced_composition_is_monotone(epsilon, rounds, slack):
    for form in ("tight", "printed"):
        once = advanced(_part(epsilon), rounds, slack, form).epsilon
        assert advanced(_part(epsilon), rounds + 1, slack, form).epsilon > once
        assert advanced(_part(epsilon), rounds, slack / 2, form).epsilon > once
        assert advanced(_part(epsilon / 2), rounds, slack, form).epsilon < once


def _part(epsilon):
    return exponential_guarantee(epsilon)


@pytest.mark.parametrize(
    "call",
    [
        lambda part: advanced(part(1.0), 3, 0.1, "printed"),
        lambda part: advanced(part(0.5), 3, 0.0),
        lambda part: advanced(part(0.5), 3, 1.0),
        lambda part: advanced(part(0.5), 0, 0.1),
        lambda part: advanced(part(0.5), 3, 0.1, "sharp"),
        lambda part: advanced(part(0.0), 3, 0.1),
        lambda part: parallel([part(1.0)], "rows", "w"),
        lambda part: group(part(1.0, 0.1), 9),
        lambda part: group(part(1.0), 0),
    ],
)
def test_bad_input(laws, call):
    with pytest.raises(InputError):
        call(laws.guarantee)


def test_index_shares_cost_the_largest(laws):
    whole = parallel([laws.guarantee(0.5, 1e-6), laws.guarantee(1.0), laws.guarantee(0.7, 2e-6)], "index", "w")
    assert (whole.epsilon, whole.delta) == (1.0, 2e-6)


def test_value_shares_cost_two_cells_under_replace_one(laws):
    parts = [laws.guarantee(0.5, 1e-6), laws.guarantee(1.0), laws.guarantee(0.75, 2e-6)]
    whole = parallel(parts, "value", "histogram")
    assert whole.epsilon == 1.75
    assert whole.delta == pytest.approx(3e-6)
    parts = [laws.guarantee(part.epsilon, part.delta, neighboring=ADD) for part in parts]
    whole = parallel(parts, "value", "histogram")
    assert whole.epsilon == 1.0
    assert whole.delta == 2e-6


def test_index_shares_shift_when_a_row_is_removed(laws):
    with pytest.raises(InputError, match="REPLACE_ONE"):
        parallel([laws.guarantee(1.0, neighboring=ADD)] * 2, "index", "w")


def test_two_cells_are_really_spent(laws):
    """Two noisy counts, each 1-private: moving a row from one cell to the other changes both by one."""
    epsilon, size = 0.5, 40
    noise = laws.normalised(-epsilon * np.abs(np.arange(-size, size + 1)))
    up, down = np.roll(noise, 1), np.roll(noise, -1)
    up[0], down[-1] = -np.inf, -np.inf
    p, q = (noise[:, None] + noise).ravel(), (up[:, None] + down).ravel()
    inside = np.isfinite(q)
    assert np.max(p[inside] - q[inside]) == pytest.approx(2 * epsilon)
    assert parallel([laws.guarantee(epsilon)] * 2, "value", "w").epsilon == 2 * epsilon


@pytest.mark.parametrize(
    ("epsilon", "delta", "distance"), [(0.3, 1e-3, 4), (1.0, 1e-6, 10), (1e-6, 1e-12, 1000), (0.0, 0.01, 7)]
)
def test_group_privacy_is_attained(epsilon, delta, distance):
    """The chain f_j = e^epsilon f_{j-1} + delta of probabilities of one event meets the bound with equality."""
    chain = [1e-9]
    for _ in range(distance):
        chain.append(math.exp(epsilon) * chain[-1] + delta)
    p, q = np.log([chain[-1], 1 - chain[-1]]), np.log([chain[0], 1 - chain[0]])
    spent = float(hockey_stick(p, q, distance * epsilon))
    assert group_delta(epsilon, delta, distance) == pytest.approx(spent, rel=1e-6)


def test_group_fields(laws):
    whole = group(exponential_guarantee(0.5), 3)
    assert (whole.epsilon, whole.delta, whole.distance) == (1.5, 0.0, 3)
    assert whole.rho == pytest.approx(9 * 0.5**2 / 8)
    assert whole.bounded_range == 1.5
    twice = group(group(laws.guarantee(0.1, 1e-6), 2), 3)
    assert twice.distance == 6
    assert twice.delta == pytest.approx(group_delta(0.1, 1e-6, 6))
    assert group_delta(50.0, 1e-12, 10_000) == math.inf


def test_replacing_is_removing_and_adding(laws):
    part = laws.guarantee(0.5, 1e-6, neighboring=ADD)
    whole = as_replace_one(part)
    assert whole.epsilon == 1.0
    assert whole.delta == pytest.approx(1e-6 * (1 + math.exp(0.5)))
    assert whole.neighboring is Neighboring.REPLACE_ONE
    assert whole.distance == 1
    assert as_replace_one(whole) is whole
