"""Every learner at its own sample size, on the laws on which a wrong one shows: see `tests.hostile`."""

import inspect

import jax
import numpy as np
import pytest

import dpjax.baselines
import dpjax.learners
from dpjax.baselines import ERM
from dpjax.concepts import (
    Conjunctions,
    ConvexPolygons,
    Disjunctions,
    Domain,
    Finite,
    Multiclass,
    Parities,
    Points,
    PointSets,
    Thresholds,
)
from dpjax.concepts import tree_generators as trees
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions import families
from dpjax.experiments.sweep.task import Task
from dpjax.learners import (
    KLN,
    BitReduction,
    Boosted,
    Confident,
    ConjunctionLearner,
    EmpiricalLearner,
    GenericLearner,
    HashedPoints,
    ImproperVC1,
    Independent,
    NearestParity,
    ParityLearner,
    PointLearner,
    PolygonLearner,
    ProperVC1,
    RepresentationLearner,
    SparseAggregate,
    StableNodes,
    StablePoints,
    ThresholdInterior,
    ThresholdMedian,
    UnionLearner,
)
from dpjax.learners.representations import PointBuckets, PointSetBuckets, Whole
from dpjax.lists import GloballyStable
from dpjax.sanitizers import BLR, Hierarchy, PointCounts, RankBlocks, RecursiveQuantiles
from tests.hostile import tasks
from tests.trials import successes

LINE, PLACES, SETS = Thresholds(Domain(2**20)), Points(Domain(2**20)), PointSets(Domain(2**20), 2)
SHORT, TINY = Thresholds(Domain(32)), Points(Domain(2))
EYE, CONSTANTS, ONE = Finite.of(np.eye(9, 40, 1, dtype=bool)), Finite.of([[0, 0, 0], [1, 1, 1]]), Finite.of([[0, 1]])
FEW = Finite.of(families.thresholds(3))
LABELS = Multiclass.of(EYE.matrix() * (1 + np.arange(9) % 3)[:, None])
PATH, PREFIXES, STAR = trees.caterpillar(60, 2, 0.5), trees.prefixes(5), trees.star(50)
TRIALS = 256

# learner, number of concepts, epsilon, alpha; delta = 1e-4 and beta = 0.1
QUICK = [
    (KLN(LINE), 1, 8.0, 0.1),
    (StablePoints(PLACES), 3, 4.0, 0.1),
    (ParityLearner(Parities(10)), 3, 8.0, 0.1),
    (ERM(PLACES), 3, 1.0, 0.1),
]
LONG = [
    (NearestParity(Independent(KLN(Parities(6)), 3)), 3, 8.0, 0.1),
    (KLN(CONSTANTS), 1, 1.0, 0.1),
    (KLN(ONE), 1, 1.0, 0.1),
    (ThresholdMedian(LINE), 1, 8.0, 0.1),
    (GenericLearner(PLACES, 3, PointCounts(PLACES.domain), "zcdp"), 3, 8.0, 0.2),
    (EmpiricalLearner(KLN(LINE)), 1, 8.0, 0.3),
    (ConjunctionLearner(Conjunctions(10), 2), 1, 16.0, 0.2),
    (KLN(PLACES), 1, 8.0, 0.1),
    (ThresholdInterior(LINE, "exponential"), 1, 8.0, 0.1),
    (ImproperVC1(LINE, "exponential"), 1, 8.0, 0.1),
    (HashedPoints(PLACES, 3, composition="optimal"), 3, 8.0, 0.2),
    (RepresentationLearner(PointBuckets(PLACES)), 1, 8.0, 0.1),
    (BitReduction(LABELS), 1, 8.0, 0.1),
    (ERM(LINE), 1, 1.0, 0.1),
    (KLN(TINY), 1, 1.0, 0.1),
    (KLN(EYE), 1, 4.0, 0.1),
    (KLN(PATH), 1, 8.0, 0.1),
    (KLN(PLACES), 1, 0.5, 0.1),
    (KLN(LINE), 1, 0.1, 0.3),
    *((ThresholdInterior(LINE, method), 1, 16.0, 0.2) for method in ("recprefix", "treelog")),
    *((ImproperVC1(LINE, method), 1, 16.0, 0.2) for method in ("recprefix", "treelog")),
    (ImproperVC1(LINE, "exponential", "fewest"), 1, 16.0, 0.2),
    *((ImproperVC1(tree, "exponential"), 1, 8.0, 0.1) for tree in (PATH, STAR)),
    *((ProperVC1(tree), 1, 16.0, 0.3) for tree in (PREFIXES, PATH)),
    (PointLearner(PLACES), 3, 16.0, 0.2),
    (StableNodes(PATH), 3, 16.0, 0.3),
    (RepresentationLearner(PointSetBuckets(SETS)), 1, 8.0, 0.1),
    (RepresentationLearner(Whole(LINE)), 1, 8.0, 0.1),
    (RepresentationLearner(PointBuckets(PLACES), "printed"), 1, 16.0, 0.2),
    (Independent(KLN(LINE), 3, "optimal"), 3, 16.0, 0.2),
    (Independent(KLN(PLACES), 3, "zcdp"), 3, 8.0, 0.2),
    (Independent(PointLearner(PLACES), 2, "optimal"), 2, 64.0, 0.3),
    (EmpiricalLearner(KLN(LINE), 600), 1, 16.0, 0.2),
    (EmpiricalLearner(ThresholdMedian(LINE)), 1, 8.0, 0.3),
    (Boosted(KLN(SHORT)), 1, 8.0, 0.3),
    (Confident(KLN(LINE)), 1, 64.0, 0.3),
    (GenericLearner(LINE, 2, Hierarchy(20)), 2, 16.0, 0.2),
    (GenericLearner(LINE, 2, RankBlocks(20)), 2, 64.0, 0.3),
    (GenericLearner(LINE, 2, RecursiveQuantiles(20), "joint"), 2, 16.0, 0.2),
    (GenericLearner(LINE, 2, RecursiveQuantiles(20, ties=0), "joint"), 2, 16.0, 0.2),
    (GenericLearner(FEW, 2, BLR(FEW.xor())), 2, 64.0, 0.3),
    (SparseAggregate(GloballyStable(Finite.of([[0, 0], [0, 1], [1, 1]]))), 1, 64.0, 0.4),
    (ConjunctionLearner(Disjunctions(10), 2, noisy=True), 1, 16.0, 0.2),
    (PolygonLearner(ConvexPolygons(255, 1), k=1), 1, 16.0, 0.2),
    (PolygonLearner(ConvexPolygons(255, 3), k=3), 1, 64.0, 0.3),
    (ERM(EYE), 1, 1.0, 0.1),
]
AGNOSTIC = [
    (KLN(LINE), 1, 8.0, 0.3),
    (KLN(PLACES), 1, 8.0, 0.3),
    (KLN(CONSTANTS), 1, 1.0, 0.2),
    (Independent(KLN(LINE), 2, "optimal"), 2, 16.0, 0.3),
    (GenericLearner(PLACES, 2, PointCounts(PLACES.domain)), 2, 16.0, 0.3),
    (GenericLearner(LINE, 2, Hierarchy(20)), 2, 16.0, 0.3),
]
NOT_RUN = {UnionLearner}
"""Its trials take long: tests/learners/test_unions.py has some, and docs/gallery/union-edges.md more."""


def name(row):
    inner = getattr(row[0], "learner", getattr(row[0], "sanitizer", None))
    parts = type(row[0]), *([type(inner)] if inner is not None else []), type(row[0].concepts)
    return "-".join([*(part.__name__ for part in parts), *map(str, row[1:])])


def laws(row, first=False):
    """The laws by name; ``first``: those that share the program of the first one."""
    found = tasks(row[0].concepts, row[3])
    shape = lambda task: [leaf.shape for leaf in jax.tree.leaves(task)]  # noqa: E731
    one = shape(next(iter(found.values())))
    return {law: task for law, task in found.items() if not first or shape(task) == one}


def failures_are_rare(row, stats, found, size="sample_size"):
    learner, k, epsilon, alpha = row
    privacy, accuracy = Privacy(epsilon, 1e-4), Accuracy(alpha, 0.1)
    n = getattr(learner, size)(privacy, accuracy)
    plan = learner.plan(privacy, accuracy, n)
    for task in found.values():
        stats.mostly(successes(learner, task, n, plan, alpha, TRIALS, k=k), TRIALS, 0.1)


@pytest.mark.statistical
@pytest.mark.parametrize("row", QUICK, ids=name)
def test_success_at_the_sample_size(row, stats):
    failures_are_rare(row, stats, laws(row, first=True))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("row", [*QUICK, *LONG], ids=name)
def test_success_at_the_sample_size_on_all_laws(row, stats):
    failures_are_rare(row, stats, laws(row))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("row", AGNOSTIC, ids=name)
def test_success_at_the_agnostic_sample_size(row, stats):
    """A quarter of the labels is flipped, so that the best concept errs as often; the excess is what counts."""
    noisy = {law: Task(task.concepts, task.distribution, task.targets, noise=0.25) for law, task in laws(row).items()}
    failures_are_rare(row, stats, noisy, "agnostic_sample_size")


def test_every_exported_learner_is_here():
    parts = [*vars(dpjax.learners).values(), *vars(dpjax.baselines).values()]
    exported = {part for part in parts if inspect.isclass(part) and hasattr(part, "learn")} - {dpjax.learners.Learner}
    assert exported == {type(row[0]) for row in [*QUICK, *LONG]} | NOT_RUN
