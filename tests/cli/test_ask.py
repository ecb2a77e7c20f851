"""`dpjax ask`: the learners that are named, the table, one JSON object, and refusals."""

import json

import pytest

from dpjax import cli
from dpjax.advice.answer import ask
from dpjax.advice.race import Measure
from dpjax.advice.workloads import hard_tasks
from dpjax.concepts import Domain, Points
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.sweep.lower_bounds import lower_bound
from dpjax.learners import KLN, StablePoints

MINE = """
from dataclasses import dataclass

import jax.numpy as jnp

from dpjax.accounting.guarantee import Guarantee
from dpjax.concepts import Hypothesis, Points, distributions
from dpjax.core.types import Neighboring
from dpjax.experiments.sweep.task import Task
from dpjax.learners.base import Learner


@dataclass(frozen=True)
class Knows(Learner):
    concepts: Points
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends = "pure"

    def _plan(self, privacy, accuracy, n=None) -> None:
        return None

    def _learn(self, key, sample, plan):
        return Hypothesis.of(jnp.where(sample.size >= 3, jnp.asarray([[0, 7]], jnp.uint32), jnp.uint32(0)))

    def _guarantee(self, plan):
        return Guarantee(0.0, 0.0, self.neighboring, "no row is read")

    def _sample_size(self, privacy, accuracy):
        return 4


def seven(concepts, alpha) -> Task:
    return Task(concepts, distributions.from_weights(concepts.domain, [7, 9], [1, 1]), [7])
"""
GOAL = ("--alpha", "0.2", "--only", "KLN", "StablePoints")


def asked(capsys, *words, status=0):
    assert cli.main(["ask", *words, "--json"]) == status
    return json.loads(capsys.readouterr().out)


def test_theorems_in_json_are_those_of_the_learners(capsys):
    found = asked(capsys, "Points(16)", *GOAL, "--theorems")
    sizes = {one["learner"]: one["theorem"] for one in found["learners"]}
    task = hard_tasks(Points(Domain(16)), 0.2)["hard_points"]
    learners, budget = (KLN(task.concepts), StablePoints(task.concepts)), (Privacy(1.0, 1e-6), Accuracy(0.2, 0.1))
    assert sizes == {type(one).__name__: one.sample_size(*budget) for one in learners}
    assert (
        found["by_theorem"] == min(sizes, key=sizes.get) and found["by_measurement"] is None and not found["measured"]
    )
    assert found["below"] == lower_bound(task, 1, *budget).n and found["tasks"] == ["hard_points"]
    assert {one["learner"]: one["pure"] for one in found["learners"]} == {"KLN": True, "StablePoints": False}


def test_the_table_names_both_learners_and_the_bound(capsys, tmp_path, monkeypatch):
    """A learner from outside competes, on a task from outside, and its trials are stored."""
    (tmp_path / "asked_of.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = [
        "ask",
        "Points(16)",
        "--only",
        "ParityLearner",
        "--import",
        "asked_of",
        "--learner",
        "asked_of:Knows",
        "--task",
        "asked_of:seven",
        "--trials",
        "512",
        "--store",
        "trials",
    ]
    assert cli.main(words) == 0
    shown = capsys.readouterr()
    for text in (
        "smallest provable n       4  asked_of:Knows",
        "smallest measured n*      (2, 3]  asked_of:Knows",
        "no private learner below",
        "1 that do not compete",
    ):
        assert text in shown.out, shown.out
    assert "asked_of:Knows: n* (2, 3]" in shown.err and any((tmp_path / "trials" / "cells").iterdir())
    assert cli.main([*words, "--verbose"]) == 0
    assert "does not compete: ParityLearner" in capsys.readouterr().out


def test_the_answer_in_python_prints_as_the_command_does(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    only = ["KLN", "ParityLearner"]
    question = {"privacy": Privacy(1.0, 1e-6), "accuracy": Accuracy(0.2, 0.1), "only": only}
    how = Measure(trials=512, store=tmp_path)
    words = ["--trials", "512", "--store", str(tmp_path)]
    for measure, more in ((None, ["--theorems"]), (how, words)):
        found = ask(Points(Domain(16)), 1, measure=measure, **question)
        assert cli.main(["ask", "Points(16)", "--alpha", "0.2", "--only", *only, *more]) == 0
        shown = capsys.readouterr().out
        assert f"{found}\n" == shown.replace("not listed without --verbose", "not listed, see entries and refused")
        print(found)
        printed = capsys.readouterr().out
        assert printed == f"{found}\n" and len(printed) < 2000 and ("n*:" in printed) == (measure is not None)


def test_a_matrix_is_a_class_and_reasons_are_printed(capsys):
    assert cli.main(["ask", "thresholds(2)", "--theorems", "--verbose", "--only", "KLN", "StablePoints"]) == 0
    shown = capsys.readouterr().out
    assert "KLN" in shown and "does not compete: StablePoints: concepts: expected Points" in shown


def test_a_learner_that_cannot_run_has_only_its_theorem(capsys):
    assert cli.main(["ask", "Parities(20)", "--theorems", "--only", "KLN"]) == 0
    shown = capsys.readouterr().out
    assert "no learner that runs has a theorem" in shown and "[1]" in shown and "use ParityLearner" in shown


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("Points(16)", "--k", "0"), "k"),
        (("Points(16)", "--alpha", "2"), "alpha"),
        (("Points(16)", "--epsilon", "0"), "epsilon"),
        (("Poinst(16)",), "PointSets"),
        (("Points(16)", "--only", "KLM"), "KLN"),
        (("Points(16)", "--learners", "nowhere:Learner"), "--import"),
        (("Points(16)", "--task", "hard_tree"), "task"),
        (("Points(16)", "--task", "hard_points", "--distribution", "uniform"), "distribution"),
        (("Points(16)", "--relation", "add-one"), "relation"),
        (("Points(16)", "--within", "0.5"), "within"),
    ],
)
def test_wrong_words_are_refused(words, name, capsys):
    assert cli.main(["ask", *words]) == 2
    shown = capsys.readouterr()
    assert name in shown.err and not shown.out
