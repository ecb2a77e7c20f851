"""Studies: any learner, paired trials, identity by program, failures as records."""

import importlib
import inspect
import json
import linecache
import shutil
import sys
import textwrap
from dataclasses import dataclass, fields, replace

import jax.numpy as jnp
import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

import dpjax as dp
from dpjax import cli
from dpjax.core.checks import InputError
from dpjax.core.plans import Number, down, plan_type
from dpjax.experiments.results.result import Result
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.store import Store
from dpjax.learners import Boosted
from dpjax.learners.kln import KLNPlan

CONCEPTS = dp.Points(dp.Domain(2**20))
TASK = dp.Task(CONCEPTS, dp.heavy(CONCEPTS.domain, 4, 0.2))
KLN = dp.KLN(CONCEPTS)
ACCURACY = dp.Accuracy(0.15, 0.1)


@plan_type
class MinePlan:
    """epsilon of the run, ``float32[]``."""

    epsilon: Number


@dataclass(frozen=True)
class Mine(dp.Learner):
    """A learner from outside: the generic one, with a fault where it is asked for one."""

    concepts: dp.Points
    fault: str = ""
    neighboring = dp.Neighboring.REPLACE_ONE
    spends = "bounded range"

    def _plan(self, privacy, accuracy, n=None) -> MinePlan:
        if self.fault == "raises" and n == 30:
            raise RuntimeError("a planner that stumbles at 30")
        return MinePlan(down(privacy.epsilon))

    def _learn(self, key, sample, plan):
        if self.fault == "memory" and sample.capacity >= 256:
            raise MemoryError("a buffer that is too large")
        return KLN.learn(key, sample, KLNPlan(plan.epsilon))

    def _guarantee(self, plan):
        return KLN.guarantee(KLNPlan(plan.epsilon))

    def _sample_size(self, privacy, accuracy):
        return KLN.sample_size(privacy, accuracy)

    def hard_neighbors(self, rows):
        return KLN.hard_neighbors(rows)


@dataclass(frozen=True)
class Nan(dp.Points):
    """A class whose error is no number in some trials."""

    def error(self, distribution, hypothesis, target):
        share = super().error(distribution, hypothesis, target).astype(jnp.float64) / 2.0**34
        return jnp.where(hypothesis.concept[:, -1] % 2 == 1, jnp.nan, share)


@pytest.fixture(scope="module")
def machine():
    with Engine(in_flight=1) as one:
        yield one


def test_a_study_in_a_notebook(tmp_path, machine):
    study = dp.Study(
        dp.Task(CONCEPTS, dp.heavy(CONCEPTS.domain, 4, 0.1)),
        {"KLN": KLN, "mine": Mine(CONCEPTS)},
        k=[1, 2],
        epsilon=[32, 64],
        accuracy=dp.Accuracy(0.08, 0.1),
        trials=100,
        points=3,
        search=dp.Search(n_min=17, n_max=64, most_trials=2000, steps_per_doubling=2),  # one buffer
    )
    assert len(study.curves) == 8 and study.curves[2].setting.learner == dp.Independent(KLN, 2, "optimal")
    result = study.run(tmp_path / "results", engine=machine, quiet=True)
    star = result.n_star.to_pylist()
    assert len(star) == 8 and all(row["n_low"] < row["n_high"] for row in star)
    kept = ("k", "epsilon", "n_low")
    ours, theirs = ([[row[at] for at in kept] for row in star if row["learner"] == name] for name in ("KLN", "mine"))
    assert ours == theirs, "the same algorithm, in searches with the same trials"
    curves, quantiles = result.curves, result.errors
    assert curves.num_rows == 8 * 3 and quantiles.num_rows == 3 * curves.num_rows
    assert set(curves.column_names) >= {"learner", "k", "epsilon", "n", "successes", "lower", "upper"}
    assert result.exponents.num_rows == 4 and result.failures.num_rows == 0
    again = Result.load(tmp_path / "results")
    assert again.data == json.loads(json.dumps(result.data)) and again.n_star.equals(result.n_star)
    computed = machine.trials
    assert study.run(tmp_path / "results", engine=machine, quiet=True).data == result.data
    assert machine.trials == computed
    _compared(again)
    (figure,) = result.plot(tmp_path / "figure.pdf")
    assert figure.read_bytes().startswith(b"%PDF")
    shown = result._repr_png_()
    assert shown.startswith(b"\x89PNG") and int.from_bytes(shown[16:20]) == 8 * 200, "8 inches"
    assert Result(result.data | {"points": []})._repr_png_() is None


def _compared(result):
    """Differences in pairs between learners, epsilons and n, and n* at other alphas."""
    rates = {
        (row["learner"], row["k"], row["epsilon"], row["n"]): row["successes"] / row["trials"]
        for row in result.curves.to_pylist()
    }
    same = result.differences("learner").to_pylist()
    assert len(same) == 12 and {(row["first"], row["second"]) for row in same} == {("KLN", "mine")}
    assert all(row["difference"] == 0 and row["lower"] < 0 < row["upper"] for row in same), "the same algorithm"
    mixed = [row for row in same if 0.05 < rates[row["first"], row["k"], row["epsilon"], row["n"]] < 0.95]
    assert mixed and all(row["ratio"] < 0.6 for row in mixed), "the same outcomes in all pairs"
    apart = result.differences("n").to_pylist()
    assert len(apart) == 8 * 3 and all(row["second"] > row["first"] for row in apart)
    for row in (*apart, *result.differences("epsilon").to_pylist()):
        where = [[row.get("learner"), row["k"], row.get("epsilon"), row.get("n")] for _ in range(2)]
        for place, end in zip(where, ("first", "second"), strict=True):
            place[2 if "epsilon" not in row else 3] = row[end]
        first, second = (rates[tuple(place)] for place in where)
        assert row["difference"] == pytest.approx(second - first) and row["lower"] <= second - first <= row["upper"]
        assert row["ratio"] <= 1.05
    wide = result.n_star_at([0.08, 0.3, 0.99]).to_pylist()
    for own, loose, free in zip(wide[::3], wide[1::3], wide[2::3], strict=True):
        assert free["n_low"] is None and free["n_high"] is not None, "every hypothesis is good enough"
        assert loose["at_most"] == 0.28 and own["at_most"] == 0.08
        assert own["n_high"] is None or loose["n_high"] <= own["n_high"]
    assert any(own["n_high"] is not None for own in wide[::3])
    with pytest.raises(InputError, match="one of epsilon, learner, n"):
        result.differences("k")
    with pytest.raises(InputError, match="folder"):
        Result(result.data).differences()


def test_trials_are_paired(tmp_path, machine):
    """Trial t is the same data for every learner, epsilon, n and k; searches have trials of their own at each n."""
    study = dp.Study(TASK, {"KLN": KLN, "point": dp.PointLearner(CONCEPTS)}, [1, 2], [1.0, 2.0], n=[30, 60])
    settings = [replace(line.setting, n=n) for line in study.curves for n in (30, 60)]
    assert len({json.dumps(setting.trials_of()) for setting in settings}) == 1
    searched = [replace(setting, purpose="search") for setting in settings]
    assert len({json.dumps(setting.trials_of()) for setting in searched}) == 2
    key = settings[0].key_of(5, 7)
    few, many = (TASK.draw(key, n, 2, 64)[0] for n in (30, 60))
    np.testing.assert_array_equal(few.x, many.x)
    other = dp.Task(CONCEPTS, dp.heavy(CONCEPTS.domain, 4, 0.21))
    assert other.digest != TASK.digest


def test_a_learner_that_ignores_epsilon_is_measured_once(tmp_path, machine):
    study = dp.Study(TASK, dp.ERM(CONCEPTS), epsilon=[0.5, 1.0, 2.0], n=[8, 16], accuracy=ACCURACY, trials=64)
    before = machine.trials
    result = study.run(tmp_path, engine=machine, quiet=True)
    assert machine.trials - before == 2 * 64
    assert len({row["successes"] for row in result.data["points"] if row["n"] == 8}) == 1
    with Store(tmp_path, read_only=True) as store:
        assert store.status().cells == 2


def test_pairing_narrows_the_difference_of_two_budgets(tmp_path, machine):
    """KLN at epsilon 1 and 1.2 errs nearly alike in one trial, since it has the same examples and the same noise."""
    study = dp.Study(TASK, KLN, epsilon=[1.0, 1.2], n=[120], accuracy=ACCURACY)
    with Store(tmp_path) as store:
        cells = Cells(store, machine, 0)
        one, other = (
            error_bins.successes(cells.outcomes(replace(line.setting, n=120), 2048), 0.15) for line in study.curves
        )
    assert 0.1 < one.mean() < other.mean() < 0.95
    paired, apart = np.var(other.astype(float) - one), np.var(one) + np.var(other)
    assert paired < 0.9 * apart


@pytest.mark.parametrize("fault", ["raises", "memory"])
def test_a_point_that_fails_is_a_record_and_the_others_go_on(fault, tmp_path, machine):
    study = dp.Study(TASK, {"bad": Mine(CONCEPTS, fault), "good": KLN}, n=[20, 30, 100], accuracy=ACCURACY, trials=50)
    result = study.run(tmp_path, engine=machine, quiet=True)
    failed = [(row["learner"], row["n"]) for row in result.data["failures"]]
    assert failed == [("bad", 30 if fault == "raises" else 100)]
    assert len(result.data["points"]) == 5
    record = result.data["failures"][0]
    said = {"raises": "RuntimeError: a planner that stumbles", "memory": "MemoryError: a buffer"}[fault]
    assert said in record["error"]
    assert "test_sweep.py" in record["traceback"]
    computed = machine.trials
    again = study.run(tmp_path, engine=machine, quiet=True)
    assert machine.trials == computed and again.data == result.data, "only what failed is tried again"


def test_an_error_that_is_no_number_is_a_record(tmp_path, machine):
    concepts = Nan(dp.Domain(2**20))
    task = dp.Task(concepts, dp.heavy(concepts.domain, 4, 0.2))
    result = dp.Study(task, dp.KLN(concepts), n=[20], trials=50).run(tmp_path, engine=machine, quiet=True)
    assert not result.data["points"] and "a number in [0, 1]" in result.data["failures"][0]["error"]


def test_failures_end_with_status_4_and_their_traceback_is_kept(tmp_path, monkeypatch, capsys):
    source = """
        import dpjax as dp
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Faulty(dp.KLN):
            def _learn(self, key, sample, plan):
                if sample.capacity >= 256:
                    raise FloatingPointError("outside")
                return dp.KLN._learn(self, key, sample, plan)
    """
    (tmp_path / "raising_at_sizes.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = (
        "curve --import raising_at_sizes --concepts Points(64) --learners raising_at_sizes:Faulty --n 9 99 --trials 20"
    )
    assert cli.main([*words.split(), "--trials", "20", "--formats", "--json", "--out", "out"]) == 4
    answer = json.loads(capsys.readouterr().out)
    assert answer["failed"] == 1 and len(answer["points"]) == 1
    kept = json.loads((tmp_path / "out" / "result.json").read_text())
    assert "raising_at_sizes.py" in kept["failures"][0]["traceback"] and kept["left"] == 0
    assert cli.main(["status", "out", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["curves"], status["measured"], len(status["failures"]), status["cells"]) == (1, 1, 1, 1)


def test_tables_are_exported(tmp_path, machine, capsys):
    study = dp.Study(TASK, {"erm, 1": dp.ERM(CONCEPTS)}, n=[8, 16], accuracy=ACCURACY, trials=64)
    result = study.run(tmp_path / "in", engine=machine, quiet=True)
    for kind, read in (("csv", pyarrow.csv.read_csv), ("parquet", pyarrow.parquet.read_table)):
        assert (
            cli.main(["export", str(tmp_path / "in"), "--format", kind, "--out", str(tmp_path / kind), "--json"]) == 0
        )
        answer = json.loads(capsys.readouterr().out)
        assert answer["rows"] == {"curves": 2, "n_star": 0, "n_within": 0, "errors": 6, "exponents": 0, "failures": 0}
        found = read(tmp_path / kind / f"curves.{kind}")
        successes = [row["successes"] for row in result.data["points"]]
        assert found["learner"].to_pylist() == ["erm, 1"] * 2 and found["successes"].to_pylist() == successes
    assert cli.main(["export", str(tmp_path / "in"), "--format", "xls"]) == 2
    assert cli.main(["export", str(tmp_path / "in"), "--tables", "curve"]) == 2
    assert "did you mean curves" in capsys.readouterr().err
    assert cli.main(["export", str(tmp_path / "nowhere")]) == 2
    assert "a result.json or its folder" in capsys.readouterr().err


SOURCE = """
import dpjax as dp
from dataclasses import dataclass

def helper(x):
    return x

@dataclass(frozen=True)
class Own(dp.PointLearner):
    def _plan(self, privacy, accuracy, n=None) -> object:
        return super()._plan(privacy, accuracy, n)

    def _learn(self, key, sample, plan):
        found = super()._learn(key, sample, plan)
        return helper(found)
"""


def test_an_edited_learner_or_planner_is_computed_again_and_a_renamed_helper_is_not(tmp_path, machine, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    concepts = dp.Points(dp.Domain(64))
    task = dp.Task(concepts, dp.heavy(concepts.domain, 4, 0.2))

    def run(source):
        """(trials that were computed, successes) with the module as a new process reads it."""
        (tmp_path / "own_learner.py").write_text(source)
        sys.modules.pop("own_learner", None)
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        importlib.invalidate_caches()
        linecache.checkcache()
        module, before = importlib.import_module("own_learner"), machine.trials
        study = dp.Study(task, module.Own(concepts), n=[100], accuracy=ACCURACY, trials=100)
        result = study.run(tmp_path / "out", engine=machine, quiet=True)
        return machine.trials - before, result.data["points"][0]["successes"]

    computed, first = run(SOURCE)
    assert computed > 0
    renamed = SOURCE.replace("helper", "another_name").replace("    return x\n", "    # as it is\n    return    x\n")
    assert run(renamed) == (0, first)
    flipped = "return helper(type(found)(found.concept, ~found.zero, found.outcome))"
    assert run(SOURCE.replace("return helper(found)", flipped))[0] == computed
    half = "super()._plan(dp.Privacy(privacy.epsilon / 2, privacy.delta), accuracy, n)"
    assert run(SOURCE.replace("super()._plan(privacy, accuracy, n)", half))[0] == computed
    sys.modules.pop("own_learner")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"task": None}, "write Task"),
        ({"learners": {}}, "at least one"),
        ({"learners": dp.KLN}, "the class KLN"),
        ({"learners": {"a": 3}}, "a Learner, got 3"),
        ({"learners": {"a": lambda k: 3}}, "a Learner, got 3"),
        ({"learners": [KLN, KLN]}, "a name for each"),
        ({"learners": dp.KLN(dp.Thresholds(dp.Domain(2**20)))}, "one of the task's class"),
        ({"learners": dp.KLN(dp.Points(dp.Domain(8)))}, "one of the task's class"),
        ({"k": 0}, "k: expected"),
        ({"k": []}, "at least one"),
        ({"k": [1, 1]}, "each value once"),
        ({"k": 1.5}, "k:"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"n": "serch"}, '"search"'),
        ({"n": [0]}, "n: expected"),
        ({"n": 2**21}, "at most"),
        ({"accuracy": 0.1}, "write Accuracy"),
        ({"search": 3}, "write Search"),
        ({"seed": 2**40}, "seed"),
        ({"trials": 0}, "trials"),
        ({"learners": dp.PointLearner(CONCEPTS), "delta": 0.0}, "PointLearner, k = 1, epsilon = 1"),
    ],
)
def test_what_makes_no_study_is_named(change, words):
    with pytest.raises(InputError, match=words):
        dp.Study(**({"task": TASK, "learners": KLN} | change))


def test_numpy_numbers_are_numbers():
    study = dp.Study(TASK, KLN, k=np.array([1, 2]), epsilon=np.array([0.5, 1.0]), n=np.array([10, 20]))
    assert study.k == (1, 2) and study.epsilon == (0.5, 1.0) and study.n == (10, 20)


def test_a_learner_whose_own_numbers_no_theorem_covers_is_measured(tmp_path, machine):
    own = Boosted(dp.KLN(dp.Thresholds(dp.Domain(8))), rounds=3, draws=20, kappa=0.3)
    task = dp.Task(own.concepts, dp.uniform(own.concepts.domain))
    study = dp.Study(task, {"own": own}, delta=0.0, n=(300,), trials=20)
    assert study.curves[0].theorem() is None and float(study.curves[0].guarantee().epsilon) <= 1
    found = study.run(tmp_path, engine=machine, quiet=True).data
    assert not found["failures"] and found["points"][0]["trials"] == 20


def test_the_arguments_of_a_study_have_types():
    """What a type checker reads: no argument takes anything, and the fields hold what a study has made of them."""
    hints = {name: str(one.annotation) for name, one in inspect.signature(dp.Study).parameters.items()}
    assert [*hints] == [field.name for field in fields(dp.Study)]
    assert not [name for name, hint in hints.items() if "Any]" not in hint and "Any" in hint.split(" | ")]
    study = dp.Study(TASK, KLN, k=2, epsilon=np.array([0.5, 1]), n=40, accuracy=ACCURACY)
    assert (study.k, study.epsilon, study.n, [*study.learners]) == ((2,), (0.5, 1.0), (40,), ["KLN"])
    assert (dp.Study.trials, dp.Study.delta) == (study.trials, study.delta) == (1000, 1e-6)
    assert replace(study, k=3).k == (3,) and replace(study, k=3).epsilon == study.epsilon
