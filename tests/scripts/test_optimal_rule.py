"""The margin rule as a learner: its law, its privacy for all small databases, and its page."""

import margin_rule
import numpy as np
import optimal_rule as script
import pytest
from margin_rule import MarginRule, kln_laws, margin_laws, staircase

from dpjax import audit
from dpjax.attacks.optimum import Databases, goal_of
from dpjax.attacks.optimum.compared import learner_table
from dpjax.concepts import Finite
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions import families
from dpjax.evidence.learners import learner_target
from dpjax.learners import KLN

ACCURACY = Accuracy(0.3, 0.1)


def rows_of(matrix):
    return tuple(map(tuple, np.asarray(matrix).tolist()))


@pytest.mark.parametrize(("kind", "laws"), [(MarginRule, margin_laws), (KLN, kln_laws)])
def test_the_laws_are_those_of_the_learners(kind, laws):
    """For every order of the rows of every database."""
    matrix, n = families.thresholds(2), 3
    goal, learner = goal_of(matrix, 0.3), kind(Finite.of(matrix))
    databases = Databases(n, goal.cells)
    run = learner_table(learner, learner.plan(Privacy(1.0), ACCURACY), goal, databases)
    law = laws(script.counts_of(rows_of(matrix), databases.counts), 1.0)
    places = matrix @ (1 << np.arange(2))
    np.testing.assert_allclose(run[:, places], law, atol=1e-8)
    assert run.sum() == pytest.approx(databases.size)


@pytest.mark.parametrize(
    ("matrix", "epsilon"), [(families.thresholds(2), 1.0), (families.points(3), 1.1), ([[0], [1]], 0.2)]
)
def test_the_rule_is_private_for_all_databases(matrix, epsilon):
    """As a table of all databases, beside what the guarantee says of any number of rows."""
    learner = MarginRule(Finite.of(matrix))
    plan = learner.plan(Privacy(epsilon), ACCURACY)
    assert float(learner.guarantee(plan).epsilon) <= epsilon
    databases = Databases(7, 2 * np.shape(matrix)[1])
    laws = np.log(margin_laws(script.counts_of(rows_of(matrix), databases.counts), epsilon))
    members = laws[databases.members(databases.without_a_row.counts)]
    assert np.max(members.max(axis=1) - members.min(axis=1)) <= epsilon + 1e-9


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_an_exact_audit_of_the_program(epsilon):
    """With the whole numbers that run; a program with twice the claim is refuted."""
    learner = MarginRule(Finite.of(families.thresholds(2)))
    report = audit.exact(learner_target(learner, "margin rule"), Privacy(epsilon))
    assert not report.violated and 0.99 * epsilon < report.epsilon_found <= epsilon * (1 + 1e-9)

    class TwiceTheClaim(MarginRule):
        def _learn(self, key, sample, plan):
            return super()._learn(key, sample, MarginRule.plan(self, Privacy(2 * epsilon), ACCURACY))

    assert audit.exact(learner_target(TwiceTheClaim(learner.concepts), "twice"), Privacy(epsilon)).violated


def test_too_many_concepts_are_refused():
    matrix = families.thresholds(3)
    with pytest.raises(InputError, match=r"ln\(3\) for 4 concepts"):
        MarginRule(Finite.of(matrix)).plan(Privacy(1.0), ACCURACY)
    assert script.loss(3, 4, 1.0) > 1  # and with reason
    assert MarginRule(Finite.of(matrix)).plan(Privacy(1.2), ACCURACY).concepts == 4


def test_a_plan_that_spends_more_is_refused():
    learner = MarginRule(Finite.of([[0], [1]]))
    plan = learner.plan(Privacy(1.0), ACCURACY)
    wrong = margin_rule.MarginPlan(staircase(1.5), plan.claim, 2)
    with pytest.raises(InputError, match="within its claim"):
        learner.guarantee(wrong)
    assert not margin_rule._private(np.array([1 << 29], np.uint32), 1.0, 2)  # a home that is too likely


@pytest.mark.parametrize(("epsilon", "least"), [(2.0, 7), (1.0, 13), (0.5, 24)])
def test_two_concepts_need_what_the_atlas_says(epsilon, least):
    """The rule is the best learner of two concepts, so that its rows are n*."""
    assert script.rows(((0, 0), (0, 1)), epsilon, margin_laws, least - 1) == least
    assert script.rows(((0, 0), (0, 1)), epsilon, kln_laws, least) > least


def test_success_on_tested_distributions_is_at_least_that_on_all():
    matrix = rows_of(families.thresholds(2))
    for laws in (margin_laws, kln_laws):
        everywhere, tested = script.success(matrix, 6, 1.0, laws), script.tested(2, 6, 1.0, laws)
        assert everywhere - 1e-9 <= tested <= everywhere + 0.02


def test_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SHOWN", 4)
    monkeypatch.setattr(script, "ROWS", (4,))
    monkeypatch.setattr(script, "SUPPORT", 2)
    script.main(["--short", "--out", str(tmp_path)])
    page = (tmp_path / "optimal-rule.md").read_text()
    assert "| 1 | " in page and "| 00 01 (" not in page and "| 00 01 | 13 | 13 | 17 | 7 | 7 | 10 |" in page
    assert "It needs fewer than KLN in 9" in page.replace("\n", " ") and "nan" not in page
