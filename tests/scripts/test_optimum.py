"""The page of the best learner of tiny classes: its classes, its counts, and the short page."""

from dataclasses import replace
from fractions import Fraction
from math import exp

import pytest
from optimum import Solved, kln_gaps, main, others
from optimum_checks import Checked, Tally

from dpjax.attacks.optimum import goal_of, optimum
from dpjax.core.types import Privacy
from dpjax.plots.files import read_metadata

ONE = ((0,), (1,))


def test_rows_of_two_concepts_on_one_point_have_a_closed_form():
    checked = Checked()
    solved = Solved(ONE, Privacy(1.0), checked)
    assert solved.first(24) == "3" and solved.first(2) == "> 2"
    for n, one in solved.found.items():  # the odds grow by e from tied rows on
        wrong = exp(-n / 2) / 2 if n % 2 == 0 else exp(-(n - 1) / 2) / (1 + exp(1))
        assert float(one.value) == pytest.approx(1 - wrong, abs=1e-6) and one.everywhere == pytest.approx(1 - wrong)
    assert str(checked.certificates) == str(checked.private) == str(checked.kln) == f"0 of {len(solved.found)}"
    assert checked.bounds.failed == 0 and checked.bounds.count >= len(solved.found)


def test_wrong_optima_are_counted():
    found = optimum(goal_of(ONE, 0.3), 2, Privacy(1.0))
    checked = Checked()
    checked.optimum(found, "right")
    assert not checked.certificates.failed and not checked.private.failed
    checked.optimum(replace(found, value=found.value - Fraction(1, 1000)), "low")
    checked.optimum(replace(found, privacy=Privacy(0.9)), "another budget")
    checked.optimum(replace(found, table=found.table[::-1].copy()), "another table")
    other = replace(found.certificate, flows=found.certificate.flows // 2)
    checked.optimum(replace(found, certificate=other), "halved")
    assert checked.certificates.bad == ["low", "another budget", "another table", "halved"]
    assert str(checked.private) == "1 of 5 (another budget)"


def test_a_tally_names_its_failures():
    tally = Tally()
    for number in range(8):
        tally.add(number % 2 == 0, f"odd {number}")
    assert str(tally) == "4 of 8 (odd 1; odd 3; odd 5; odd 7)"


def test_a_bound_that_is_too_large_is_counted(monkeypatch):
    bound = type("Bound", (), {"n": 3})()
    monkeypatch.setattr("optimum.lower_bounds", lambda *_: [bound])
    checked = Checked()
    solved = Solved(ONE, Privacy(1.0), checked)
    for n in (1, 2, 3):
        solved.at(n)
    assert (checked.bounds.failed, checked.bounds.count) == (2, 3)


def test_the_gap_of_kln():
    checked = Checked()
    rows, best, kln = kln_gaps((2,), checked)
    assert rows[0][:4] == [2, "0.5786", "0.4371", "0.1414"] and rows[0][4] == 5
    assert (best, kln) == (9, 14) and not checked.kln.failed and not checked.certificates.failed


def test_learners_above_the_optimum_are_counted(monkeypatch):
    import optimum as script

    for name in [*script.WORLDS]:
        if name not in ("kln-finite", "polygon"):
            monkeypatch.delitem(script.WORLDS, name)
    checked = Checked()
    assert others(checked, [Privacy(1.0)], 2) == (["polygon"], 0) and str(checked.others) == "0 of 2"
    monkeypatch.setattr(script, "exact_success", lambda *_: 0.99)
    others(checked, [Privacy(1.0)], 2)
    assert checked.others.failed == 2


@pytest.mark.slow
def test_the_short_page(tmp_path):
    checked = main(["--short", "--out", str(tmp_path)])
    tallies = checked.certificates, checked.private, checked.kln, checked.others, checked.bounds
    assert [one.failed for one in tallies] == [0] * 5 and min(one.count for one in tallies) > 40
    page = (tmp_path / "optimum.md").read_text()
    assert "| add-or-remove-one | 1 | 0.01 | 1.0000000 | 0.0100000 |" in page and "| 3 | 6 | 1 | 60480 |" in page
    assert "takes 9 rows for the best learner and 14 for KLN" in page
    assert read_metadata(tmp_path / "figures" / "optimum.png")["config"]["short"] is True
