"""`dpjax attack`: plain words, one object, a user's own learner, clear refusals."""

import json

import pytest

from dpjax import cli

LEAKY = """
from dataclasses import dataclass
from dpjax import ERM
from dpjax.accounting.guarantee import Guarantee

@dataclass(frozen=True)
class Leaky(ERM):
    def _guarantee(self, plan: None):
        return Guarantee(0.5, 0.0, self.neighboring, "a wrong claim")
"""
SMALL = ("--concepts", "Thresholds(8)", "--users", "2", "--trials", "64")


def answer(capsys, *words):
    status = cli.main(["attack", *map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_it_says_who_is_betrayed(capsys):
    assert cli.main(["attack", "ERM", *SMALL]) == 0
    said = capsys.readouterr().out
    assert "2 users, k = 66" in said and "ERM betrays a participant: user " in said and "64 of 64" in said
    assert cli.main(["attack", "KLN", *SMALL]) == 0
    assert "does not betray a participant" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--trials", "5"), "5 trials are too few to tell whether ERM betrays a participant: user"),
        pytest.param(
            ("--trials", "64", "--code", "Tardos", "--k", "5", "--users", "3"),
            "5 columns are too few to tell whether",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_too_few_trials_or_columns_tell_nothing(capsys, words, said):
    assert cli.main(["attack", "ERM", "--concepts", "Thresholds(8)", *words]) == 0
    printed = capsys.readouterr().out
    assert said in printed and "does not betray" not in printed


def test_many_users_of_few_columns(capsys):
    """The scores of 4096 users and of 81920 redrawn rows are compared without a table of all pairs."""
    _, found = answer(capsys, "ERM", "--code", "Tardos", "--users", 4096, "--k", 5, "--trials", 1)
    assert found["users"] == 4096 and not found["tells"]


def test_one_object(capsys):
    status, found = answer(capsys, "ERM", "--code", "Tardos(score=original)", "--k", 120, "--n", 5, *SMALL)
    assert status == 0 and found["columns"] == 120 and found["rows"] == 5 and found["guarantee"] is None
    assert found["betrays"] and found["present"]["trials"] == found["absent"]["trials"] == 64
    assert found["present"]["low"] > found["absent"]["high"] and not found["violated"]


def test_a_wrong_claim_is_refuted(capsys, tmp_path, monkeypatch):
    (tmp_path / "leaky_learner.py").write_text(LEAKY)
    monkeypatch.syspath_prepend(tmp_path)
    status, found = answer(capsys, "leaky_learner:Leaky", "--import", "leaky_learner", *SMALL)
    assert status == 1 and found["violated"] and found["epsilon"] > found["guarantee"]["epsilon"] == 0.5


def test_as_many_users_as_the_columns_allow(capsys):
    _, found = answer(capsys, "ERM", "--k", 200, "--trials", 8)
    assert (found["users"], found["columns"]) == (3, 200)


@pytest.mark.slow
def test_the_learner_s_own_sample_size(capsys):
    budget = ("--epsilon", 50, "--alpha", 0.4)
    _, found = answer(capsys, "Independent(KLN, composition=basic)", "--sample-size", *budget, *SMALL)
    assert found["rows"] > 10 * found["users"] and not found["violated"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ERM", "--users", "4", "--k", "300"), "k >= 425"),
        (("ERM", "--k", "20"), "k >= 66 for 2 users"),
        (("ERM", "--delta", "1"), "delta: expected a number in [0, 1)"),
        (("ERM", "--users", "70"), "Thresholds with at least 71 elements, got Thresholds on 64 elements"),
        (("ERM", "--concepts", "Points(64)"), "Tardos"),
        (("ERM", "--users", "1"), "users"),
        (("ERM", "--n", "3"), "n: expected at least 4, a row for each user, got 3"),
        (("ERM", "--code", "BonehShaw(users=3)", "--users", "4"), "users: expected 3, as in --code, got 4"),
        (("ERM", "--code", "BonehShaw(k=425)", "--k", "500"), "k: expected 425, as in --code, got 500"),
        (("ERM", "--code", "Tardos(security=0.1)", "--security", "0.2"), "security: expected 0.1, as in --code"),
        (("ERM", "--code", "Tardos", "--k", "5"), "k: expected k >= 146 for 2 users, got 5"),
        (("KLN", "--packing", "--code", "Tardos"), "code: expected none beside --packing"),
        (("KLN", "--packing", "--security", "0.1"), "security: expected none beside --packing"),
        (("KLN(Thresholds(64))",), "learner: expected a learner without its class"),
        (("Independent(KLN(Points(3)))",), "leave the class out, it is that of --concepts"),
        (("ERM", "--confidence", "1"), "choose for example 0.95"),
        (("Independent(KLN, k=3)",), "learner: expected one of 425 concepts, got k = 3"),
        (("--import", "json", "Leaky(leak=True)"), "--import: expected names of modules, got 'Leaky(leak=True)'"),
        (("--import", "json", "KLN"), "import: expected a module that can be found, got 'KLN'"),
        (("ERM", "--n", "9", "--sample-size"), "one of the two"),
        (("ERM", "--code", "Turbo"), "BonehShaw, Tardos"),
        (("ERM", "--code", "BonehShaw(calibration=best)"), "calibration"),
        (("ERM", "--security", "0"), "security"),
        (("ERM", "--trials", "0"), "trials"),
    ],
)
def test_refusals(capsys, words, said):
    assert cli.main(["attack", *words]) == 2
    found = capsys.readouterr()
    assert said in found.err and not found.out and found.err.count("\n") == 1
