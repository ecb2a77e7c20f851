"""Cells: a plan is part of what a result is, a sweep shares its programs, and learners from outside fit in."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Hypothesis, Parities, Points, UniformCube, distributions
from dpjax.core.checks import InputError
from dpjax.core.plans import Number, down, plan_type
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.run.cells import Cells, digest_of
from dpjax.experiments.run.engine import Engine
from dpjax.experiments.store.store import Store
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners import KLN, EmpiricalLearner, ParityLearner
from dpjax.learners.base import Learner

POINTS = Points(Domain(2**20))
EPSILONS = np.geomspace(0.25, 4, 8).tolist()
EDITED = {"weight": 1.0}  # what the planner below reads: to change it is to edit the planner


@plan_type
class OwnPlan:
    """rate: how often the answer is 1, ``float32[]``."""

    rate: Number


@dataclass(frozen=True)
class Own(Learner):
    """A learner from outside: always the first target, or with probability ``rate`` the next domain element."""

    concepts: Points
    extra: Any = None
    neighboring = Neighboring.REPLACE_ONE
    spends = "pure"

    def _plan(self, privacy, accuracy, n=None) -> OwnPlan:
        return OwnPlan(down(min(1.0, EDITED["weight"] * privacy.epsilon / 10)))

    def _learn(self, key, sample, plan):
        other = jax.random.bernoulli(key, plan.rate)
        number = jnp.where(other, jnp.uint32(1), jnp.uint32(0))
        return Hypothesis.of(jnp.stack([jnp.uint32(0), number])[None])

    def _guarantee(self, plan):
        return None

    def _sample_size(self, privacy, accuracy):
        return 1


def on_points():
    return Task(POINTS, distributions.heavy(POINTS.domain, 4, 0.2))


def own(**changes):
    task = Task(Points(Domain(2)), distributions.uniform(Domain(2)), [0])
    return replace(Setting(Own(task.concepts), task, 1, 16, 5.0, 0.0, 0.1, 0.1), **changes)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path) as opened:
        yield opened


@pytest.fixture
def machine():
    with Engine(in_flight=1, devices=jax.local_devices()[:1]) as one:
        yield one


def counted(store, machine, setting, trials=100):
    return Cells(store, machine, 3).counts(setting, trials)


def test_a_planner_whose_numbers_change_is_computed_anew(store, machine, monkeypatch):
    before = counted(store, machine, own())
    done = machine.trials
    assert counted(store, machine, own()) == before and machine.trials == done
    monkeypatch.setitem(EDITED, "weight", 0.2)
    after = counted(store, machine, own())
    assert machine.trials > done and machine.programs == 1, "other numbers, the same program"
    assert after["successes"] > before["successes"]
    cells = [cell.config for cell in store.iter_cells()]
    assert len(cells) == 2 and len({config["plan"] for config in cells}) == 2
    assert cells[0]["trials"] == cells[1]["trials"] and cells[0]["program"] == cells[1]["program"]


def test_a_plan_is_made_once_for_a_point(store, machine):
    made = []

    class Counting(Own):
        def _plan(self, privacy, accuracy, n=None):
            made.append(n)
            return super()._plan(privacy, accuracy, n)

    cells = Cells(store, machine, 3)
    setting = own(learner=Counting(Points(Domain(2))))
    for n in (16, 12, 16):
        cells.counts(replace(setting, n=n), 100)
    assert made == [16, 12]


def test_the_digest_of_a_plan_is_of_its_structure_and_its_last_bits():
    plans = [OwnPlan(np.float32(0.5)), OwnPlan(np.float64(0.5)), OwnPlan(np.nextafter(np.float32(0.5), np.float32(1)))]
    learner = ParityLearner(Parities(8))
    spare = [replace(learner.plan(Privacy(1.0, 1e-6), Accuracy(0.2, 0.1)), most_subsamples=m) for m in (64, 65)]
    assert len({digest_of(plan) for plan in [*plans, *spare]}) == 5
    assert digest_of(OwnPlan(np.float32(0.5))) == digest_of(plans[0])


def swept(name):
    """A setting and the most programs of a sweep of epsilon over a factor of 16."""
    if name == "KLN":
        return Setting(KLN(POINTS), on_points(), 1, 40, 1.0, 0.0, 0.15, 0.1), 1
    if name == "EmpiricalLearner":
        return Setting(EmpiricalLearner(KLN(POINTS)), on_points(), 1, 200, 1.0, 0.0, 0.2, 0.1), 4
    parities = Parities(6)
    return Setting(ParityLearner(parities), Task(parities, UniformCube(6)), 2, 1000, 1.0, 1e-3, 0.2, 0.1), 4


@pytest.mark.parametrize(
    "name", ["KLN", *(pytest.param(n, marks=pytest.mark.slow) for n in ("ParityLearner", "EmpiricalLearner"))]
)
def test_a_sweep_of_epsilon_shares_its_programs(name, store, machine, tmp_path):
    """README: one program where shapes stay and at most four elsewhere; what is counted is what single runs count."""
    setting, most = swept(name)
    found = [counted(store, machine, replace(setting, epsilon=epsilon), 64) for epsilon in EPSILONS]
    assert 1 <= machine.programs <= most
    assert len({one["successes"] for one in found}) > 2, "the sweep goes from failure to success"
    for at in (5,):
        with Store(tmp_path / f"alone {at}") as other, Engine(1, jax.local_devices()[:1]) as alone:
            assert counted(other, alone, replace(setting, epsilon=EPSILONS[at]), 64) == found[at]
            assert alone.programs == 1


@pytest.mark.parametrize("extra", [[1, 2], np.ones(2), {}], ids=["list", "array", "dict"])
def test_a_learner_that_cannot_be_hashed_is_refused(extra):
    with pytest.raises(InputError, match=r"can be hashed, got Own .*; use tuples"):
        own(learner=Own(Points(Domain(2)), extra))
