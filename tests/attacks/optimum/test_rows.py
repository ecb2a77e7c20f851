"""The search of the rows that the best learner needs, and of those without privacy."""

import math

import pytest

from dpjax.attacks.optimum import goal_of
from dpjax.attacks.optimum.rows import Tried, rows_needed
from dpjax.attacks.optimum.without_privacy import best_without_privacy
from dpjax.core.checks import InputError


def known(rate, spread=0.0):
    def solve(n):
        asked.append(n)
        value = 1 - math.exp(-rate * n)
        return Tried(n, value - spread, value + spread)

    asked = []
    return solve, asked


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 5.0])
@pytest.mark.parametrize("start", [1, 2, 60])
def test_it_finds_the_least_n_with_few_programs(rate, start):
    solve, asked = known(rate)
    found = rows_needed(solve, 0.9, start=start)
    assert found.low == found.high == math.ceil(math.log(10) / rate) and str(found) == str(found.low) and found.exact
    assert len(asked) == len(set(asked)) <= 24
    assert found.low == 1 or found.below.n == found.low - 1
    assert found.enough.n == found.high


def test_what_is_not_decided_stays_open():
    found = rows_needed(known(0.1, 0.02)[0], 0.9)
    assert not found.exact and found.low <= 24 <= found.high and str(found) == f"{found.low} to {found.high}"
    assert found.below.upper < 0.9 <= found.enough.lower
    assert all(one.lower < 0.9 <= one.upper for one in found.tried if found.low <= one.n < found.high)


def test_programs_that_cannot_be_solved_end_it():
    solve, asked = known(0.1)
    found = rows_needed(lambda n: solve(n) if n <= 10 else None, 0.9)
    assert (found.low, found.high) == (11, None) and str(found) == "at least 11" and max(asked) == 10
    assert rows_needed(lambda _: None, 0.9).low == 1
    assert rows_needed(solve, 0.9, most=7).low == 8


@pytest.mark.parametrize(("how", "name"), [({"level": 1.0}, "level"), ({"start": 0}, "start"), ({"most": 1}, "most")])
def test_wrong_numbers_are_refused(how, name):
    with pytest.raises(InputError, match=name):
        rows_needed(lambda _: None, **{"level": 0.9} | how)


def test_without_privacy_two_concepts_have_a_closed_form():
    """They differ at one point: without a row there the best is a coin; its mass is just above alpha."""
    for n in (1, 4, 5):
        found = best_without_privacy(goal_of([[0, 0], [0, 1]], 0.3), n)
        assert found.lower <= 1 - 0.7**n / 2 <= found.upper + 1e-9 and found.upper - found.lower < 2e-3
    found = best_without_privacy(goal_of([[0], [1]], 0.3), 1)
    assert (round(found.lower, 9), found.upper) == (1.0, 1.0)
