"""One instance, or a few, of every exported learner; the worlds of `dpjax.evidence` are their tiny ones."""

import inspect
from dataclasses import dataclass

import numpy as np
import pytest

import dpjax.baselines
import dpjax.learners
from dpjax import evidence
from dpjax.baselines import ERM
from dpjax.concepts import (
    Bitwise,
    Conjunctions,
    ConvexPolygons,
    Disjunctions,
    Domain,
    Finite,
    Multiclass,
    Parities,
    Points,
    PointSets,
    Spider,
    Thresholds,
    Unions,
)
from dpjax.concepts import tree_generators as trees
from dpjax.dimensions import families
from dpjax.evidence.learners import SmallImproper, SmallInterior
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
from dpjax.lists import GloballyStable, Irreducibility
from dpjax.mechanisms.cover import Pieces
from dpjax.mechanisms.cover.lines.rejection import Performance
from dpjax.sanitizers import MWEM, Hierarchy, PointCounts, RecursiveQuantiles

MATRIX = np.random.default_rng(11).random((24, 30)) < 0.5


@dataclass(frozen=True)
class Case:
    """A learner as it is used, and the number of concepts that it learns.

    theorem: the same learner with the planner's numbers, where this one has fewer than a theorem. numbered: whether
    its hypotheses are numbers of concepts. few: has so few records that some have not seen what matters. programs: of
    a sweep of epsilon over a factor of 16. least_spent: of epsilon, that the plan spends.
    """

    learner: object
    k: int = 1
    theorem: object = None
    programs: int = 1
    least_spent: float = 0.999
    numbered: bool = True

    @property
    def sized(self):
        """The learner whose sample size is asked for."""
        return self.theorem or self.learner

    @property
    def few(self):
        """Whether it has fewer records than its theorem."""
        return self.theorem is not None

    @property
    def name(self):
        inner = getattr(self.learner, "learner", None)
        composition = getattr(self.learner, "composition", None)
        parts = [type(self.learner).__name__, *(filter(None, [type(inner).__name__, composition]) if inner else [])]
        return "-".join(
            [*parts, type(self.learner.concepts).__name__, str(self.learner.concepts.size)[:12], str(self.k)]
        )


HUGE = Points(Domain(2**64))
RANDOM_TREE = trees.recursive(60, 5, 0.6)
LINE = Thresholds(Domain(2**64))
THREE, FOUR = (Finite.of(families.thresholds(points)) for points in (2, 3))
FEW, MANY = Thresholds(Domain(64)), Points(Domain(2**20))
LABELS = Multiclass.of(np.random.default_rng(12).integers(0, 6, (24, 10)))
ROUNDS = Finite.of(MATRIX[:6, :9])

# Huge domains, for everything that runs.
INSTANCES = {
    UnionLearner: [
        Case(
            UnionLearner(Unions(2**20, 3), rounds=3, family=Pieces(2**20, 4, 6)),
            1,
            UnionLearner(Unions(2**20, 3)),
            numbered=False,
        ),
        Case(UnionLearner(Unions(63, 1), rounds=2), 1, UnionLearner(Unions(63, 1)), numbered=False),
    ],
    ConjunctionLearner: [
        Case(ConjunctionLearner(Conjunctions(31), 2, 2), 1, ConjunctionLearner(Conjunctions(31), 1)),
        Case(
            ConjunctionLearner(Disjunctions(20), 2, 3, noisy=True),
            1,
            ConjunctionLearner(Disjunctions(20), 2, noisy=True),
        ),
    ],
    EmpiricalLearner: [
        Case(
            EmpiricalLearner(Independent(KLN(Points(Domain(2**32))), 2, "zcdp"), 512),
            2,
            EmpiricalLearner(Independent(KLN(Points(Domain(2**32))), 2, "zcdp")),
        )
    ],
    Boosted: [
        Case(Boosted(KLN(FEW), 0.4, 4, 30, 0.4), 1, Boosted(KLN(FEW))),
        Case(Boosted(KLN(Finite.of(MATRIX))), programs=8),
    ],
    Confident: [
        Case(Confident(KLN(FEW), ratio=0.2, blocks=2), 1, Confident(KLN(FEW))),  # each block has few of the rows
        Case(Confident(PointLearner(MANY), blocks=2), 1, Confident(PointLearner(MANY))),
    ],
    BitReduction: [
        Case(BitReduction(LABELS), numbered=False),
        Case(BitReduction(Bitwise(Points(Domain(2**16)), 2)), numbered=False),
    ],
    SparseAggregate: [
        Case(SparseAggregate(GloballyStable(THREE), 4), 1, SparseAggregate(GloballyStable(THREE)), numbered=False),
        Case(SparseAggregate(Irreducibility(FOUR, 1), 4), 1, SparseAggregate(Irreducibility(FOUR)), numbered=False),
        Case(SparseAggregate(Irreducibility(PointSets(Domain(2**40), 2)), 4), numbered=False),
    ],
    ERM: [Case(ERM(Points(Domain(2**40))), 2), Case(ERM(LINE))],
    GenericLearner: [
        Case(
            GenericLearner(HUGE, 3, PointCounts(HUGE.domain, 12, 8), "zcdp", 0.5),
            3,
            GenericLearner(HUGE, 3, PointCounts(HUGE.domain), "zcdp"),
        ),
        Case(
            GenericLearner(Thresholds(Domain(2**40)), 2, Hierarchy(40, levels=3)),
            2,
            GenericLearner(Thresholds(Domain(2**40)), 2, Hierarchy(40)),
        ),
        Case(
            GenericLearner(ROUNDS, 2, MWEM(ROUNDS.xor(), 8), "zcdp"),
            2,
            GenericLearner(ROUNDS, 2, MWEM(ROUNDS.xor()), "zcdp"),
        ),
        Case(
            GenericLearner(RANDOM_TREE, 2, RecursiveQuantiles(6, levels=3, ties=0), "joint"),
            2,
            GenericLearner(RANDOM_TREE, 2, RecursiveQuantiles(6, levels=8, ties=0), "joint"),
        ),
    ],
    HashedPoints: [
        Case(HashedPoints(HUGE, 3, 3, 6, "optimal"), 3, HashedPoints(HUGE, 3, composition="optimal")),
        Case(HashedPoints(Points(Domain(2**32)), 1, 9, 4), 1, HashedPoints(Points(Domain(2**32)), 1)),
    ],
    Independent: [
        Case(Independent(KLN(HUGE), 4, "optimal"), 4),
        Case(Independent(ThresholdMedian(Thresholds(Domain(2**40))), 3, "zcdp"), 3),
        Case(Independent(PointLearner(HUGE), 2, "optimal"), 2),
    ],
    KLN: [Case(KLN(HUGE)), Case(KLN(LINE)), Case(KLN(Finite.of(MATRIX)))],
    ImproperVC1: [
        Case(ImproperVC1(RANDOM_TREE, "exponential", 5), 1, ImproperVC1(RANDOM_TREE, "exponential")),
        Case(SmallImproper(LINE, "recprefix", 5), 1, ImproperVC1(LINE, "recprefix")),
        Case(ImproperVC1(Spider(3, 80), "majority"), 1),
    ],
    NearestParity: [Case(NearestParity(KLN(Parities(6))))],
    ParityLearner: [
        Case(ParityLearner(Parities(40), 3, 20), 2, ParityLearner(Parities(40))),
        Case(ParityLearner(Parities(64), 3, 13), 40, ParityLearner(Parities(64))),
    ],
    PointLearner: [Case(PointLearner(HUGE), 3)],
    StableNodes: [Case(StableNodes(RANDOM_TREE), 3)],
    StablePoints: [Case(StablePoints(HUGE), 3)],
    PolygonLearner: [
        Case(
            PolygonLearner(ConvexPolygons(2**20, 3), rounds=3, performance=Performance(16, 16)),
            1,
            PolygonLearner(ConvexPolygons(2**20, 3), k=3),
            numbered=False,
        )
    ],
    ProperVC1: [Case(ProperVC1(RANDOM_TREE, "exponential", 4, 0.05, 3, 0.6), 1, ProperVC1(RANDOM_TREE, "exponential"))],
    RepresentationLearner: [
        Case(
            RepresentationLearner(PointSetBuckets(PointSets(Domain(2**64), 2), 4, 6)),
            1,
            RepresentationLearner(PointSetBuckets(PointSets(Domain(2**64), 2)), "printed"),
            numbered=False,
        ),
        Case(
            RepresentationLearner(PointSetBuckets(PointSets(Domain(2**20), 1, 3), 4, 6)),
            1,
            RepresentationLearner(PointSetBuckets(PointSets(Domain(2**20), 1, 3))),
            numbered=False,
        ),
        Case(
            RepresentationLearner(PointBuckets(HUGE, 5, 6)),
            1,
            RepresentationLearner(PointBuckets(HUGE)),
            numbered=False,
        ),
        Case(RepresentationLearner(Whole(LINE))),
    ],
    ThresholdInterior: [
        Case(
            SmallInterior(Thresholds(Domain(2**20)), "recprefix", 16),
            1,
            ThresholdInterior(Thresholds(Domain(2**20)), "recprefix"),
        )
    ],
    ThresholdMedian: [Case(ThresholdMedian(LINE))],
}


# with very many programs or outcomes: up to a minute each
LONG_CASES = (
    PolygonLearner,
    UnionLearner,  # tests/learners/test_polygons.py and test_unions.py have the same in short
    EmpiricalLearner,
    ProperVC1,
    ThresholdInterior,
)
LONG = {
    "case": LONG_CASES,
    # programs with copies of that of a learner that is there; tests/learners has short tests of their runs
    "runner": (*LONG_CASES, Boosted, Confident, BitReduction, Independent),
    # whose runs are those of a learner that is there, or have a test of the same in tests/learners
    "twofold": (
        *LONG_CASES,
        Independent,
        Boosted,
        Confident,
        BitReduction,
        HashedPoints,
        StableNodes,
        StablePoints,
        ERM,
    ),
    # the program of a learner that is there, run on parts or copies of the rows
    "lowers": (
        PolygonLearner,
        ProperVC1,
        UnionLearner,
        Boosted,
        Confident,
        EmpiricalLearner,
        Independent,
        BitReduction,
    ),
    "simple": tuple(kind for kind in INSTANCES if kind is not KLN),
}
QUICK_WORLDS = (
    "conjunction",
    "empirical",
    "generic-blr",
    "hashed-basic",
    "interior-exponential",
    "kln-optimal",
    "kln-points",
    "kln-tree",
    "median-thresholds",
    "parity",
    "point",
    "vc1-exponential",
)
QUICK_TWINS = ("generic-blr", "kln-points", "median-thresholds")
QUICK_DRAWN = ("kln-points",)  # those of the others are drawn by the same samplers


def exported():
    """Every learner that dpjax.learners exports, and the baseline that goes through the same suite."""
    found = [*vars(dpjax.learners).values(), *vars(dpjax.baselines).values()]
    kinds = {part for part in found if inspect.isclass(part) and hasattr(part, "learn")}
    return kinds - {dpjax.learners.Learner}


def kinds_of(learner):
    """The exported kinds that a learner is made of."""
    inner = getattr(learner, "learner", None)
    own = {kind for kind in exported() if isinstance(learner, kind)}
    return own | (kinds_of(inner) if inner is not None else set())


def pytest_generate_tests(metafunc):
    """The first instance of each kind always; the others, which take most of the time, among the slow tests."""
    of_each_kind = {kind: group[:1] for kind, group in INSTANCES.items()}
    for argument, long in LONG.items():
        if argument in metafunc.fixturenames:
            table = of_each_kind if argument == "simple" else INSTANCES
            marked = [
                pytest.param(case, marks=pytest.mark.slow if i or kind in long else (), id=case.name)
                for kind, group in table.items()
                for i, case in enumerate(group)
            ]
            metafunc.parametrize(argument, marked)
    learners = evidence.learner_names()
    twins = [name for name in learners if evidence.learner_world(name).twin is not None]
    for argument, names, quick in (
        ("world", learners, QUICK_WORLDS),
        ("twin", twins, QUICK_TWINS),
        ("drawn", learners, QUICK_DRAWN),
    ):
        if argument in metafunc.fixturenames:
            metafunc.parametrize(
                argument, [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]
            )


@pytest.fixture(scope="session")
def instances():
    """(exported learners, those with an instance, those with a world)."""
    worlds = (evidence.learner_world(name) for name in evidence.learner_names())
    return exported(), set(INSTANCES), set().union(*(kinds_of(world.learner) for world in worlds))


@pytest.fixture(scope="session")
def cases():
    """Every instance."""
    return [case for group in INSTANCES.values() for case in group]
