"""The page of `dpjax ask`: which choices count as the best, and what its tables say."""

from dpjax.accounting.guarantee import Guarantee
from dpjax.advice.answer import Advice
from dpjax.advice.race import Entry, Goal, Star
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.sweep.lower_bounds import LowerBound
from scripts import ask


def entry(name, theorem, low, high, delta=0.0, runs=True):
    guarantee = Guarantee(1.0, delta, Neighboring.REPLACE_ONE, name)
    star = Star("hard", low, high, 99, 64, 0.95, "one step") if runs else None
    return Entry(name, None, name, guarantee, theorem, star=star, runs=runs)


def asked(*entries):
    goal = Goal(1, Privacy(1.0), Accuracy(0.2, 0.1))
    return Advice(entries, {}, (), LowerBound(7, "packing"), ("hard",), goal)


def test_the_best_choice_is_one_that_no_bracket_excludes():
    assert ask.is_best(asked(entry("proved", 50, 30, 40), entry("other", 60, 28, 36)))
    assert not ask.is_best(asked(entry("proved", 50, 36, 40), entry("other", 60, 28, 36)))
    assert not ask.is_best(asked(entry("proved", 50, 60, None), entry("other", 60, 28, 36)))
    assert not ask.is_best(asked(entry("proved", 50, 60, None))), "nobody was found to succeed"
    assert ask.is_best(asked(entry("does not run", 9, 0, 0, runs=False), entry("proved", 50, 30, 40)))


def test_the_page_has_a_line_and_a_table_for_each_problem():
    first, second = ask.PROBLEMS[:2]
    good = asked(
        entry("proved", 50, 30, 40), entry("far", None, 80, None, delta=1e-6), entry("idle", 9, 0, 0, runs=False)
    )
    bad = asked(entry("proved", 50, 36, 40), entry("other", 60, None, 20))
    text = ask.page([(first, good), (second, bad)], 64)
    assert "In 1 of 2 problems" in text and text.count("\n## ") == 2
    assert f"| {first} | proved | 50 | (30, 40] | proved | (30, 40] | yes | 7 |" in text
    assert f"| {second} | proved | 50 | (36, 40] | other | (0, 20] | no | 7 |" in text
    assert "| far | approximate | - | > 80 |" in text and "| idle | pure | 9 | does not run |" in text


def test_there_are_twelve_problems():
    assert len({str(one) for one in ask.PROBLEMS}) == 12
