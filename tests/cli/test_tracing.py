"""`dpjax audit --method tracing` and `dpjax attack --packing`: what they say, and what they refuse."""

import json

import pytest

from dpjax import cli
from dpjax.core.checks import InputError

COLUMNS = "Independent(KLN(Points(3)), composition=zcdp)"
LEAKY = """
from dataclasses import dataclass, replace
from dpjax import KLN, Points, Domain

@dataclass(frozen=True)
class Leaky(KLN):
    def _guarantee(self, plan):
        return replace(super()._guarantee(plan), epsilon=0.01)

def leaky():
    from dpjax import Independent
    return Independent(Leaky(Points(Domain(3))), 100)
"""


@pytest.mark.slow  # tests/audit and the tutorial certify too
def test_tracing_certifies(capsys):
    words = ["--epsilon", 4, "--k", 200, "--rows", 12, "--trials", 2000, "--json"]
    assert cli.main(["audit", COLUMNS, "--method", "tracing", *map(str, words)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0.3 < found["epsilon_found"] < 4 and not found["violated"]
    assert (found["k"], found["rows"]) == (200, 12)


def test_tracing_refutes_a_wrong_claim(capsys, tmp_path, monkeypatch):
    (tmp_path / "leaky_columns.py").write_text(LEAKY)
    monkeypatch.syspath_prepend(tmp_path)
    words = [
        "audit",
        "leaky_columns:leaky",
        "--method",
        "tracing",
        "--epsilon",
        "20",
        "--delta",
        "0",
        "--k",
        "100",
        "--rows",
        "8",
        "--trials",
        "1000",
    ]
    assert cli.main(words) == 1
    said = capsys.readouterr().out
    assert "VIOLATED" in said and "claimed   epsilon 1, delta 0" in said


def test_packing(capsys):
    assert cli.main(["attack", "KLN", "--packing", "--k", "2", "--n", "40", "--epsilon", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["successes"]) == 4 and found["least"] == min(found["successes"]) and not found["violated"]
    assert 0 < found["epsilon"] <= found["guarantee"]["epsilon"] <= 1 and found["no_learner_below"] <= 40
    assert cli.main(["attack", "ERM", "--packing", "--k", "2", "--n", "4"]) == 0
    assert "ERM claims no privacy" in capsys.readouterr().out


def test_a_learner_of_one_s_own_with_arguments(capsys, tmp_path, monkeypatch):
    (tmp_path / "own_columns.py").write_text(LEAKY)
    monkeypatch.syspath_prepend(tmp_path)
    asked = []

    def trace(learner, k, rows, *_, **__):
        asked.append((type(learner).__name__, k, rows))
        raise InputError("trials", "none", "some", "this is enough for a test")

    monkeypatch.setattr("dpjax.cli.commands.audit_tracing.trace", trace)
    words = ["audit", "own_columns:Leaky(Points(3))", "--method", "tracing", "--k", "10", "--rows", "4"]
    assert cli.main(words) == 2 and "add --import own_columns" in capsys.readouterr().err and not asked
    assert cli.main([*words, "--import", "own_columns"]) == 2 and asked == [("Leaky", 10, 4)]


def test_a_folder_that_cannot_be_written_is_refused_first(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("dpjax.cli.commands.audit.traced", lambda *_: pytest.fail("it ran"))
    assert cli.main(["audit", "KLN", "--method", "tracing", "--out", str(tmp_path / "file" / "folder")]) == 2
    assert "Not a directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "stability", "--method", "tracing"), "target of method tracing, a learner: expected one of"),
        (("audit", "KLN", "--k", "3"), "k: expected none for method auto, got 3; leave it out, or --method tracing"),
        (("audit", "KLN", "--method", "exact", "--rows", "3"), "rows: expected none for method exact"),
        (("audit", "KLN", "--method", "tracing", "--distance", "2"), "distance: expected 1 for method tracing"),
        (("audit", "KLN", "--method", "tracing", "--k", "0"), "k: expected a whole number >= 1, got 0"),
        (("audit", "KLN", "--method", "tracing", "--rows", "1"), "rows: expected a whole number in [2, "),
        (("audit", "KLN", "--method", "tracing", "--trials", "10"), "trials: expected a whole number in [1000, "),
        (("audit", "KLN", "--method", "tracing", "--delta", "1"), "delta: expected a number in [0, 1), got 1.0"),
        (("audit", "laplace", "--method", "tracing"), "laplace"),
        (("attack", "KLN", "--packing", "--k", "40"), "k: expected a whole number in [1, 10], got 40"),
        (("attack", "KLN", "--packing", "--n", "0"), "rows: expected a whole number in [1, 65536], got 0"),
        (("attack", "KLN", "--packing", "--users", "3"), "users: expected none beside --packing, got 3"),
        (("attack", "KLN", "--packing", "--sample-size"), "sample_size: expected none beside --packing"),
        (("attack", "KLN", "--packing", "--delta", "1"), "delta: expected a number in [0, 1), got 1.0"),
    ],
)
def test_refusals(capsys, words, said):
    assert cli.main(list(words)) == 2
    found = capsys.readouterr()
    assert said in found.err and not found.out and found.err.count("\n") == 1
