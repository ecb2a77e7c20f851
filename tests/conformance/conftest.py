"""One instance, or a few, of every exported learner: the only place to touch when a learner is added."""

import inspect
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dpjax.learners
from dpjax.accounting.cover.table import cover_table
from dpjax.baselines import ERM
from dpjax.concepts import (
    Conjunctions,
    ConvexPolygons,
    Disjunctions,
    Domain,
    Finite,
    Parities,
    Points,
    Thresholds,
    Unions,
)
from dpjax.concepts import tree_generators as trees
from dpjax.core.types import Neighboring
from dpjax.evidence.medians import SMALL_RECPREFIX
from dpjax.learners import (
    KLN,
    ConjunctionLearner,
    EmpiricalLearner,
    GenericLearner,
    HashedPoints,
    ImproperVC1,
    Independent,
    ParityLearner,
    PointLearner,
    PolygonLearner,
    ProperVC1,
    ThresholdInterior,
    ThresholdMedian,
    UnionLearner,
)
from dpjax.learners.threshold_interior import domain_bits
from dpjax.learners.vc1_improper import depth_bits
from dpjax.mechanisms.median import plan_for
from dpjax.mechanisms.median.plan_recprefix import PrefixStep
from dpjax.sanitizers import BLR, MWEM, Hierarchy, PointCounts

MATRIX = np.random.default_rng(11).random((24, 30)) < 0.5
TINY = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


@dataclass(frozen=True)
class Case:
    """A learner as it is used, and the number of concepts that it learns."""

    learner: object
    k: int = 1
    theorem: object = None

    @property
    def sized(self):
        """The learner whose sample size is asked for: the same unless the theorem wants other static numbers."""
        return self.theorem or self.learner

    @property
    def name(self):
        inner = getattr(self.learner, "learner", None)
        composition = getattr(self.learner, "composition", None)
        parts = [type(self.learner).__name__, *(filter(None, [type(inner).__name__, composition]) if inner else [])]
        return "-".join([*parts, type(self.learner.concepts).__name__, str(self.learner.concepts.size), str(self.k)])


def improper(concepts, t, method="exponential"):
    return ImproperVC1(concepts, t, plan_for(method, depth_bits(concepts), 0.5, 5e-7, 0.1))


def prefix_plan(bits):
    """RecPrefix on a handful of depths."""
    return replace(SMALL_RECPREFIX, bits=bits, steps=(PrefixStep(bits, 0.25, 0.25, 1.0, 1, 1, 1),), base_size=bits + 1)


def interior(size, records):
    concepts = Thresholds(Domain(size))
    return ThresholdInterior(concepts, records, plan_for("exponential", domain_bits(concepts), 0.5, 0.0, 0.1))


def hashed(size, *structure):
    return HashedPoints(Points(Domain(size)), *structure)


COUNTED = GenericLearner(Points(Domain(2**64)), 3, PointCounts(Domain(2**64), 12, 8), "optimal")
FINE = GenericLearner(Points(Domain(2**64)), 3, PointCounts.planned(Domain(2**64), 0.05 / 8), "optimal")
SPLIT = GenericLearner(Thresholds(Domain(2**40)), 2, Hierarchy(3, 40))
DEEP = GenericLearner(Thresholds(Domain(2**40)), 2, Hierarchy(10, 40))
ROUNDS = GenericLearner(Finite.of(MATRIX[:6, :9]), 2, MWEM(Finite.of(MATRIX[:6, :9]).xor(), 8), "zcdp")
MANY_ROUNDS = GenericLearner(ROUNDS.concepts, 2, MWEM(ROUNDS.sanitizer.queries, 65536), "zcdp")
RANDOM_TREE = trees.recursive(60, 5, 0.6)


def cover(rounds, k, noisy=False):
    return cover_table(rounds, k, Neighboring.REPLACE_ONE, 1e-6, (0.5, 1.0, 4.0), noisy)


# Huge domains, for everything that runs.
INSTANCES = {
    UnionLearner: [
        Case(UnionLearner(Unions(2**20, 3), cover(3, 3), 4, 6), 1, UnionLearner(Unions(2**20, 3), cover(20, 3))),
    ],
    ConjunctionLearner: [
        Case(ConjunctionLearner(Conjunctions(31), cover(3, 2)), 1, ConjunctionLearner(Conjunctions(31), cover(9, 2))),
        Case(
            ConjunctionLearner(Disjunctions(20), cover(3, 2, noisy=True)),
            1,
            ConjunctionLearner(Disjunctions(20), cover(9, 2, noisy=True)),
        ),
    ],
    EmpiricalLearner: [
        Case(
            EmpiricalLearner(Independent(KLN(Points(Domain(2**32))), 2, "zcdp"), 512),
            2,
            EmpiricalLearner(Independent(KLN(Points(Domain(2**32))), 2, "zcdp"), 4096),
        ),
    ],
    ERM: [Case(ERM(Points(Domain(2**40))), 2), Case(ERM(Thresholds(Domain(2**64))))],
    GenericLearner: [Case(COUNTED, 3, FINE), Case(SPLIT, 2, DEEP), Case(ROUNDS, 2, MANY_ROUNDS)],
    HashedPoints: [
        Case(hashed(2**64, 3, 3, 6, "optimal"), 3, hashed(2**64, 3, 10, 7, "optimal")),
        Case(hashed(2**32, 1, 9, 4), 1, hashed(2**32, 1, 8, 7)),
    ],
    Independent: [
        Case(Independent(KLN(Points(Domain(2**64))), 4, "optimal"), 4),
        Case(Independent(ThresholdMedian(Thresholds(Domain(2**40))), 3, "zcdp"), 3),
    ],
    KLN: [Case(KLN(Points(Domain(2**64)))), Case(KLN(Thresholds(Domain(2**64)))), Case(KLN(Finite.of(MATRIX)))],
    ImproperVC1: [
        Case(improper(RANDOM_TREE, 5), 1, improper(RANDOM_TREE, 4096)),
        Case(ImproperVC1(Thresholds(Domain(2**64)), 5, prefix_plan(64)), 1, improper(Thresholds(Domain(2**64)), 4096)),
    ],
    ParityLearner: [
        Case(ParityLearner(Parities(40), 3, 20), 2, ParityLearner(Parities(40), 400, 50)),
        Case(ParityLearner(Parities(64), 3, 13), 40, ParityLearner(Parities(64), 400, 70)),
    ],
    PointLearner: [Case(PointLearner(Points(Domain(2**64))), 3)],
    PolygonLearner: [
        Case(
            PolygonLearner(ConvexPolygons(2**20, 3), cover(3, 3), slabs=16, bins=16),
            1,
            PolygonLearner(ConvexPolygons(2**20, 3), cover(20, 3)),
        ),
    ],
    ProperVC1: [
        Case(ProperVC1(improper(RANDOM_TREE, 4), 0.05, 3, 0.6), 1, ProperVC1(improper(RANDOM_TREE, 4096), 0.004, 5)),
    ],
    ThresholdInterior: [
        Case(ThresholdInterior(Thresholds(Domain(2**20)), 16, prefix_plan(20)), 1, interior(2**20, 4096)),
    ],
    ThresholdMedian: [Case(ThresholdMedian(Thresholds(Domain(2**64))))],
}

# Domains of two or three elements, for the exact audit of every database.
TINY_INSTANCES = {
    UnionLearner: [Case(UnionLearner(Unions(1, 1), cover(1, 1), 3, 2))],
    ConjunctionLearner: [
        Case(ConjunctionLearner(Conjunctions(1), cover(2, 2))),
        Case(ConjunctionLearner(Disjunctions(1), cover(1, 1))),
    ],
    EmpiricalLearner: [Case(EmpiricalLearner(KLN(Points(Domain(3))), 2))],
    GenericLearner: [
        Case(GenericLearner(Finite.of(TINY), 1, BLR(Finite.of(TINY).xor(), 2))),
        Case(GenericLearner(Points(Domain(3)), 1, PointCounts(Domain(3), 1, 1))),
        Case(GenericLearner(Thresholds(Domain(3)), 2, BLR(Finite.of(np.tri(3)), 1)), 2),
    ],
    HashedPoints: [Case(HashedPoints(Points(Domain(3)), 1, 2, 1)), Case(HashedPoints(Points(Domain(2)), 2, 1, 1), 2)],
    Independent: [
        Case(Independent(KLN(Thresholds(Domain(2))), 2, "basic"), 2),
        Case(Independent(KLN(Points(Domain(2))), 2, "optimal"), 2),
        Case(Independent(KLN(Thresholds(Domain(2))), 2, "advanced"), 2),
        Case(Independent(ThresholdMedian(Thresholds(Domain(2))), 2, "zcdp"), 2),
    ],
    KLN: [Case(KLN(Points(Domain(3)))), Case(KLN(Thresholds(Domain(3)))), Case(KLN(Finite.of(TINY)))],
    ImproperVC1: [
        Case(improper(Thresholds(Domain(3)), 1)),
        Case(improper(Thresholds(Domain(3)), 2)),
        Case(improper(trees.complete(2, 1, 1.0), 2)),
    ],
    ParityLearner: [Case(ParityLearner(Parities(2), 3, 1)), Case(ParityLearner(Parities(1), 2, 2), 2)],
    PointLearner: [Case(PointLearner(Points(Domain(3)))), Case(PointLearner(Points(Domain(2))), 2)],
    ProperVC1: [Case(ProperVC1(improper(trees.complete(2, 2, 1.0), 12), 0.1, 1))],
    ThresholdInterior: [Case(interior(3, 2))],
    ThresholdMedian: [Case(ThresholdMedian(Thresholds(Domain(3))))],
}


LONG = {  # without jit, or with very many outcomes: up to a minute each
    ("tiny", ProperVC1),
    ("tiny", PointLearner),
    ("tiny", UnionLearner),
    ("case", PolygonLearner),  # tests/learners/test_polygons.py and test_unions.py have the same in short
    ("case", UnionLearner),
    *(("case", kind) for kind in (EmpiricalLearner, ProperVC1, ThresholdInterior)),
    *(("twin", kind) for kind in TINY_INSTANCES if kind not in (KLN, GenericLearner, HashedPoints, ThresholdMedian)),
    *(("drawn", kind) for kind in TINY_INSTANCES if kind not in (KLN, GenericLearner, ThresholdMedian)),
    *(("simple", kind) for kind in INSTANCES if kind is not ERM),
}


def exported():
    """Every learner that dpjax.learners exports."""
    found = vars(dpjax.learners).values()
    kinds = {part for part in found if inspect.isclass(part) and hasattr(part, "learn")}
    return kinds - {dpjax.learners.Learner}


def pytest_generate_tests(metafunc):
    """The first instance of each kind always; the others, which take most of the time, among the slow tests."""
    of_each_kind = {kind: group[:1] for kind, group in INSTANCES.items()}
    for argument, table in (
        ("case", INSTANCES),
        ("first", of_each_kind),
        ("simple", of_each_kind),
        ("tiny", TINY_INSTANCES),
        ("twin", TINY_INSTANCES),
        ("drawn", TINY_INSTANCES),
    ):
        if argument in metafunc.fixturenames:
            marked = [
                pytest.param(case, marks=pytest.mark.slow if i or (argument, kind) in LONG else (), id=case.name)
                for kind, group in table.items()
                for i, case in enumerate(group)
            ]
            metafunc.parametrize(argument, marked)


@pytest.fixture(scope="session")
def instances():
    """(exported learners, those with an instance, those with a tiny instance)."""
    return exported(), set(INSTANCES), set(TINY_INSTANCES)
