"""One trial of a result again: its key, its data and its outcome are those of the stored trial."""

import json
from dataclasses import replace
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax import cli
from dpjax.cli.commands import trial as command
from dpjax.core import wide
from dpjax.experiments.results.result import Result
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.run.n_star import end_of
from dpjax.experiments.run.reproduce import reproduce
from dpjax.experiments.store.store import Store
from dpjax.papers.pages import about
from dpjax.plots.lines import Line, Panel, plot_lines
from tests.trials import jit_draw

CONCEPTS = dp.Points(dp.Domain(2**20))
TASK = dp.Task(CONCEPTS, dp.heavy(CONCEPTS.domain, 4, 0.2), noise=0.05)


@pytest.mark.parametrize("purpose", ["curve", pytest.param("search", marks=pytest.mark.slow)])
def test_a_trial_alone_is_the_stored_one(tmp_path, purpose):
    study = dp.Study(TASK, {"point": dp.PointLearner(CONCEPTS)}, [3], [6.0], 1e-3, dp.Accuracy(0.15, 0.1), n=[60])
    setting = replace(study.curves[0].setting, n=60, purpose=purpose)
    with Store(tmp_path) as store, Engine(1) as machine:
        stored = Cells(store, machine, 5).outcomes(setting, 40)
    assert len(set(stored.tolist())) > 1
    for trial in (7, 39):
        found = reproduce(setting, 5, trial)
        assert found.outcome == stored[trial]
        assert found.success == (max(found.errors) <= 0.15) and len(found.x) == 60 and found.y.shape == (60, 3)
        sample, target = jit_draw(TASK, dp.keys.stream(found.key, "data"), 60, 3)
        assert found.x == CONCEPTS.domain.decode(sample.x).tolist()
        np.testing.assert_array_equal(found.y, sample.y)
        assert found.targets == [f"1 iff x = {number}" for number in wide.decode(target.concept)]


def test_a_named_point_of_a_figure(tmp_path, capsys):
    """A figure of brackets carries the points at their upper ends, with learners that no public name has."""
    study = dp.Study(TASK, {"point": dp.PointLearner(CONCEPTS)}, [3], [6.0], 1e-3, dp.Accuracy(0.15, 0.1), n=[60])
    points = {"PointLearner, k = 3": end_of(study.curves[0].setting, 60), "ERM": replace(study.curves[0].setting, n=9)}
    carried, base = about({"script": "mine"}, 5, points), tmp_path / "figure"
    plot_lines([Panel("", "x", "y", [Line("a", "a", [1.0], [2.0])])], base, carried, "n*", formats="svg")
    words = ["trial", str(tmp_path / "figure.svg"), "--trial", "7", "--json"]
    assert cli.main([*words, "--learners", "PointLearner, k = 3"]) == 0
    found, alone = json.loads(capsys.readouterr().out), reproduce(points["PointLearner, k = 3"], 5, 7)
    assert found["x"] == alone.x and found["key"] == np.asarray(jax.random.key_data(alone.key)).tolist()
    assert found["n"] == 60 and found["seed"] == 5 and found["errors"] == alone.errors
    for wrong, says in (
        (["--learners", "mine"], "PointLearner, k = 3"),
        (["--n", "9"], "choose by --learners"),
        (["--learners", "ERM", "--k", "3"], "its own"),
        (["--learners", "ERM", "--n", "3", "4"], "one sample size"),
    ):
        assert cli.main([*words, *wrong]) == 2
        assert says in capsys.readouterr().err
    assert cli.main([*words, "--learners", "ERM"]) == cli.main(words) == 0, "alone: all points, and the first by name"
    found, first = map(json.loads, capsys.readouterr().out.splitlines())
    assert [(one["learner"], one["n"]) for one in first.pop("listed")] == [("ERM", 9), ("PointLearner, k = 3", 60)]
    assert first == found
    assert cli.main(words[:-1]) == 0
    printed = capsys.readouterr().out
    assert "PointLearner, k = 3" in printed and "checkout of dpjax: python scripts/mine.py" in printed
    for script, says in (("mine", "draw it again, in a checkout of dpjax: python scripts/mine.py"), ("$(x)", "else")):
        carried = about({"script": script}, 5)
        plot_lines([Panel("", "x", "y", [Line("a", "a", [1.0], [2.0])])], base, carried, "", "", "svg")
        assert cli.main(words) == 2
        assert says in capsys.readouterr().err


def test_from_a_figure_a_result_and_a_file(tmp_path, capsys):
    words = [
        "--concepts",
        "Points(2**20)",
        "--distribution",
        "heavy(4, 0.2)",
        "--learners",
        "KLN",
        "erm=ERM",
        "--alpha",
        "0.15",
        "--seed",
        "3",
        "--n",
        "30",
        "60",
        "--trials",
        "40",
    ]
    out = tmp_path / "out"
    assert cli.main(["curve", *words, "--out", str(out), "--formats", "png", "svg", "pdf", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 4
    found = []
    for source in (out, out / "curve.png", out / "curve.pdf"):
        assert cli.main(["trial", str(source), "--learners", "erm", "--n", "30", "--trial", "7", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    beside = [one.pop("stored", None) for one in found]
    assert beside == ["the same outcome", None, None], "a figure has no store beside it"
    assert all(one == found[0] for one in found)
    assert cli.main(["trial", str(out), "--learners", "erm", "--n", "30", "--trial", "5000", "--json"]) == 0
    assert "no such trial" in json.loads(capsys.readouterr().out)["note"]
    assert found[0]["learner"] == "erm" and len(found[0]["x"]) == 30
    assert cli.main(["trial", str(out), "--learners", "erm", "--n", "30", "--trial", "7"]) == 0
    shown = capsys.readouterr().out
    assert "row 0" in shown and "and 20 more rows" in shown and "target 1 iff x = " in shown
    assert cli.main(["trial", str(out), "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert [one["learner"] for one in alone["listed"]] == ["KLN", "erm"] and alone["n"] == 30
    assert alone["stored"] == "the same outcome"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "config: expected a figure"),
        (["{demo}", "--k", "1"], "n: expected one sample size"),
        (["{demo}", "--n", "9"], "choose by --learners, --k, --epsilon"),
        (["{demo}", "--learners", "point", "--k", "1", "--epsilon", "1", "--n", "0"], "n: expected"),
        (["{demo}", "--learners", "point", "--k", "1", "--epsilon", "1", "--n", "9", "--trial", "-1"], "trial"),
        (["{demo}", "--learners", "piont", "--n", "9"], "did you mean point"),
    ],
)
def test_what_is_no_trial_is_said(words, says, root, capsys):
    given = [word.format(demo=root / "configs" / "demo.toml") for word in words]
    assert cli.main(["trial", *given]) == 2
    assert says in capsys.readouterr().err


def test_a_trial_of_a_search_says_which_n_it_took(tmp_path, monkeypatch, capsys):
    """n_high of the bracket if a result has one, else the smallest n of the search."""
    study = dp.Study(TASK, {"erm": dp.ERM(CONCEPTS)}, [3], [6.0], 1e-3, dp.Accuracy(0.15, 0.1), n="search")
    path = tmp_path / "study.toml"
    path.write_text(
        '[task]\nconcepts = "Points(2**20)"\ndistribution = "heavy(4, 0.2)"\n[learners]\nerm = "ERM"\n'
        "[sweep]\nk = [3]\nepsilon = 6.0\ndelta = 1e-3\nalpha = 0.15\nbeta = 0.1\n"
    )
    assert cli.main(["trial", str(path)]) == 0
    said = capsys.readouterr().out
    assert "a trial of the first, n = 16: where its search begins, since no bracket with an n_high is here" in said
    row = study.curves[0].labels() | {"n_low": 30, "n_high": 33}
    others = row | {"k": 5, "n_high": 7}, row | {"n_high": None}
    for rows, found in (((*others, row), 33), (others, 16)):
        monkeypatch.setattr(Result, "load", lambda path, rows=rows: SimpleNamespace(data={"n_star": rows}))
        assert command._first_size(study, path)[0] == found
        said = command._first_size(study, path.with_suffix(".png"))[1]
        assert ("a figure stores no brackets" in said) is (found == 16)
    fixed = dp.Study(TASK, {"erm": dp.ERM(CONCEPTS)}, [3], [6.0], 1e-3, dp.Accuracy(0.15, 0.1), n=[60, 9])
    assert command._first_size(fixed, path)[0] == fixed.n[0]


def test_the_key_of_a_trial_is_public():
    study = dp.Study(TASK, dp.KLN(CONCEPTS), n=[60])
    setting = replace(study.curves[0].setting, n=60)
    one, other = setting.key_of(0, 7), replace(setting, n=61).key_of(0, 7)
    assert jax.random.key_data(one).tolist() == jax.random.key_data(other).tolist()
    assert jax.random.key_data(setting.key_of(0, 8)).tolist() != jax.random.key_data(one).tolist()
