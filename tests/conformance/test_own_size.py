"""A plan for the theorem's own number of rows runs, or is refused where it is made, with the limit."""

import jax
import numpy as np
import pytest

import dpjax as dp
from dpjax import evidence
from dpjax.concepts import tree_generators as trees
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.plans import same_plan
from dpjax.core.types import Accuracy, Privacy, Sample
from dpjax.learners import KLN, EmpiricalLearner, GenericLearner, ProperVC1, ThresholdMedian
from dpjax.learners.representations import LearnerRuns
from dpjax.sanitizers import BLR, MWEM, JointQuantiles, RecursiveQuantiles

EASY, TIGHT = (Privacy(1.0, 1e-6), Accuracy(0.1, 0.1)), (Privacy(0.02, 1e-9), Accuracy(0.02, 0.05))
GRID = dp.Finite.of(np.tri(6, 9, -1, dtype=int))


def refusal(learner, k, privacy, accuracy):
    """None if the plan for the own sample size can be traced; else why it was refused before."""
    try:
        n = learner.sample_size(privacy, accuracy)
        plan = learner.plan(privacy, accuracy, n)
    except InputError as error:
        return str(error)
    columns, limbs = k * learner.concepts.columns, learner.concepts.domain.limbs
    shapes = ((n, limbs), np.uint32), ((n, columns), bool), ((n,), bool)
    sample = Sample(*(jax.ShapeDtypeStruct(*one) for one in shapes))
    jax.eval_shape(learner.learn, jax.eval_shape(lambda: jax.random.key(0)), sample, plan)
    return None


@pytest.mark.parametrize("goal", [EASY, pytest.param(TIGHT, marks=pytest.mark.slow)], ids=["easy", "tight"])
def test_a_plan_at_its_own_size_runs_or_is_refused(case, goal):
    why = refusal(case.sized, case.k, *goal)
    assert why is None or "at most" in why or goal is TIGHT


@pytest.mark.slow
@pytest.mark.parametrize("goal", [EASY, TIGHT], ids=["easy", "tight"])
@pytest.mark.parametrize("name", evidence.learner_names())
def test_so_are_the_configurations_of_audits(name, goal):
    world = evidence.learner_world(name)
    refusal(world.learner, world.k, *goal)  # does not raise anything else


def test_rows_that_are_not_counted_exactly_are_refused_where_they_are_planned():
    """They were planned, and refused when they ran: 12 million rows for a limit of 8 million."""
    learner = GenericLearner(GRID, 2, MWEM(GRID.xor()))
    privacy, accuracy = Privacy(0.5, 1e-6), Accuracy(0.1, 0.1)
    with pytest.raises(NoTheoremError, match=r"n: expected at most 8388607 rows.*MWEM.*got \d{8}"):
        learner.sample_size(Privacy(0.05, 1e-6), accuracy)
    with pytest.raises(InputError, match=r"at most 8388607 rows.*GenericLearner"):
        learner.plan(privacy, accuracy, 2**23)
    assert learner.plan(privacy, accuracy, 2**23 - 1) is not None
    points = dp.Points(dp.Domain(2**20))
    counts = GenericLearner(points, 1, dp.sanitizers.PointCounts(points.domain))
    with pytest.raises(NoTheoremError, match="at most 16777216 rows"):
        counts.sample_size(Privacy(1e-6, 1e-6), accuracy)
    with pytest.raises(InputError, match=r"at most 67108864 rows.*Boosted"):
        dp.Boosted(KLN(GRID)).plan(privacy, Accuracy(0.3, 0.1), 2**26 + 1)
    with pytest.raises(InputError, match=r"at most 67108864 rows.*UnionLearner"):
        dp.UnionLearner(dp.Unions(64, 2), family=dp.mechanisms.cover.Pieces(64)).plan(*EASY, 2**26 + 1)
    with pytest.raises(InputError, match=r"at most 2147483647 rows.*KLN"):
        KLN(GRID).plan(privacy, accuracy, 2**31)
    with pytest.raises(NoTheoremError, match=r"at most .* rows.*BLR"):
        BLR(dp.Finite.of([[0, 1]])).sample_size(Privacy(1e-4), Accuracy(0.05, 0.1))
    runs = dp.RepresentationLearner(LearnerRuns(KLN(dp.Finite.of([[0, 1], [1, 1]])), 1.0, 12, 0.25, 1000))
    with pytest.raises(InputError, match=r"at most 134217 rows.*RepresentationLearner"):
        runs.plan(Privacy(1.0), Accuracy(0.4, 0.3), 134_218)


def test_theorems_of_more_rows_than_a_sample_has_are_still_computed():
    assert KLN(GRID).sample_size(Privacy(1e-9), Accuracy(0.01, 0.1)) > 2**32


# --- the plan from the theorem's rows on is the one that the theorem is about -----------------------------------------


@pytest.mark.parametrize(
    "learner",
    [
        EmpiricalLearner(KLN(dp.Thresholds(dp.Domain(32)))),
        EmpiricalLearner(ThresholdMedian(dp.Thresholds(dp.Domain(32))), 900),
    ],
)
def test_an_empirical_learner_runs_at_the_halves_of_its_proof(learner):
    privacy, accuracy = Privacy(8.0), Accuracy(0.3, 0.1)
    n = learner.sample_size(privacy, accuracy)
    halves = learner.plan(privacy, Accuracy(0.15, 0.05), n)
    plan = learner.plan(privacy, accuracy, n)
    assert same_plan(plan, halves)
    assert learner.guarantee(plan).epsilon <= 8
    fewer = learner.plan(privacy, accuracy, n - 1)  # for the error on the rows
    assert fewer.draws < plan.draws or not same_plan(fewer.one, plan.one)


def test_boosting_draws_what_its_theorem_draws():
    """A weak learner that is not proper generalizes by compression to the rows that were drawn."""
    learner = dp.Boosted(dp.HashedPoints(dp.Points(dp.Domain(64)), 1, 20, 7))
    privacy, accuracy = Privacy(8.0, 1e-6), Accuracy(0.3, 0.1)
    n, theorem = learner.sample_size(privacy, accuracy), learner.plan(privacy, accuracy)
    for rows in (n, n + 1, 3 * n):
        assert learner.plan(privacy, accuracy, rows).draws == theorem.draws


def test_boosting_has_no_theorem_for_a_learner_of_uniform_examples():
    weak = dp.ParityLearner(dp.Parities(5))
    with pytest.raises(NoTheoremError, match=r"ParityLearner, for uniform examples"):
        dp.Boosted(weak).sample_size(Privacy(8.0, 1e-6), Accuracy(0.3, 0.1))
    assert dp.Confident(weak).assumes == dp.Independent(weak, 2).assumes == "uniform examples"
    assert dp.Confident(weak).sample_size(Privacy(8.0, 1e-6), Accuracy(0.3, 0.1)) > 0


@pytest.mark.parametrize("alpha", [0.3, 1e-3, 2e-6])
def test_both_parts_of_a_proper_learner_have_their_rows(alpha):
    """`learn` cuts the rows by a float32 product, which is off by several rows beyond 2^24."""
    learner = ProperVC1(trees.prefixes(3), "exponential")
    privacy, accuracy = Privacy(1.0, 1e-6), Accuracy(alpha, 0.1)
    n, (own, other) = learner.sample_size(privacy, accuracy), learner.parts(privacy, accuracy)
    first = learner.plan(privacy, accuracy).first
    for rows in (n, n + 1, n + 7, 2 * n):
        cut = int(np.float32(rows) * np.float32(first))
        assert cut >= own and rows - cut >= other


def test_ties_that_do_not_number_all_rows_have_no_theorem():
    """With few bits the error can be the frequency of a value (tests/sanitizers/test_use.py, test_joint.py)."""
    for kind in (RecursiveQuantiles, JointQuantiles):
        sanitizer = kind(16)
        n = sanitizer.sample_size(*EASY)
        assert 2 ** sanitizer.plan(*EASY).ties >= n
        with pytest.raises(NoTheoremError, match="ties: expected"):
            kind(16, ties=0).sample_size(*EASY)


def test_the_erm_of_several_thresholds_needs_more_rows():
    concepts = dp.Thresholds(dp.Domain(64))
    task = dp.Task(concepts, dp.uniform(concepts.domain))
    one, three = (line.theorem() for line in dp.Study(task, {"erm": dp.baselines.ERM(concepts)}, k=[1, 3]).curves)
    assert one == 29 and three == dp.baselines.ERM(concepts).sample_size(Privacy(1.0), Accuracy(0.1, 0.1 / 3)) > one
