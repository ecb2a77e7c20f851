"""A study written down: what is read, what is refused and how the error says so."""

from dataclasses import replace
from textwrap import dedent

import pytest

from dpjax.concepts import Conjunctions, Domain, Points, Thresholds, Unions, distributions
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring
from dpjax.core.user_code import UserCodeError
from dpjax.experiments.config.builder import Builder
from dpjax.experiments.config.calls import call
from dpjax.experiments.study import toml
from dpjax.experiments.study.study import study_of
from dpjax.learners import KLN, Independent, PointLearner
from dpjax.lists import VersionSpace


def data(**changes):
    """A small study as tables; a change replaces a table's keys, or a whole entry that is no table."""
    found = {
        "task": {"concepts": "Points(2**20)", "distribution": "heavy(4, 0.2)"},
        "learners": {"kln": "KLN"},
        "sweep": {"alpha": 0.15},
    }
    for name, value in changes.items():
        found[name] = {**found.get(name, {}), **value} if isinstance(value, dict) and name != "learners" else value
    return found


def test_what_is_written_down_is_what_runs():
    study = study_of(data(sweep={"k": [1, 3], "epsilon": 2, "n": [10, 20]}, learners={"a": "KLN", "b": "PointLearner"}))
    concepts = Points(Domain(2**20))
    assert (
        study.task.concepts == concepts
        and study.task.distribution.total == distributions.heavy(Domain(2**20), 4, 0.2).total
    )
    assert [(line.name, line.setting.k, line.setting.learner) for line in study.curves] == [
        ("a", 1, KLN(concepts)),
        ("a", 3, Independent(KLN(concepts), 3, "optimal")),
        ("b", 1, PointLearner(concepts)),
        ("b", 3, PointLearner(concepts)),
    ]
    assert study.n == (10, 20) and study.search is None


def test_a_table_and_a_call_are_the_same():
    written = {
        "concepts": {"use": "Points", "domain": "2**20"},
        "distribution": {"use": "heavy", "atoms": 4, "mass": 0.2},
    }
    one, other = study_of(data(task=written)), study_of(data())
    assert one.task.digest == other.task.digest


def test_a_study_is_read_back_from_what_it_says_of_itself():
    study = study_of(
        data(
            task={
                "concepts": "Conjunctions(9)",
                "distribution": "ProductCube.balanced(literals=2)",
                "targets": {"literals": 2, "signs": False},
                "noise": 0.1,
            },
            learners={"and": "ConjunctionLearner(2)", "all": {"use": "Independent", "learner": "KLN"}},
            sweep={"k": 1, "epsilon": [1, 2], "n": [100]},
        )
    )
    again = study_of(study.to_dict())
    assert again.task.digest == study.task.digest and again.to_dict() == study.to_dict()
    assert [line.setting.learner for line in again.curves] == [line.setting.learner for line in study.curves]
    assert study.task.concepts == Conjunctions(9)


@pytest.mark.parametrize("text", ["2**32 - 1", "1e4", "2**10"])
def test_whole_numbers_as_people_write_them(text):
    task = {"concepts": {"use": "Thresholds", "domain": "2**32 - 1"}, "distribution": "uniform"}
    study = study_of(data(task=task, sweep={"trials": text}))
    assert study.task.concepts == Thresholds(Domain(2**32 - 1)) and study.trials == int(eval(text))


@pytest.mark.parametrize("text", ["__import__('os')", "2**(10**9)", "2**-1", "x", "1.5", "2**32 if 1 else 0", "64", ""])
def test_an_expression_is_not_code(text):
    with pytest.raises(InputError):
        study_of(data(sweep={"trials": text}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sweep": {"epsilo": [1.0]}}, "did you mean epsilon"),
        ({"swep": {}}, "did you mean sweep"),
        ({"problem": {}}, r"\[task\] and \[learners\], got \[problem\]"),
        ({"sweep": {"k": ["a"]}}, "sweep.k.0"),
        ({"sweep": {"k": True}}, "not a boolean"),
        ({"sweep": {"k": "1"}}, "without quotes"),
        ({"sweep": {"epsilon": "1"}}, "without quotes"),
        ({"sweep": {"epsilon": True}}, "sweep.epsilon"),
        ({"sweep": {"epsilon": [0.0]}}, "epsilon: expected a number > 0, got 0.0"),
        ({"sweep": {"epsilon": [float("nan")]}}, "finite"),
        ({"sweep": {"epsilon": [float("inf")]}}, "finite"),
        ({"sweep": {"epsilon": [1e-50]}}, "got 1e-50"),
        ({"sweep": {"epsilon": []}}, "at least one"),
        ({"sweep": {"epsilon": [1.0, 1.0]}}, "each value once"),
        ({"sweep": {"delta": 1.0}}, "delta"),
        ({"sweep": {"delta": 0.0}, "learners": {"p": "PointLearner"}}, "a number in .0, 1. for PointLearner"),
        ({"sweep": {"beta": 1.0}}, "beta"),
        ({"sweep": {"alpha": 0.0}}, "alpha"),
        ({"sweep": {"n": [0]}}, "n: expected a whole number >= 1"),
        ({"sweep": {"n": "serch"}}, "sweep.n: expected 'search' or a whole number such as"),
        ({"sweep": {"n": [20.5]}}, "sweep.n: expected 'search' or a whole number, not a fraction, got .20.5."),
        ({"sweep": {"k": [1.5]}}, "sweep.k.0: expected a whole number, not a fraction, got 1.5"),
        ({"task": {"targets": {"array": "<u4", "shape": [-1, 99], "data": "c-muNfB*mh2mk>"}}}, "array: expected"),
        ({"task": {"targets": {"array": "<u4", "shape": [1], "data": "c"}}}, "array: expected"),
        ({"task": {"targets": {"array": "no type", "shape": [2], "data": "c-muNfB*mh2mk>"}}}, "array: expected"),
        ({"task": {"targets": {"array": "<u4"}}}, "shape: expected a list"),
        ({"learners": {"a": {"by_k": {"x": "KLN"}}}}, "learners.a.by_k: expected numbers of concepts"),
        ({"learners": {"a": {"by_k": {"0": "KLN"}}}}, "learners.a.by_k: expected numbers of concepts"),
        ({"learners": {"a": {"by_k": {}}}}, "learners.a.by_k: expected a learner for each k"),
        ({"learners": {"a": {"by_k": 3}}}, "learners.a.by_k: expected Mapping"),
        ({"sweep": {"n": [2**20 + 1]}}, "at most 1048576 rows"),
        ({"search": {"n_max": 2**21}}, "at most 1048576 rows"),
        ({"search": {"n_min": 200, "n_max": 100}}, "search.n_max"),
        ({"search": {"gamma": -0.1}}, "search.gamma"),
        ({"search": {"most_trials": 8}}, "search.most_trials"),
        ({"sweep": {"k": [0]}}, "k: expected"),
        ({"sweep": {"trials": 0}}, "trials"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**32}, "seed"),
        ({"learners": {}}, "at least one"),
        ({"learners": {"a": "PiontLearner"}}, "did you mean PointLearner"),
        ({"learners": {"a": "Points(4)"}}, "learners.a"),
        ({"learners": {"a": "KLN(1, 2, 3)"}}, "got 3 arguments"),
        ({"learners": {"a": "Independent(KLN, compositon=zcdp)"}}, "did you mean composition"),
        ({"learners": {"a": "Independent(KLN, composition=zdcp)"}}, "did you mean zcdp"),
        ({"learners": {"a": "Independent(KLN"}}, "correct the brackets"),
        ({"learners": {"a": "ThresholdMedian"}}, "Thresholds"),
        ({"learners": {"a": {"composition": "zcdp"}}}, "add use"),
        ({"learners": {"a": "numpy:array"}}, "add --import numpy"),
        ({"learners": ["KLN", "KLN"]}, "a name for each"),
        ({"task": {"distribution": "unifrm"}}, "did you mean uniform"),
        ({"task": {"distribution": "heavy(4, 0.3)"}}, "less than 1/4"),
        ({"task": {"distribution": "heavy(4)"}}, "got no mass"),
        ({"task": {"distribution": "uniform(mass=0.3)"}}, "task.distribution.mass"),
        ({"task": {"distribution": "UniformCube(4)"}}, "expected one over Domain"),
        ({"task": {"concepts": "Point(4)"}}, "did you mean Points"),
        ({"task": {"concepts": "Points(0)"}}, "task.concepts.domain"),
        ({"task": {"concepts": "Points(2**2049)"}}, "task.concepts"),
        ({"task": {"targets": []}}, "targets"),
        ({"task": {"targets": [2**20]}}, "target: expected a whole number in"),
        ({"task": {"noise": 0.5}}, "noise"),
        ({"task": {"nois": 0.5}}, "did you mean noise"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_named(changes, words):
    with pytest.raises(InputError, match=words):
        study_of(data(**changes))


@pytest.mark.parametrize("missing", ["task", "learners"])
def test_what_is_missing_is_named(missing):
    tables = data()
    del tables[missing]
    with pytest.raises(InputError, match=missing):
        study_of(tables)


OUTSIDE = """
from dataclasses import dataclass
from dpjax.learners import KLN

@dataclass(frozen=True)
class Mine(KLN):
    scale: int = 1

def broken(concepts) -> KLN:
    return undefined_name

def by_bit(concepts) -> KLN:
    return Mine(concepts)

not_callable = 3
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    (tmp_path / "a_module_of_mine.py").write_text(OUTSIDE)
    (tmp_path / "a_broken_module.py").write_text("import dpjax\nx = 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    return ("a_module_of_mine", "a_broken_module", "no_such_module")


def test_learners_from_outside(outside):
    study = study_of(data(learners={"m": "a_module_of_mine:Mine(scale=2**3)"}), outside)
    assert study.curves[0].setting.learner.scale == 8
    again = study_of(study.to_dict(), outside)
    assert again.curves[0].setting.learner == study.curves[0].setting.learner


@pytest.mark.parametrize(
    ("spec", "kind", "words"),
    [
        ("a_module_of_mine:broken", UserCodeError, "NameError: name 'undefined_name'"),
        ("a_broken_module:X", UserCodeError, "ZeroDivisionError"),
        ("no_such_module:X", InputError, "a module that can be found"),
        ("a_module_of_mine:Nine", InputError, "Mine"),
        ("a_module_of_mine:not_callable", InputError, "Learner"),
        ("a_module_of_mine:not_callable(1)", InputError, "no arguments"),
    ],
)
def test_faults_outside_are_named_with_their_own_traceback(spec, kind, words, outside):
    with pytest.raises(kind, match=words) as caught:
        study_of(data(learners={"m": spec}), outside)
    if kind is UserCodeError:
        assert "a_" in caught.value.trace and "dpjax/experiments" not in caught.value.trace


LABELS = {"concepts": "Multiclass.of([[0, 1], [2, 3]])", "distribution": "uniform"}


@pytest.mark.parametrize(
    "spec",
    [
        "BitReduction(binary=a_module_of_mine:by_bit)",
        "BitReduction(a_module_of_mine:by_bit)",
        "BitReduction(binary='a_module_of_mine:by_bit')",
        "dpjax.learners:BitReduction(binary=a_module_of_mine:by_bit)",
        {"use": "BitReduction", "binary": "a_module_of_mine:by_bit"},
    ],
)
def test_a_function_is_an_argument_by_its_name(spec, outside):
    study = study_of(data(task=LABELS, learners={"m": spec}), outside)
    learner = study.curves[0].setting.learner
    assert learner.binary.__name__ == "by_bit" and learner.learners[1].scale == 1
    again = study_of(study.to_dict(), outside)
    assert again.curves[0].setting.learner == learner


@pytest.mark.parametrize("text", ["Multiclass", "Multiclass([[0, 1], [1, 2]])"])
def test_a_class_of_a_matrix_is_made_by_its_function(text):
    with pytest.raises(InputError, match=r"write Multiclass\.of\(matrix, labels=None\)"):
        Builder().build("concepts", text)


def test_names_of_modules_are_read_within_calls(outside):
    builder = Builder(outside).knowing(concepts=Points(Domain(8)))
    for text in ("Independent(a_module_of_mine:Mine, 2)", "Independent(a_module_of_mine:Mine(scale=1), 2)"):
        assert builder.build("learner", text).learner.scale == 1
    assert call("x", "f(a.b:c.d(1), 'e:f', \"g:h(\")")["arguments"] == [
        {"use": "a.b:c.d", "arguments": [1]},
        "e:f",
        "g:h(",
    ]
    for text in ("f(a:)", "f(:a)", "f(a::b)", "f(1:2)", "f({a:b})", "f(x[a:b])", "f(lambda a:b)"):
        with pytest.raises(InputError, match="x: expected") as caught:
            call("x", text)
        assert "\u02d0" not in str(caught.value)


def test_the_function_in_a_message_can_be_pasted(tmp_path, monkeypatch):
    """A list learner in the place of a learner: what the message says to write is a study that is read."""
    task = {"concepts": "Multiclass.of(independent_bits(2, 1, 8))", "distribution": "heavy(2, 0.3)"}
    with pytest.raises(InputError, match="got VersionSpace, which makes a list learner; in a file mine") as caught:
        study_of(data(task=task, learners={"m": "BitReduction(binary=VersionSpace)"}))
    advice = caught.value.advice
    assert advice.endswith("name that: binary=mine:made_of, --import mine")
    (tmp_path / "pasted_of_a_message.py").write_text(dedent("".join(advice.splitlines(True)[1:3])))
    monkeypatch.syspath_prepend(tmp_path)
    learners = {"m": "BitReduction(binary=pasted_of_a_message:made_of)"}
    (curve,) = study_of(data(task=task, learners=learners), imports=("pasted_of_a_message",)).curves
    assert [type(one.lists) for one in curve.setting.learner.learners] == [VersionSpace] * 2


@pytest.mark.parametrize(
    ("binary", "words"),
    [
        ("KLM", r"did you mean KLN\? \(elsewhere: module:KLM\)"),
        ("KLN(Points(4))", "name it alone, such as KLN"),
        ("a_module_of_mine:nine", "by_bit"),
        ("a_module_of_mine:not_callable", "a class or function"),
        ("3", "a class or function"),
    ],
)
def test_what_is_no_function_is_named_shortly(binary, words, outside):
    with pytest.raises(InputError, match=words) as caught:
        study_of(data(task=LABELS, learners={"m": f"BitReduction(binary={binary})"}), outside)
    assert "\\x" not in str(caught.value) and "<class" not in str(caught.value)


def test_what_a_notebook_defined_is_named_as_such():
    with pytest.raises(InputError, match="code of a notebook or a shell; move it into a module"):
        study_of(data(learners={"m": "__main__:Mine"}))


def test_positional_arguments_skip_what_is_known():
    builder = Builder().knowing(concepts=Points(Domain(8)), domain=Domain(8), k=1)
    assert builder.build("learner", "Independent(KLN, zcdp)").composition == "zcdp"
    assert builder.build("distribution", "zipf(5)").total == distributions.zipf(Domain(8), 5).total


def test_what_is_known_does_not_replace_a_default_unless_it_is_meant_to():
    """k of a learner of unions is no number of concepts."""
    known = Builder().knowing(concepts=Unions(15), k=1)
    assert known.build("learner", "UnionLearner").k is None
    positional = known.build("learner", "UnionLearner(5, 3)")
    assert (positional.rounds, positional.k) == (5, 3)
    add = Neighboring.ADD_OR_REMOVE_ONE
    instead = replace(known, instead={"neighboring": add})
    on_points = instead.knowing(concepts=Points(Domain(9)))
    assert on_points.build("learner", "Independent(KLN)").neighboring is add
    assert instead.build("learner", "UnionLearner(5, 3, REPLACE_ONE)").neighboring is Neighboring.REPLACE_ONE


def test_a_module_is_named_without_its_ending():
    with pytest.raises(InputError, match="leave out"):
        Builder(("mine.py",)).find("learner", "mine:Learner")
    with pytest.raises(InputError, match=r"write Points\("):
        Builder().build("concepts", "Points")


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    text = '[task]\nconcepts = "Points(16)"\n[learners]\nKLN = "KLN"\n'
    for name, encoding in (("plain.toml", "utf-8"), ("marked.toml", "utf-8-sig")):
        (tmp_path / name).write_text(text, encoding=encoding)
    assert toml.read_toml(tmp_path / "marked.toml") == toml.read_toml(tmp_path / "plain.toml")
