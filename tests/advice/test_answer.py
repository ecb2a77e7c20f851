"""Which learner: who competes for a class, what theorems and measurements choose, and what a store saves."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import dpjax as dp
from dpjax.advice import race
from dpjax.advice.candidates import candidates, words
from dpjax.advice.workloads import hard_tasks, workloads
from dpjax.concepts import Hypothesis, distributions
from dpjax.concepts import tree_generators as trees
from dpjax.core import random, wide
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.types import Neighboring
from dpjax.experiments.sweep.task import Task
from dpjax.learners.base import Learner

POINTS = dp.Points(dp.Domain(64))
TASK = {"one": Task(POINTS, distributions.heavy(POINTS.domain, 3, 0.25), [32])}


@dataclass(frozen=True)
class Oracle(Learner):
    """Knows the target of `TASK`, says so from ``need`` rows on in a part ``right`` of the trials, and claims ``claim``
    and a theorem of ``rows``."""

    concepts: dp.Points
    claim: float = 0.0
    rows: int | None = 1
    need: int = 1
    right: float = 1.0
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    spends = "pure"

    def _plan(self, privacy, accuracy, n=None) -> None:
        return None

    def _learn(self, key, sample, plan):
        known = jnp.asarray(wide.encode([32]))
        lucky = random.uniform(key, (), jnp.float32) < self.right
        return Hypothesis.of(jnp.where((sample.size >= self.need) & lucky, known, jnp.uint32(0)))

    def _guarantee(self, plan):
        from dpjax.accounting.guarantee import Guarantee

        return None if self.claim < 0 else Guarantee(self.claim, 0.0, self.neighboring, "no row is read")

    def _sample_size(self, privacy, accuracy):
        if self.rows is None:
            raise NoTheoremError("rows", "a theorem", "none", "measure it")
        return self.rows


def names(found):
    return [one.name for one in found if one.learner is not None]


def reasons(found):
    return {one.name: one.reason for one in found if one.reason is not None}


@pytest.mark.parametrize("relation", Neighboring)
@pytest.mark.parametrize(
    "concepts", [POINTS, trees.prefixes(2, 4), dp.Finite.of(np.eye(5, dtype=int))], ids=["points", "tree", "matrix"]
)
def test_reasons_are_in_plain_words(concepts, relation):
    found = reasons(candidates(concepts, 1, neighboring=relation))
    assert len(found) > 5
    assert not [one for one in found.values() if "Neighboring" in one or "<" in one or "b'" in one or "domain=" in one]


def test_the_learners_of_points_are_found_by_their_constructors():
    found = candidates(POINTS, 1)
    expected = {
        "KLN",
        "StablePoints",
        "PointLearner",
        "HashedPoints",
        "RepresentationLearner(PointBuckets)",
        "GenericLearner(PointCounts)",
        "GenericLearner(Hierarchy(bits=6))",
    }
    assert expected <= set(names(found))
    assert all(one.learner.concepts == POINTS for one in found if one.learner is not None)
    why = reasons(found)
    assert "Thresholds" in why["ThresholdMedian"] and "runs another learner" in why["Boosted"]
    assert "ERM" not in why and not {"KLN", "Learner"} & set(why)


def test_every_public_learner_competes_for_some_class_or_says_why_not():
    """No list is kept: a new learner is a candidate, or has a reason, as soon as it is exported."""
    from dpjax import learners

    found = {one.name.partition("(")[0] for one in candidates(POINTS, 1)}
    kinds = {name for name, kind in vars(learners).items() if isinstance(kind, type) and hasattr(kind, "learn")}
    assert kinds - {"Learner"} == found


def test_methods_that_a_learner_offers_are_candidates():
    found = names(candidates(dp.Thresholds(dp.Domain(64)), 1, only=["ImproperVC1", "ThresholdInterior"]))
    assert {"ImproperVC1(method=exponential)", "ThresholdInterior(method=treelog)"} <= set(found)
    (one,) = candidates(dp.Conjunctions(20), 1, only=["ConjunctionLearner"])
    assert one.learner.literals == 20
    default, pieces = candidates(dp.Unions(31, 1), 1, only=["UnionLearner"])
    assert default.learner.functions.complete and not pieces.learner.functions.complete
    assert pieces.name == "UnionLearner(family=dpjax.mechanisms.cover:Pieces(d=31))"
    assert candidates(dp.Unions(31, 1), 1, [pieces.name], only=["KLN"])[-1].learner == pieces.learner
    (triangles,) = candidates(dp.Unions(31, 1, 3), 1, only=["UnionLearner"])
    assert triangles.learner == dp.UnionLearner(dp.Unions(31, 1, 3))


def test_trials_that_take_long_are_not_measured():
    @dataclass(frozen=True)
    class Slow(Oracle):
        passes = 2**23

    mine = {"slow": Slow(POINTS, rows=64), "little": Slow(POINTS, rows=16)}
    advice = dp.ask(POINTS, learners=mine, only=["KLN"], tasks=TASK, measure=dp.Measure(trials=64, n_max=64, within=9))
    slow, little = (next(entry for entry in advice.entries if entry.name == name) for name in mine)
    assert slow.star is None and "8388608 passes over 32" in slow.not_measured and little.star is not None


def test_several_concepts_are_learned_in_all_compositions():
    found = candidates(POINTS, 4, only=["KLN", "HashedPoints", "StablePoints"])
    assert [one.learner.k for one in found if hasattr(one.learner, "k")] == [4] * 8
    assert {"StablePoints", "Independent(KLN)", "Independent(KLN, composition=zcdp)", "HashedPoints"} <= {*names(found)}
    assert len({one.family for one in found}) == 3
    spends = candidates(dp.Thresholds(dp.Domain(64)), 2, only=["ImproperVC1"])
    assert not any("zcdp" in name for name in names(spends)), "zCDP is not defined for runs that spend delta"


def test_a_relation_is_one_of_the_questions():
    found = candidates(POINTS, 1, neighboring=Neighboring.ADD_OR_REMOVE_ONE)
    every = [one.learner for one in found if one.learner is not None]
    assert every and all(one.neighboring is Neighboring.ADD_OR_REMOVE_ONE for one in every)
    assert "replace-one" in reasons(found)["PointLearner"].lower().replace("_", "-")


@pytest.mark.parametrize(
    "learner", [dp.KLN(POINTS), dp.Independent(dp.KLN(POINTS), 3, "zcdp"), dp.HashedPoints(POINTS, 2, bits=4)]
)
def test_words_build_the_learner_again(learner):
    from dpjax.experiments.config.builder import LEARNERS, Builder

    known = Builder((), {"concepts": POINTS, "k": getattr(learner, "k", 1)})
    assert known.build("learner", words(learner), LEARNERS) == learner


def test_the_theorems_choose_the_smallest_that_runs():
    only = ["KLN", "ParityLearner"]
    found = dp.ask(dp.Parities(20), 1, dp.Privacy(1.0, 1e-6), dp.Accuracy(0.2, 0.1), only=only)
    kln = next(one for one in found.entries if one.name == "KLN")
    assert kln.theorem < found.by_theorem.theorem and not kln.runs and "ParityLearner" in kln.not_measured
    assert found.by_theorem.name == "ParityLearner" and found.by_measurement is None
    sizes = [one.theorem for one in found.entries if one.theorem is not None]
    assert sizes == sorted(sizes) and found.below.n <= sizes[0]


def test_without_delta_only_pure_learners_compete():
    only = ["KLN", "StablePoints", "PointLearner"]
    found = dp.ask(POINTS, 1, dp.Privacy(1.0), dp.Accuracy(0.2, 0.1), only=only)
    assert found.entries and all(one.pure for one in found.entries)
    assert "delta" in found.refused["StablePoints"] and "delta" in found.refused["PointLearner"]
    approximate = dp.ask(POINTS, 1, dp.Privacy(1.0, 1e-6), dp.Accuracy(0.2, 0.1), only=only)
    assert not next(one for one in approximate.entries if one.name == "StablePoints").pure


def test_measured_sizes_are_compared_as_far_as_they_matter_and_a_store_resumes(tmp_path, monkeypatch):
    """Learners from outside: proved for 48 rows and right from 20 on; no theorem, right from 3 on; never right."""
    mine = {
        "late": Oracle(POINTS, rows=48, need=20),
        "early": Oracle(POINTS, rows=None, need=3),
        "never": Oracle(POINTS, rows=None, need=99),
    }
    lines: list[str] = []
    how = dp.Measure(trials=512, n_max=64, store=tmp_path)
    question = dict(learners=mine, only=["ParityLearner"], tasks=TASK, measure=how, tell=lines.append)
    found = dp.ask(POINTS, **question)
    late, early, never = found.entries
    assert found.by_theorem is late and found.by_measurement is early and found.as_good == ("early",)
    assert (late.star.n_low, late.star.n_high) == (19, 21) and (early.star.n_low, early.star.n_high) == (2, 3)
    assert "a theorem" in early.no_theorem and len(lines) == 3 and "ParityLearner" in found.refused
    assert never.star.n_high is None and never.star.n_low == never.star.most == 6 and str(never.star) == "> 6"

    def refuses(*args):
        raise AssertionError("computed again")

    monkeypatch.setattr("dpjax.experiments.run.engine.Engine.tiles", refuses)
    assert dp.ask(POINTS, **question) == found


def test_a_theorem_ends_a_bracket_unless_it_is_refuted():
    """512 trials tell nothing of a learner that is right in 9 of 10 trials; one is never right, whatever it proves."""
    mine = {"near": Oracle(POINTS, rows=12, right=0.9), "wrong": Oracle(POINTS, rows=12, need=99)}
    advice = dp.ask(POINTS, learners=mine, only=["KLN"], tasks=TASK, measure=dp.Measure(trials=512, n_max=64))
    near, wrong = (next(entry for entry in advice.entries if entry.name == name) for name in mine)
    assert near.star.ended == "theorem" and near.star.n_high == near.theorem == 12
    assert wrong.star.n_high is None and str(wrong.star) == "> 12"


def test_a_learner_from_outside_wins_by_its_theorem():
    found = dp.ask(POINTS, 1, dp.Privacy(1.0), learners={"mine": Oracle(POINTS)}, only=["KLN"])
    assert found.by_theorem.name == "mine" and found.by_theorem.theorem == 1


@pytest.mark.parametrize(("claim", "why"), [(-1.0, "without a guarantee"), (2.0, "a guarantee of")])
def test_learners_without_the_guarantee_do_not_compete(claim, why):
    found = dp.ask(POINTS, 1, dp.Privacy(1.0), learners={"mine": Oracle(POINTS, claim)}, only=["KLN"])
    assert [one.name for one in found.entries] == ["KLN"] and why in found.refused["mine"]


def test_code_that_raises_is_told_and_the_others_compete(monkeypatch):
    @dataclass(frozen=True)
    class Broken(Oracle):
        def _sample_size(self, privacy, accuracy):
            raise ZeroDivisionError("a fault")

    found = dp.ask(POINTS, 1, dp.Privacy(1.0), learners={"broken": Broken(POINTS)}, only=["KLN"])
    assert found.failed == ("broken",) and "a fault" in found.refused["broken"] and found.by_theorem.name == "KLN"
    assert "1 failed: broken: ZeroDivisionError: a fault" in str(found)


def test_the_tasks_of_a_class_are_found_by_annotations():
    line, tree = dp.Thresholds(dp.Domain(2**16)), trees.prefixes(2, 3)
    assert {*hard_tasks(line, 0.1)} == {"hard_thresholds", "low_thresholds", "gapped_thresholds"}
    assert {*hard_tasks(tree, 0.2)} == {"hard_elements", "hard_tree"}
    assert {*hard_tasks(dp.Conjunctions(40), 0.1)} == {"hard_literals"} and not hard_tasks(dp.Conjunctions(40), 0.3)
    assert {*hard_tasks(POINTS, 0.2)} == {"hard_points"} and not hard_tasks(dp.Parities(5), 0.2)
    assert workloads(dp.Parities(5), 0.2).caution is None, "it is learned from one distribution"
    few = dp.Thresholds(dp.Domain(2))
    assert [*workloads(few, 0.2).tasks] == ["uniform"] and "nothing says" in workloads(few, 0.2).caution


def test_a_class_from_outside_tells_its_own_tasks():
    class Mine(dp.Points):
        def hard(self, alpha):
            return {"two": (distributions.heavy(self.domain, 2, 0.4), [1])}

    assert {*hard_tasks(Mine(dp.Domain(64)), 0.2)} == {"two", "hard_points"}


@pytest.mark.parametrize("concepts", [dp.Conjunctions(6), dp.Disjunctions(6)])
def test_each_literal_of_the_hard_ones_decides(concepts):
    """Without one of the literals the error is above alpha, by a sum over the whole cube."""
    task = hard_tasks(concepts, 0.1)["hard_literals"]
    number = int(wide.unpack(np.asarray(task.targets[0])))
    places = [i for i in range(12) if number >> i & 1]
    less = jnp.asarray(wide.encode([number, *(number & ~(1 << i) for i in places)]))
    x = np.arange(64)
    labels = np.asarray(concepts.predict(Hypothesis.of(less), jnp.asarray(concepts.domain.encode(x))))
    ones = np.asarray(task.distribution.ones) / 2**32
    mass = np.prod(np.where(x[:, None] >> np.arange(6) & 1, ones, 1 - ones), axis=1)
    assert len(places) == 4 and np.all(mass @ (labels[:, 1:] != labels[:, :1]) > 0.1)


@pytest.mark.parametrize("concepts", [trees.prefixes(2, 9), dp.PointSets(dp.Domain(2**32), 2)])
def test_each_atom_of_the_hard_ones_decides(concepts):
    (task,) = (one for name, one in hard_tasks(concepts, 0.2).items() if name != "hard_tree")
    weights = wide.decode(task.distribution.weight)
    assert sum(weights > 0.2 * task.distribution.total) >= 4
    if isinstance(concepts, dp.PointSets):
        single = {int(one) for one in task.distribution.single()}
        assert {int(one) for row in np.asarray(task.targets) for one in wide.decode(row.reshape(-1, 2))} <= single


@pytest.mark.parametrize(
    "change",
    [
        dict(k=0),
        dict(only=["NoSuchLearner"]),
        dict(tasks={}),
        dict(learners=["NoSuchLearner"]),
        dict(privacy=1.0),
        dict(concepts=dp.Points),
    ],
)
def test_wrong_questions_are_refused(change):
    with pytest.raises(InputError):
        dp.ask(**{"concepts": POINTS, **change})


@pytest.mark.parametrize("change", [dict(within=0.5), dict(trials=3), dict(n_max=0), dict(seed=-1)])
def test_wrong_measures_are_refused(change):
    with pytest.raises(InputError, match=next(iter(change))):
        race.Measure(**change)
