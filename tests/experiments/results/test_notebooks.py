"""What a notebook shows: tables, trees, and nothing of a person's text as HTML."""

import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pyarrow as pa
import pytest

import dpjax as dp
from dpjax.accounting import Guarantee
from dpjax.core.plans import STATIC, plan_type
from dpjax.experiments.results import notebooks
from dpjax.experiments.results.result import Result

HOSTILE = "<script>x</script>&\"'"
CONCEPTS = dp.Thresholds(dp.Domain(64))
LEARNER = dp.KLN(CONCEPTS)
PRIVACY, ACCURACY = dp.Privacy(1.0, 1e-6), dp.Accuracy(0.1, 0.1)


def read(page):
    """The page as a tree: it is well-formed, and has no script and no control character."""
    assert "<script" not in page and "\x1b" not in page
    return ET.fromstring(f"<div>{page}</div>".replace("<br>", "<br/>"))


def cells(page):
    return [["".join(cell.itertext()) for cell in row] for row in read(page).iter("tr")]


def test_a_guarantee_is_a_tree():
    part = Guarantee(0.5, 0.0, dp.Neighboring.REPLACE_ONE, HOSTILE, why="<b>why</b>")
    whole = Guarantee(1.0, 0.0, dp.Neighboring.REPLACE_ONE, "two runs", parts=(part,), rounds=2, source="Theorem 1")
    tree = read(whole._repr_html_())
    outer = tree.find("ul/li")
    assert outer.text == "two runs: (1, 0)-DP, replace-one" and outer.find("br").tail == "[Theorem 1]"
    inner = outer.find("ul/li")
    assert inner.text.startswith("2 x <script>x</script>&") and inner.find("br").tail == "<b>why</b>"
    assert str(whole).splitlines()[1] == "│  [Theorem 1]"


def test_a_plan_is_a_table():
    page = LEARNER.plan(PRIVACY, ACCURACY)._repr_html_()
    assert cells(page)[0] == ["field", "value", "kind"] and ["epsilon", "1.0", "number"] in cells(page)
    assert "structure" in dp.PointLearner(dp.Points(dp.Domain(9))).plan(PRIVACY, ACCURACY)._repr_html_() or STATIC
    plan = dp.Independent(LEARNER, 4).plan(PRIVACY, ACCURACY)
    assert len([*read(plan._repr_html_()).iter("table")]) == 2, "a plan inside a plan"


def test_a_study_is_a_table_of_its_curves():
    study = dp.Study(dp.Task(CONCEPTS, dp.uniform(CONCEPTS.domain)), {HOSTILE: LEARNER}, k=(1, 2), title=HOSTILE)
    rows = cells(study._repr_html_())
    assert rows[0] == ["learner", "k", "epsilon", "theorem's n"]
    assert [row[1:] for row in rows[1:]] == [
        ["1", "1", str(study.curves[0].theorem())],
        ["2", "1", str(study.curves[1].theorem())],
    ]


def test_an_answer_is_a_table_of_learners():
    answer = dp.ask(CONCEPTS, learners={HOSTILE: LEARNER}, only=["KLN"])
    rows = cells(answer._repr_html_())
    assert rows[0] == ["learner", "guarantee", "provable n"] and len(rows) > 1
    assert str(answer.below) in str(answer) and "no private learner below" in "".join(
        read(answer._repr_html_()).itertext()
    )


class Formatter(dict):
    def for_type(self, kind, function):
        self[kind] = function


@pytest.fixture
def notebook(monkeypatch):
    """IPython with a kernel; returns its formatter of HTML."""
    formatter = Formatter()
    shell = SimpleNamespace(kernel=None, display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=print))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    return formatter


def result():
    line = {"learner": HOSTILE, "k": 1, "epsilon": 1.0, "delta": 1e-6, "alpha": 0.1, "beta": 0.1}
    star = line | {"n_low": 10, "n_high": None, "theorem": None, "confidence": 0.95, "trials": 9}
    return Result({"config": {}, "seed": 0, "versions": {}, "points": [], "n_star": [star]})


def test_tables_of_a_result_are_tables(notebook):
    table = result().n_star
    rows = cells(notebook[pa.Table](table))
    assert rows[0] == table.column_names and rows[1][0].startswith("<script>x</script>&")
    assert dict(zip(*rows, strict=True))["n_low"] == "10" and dict(zip(*rows, strict=True))["theorem"] == "\N{EN DASH}"


def test_only_the_first_rows_of_a_long_table_are_shown(notebook):
    page = notebooks.table_as_html(pa.table({"x": range(1200)}))
    assert len(cells(page)) == 1001 and "The first 1000 of 1200 rows" in page


def test_another_way_to_show_tables_is_kept(notebook):
    notebook[pa.Table] = str
    assert result().n_star and notebook[pa.Table] is str


def test_outside_of_a_notebook_nothing_is_registered(monkeypatch):
    ipython = SimpleNamespace(get_ipython=lambda: None, display=None)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert result().n_star.num_rows == 1


def test_large_arrays_of_a_plan_are_named_by_their_shape():
    import numpy as np

    @plan_type
    class Plan:
        table: object
        text: object

    rows = cells(Plan(np.zeros((3, 40), np.float32), HOSTILE)._repr_html_())
    assert rows[1] == ["table", "float32[3, 40]", "number"] and rows[2][1].startswith("<script>")
