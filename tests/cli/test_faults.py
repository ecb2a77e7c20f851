"""Faults of a person's code are recorded or named with that code's own traceback; old stores are read by no command."""

import json

import pytest

from dpjax import cli
from dpjax.experiments.results.result import Result

CODE = """
from dataclasses import dataclass
import jax.numpy as jnp
import dpjax as dp

@dataclass(frozen=True)
class Raises(dp.KLN):
    def _plan(self, privacy, accuracy, n=None) -> dp.learners.kln.KLNPlan:
        if float(privacy.epsilon) == 2:
            raise RuntimeError("no plan for epsilon 2")
        return super()._plan(privacy, accuracy, n)

@dataclass(frozen=True)
class NoSize(dp.KLN):
    def _sample_size(self, privacy, accuracy) -> int:
        return 1 // 0

@dataclass(frozen=True)
class Floats(dp.KLN):
    def _learn(self, key, sample, plan):
        found = super()._learn(key, sample, plan)
        return dp.Hypothesis(found.concept * jnp.float32(jnp.nan), found.zero, found.outcome)
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The words of a small study with the learners above."""
    (tmp_path / "faulty.py").write_text(
        CODE.replace("dp.learners.kln.KLNPlan", "KLNPlan").replace(
            "import dpjax as dp\n", "import dpjax as dp\nfrom dpjax.learners.kln import KLNPlan\n"
        )
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return ("--import", "faulty", "--concepts", "Points(16)")


SMALL = ("--n", "20", "40", "--trials", "8", "--out", "results", "--formats")


def test_a_planner_that_raises_at_one_epsilon(own, capsys):
    """Its points are failures, all others are measured."""
    words = ["curve", *own, "--learners", "ok=KLN", "raises=faulty:Raises", "--epsilon", "1", "2", *SMALL]
    assert cli.main(words) == 4
    assert "raises, k = 1, epsilon = 2, n = 20: RuntimeError: no plan for epsilon 2" in capsys.readouterr().out
    found = Result.load("results").data
    assert {(row["learner"], row["epsilon"], row["n"]) for row in found["failures"]} == {
        ("raises", 2, 20),
        ("raises", 2, 40),
    }
    assert len(found["points"]) == 6
    assert (
        cli.main(["trial", "results", "--import", "faulty", "--learners", "raises", "--epsilon", "2", "--n", "20"]) == 2
    )
    printed = capsys.readouterr().err
    assert 'raise RuntimeError("no plan for epsilon 2")' in printed and "dpjax: your code: expected" in printed


def test_a_sample_size_that_raises(own, capsys):
    words = ["--learners", "ok=KLN", "none=faulty:NoSize"]
    assert cli.main(["plan", *own, *words, "--n", "20"]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err
    search = (
        "--n-min",
        "32",
        "--n-max",
        "64",
        "--points",
        "1",
        "--trials",
        "8",
        "--most-trials",
        "64",
        "--out",
        "results",
        "--formats",
    )
    assert cli.main(["curve", *own, *words, *search]) == 4
    found = Result.load("results").data
    assert {row["learner"] for row in found["failures"]} == {"none"}
    assert {row["learner"] for row in found["n_star"]} == {"ok"}


def test_concepts_that_are_no_whole_numbers(own, capsys):
    assert cli.main(["curve", *own, "--learners", "floats=faulty:Floats", "--epsilon", "1", *SMALL]) == 4
    assert "whole numbers, uint32" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [("export",), ("status",), ("trial", "--learners", "KLN", "--n", "20"), ("plot", "--out", "figure.pdf")]
)
def test_stores_of_another_format_are_read_by_no_command(own, capsys, tmp_path, command):
    assert cli.main(["curve", *own, "--learners", "KLN", "--epsilon", "1", *SMALL]) == 0
    (tmp_path / "results" / "format.json").write_text(json.dumps({"schema": 1}))
    before = sorted(path.name for path in (tmp_path / "results").iterdir())
    capsys.readouterr()
    assert cli.main([command[0], "results", *command[1:]]) == 2
    assert "of format 1" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == before


@pytest.mark.parametrize(
    ("concepts", "learner"),
    [
        ("Parities(12)", "ParityLearner"),
        ("Conjunctions(12)", "ConjunctionLearner(literals=2)"),
        ("ConvexPolygons(31)", "PolygonLearner"),
    ],
)
def test_the_uniform_distribution_of_every_domain(concepts, learner, capsys):
    assert cli.main(["plan", "--concepts", concepts, "--learners", learner, "--n", "100"]) == 0
    assert (
        cli.main(["plan", "--concepts", concepts, "--distribution", "uniform", "--learners", learner, "--n", "9"]) == 0
    )


def test_what_is_known_may_be_written(capsys):
    words = ["plan", "--concepts", "Parities(12)", "--learners", "ParityLearner", "--n", "100", "--distribution"]
    assert cli.main([*words, "UniformCube(12)"]) == 0
    assert cli.main([*words, "UniformCube(12, 3)"]) == 2
    assert cli.main([*words, "UniformCube(11)"]) == 2
    assert cli.main([*words, "heavy(4, 0.2)"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_modules_that_nothing_uses_have_to_exist(capsys):
    words = ["plan", "--concepts", "Points(16)", "--learners", "KLN", "--n", "20", "--import", "no_such_module"]
    assert cli.main(words) == 2
    assert "no_such_module" in capsys.readouterr().err


def test_a_power_that_is_too_large_says_so(capsys):
    assert cli.main(["plan", "--concepts", "Points(2**2049)", "--learners", "KLN", "--n", "20"]) == 2
    assert "an exponent in 0..2048" in capsys.readouterr().err


EXITS = """
import sys
from dataclasses import dataclass
import dpjax as dp
from dpjax.learners.kln import KLNPlan

@dataclass(frozen=True)
class Leaves(dp.KLN):
    def _plan(self, privacy, accuracy, n=None) -> KLNPlan:
        sys.exit(0)

def makes(concepts, k=1) -> dp.KLN:
    sys.exit(0)

def draws(key, data):
    sys.exit(0)

def leaves(data, rng):
    sys.exit(0)

def pairs():
    sys.exit(0)
"""
CLASS = ("--concepts", "Points(16)", "--n", "20")
CLAIM = ("--epsilon", "1", "--delta", "0", "--histograms", "1,2")


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "exits:leaves", *CLAIM),
        ("audit", "exits:draws", *CLAIM),
        ("audit", "exits:makes"),
        ("audit", "exits:Leaves"),
        ("audit", "exits:leaves", *CLAIM[:4], "--pairs", "exits:pairs"),
        ("audit", "exits:makes", "--method", "tracing"),
        ("audit", "at_import:anything"),
        ("check", "at_import:x"),
        ("check", "exits:makes", "--concepts", "Points(16)"),
        ("plan", "--import", "at_import", *CLASS, "--learners", "KLN"),
        ("plan", "--import", "exits", *CLASS, "--learners", "exits:Leaves"),
        ("ask", "Points(16)", "--import", "at_import", "--learners", "at_import:x"),
        ("optimum", "points(2)", "--n", "2", "--learners", "exits:makes", "--import", "exits"),
        ("attack", "exits:makes", "--import", "exits"),
        ("dimension", "at_import:anything", "--import", "at_import"),
        ("trial", "study.toml", "--n", "20", "--import", "exits"),
    ],
)
def test_an_exit_in_a_persons_code_ends_no_command_with_success(own, tmp_path, capsys, words):
    """sys.exit(0) is a fault of the code that calls it, wherever a command reaches that code."""
    (tmp_path / "exits.py").write_text(EXITS)
    (tmp_path / "at_import.py").write_text("import sys\nsys.exit(0)\n")
    study = '[task]\nconcepts = "Points(16)"\n[learners]\nl = "exits:Leaves"\n'
    (tmp_path / "study.toml").write_text(study)
    assert cli.main(words) == 2
    printed = capsys.readouterr().err
    assert "dpjax: " in printed and ("SystemExit" in printed or words[0] == "audit"), printed


def test_a_curve_records_an_exit_and_measures_the_others(own, tmp_path, capsys):
    (tmp_path / "exits.py").write_text(EXITS)
    words = ("--import", "exits", "--concepts", "Points(16)", "--epsilon", "1", "--learners", "KLN", "l=exits:Leaves")
    assert cli.main(["curve", *words, *SMALL]) == 4
    assert "l, k = 1, epsilon = 1, n = 20: SystemExit: 0" in capsys.readouterr().out


def test_help_still_ends_by_itself():
    with pytest.raises(SystemExit, match="0"):
        cli.main(["audit", "--help"])
