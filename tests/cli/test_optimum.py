"""`dpjax optimum`: the table, JSON, and clear refusals."""

import json
import re
from fractions import Fraction

import pytest

from dpjax import cli
from dpjax.cli.commands import optimum as optimum_module
from dpjax.core.checks import InputError


def test_the_numbers(capsys):
    words = ["thresholds(2)", "--n", "2", "4", "--alpha", "0.3", "--rounds", "0", "--json"]
    assert cli.main(["optimum", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["concepts"], found["elements"], found["hypotheses"]) == (3, 2, 4)
    for row, value, kln in zip(found["rows"], (0.5785, 0.7273), (0.4371, 0.5479), strict=True):
        assert row["no_learner_above"] == pytest.approx(value, abs=5e-5) == row["found"]
        assert row["learners"]["KLN"] == pytest.approx(kln, abs=5e-5) and row["everywhere"] < row["found"]
        assert float(Fraction(row["exact"])) == row["no_learner_above"]


def test_the_printed_table(capsys):
    assert cli.main(["optimum", "Thresholds(2)", "--n", "2", "--learners", "KLN", "TableLearner(rounds=0)"]) == 0
    printed = capsys.readouterr().out
    assert "2 concepts on 2 elements, 4 hypotheses" in printed and "gap of KLN" in printed and ">= 0." in printed


def test_it_says_what_success_means(capsys):
    for words, said in (
        ([], "4 hypotheses; learners that are (1, 0)-private under replace-one; success: error at most 0.3"),
        (["--agnostic", "--rounds", "0"], "success: excess error over the best concept at most 0.3"),
        (["--k", "2", "--proper"], "4 proper hypotheses"),
        (["--k", "2"], "at most 0.3 in each of 2 columns"),
        (["--noise", "0.1"], "at most 0.3, labels flipped with probability 0.1"),
    ):
        assert cli.main(["optimum", "Thresholds(2)", "--n", "1", "--learners", "KLN", *words]) == 0
        assert said in " ".join(capsys.readouterr().out.split())


def test_a_vacuous_bound_is_none(capsys):
    words = ["--n", "2", "--agnostic", "--rounds", "0", "--learners"]
    assert cli.main(["optimum", "Points(3)", *words]) == 0
    assert "none proved" in capsys.readouterr().out.split("no private learner above: a bound")[0]


def test_other_settings(capsys, tmp_path):
    (tmp_path / "class.csv").write_text("0,1\n1,0\n")
    for words in (
        ["--k", "2"],
        ["--relation", "add-or-remove-one"],
        ["--agnostic", "--rounds", "1"],
        ["--noise", "0.1", "--delta", "0.01", "--proper"],
    ):
        assert cli.main(["optimum", str(tmp_path / "class.csv"), "--n", "1", *words, "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        assert row["everywhere"] <= row["found"] <= row["no_learner_above"] >= row["learners"]["KLN"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["threshold(2)"], "did you mean thresholds"),
        (["thresholds(6)", "--n", "6"], "variables.*take n = 3 or less"),
        (["thresholds(20)"], "take a smaller domain, or a proper"),
        (["thresholds(2)", "--alpha", "0"], "alpha: expected"),
        (["thresholds(2)", "--epsilon", "0"], "epsilon: expected"),
        (["thresholds(2)", "--delta", "1"], "delta: expected"),
        (["thresholds(2)", "--relation", "both"], "relation: expected"),
        (["thresholds(2)", "--n", "0"], "n: expected"),
        (["thresholds(2)", "--gap", "0"], "gap: expected"),
        (["thresholds(2)", "--learners", "KLM"], "did you mean KLN"),
        (["thresholds(2)", "--learners", "ProperVC1"], "ProperVC1, concepts: expected"),
        (["thresholds(2)", "--k", "9"], "k: expect"),
        (["missing.csv"], "No such file"),
        (["copies(one_bit_gap(7), 2)"], "column [0-9]+: expected 0 or 1"),
    ],
)
def test_errors_are_one_clear_sentence(capsys, words, message):
    assert cli.main(["optimum", *words]) == 2
    printed = capsys.readouterr()
    assert not printed.out and "Traceback" not in printed.err and len(printed.err.splitlines()) == 1
    assert re.search(message, printed.err), printed.err


def test_sizes_are_checked_before_any_is_solved(capsys, monkeypatch):
    monkeypatch.setattr("dpjax.cli.commands.optimum.optimum", lambda *_, **how: pytest.fail("solved"))
    for sizes, words in ((["2", "0"], "n: expected a whole number >= 1"), (["2", "4000"], "take n = 28 or less")):
        assert cli.main(["optimum", "thresholds(2)", "--n", *sizes]) == 2
        assert words in capsys.readouterr().err
    assert cli.main(["optimum", "thresholds(2)", "--learners", "StablePoints"]) == 2


def test_a_size_that_fails_leaves_the_others(capsys, monkeypatch):
    """A solver may give up, or memory end, at one size alone; and somebody may interrupt."""
    real = optimum_module.optimum

    def solved(goal, n, *rest, **how):
        if n == 3:
            raise InputError("program", "one that the solver finishes", "time limit", "take an epsilon closer to 1")
        if n == 1:
            raise MemoryError
        if n == 5:
            raise KeyboardInterrupt
        return real(goal, n, *rest, **how)

    monkeypatch.setattr(optimum_module, "optimum", solved)
    words = ["optimum", "Thresholds(2)", "--rounds", "0", "--n"]
    assert cli.main([*words, "1", "2", "3", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert [row["n"] for row in found["rows"]] == [2] and [one["n"] for one in found["failures"]] == [1, 3]
    assert cli.main([*words, "2", "3"]) == 4
    printed = capsys.readouterr().out
    assert "failed: n = 3: program: expected one that the solver finishes" in printed and "gap of KLN" in printed
    assert cli.main([*words, "3"]) == 2, "nothing is finished"
    capsys.readouterr()
    assert cli.main([*words, "2", "5", "6"]) == 130
    printed = capsys.readouterr().out
    assert "gap of KLN" in printed and "failed: n = 5: interrupted\nfailed: n = 6: interrupted\n" in printed
    assert cli.main([*words, "5", "2"]) == 130 and "nothing was stored" in capsys.readouterr().err
