"""The page on plans: nothing above the budget, hardly anything left, few programs."""

import math

import pytest


@pytest.fixture(scope="module")
def plans(scripts):
    return scripts("plans")


@pytest.mark.parametrize(("name", "programs"), [("kln-basic", 1), ("generic-zcdp", 1), ("parity", 4)])
def test_a_row(plans, name, programs):
    found = plans.row(name, 5, 0)
    assert found[0] == name and int(found[2]) <= programs and found[3] == "0"
    assert float(found[4]) >= 0.999 and max(map(float, found[5:])) <= 1


def test_what_promises_nothing_has_no_row(plans):
    assert plans.row("erm", 1, 0) is None


def test_budgets_stay_in_their_ranges(plans):
    found = list(plans.budgets(100, 1))
    assert len(found) == 100 and found[:10] == list(plans.budgets(10, 1))
    assert all(-3 <= math.log10(e) <= math.log10(20) and -12 <= math.log10(d) <= -2 for e, d in found)


def test_programs_differ_by_structure_and_shapes(plans):
    one, same, other = {"a": 1.0}, {"a": 2.0}, {"b": 1.0}
    assert plans.program(one) == plans.program(same) != plans.program(other)
