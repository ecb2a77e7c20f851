"""`dpjax check`: statuses, tables, and what is said of objects that cannot be checked."""

import json
import sys
import textwrap

import pytest

from dpjax import cli

OWN = """
    import dpjax as dp
    from dataclasses import dataclass
    from dpjax import audit
    from dpjax.laws import Categorical
    from dpjax.templates.concept_class import Intervals, Learner
    import jax.numpy as jnp

    NUMBER = 3

    @dataclass(frozen=True)
    class Wrong(Intervals):
        def describe(self, hypothesis):
            return ["an interval"]

    @dataclass(frozen=True)
    class Stumbles(Intervals):
        def describe(self, hypothesis):
            return [1 / 0]

    @dataclass(frozen=True)
    class Overspends(Learner):
        def _guarantee(self, plan):
            found = Learner._guarantee(self, plan)
            return type(found)(2 * found.epsilon, 0.0, found.neighboring, "twice")

    def learner(concepts, k):
        return Learner(concepts)

    def law():
        return Categorical(jnp.zeros(3))

    def raises():
        raise LookupError("inside")

    def plain(key, data):
        return data
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with modules of a person's own, forgotten afterwards."""
    (tmp_path / "owncode.py").write_text(textwrap.dedent(OWN))
    (tmp_path / "brokencode.py").write_text("import dpjax\nVALUE = dpjax.nothing_like_this\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("owncode", "brokencode"):
        sys.modules.pop(name, None)


def answered(capsys, *words):
    status = cli.main(["check", *words, "--quick", "--json"])
    out, err = capsys.readouterr()
    return status, json.loads(out), err


def test_a_class_that_passes(folder, capsys):
    status, answer, _ = answered(capsys, "owncode:Intervals(12)")
    assert status == answer["status"] == 0 and answer["kind"] == "class"
    assert answer["counts"] == {"passed": 9, "failed": 0, "skipped": 0, "error": 0}


def test_a_law_by_its_factory_and_as_a_table(folder, capsys):
    assert cli.main(["check", "owncode:law", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "owncode:law: a law" in printed and "samples follow the law" in printed and "5 passed" in printed


def test_a_check_that_fails_has_status_1(folder, capsys):
    status, answer, _ = answered(capsys, "owncode:Wrong(12)")
    assert status == 1 and answer["counts"]["failed"] == 1
    (wrong,) = (one for one in answer["findings"] if one["verdict"] == "failed")
    assert wrong["check"] == "hypotheses are sentences" and wrong["expected"] and wrong["advice"]


def test_code_that_raises_has_status_2_and_its_traceback(folder, capsys):
    status, answer, err = answered(capsys, "owncode:Stumbles(12)")
    assert status == 2 and answer["counts"]["error"] == 1 and answer["counts"]["passed"] == 8
    assert "ZeroDivisionError" in err and "owncode.py" in err and "concept_checks.py" not in err


@pytest.mark.slow
def test_a_learner_by_class_factory_and_call(folder, capsys):
    for words in (
        ["owncode:Learner", "--concepts", "owncode:Intervals(12)"],
        ["owncode:learner", "--concepts", "owncode:Intervals(12)"],
        ["KLN(Thresholds(12))"],
        [
            "owncode:Learner",
            "--concepts",
            "Intervals(2)",
            "--concepts",
            "owncode:Intervals(12)",
            "--distribution",
            "uniform",
            "--small",
            'owncode:Learner("owncode:Intervals(2)")',
        ],
    ):
        status, answer, _ = answered(capsys, *words)
        assert status == 0 and answer["kind"] == "learner" and answer["counts"]["passed"] >= 22, answer
    status, answer, _ = answered(capsys, "owncode:Overspends", "--concepts", "owncode:Intervals(12)")
    assert status == 1 and answer["counts"]["failed"] >= 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["owncode:Learner"], "an instance, got the class owncode:Learner, which needs concepts"),
        (["owncode:Intervals"], "which needs domain"),
        (["owncode:Learner", "--concepts", "owncode:Intervals"], "owncode:Intervals(domain), got no domain"),
        (["owncode:Learner", "--concepts", "owncode:NUMBER"], "a concept class, got 3"),
        (["owncode:plain"], "the function owncode:plain, which needs key, data"),
        (["owncode:plain"], "that is a plain function: dpjax audit owncode:plain --epsilon E"),
        (["owncode"], "the module owncode"),
        (["owncode:dp"], "a module"),
        (["owncode:NUMBER"], "got a int"),
        (["owncode:missing"], "check the name"),
        (["math:sqrt"], "the builtin math:sqrt"),
        (["builtins:print"], "the builtin builtins:print"),
        (["nowhere_at_all:Thing"], "a module that can be found"),
        (["Thresholts(12)"], "did you mean Thresholds"),
        (["Thresholds(0)"], "domain"),
        (["owncode:Intervals(12)", "--small", "owncode:Learner"], "none for a class"),
        (["owncode:law", "--distribution", "uniform"], "none for a law"),
        (["owncode:Intervals(12)", "--k", "0"], "k: expected"),
        (["owncode:Intervals(12)", "--seconds", "nan"], "seconds"),
    ],
)
def test_what_cannot_be_checked_is_named(words, said, folder, capsys):
    assert cli.main(["check", *words]) == 2
    err = capsys.readouterr().err
    assert said in err and "Traceback" not in err, err


@pytest.mark.parametrize(
    ("words", "said"), [(["owncode:raises"], "LookupError: inside"), (["brokencode:VALUE"], "AttributeError")]
)
def test_a_fault_of_the_persons_own_is_shown_with_its_traceback(words, said, folder, capsys):
    assert cli.main(["check", *words]) == 2
    err = capsys.readouterr().err
    assert said in err and "code from outside only" in err and f"{words[0].partition(':')[0]}.py" in err
