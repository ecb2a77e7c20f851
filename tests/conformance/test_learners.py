"""Every exported learner through `dpjax.testing`, and what only our own learners promise."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import wide
from dpjax.core.plans import widened
from dpjax.core.types import Accuracy, Privacy
from dpjax.learners import BitReduction, Boosted, HashedPoints, RepresentationLearner, SparseAggregate
from dpjax.testing import faces, plans, runs
from dpjax.testing.findings import name_of, run_check
from dpjax.testing.identity import PARTS, in_fresh_processes, packed
from dpjax.testing.samples import CAPACITY
from dpjax.testing.suites import LEARNER_FIRST, LEARNER_LONG, LEARNER_QUICK
from dpjax.testing.under_test import BATCH, LearnerUnderTest

ELSEWHERE = {
    "no_guarantee_is_exceeded",  # test_exact_audit.py: small worlds
    "it_succeeds_at_its_sample_size",  # test_utility.py: hard distributions
    "hash_seeds_do_not_matter",  # below: all learners in one pair of processes
    "plans_run_side_by_side",  # below: compiled for few
    "capacity_batch_and_64_bit_types_do_not_matter",  # below: compiled for few
}
RUNS = (  # compile the learner
    faces.hypotheses_are_described_and_have_errors,
    runs.the_answer_depends_on_the_key,
    runs.padding_does_not_matter,
    runs.every_database_and_budget_has_an_answer,
)
QUICK = [check for check in (*LEARNER_FIRST, *LEARNER_QUICK) if check.__name__ not in ELSEWHERE]


@cache
def under_test(case, random=0):
    return LearnerUnderTest(
        case.learner, case.k, sized=case.sized, programs=case.programs, least_spent=case.least_spent, random=random
    )


def passes(check, subject):
    found = run_check(check, subject)
    assert found.passed, str(found)


def test_every_exported_learner_has_an_instance(instances):
    exported, built, tiny = instances
    assert exported == built, "add an instance to tests/conformance/conftest.py"
    private = {kind for kind in exported if kind.__name__ != "ERM"}
    assert private == tiny, "add a world to dpjax/evidence/learners.py"


# --- the suite ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [check for check in QUICK if check not in RUNS], ids=name_of)
def test_the_suite(check, case):
    passes(check, under_test(case))


@pytest.mark.parametrize("check", RUNS, ids=name_of)
def test_the_suite_of_what_runs(check, runner):
    passes(check, under_test(runner))


@pytest.mark.slow
@pytest.mark.parametrize("check", LEARNER_LONG, ids=name_of)
def test_the_suite_where_it_is_long(check, case):
    passes(check, under_test(case))


def test_plans_run_side_by_side(simple):
    passes(plans.plans_run_side_by_side, under_test(simple))


def test_batch_capacity_and_64_bit_types_do_not_matter(twofold):
    passes(runs.capacity_batch_and_64_bit_types_do_not_matter, under_test(twofold))


def test_no_budget_is_exceeded_and_hardly_anything_is_left(simple):
    passes(plans.the_guarantee_is_within_the_budget, under_test(simple, random=6))


@pytest.mark.slow
def test_no_budget_is_exceeded_and_hardly_anything_is_left_long(case):
    """At 200 random budgets."""
    passes(plans.the_guarantee_is_within_the_budget, under_test(case, random=200))


@pytest.mark.slow
def test_hash_seeds_change_no_name_of_a_result(cases):
    """Of any learner, in two processes."""
    one, other = in_fresh_processes([packed(case.learner, case.k, None) for case in cases])
    for case, a, b in zip(cases, one, other, strict=True):
        assert a == b and set(a) == set(PARTS), case.name


# --- what only ours promise --------------------------------------------------------------------------------------


def test_hypotheses_are_concepts_or_the_zero_function(runner):
    case = runner
    found = under_test(case).learn(under_test(case).draw(realizable=False))
    concept, zero = np.asarray(found.concept), np.asarray(found.zero)
    if isinstance(case.learner, HashedPoints):  # a function and its bucket
        assert np.all(concept[..., 0] < case.learner.tries) and np.all(concept[..., 1] < 2**case.learner.bits)
    elif isinstance(case.learner, BitReduction | SparseAggregate) and hasattr(case.learner.concepts, "width"):
        # a label for each element
        assert concept.shape == (BATCH, case.k, max(3, case.learner.concepts.width))
        assert np.isin(concept, range(getattr(case.learner.concepts, "labels", 2))).all()
    elif isinstance(case.learner, RepresentationLearner) and not case.numbered:  # a function and its buckets
        tries, bits = case.learner.representation.sizes
        assert np.all(concept[..., 0] < tries) and np.all(concept[..., 1::2] < 2**bits)
    elif isinstance(case.learner, Boosted):  # the concepts that vote
        assert np.all(wide.decode(concept.reshape(-1, 2)) < case.learner.concepts.size)
    elif case.numbered:
        assert concept.shape == (BATCH, case.k, 2)
        assert all(int(v) < case.learner.concepts.size for v in wide.decode(concept)[~zero])
    else:
        assert concept.shape == (BATCH, *np.shape(case.learner.concepts.targets(case.k)))


def test_the_capacity_changes_no_law(case):
    """The probability of every answer, where the learner can say it."""
    if not hasattr(case.learner, "output_law"):
        return
    size = case.learner.concepts.size
    at = jnp.asarray(wide.encode(sorted({0, 1, size // 3, size // 3 + 1, size // 2, size - 2, size - 1})))

    @jax.jit
    def law(sample, plan):
        return jax.vmap(case.learner.output_law(sample, plan).log_prob)(at)

    subject = under_test(case)
    for epsilon in subject.budgets:
        with jax.enable_x64(True):
            plan = widened(subject.plan(epsilon))
            samples = [subject.draw(40, c, realizable=False) for c in (CAPACITY, 2 * CAPACITY)]
            found = [np.asarray(law(sample, plan)) for sample in samples]
        np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_with_a_huge_budget_clean_data_are_learned(runner):
    """epsilon = 1e4: what is returned agrees with the labels of (almost) all rows."""
    case = runner
    subject = under_test(case)
    sample = subject.draw(60)
    few = case.few  # so few records that some have not seen what matters, and delta for group privacy
    budget = Privacy(60.0, 0.5) if few else Privacy(1e4, 0.01)
    plan = case.learner.plan(budget, Accuracy(0.1, 0.5), 60)  # n is public, and a resample's plan depends on it
    found = subject.program(jax.random.split(jax.random.key(1), BATCH), sample, plan)
    predicted = jax.jit(jax.vmap(case.learner.predict, (0, None)))(found, sample.x)
    wrong = np.sum((np.asarray(predicted) != np.asarray(sample.y)) & np.asarray(sample.mask)[:, None], axis=1)
    assert (np.mean(wrong <= 1) > 0.2) if few else (wrong.max() <= 1)
