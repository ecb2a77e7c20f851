"""The page on plans: nothing above the budget, hardly anything left, few programs."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dpjax.learners


@pytest.fixture(scope="module")
def plans(scripts):
    return scripts("plans")


@pytest.mark.parametrize(
    ("name", "programs"),
    [
        ("Independent(KLN, composition=basic)", 1),
        ("ParityLearner", 4),
        ("GenericLearner(Hierarchy(bits=10), composition=zcdp)", 1),
    ],
)
def test_a_row(plans, name, programs):
    found = plans.row(name, 5, 0)
    assert found[0] == name and int(found[2]) <= programs and found[3:5] == ["0", "0"]
    assert float(found[5]) >= 0.999 and max(map(float, found[6:])) <= 1


def test_what_is_above_the_budget_by_one_bit_is_counted(plans, monkeypatch):
    """The columns of digits show 1.000000000 there."""
    name = "Independent(KLN, composition=basic)"
    sound = plans.learner_of(name)
    given = list(plans.budgets(3, 0))

    class Louder(type(sound)):
        def _guarantee(self, plan):
            found = super()._guarantee(plan)
            budget = next((epsilon for epsilon, _ in given if np.isclose(epsilon, found.epsilon, rtol=1e-5)), 1.0)
            return replace(found, epsilon=float(np.nextafter(budget, 2 * budget)))

    louder = Louder(**vars(sound))
    monkeypatch.setattr(plans, "learner_of", lambda asked: louder)
    found = plans.row(name, 3, 0)
    assert found[4] == "3" and found[6] == "1.000000000"


def test_what_promises_nothing_has_no_row(plans):
    assert plans.row("ERM", 1, 0) is None


def test_every_learner_has_a_row(plans):
    exported = {
        name for name, kind in vars(dpjax.learners).items() if isinstance(kind, type) and hasattr(kind, "learn")
    }
    named = {type(plans.learner_of(name)).__name__ for name in plans.CASES}
    assert exported - {"Learner"} <= named


def test_budgets_stay_in_their_ranges(plans):
    found = list(plans.budgets(100, 1))
    assert len(found) == 100 and found[:10] == list(plans.budgets(10, 1))
    assert all(-3 <= math.log10(e) <= math.log10(20) and -12 <= math.log10(d) <= -2 for e, d in found)


def test_programs_differ_by_structure_and_shapes(plans):
    one, same, other = {"a": 1.0}, {"a": 2.0}, {"b": 1.0}
    assert plans.program(one) == plans.program(same) != plans.program(other)
