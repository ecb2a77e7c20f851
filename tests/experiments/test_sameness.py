"""Learners that compare equal and differ, values written to a result and read back, and results beside their store."""

import json
import math
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

import dpjax as dp
from dpjax.core.checks import InputError
from dpjax.core.plans import Number, down, plan_type
from dpjax.experiments.config.builder import Builder
from dpjax.experiments.config.packed import packed, unpacked
from dpjax.experiments.config.to_spec import spec_of
from dpjax.experiments.identity.describe import digest
from dpjax.experiments.identity.program import digest as program_digest
from dpjax.experiments.results.result import Result
from dpjax.experiments.run import engine, loading, rows, run
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.store.store import Store

CONCEPTS = dp.Points(dp.Domain(2**10))
TASK = dp.Task(CONCEPTS, dp.uniform(CONCEPTS.domain), [3])
ADDED = 0


@plan_type
class Plan:
    """epsilon, ``float32[]``."""

    epsilon: Number


@dataclass(frozen=True)
class Fixed(dp.Learner):
    """Answers a number that its fields and a global decide, with no private rows in it."""

    concepts: Any
    number: Any = 3
    hidden: int = field(default=0, compare=False)
    neighboring = dp.Neighboring.REPLACE_ONE
    spends = "pure"

    def _plan(self, privacy, accuracy, n=None) -> Plan:
        return Plan(down(privacy.epsilon))

    def _learn(self, key, sample, plan):
        number = jnp.asarray(np.uint32(2**24 + 3) * self.number) % 7 + self.hidden + ADDED
        return dp.Hypothesis.of(jnp.stack([jnp.uint32(0), number.astype(jnp.uint32)])[None])

    def _guarantee(self, plan):
        return None

    def _sample_size(self, privacy, accuracy):
        return 10


def cell(learner, out):
    study = dp.Study(TASK, {"it": learner}, n=[20], trials=8)
    with Store(out) as store, Engine(1) as machine:
        return Cells(store, machine, 0).cell(replace(study.curves[0].setting, n=20))


def test_learners_that_compare_equal_have_cells_of_their_own(tmp_path, monkeypatch):
    """1 and 1.0, a field that does not compare, and a global that was changed in a running process."""
    assert Fixed(CONCEPTS, 1) == Fixed(CONCEPTS, 1.0) and Fixed(CONCEPTS) == Fixed(CONCEPTS, hidden=4)
    learners = [Fixed(CONCEPTS, 1), Fixed(CONCEPTS, 1.0), Fixed(CONCEPTS, 1, 4)]
    study = dp.Study(TASK, dict(zip("abc", learners, strict=True)), n=[20], trials=8)
    with Store(tmp_path / "together") as store, Engine(1) as machine:
        cells = Cells(store, machine, 0)
        together = [cells.cell(replace(line.setting, n=20)) for line in study.curves]
    alone = [cell(learner, tmp_path / str(i)) for i, learner in enumerate(learners)]
    assert together == alone and len(set(alone)) == 3
    monkeypatch.setitem(globals(), "ADDED", 1)
    assert cell(learners[0], tmp_path / "0") not in alone


def test_what_a_grid_of_a_kernel_maps_to_is_never_overlooked():
    def program(step):
        def kernel(given, out):
            out[...] = given[...]

        spec = pallas.BlockSpec((2,), lambda i: (i * step,))
        call = pallas.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct((4,), jnp.uint32),
            grid=(2,),
            in_specs=[spec],
            out_specs=pallas.BlockSpec((2,), lambda i: (i,)),
            interpret=True,
        )
        return jax.make_jaxpr(call)(jnp.zeros(4, jnp.uint32))

    with pytest.raises(InputError, match="canonical description"):
        program_digest(program(0))


class Swap(Enum):
    A = "B"
    B = "A"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Ends(NamedTuple):
    low: Any
    high: Any


@dataclass(frozen=True)
class Holds:
    name: Any = None
    array: Any = None


@pytest.mark.parametrize(
    "value",
    [
        Swap.B,
        (Swap.A, Swap.B),
        Level.HIGH,
        "KLN",
        "Domain(4)",
        "a(1)",
        "x:y",
        "2**10",
        Ends(1, Ends("KLN", 2.5)),
        Holds("hello", (1, 2)),
        Holds(Holds("use", "fields")),
        math.inf,
        -math.inf,
        0.1,
        3,
        3.0,
        True,
        None,
        (),
        ((),),
        frozenset({"a", "b"}),
        np.float32(0.5),
        np.int64(7),
        b"\x00\xff",
        len,
        Holds,
        dp.KLN(CONCEPTS),
    ],
)
def test_what_a_result_says_of_a_value_is_read_to_the_letter(value):
    if value is len:
        with pytest.raises(InputError):
            spec_of(value)
        return
    written = json.loads(json.dumps(spec_of(Holds(value), "it"), allow_nan=False))
    found = Builder((__name__,)).build("it", written).name
    assert digest(found) == digest(value) and type(found) is type(value)


def test_arrays_without_dimension_stay_so():
    assert digest(np.array(3.0)) != digest(np.array([3.0]))
    for value in (np.float32(0.5), np.array(2, np.uint8), jnp.bfloat16(1.5), np.zeros((0, 3)), jnp.arange(3)):
        again = unpacked(json.loads(json.dumps(packed(value))))
        assert again.shape == value.shape and again.dtype == value.dtype and np.array_equal(again, value)
    with pytest.raises(InputError, match="keys"):
        digest(jax.random.key(0))


def test_a_dataclass_that_is_not_frozen_is_refused():
    @dataclass
    class Loose:
        value: int = 1

    with pytest.raises(InputError, match="not frozen"):
        digest(Loose())


def test_a_task_does_not_change():
    with pytest.raises(AttributeError, match="does not change"):
        TASK.targets = jnp.zeros((1, 2), jnp.uint32)


def line(name, epsilon=1.0):
    return {"learner": name, "k": 1, "epsilon": epsilon, "delta": 0.0, "alpha": 0.1, "beta": 0.1}


def bracketed(name, k):
    return line(name) | {
        "k": k,
        "n_low": 10 * k,
        "n_high": 11 * k,
        "theorem": 20 * k,
        "confidence": 0.95,
        "exponent_of_k": 1.0,
    }


EMPTY = rows.joined([]) | rows.fits([])
COUNTS = {"trials": 8, "successes": 4, "lower": 0.0, "upper": 1.0}


def test_a_run_that_is_interrupted_loses_nothing_of_an_earlier_one():
    """Rows of this run replace those of the earlier one, the others stay, and exponents are those of all rows."""
    known = EMPTY | {"points": [line("a") | {"n": 1}, line("b") | {"n": 1}], "n_star": [bracketed("b", 8)]}
    part = EMPTY | {"points": [line("a") | {"n": 2}], "n_star": [bracketed("b", 1)], "left": 3}
    found = run._joined(part, known, 1)
    assert found["points"] == [line("a") | {"n": 2}] and found["n_star"] == [bracketed("b", 1), bracketed("b", 8)]
    assert found["left"] == 2 and found["exponents"][0]["slope"] == pytest.approx(1.0)
    assert not run._joined(part, known, 2)["exponents"], "one k from 2 on"
    whole = EMPTY | {"points": [line("a"), line("b") | {"k": 8}], "left": 0}
    assert run._joined(whole, known, 1)["points"][:2] == whole["points"]


def stopped(*args, **how):
    raise KeyboardInterrupt


def test_a_run_that_is_interrupted_keeps_no_row_of_an_edited_learner(tmp_path, monkeypatch):
    """The study is the same by its fields; the one that was not edited keeps its rows."""
    study = dp.Study(TASK, {"own": Fixed(CONCEPTS), "KLN": dp.KLN(CONCEPTS)}, n=[17, 20], trials=8)
    with Engine(1) as machine:
        first = study.run(tmp_path, engine=machine, quiet=True).data
        assert [row["learner"] for row in first["points"]] == ["own", "own", "KLN", "KLN"]
        monkeypatch.setattr(run, "work", stopped)
        with pytest.raises(KeyboardInterrupt):
            study.run(tmp_path, engine=machine, quiet=True)
        kept = Result.load(tmp_path).data
        assert kept["points"] == json.loads(json.dumps(first["points"])) and kept["left"] == 0
        monkeypatch.setitem(globals(), "ADDED", 1)
        with pytest.raises(KeyboardInterrupt):
            study.run(tmp_path, engine=machine, quiet=True)
    kept = Result.load(tmp_path).data
    assert [row["learner"] for row in kept["points"]] == ["KLN", "KLN"] and kept["left"] == 1


def test_a_program_that_was_dropped_is_not_traced_from_edited_code(tmp_path, monkeypatch):
    """Else trials of two programs would be stored under one name."""
    monkeypatch.setattr(engine, "_MOST_PROGRAMS", 1)
    monkeypatch.setattr(engine, "_LEAST_PROGRAMS", 1)
    monkeypatch.setattr(loading.Loader, "_path", lambda self, device: None)  # no compiled program on disk
    study = dp.Study(TASK, {"own": Fixed(CONCEPTS), "KLN": dp.KLN(CONCEPTS)}, n=[16], trials=8)
    first, other = (replace(line.setting, n=16) for line in study.curves)
    with Store(tmp_path) as store, Engine(1, jax.devices()[:1]) as machine:
        cells = Cells(store, machine, 0)
        before = cells.outcomes(first, 8)
        cells.outcomes(other, 8)
        assert machine.programs == 2 and len(machine._programs) == 1
        monkeypatch.setitem(globals(), "ADDED", 1)
        with pytest.raises(InputError, match="stays as it is"):
            cells.outcomes(first, 5000)
        assert cells.outcomes(first, 8).tolist() == before.tolist()


@pytest.mark.parametrize("edited", ["theorem", "visit", "failure"])
def test_rows_that_the_present_code_would_not_give_are_kept_aside(tmp_path, monkeypatch, edited):
    """A theorem's number, a program that the search visited, and a failure that was corrected."""
    study = dp.Study(TASK, {"own": Fixed(CONCEPTS)}, trials=8, points=2, search=dp.Search(n_min=4, n_max=64))
    with Engine(1) as machine:
        first = study.run(tmp_path, engine=machine, quiet=True).data
        (star,) = first["n_star"]
        assert len(star["cells"]) >= 2 and star["theorem"] == 10
        if edited == "theorem":
            monkeypatch.setattr(Fixed, "_sample_size", lambda self, privacy, accuracy: 11)
        elif edited == "visit":
            star["cells"][min(star["cells"])] = 64 * "0"
        else:
            first["failures"] = [line("own") | {"n": 16, "error": "", "traceback": ""}]
        run.save(first, tmp_path)
        monkeypatch.setattr(run, "work", stopped)
        with pytest.raises(KeyboardInterrupt):
            study.run(tmp_path, engine=machine, quiet=True)
    now = Result.load(tmp_path).data
    assert not any(now[name] for name in run.TABLES) and now["left"] == 1
    assert (tmp_path / run.EARLIER).exists() == (edited != "failure")


def test_a_result_whose_rows_lack_names_is_set_aside(tmp_path):
    study = dp.Study(TASK, {"KLN": dp.KLN(CONCEPTS)}, n=[16], trials=8)
    with Engine(1) as machine:
        whole = study.run(tmp_path, engine=machine, quiet=True).data
        written = json.dumps(whole | {"points": [{"n": 1}]})
        (tmp_path / "result.json").write_text(written)
        assert study.run(tmp_path, engine=machine, quiet=True).data == whole
    assert (tmp_path / run.EARLIER).read_text() == written


def test_a_study_that_was_never_finished_says_so(tmp_path, monkeypatch):
    """The result of another study in the same folder is not shown as this one's."""
    first = dp.Study(TASK, {"KLN": dp.KLN(CONCEPTS)}, n=[20], trials=8)
    run.save(
        {"title": None, "config": first.to_dict(), "seed": 0, "versions": {}}
        | EMPTY
        | {"points": [line("KLN") | {"n": 20} | COUNTS], "left": 0},
        tmp_path,
    )
    second = replace(first, trials=16)

    monkeypatch.setattr(run, "work", stopped)
    with pytest.raises(KeyboardInterrupt):
        second.run(tmp_path, quiet=True)
    found = Result.load(tmp_path)
    assert found.data["config"]["sweep"]["trials"] == 16 and found.data["left"] == 1 and not found.data["points"]


def test_trials_that_are_not_those_of_the_result_are_refused(tmp_path):
    with Store(tmp_path) as store:
        store.write({"a": 1}, {"outcome": np.zeros(16, np.uint8)})
        name = store.path({"a": 1}).name.partition("-")[0]
    point = line("a") | {"cell": name, "lower": 0.0, "upper": 1.0}
    points = [point | {"n": n, "trials": trials, "successes": trials} for n, trials in ((1, 16), (2, 100))]
    about = {"config": {}, "seed": 0, "versions": {}, "n_star": []}
    Result(about | {"points": points[:1]}, tmp_path).n_star_at([0.1])
    with pytest.raises(InputError, match="other trials in cell"):
        Result(about | {"points": points}, tmp_path).differences("n")
    for wrong in ({"alphas": []}, {"alphas": [0.1], "confidence": -3}, {"alphas": ["x"]}):
        with pytest.raises(InputError):
            Result(about | {"points": points[:1]}, tmp_path).n_star_at(**wrong)


def test_a_resolution_without_room_is_refused_when_the_study_is_made():
    with pytest.raises(InputError, match="below 1 - beta"):
        dp.Study(TASK, dp.KLN(CONCEPTS), accuracy=dp.Accuracy(0.1, 0.5), search=dp.Search(gamma=0.6))
