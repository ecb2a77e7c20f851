"""Each check of a learner finds its planted fault; sound learners pass all of them."""

import sys
from functools import cache

import pytest

import dpjax as dp
from dpjax import testing
from dpjax.concepts import Finite
from dpjax.core.checks import InputError
from dpjax.dimensions import families
from dpjax.learners import SparseAggregate
from dpjax.lists import GloballyStable
from dpjax.templates.learner import Learner
from dpjax.testing import faces, identity, plans, privacy, runs, success
from dpjax.testing.findings import run_check
from dpjax.testing.suites import LEARNER_FIRST
from dpjax.testing.under_test import LearnerUnderTest
from tests.testing import faults as f


@cache
def subject(kind):
    return LearnerUnderTest(kind(f.CONCEPTS), quick=True)


FAULTS = [
    (f.ListField, faces.it_is_a_frozen_value, "weights"),
    (f.ByAddress, faces.it_is_a_frozen_value, "a copy that is equal"),
    (f.Thawed, faces.it_is_a_frozen_value, "not frozen"),
    (f.FarNeighbors, faces.hard_neighbors_are_neighbors, "5 rows"),
    (f.WidePlan, plans.leaves_of_plans_are_narrow, "float64"),
    (f.ProgramForEach, plans.a_sweep_of_epsilon_has_few_programs, "at most 4 structures"),
    (f.PlansTooMuch, plans.the_guarantee_is_within_the_budget, "at most the budget"),
    (f.OtherRelation, plans.the_guarantee_is_within_the_budget, "add-or-remove-one"),
    (f.SaysNothing, plans.the_guarantee_is_within_the_budget, "Privacy: none"),
    (f.Backwards, plans.sample_sizes_move_the_right_way, "fall with epsilon"),
    (f.UsesKeyTwice, runs.no_key_is_used_twice, "each key used once"),
    (f.DrawsOutside, runs.all_randomness_comes_from_laws, "draws from laws"),
    (f.KeyBlind, runs.the_answer_depends_on_the_key, "one answer"),
    (f.Flatters, faces.hypotheses_are_described_and_have_errors, "the mass of wrong predictions"),
    (f.ReadsPadding, runs.padding_does_not_matter, "when masked rows change: Trees 0 and 1 differ in leaves"),
    (f.ReadsCapacity, runs.capacity_batch_and_64_bit_types_do_not_matter, "another capacity"),
    (f.ReadsCapacity, runs.capacity_batch_and_64_bit_types_do_not_matter, "another one at"),
    (f.ByAddress, faces.an_equal_learner_is_the_same_program, "'_learn' is traced > 1 times"),
    (f.OtherDtype, plans.a_sweep_of_epsilon_has_few_programs, "'learn' is traced > 1 times"),
    (f.ChangingSilence, runs.every_database_and_budget_has_an_answer, "one fixed hypothesis"),
    (f.CallsHost, identity.it_has_a_name, "cache_token"),
    (f.RunsMore, privacy.no_guarantee_is_exceeded, "at most the claim"),
    (f.Optimist, success.it_succeeds_at_its_sample_size, "success with probability 0.9"),
]


@pytest.mark.parametrize(("kind", "check", "words"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_planted_fault_is_found(kind, check, words):
    found = run_check(check, subject(kind))
    assert found.verdict == "failed" and words in str(found), str(found)
    assert found.expected and found.given and found.advice


def test_one_answer_to_everything_needs_no_key():
    found = run_check(runs.the_answer_depends_on_the_key, subject(f.Constant))
    assert found.verdict == "skipped" and "the same answer" in found.given


@pytest.mark.slow
def test_an_answer_that_only_a_budget_in_between_leaves_open_depends_on_the_key():
    lists = GloballyStable(Finite.of(families.thresholds(3)))
    under = LearnerUnderTest(SparseAggregate(lists, 24), quick=True)
    assert run_check(runs.the_answer_depends_on_the_key, under).verdict == "passed"


def test_a_host_function_with_a_name_passes():
    assert run_check(identity.it_has_a_name, subject(f.CallsHostByName)).verdict == "passed"


def test_hash_seeds_are_told_apart():
    """In one pair of processes: a learner that iterates a set of strings has two programs, others have one."""
    learners = [f.FromSet(f.CONCEPTS), Learner(f.CONCEPTS), testing.Written("KLN", concepts="Thresholds(16)")]
    one, other = identity.in_fresh_processes([identity.packed(learner, 1, None) for learner in learners])
    assert [a == b for a, b in zip(one, other, strict=True)] == [False, True, True]
    assert one[0]["fields"] == other[0]["fields"] and one[0]["program"] != other[0]["program"]


def test_the_check_of_hash_seeds_reads_its_processes(monkeypatch):
    digests = [[{"fields": "a", "plan": "b", "program": program}] for program in ("c", "d")]
    monkeypatch.setattr(identity, "in_fresh_processes", lambda sent: digests)
    found = run_check(identity.hash_seeds_do_not_matter, subject(Learner))
    assert found.verdict == "failed" and "other program" in str(found) and "sorted" in str(found)


def test_what_a_fresh_process_cannot_be_given_is_skipped():
    local = type("Local", (Learner,), {"__module__": "nowhere"})
    found = run_check(identity.hash_seeds_do_not_matter, LearnerUnderTest(local(f.CONCEPTS)))
    assert found.verdict == "skipped" and "fresh process" in found.given


def test_what_a_notebook_defines_is_skipped_without_a_process(monkeypatch):
    local = type("Local", (Learner,), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Local", local, raising=False)
    monkeypatch.setattr(identity, "in_fresh_processes", None)
    found = run_check(identity.hash_seeds_do_not_matter, LearnerUnderTest(local(f.CONCEPTS)))
    assert found.verdict == "skipped" and "move it into a module" in found.given


def test_an_error_in_the_code_is_an_error_with_its_traceback():
    found = run_check(runs.every_database_and_budget_has_an_answer, subject(f.Raises))
    assert found.verdict == "error" and "a planner that stumbles" in found.given
    assert "faults.py" in found.trace and "runs.py" not in found.trace


def test_what_comes_after_a_fault_of_structure_is_skipped():
    findings = testing.check_learner(f.ListField(f.CONCEPTS), quick=True)
    assert [one.verdict for one in findings[:3]] == ["passed", "failed", "passed"]
    assert {one.verdict for one in findings[len(LEARNER_FIRST) :]} == {"skipped"}
    with pytest.raises(AssertionError, match="weights"):
        testing.assert_passed(findings)


def test_what_is_no_learner_is_refused():
    for wrong, words in ((Learner, "the class Learner"), (3, "inherits from dpjax"), (dp, "inherits from dpjax")):
        with pytest.raises(InputError, match=words):
            testing.check_learner(wrong)


@pytest.mark.parametrize(
    "learner",
    [
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (
                Learner(f.CONCEPTS),  # tests/templates checks it too
                dp.KLN(dp.Points(dp.Domain(2**40))),
                dp.Independent(dp.KLN(dp.Thresholds(dp.Domain(64))), 2, "zcdp"),
                dp.PointLearner(dp.Points(dp.Domain(2**40))),
                dp.ParityLearner(dp.Parities(40), 3, 20),
                dp.ConjunctionLearner(dp.Conjunctions(4), 2),
            )
        )
    ],
    ids=lambda one: type(one).__name__,
)
def test_sound_learners_pass_the_whole_suite(learner, monkeypatch):
    one = [{part: part for part in identity.PARTS}]
    monkeypatch.setattr(identity, "in_fresh_processes", lambda sent: [one, one])
    seen = []
    sized = dp.ParityLearner(learner.concepts) if isinstance(learner, dp.ParityLearner) else None
    findings = testing.check_learner(learner, quick=True, sized=sized, tell=lambda *step: seen.append(step))
    testing.assert_passed(findings)
    assert [step[1] for step in seen] == list(range(len(findings))) and {step[2] for step in seen} == {len(findings)}
    assert sum(one.verdict == "skipped" for one in findings) <= 2, "\n".join(map(str, findings))
