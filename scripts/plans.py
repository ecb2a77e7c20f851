"""Writes plans.md: what plans spend of a budget, and how many programs a sweep of epsilon compiles.

Run: python scripts/plans.py [--trials BUDGETS] [--out FOLDER]
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from pages import options, table, write_page

from dpjax.accounting.splits import COMPOSITIONS
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.config.builder import CONCEPTS, LEARNERS, Builder
from dpjax.learners.columns import for_concepts

EPSILONS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0)
ACCURACY = Accuracy(0.1, 0.1)
K = 8
POINTS, THRESHOLDS, CUBE = "Points(2**10)", "Thresholds(2**10)", "Conjunctions(10)"
_OF_MEDIANS = ("exponential", "recprefix", "treelog", "auto")
CASES: dict[str, tuple[str, int]] = {
    **{f"Independent(KLN, composition={how})": (POINTS, K) for how in COMPOSITIONS},
    **{f"Independent(ThresholdMedian, composition={how})": (THRESHOLDS, K) for how in COMPOSITIONS},
    **{f"GenericLearner(Hierarchy(bits=10), composition={how})": (THRESHOLDS, K) for how in COMPOSITIONS},
    **{f"HashedPoints(composition={how})": (POINTS, K) for how in COMPOSITIONS},
    **{f"ImproperVC1(method={how})": (THRESHOLDS, 1) for how in (*_OF_MEDIANS, "rsc")},
    **{f"ThresholdInterior(method={how})": (THRESHOLDS, 1) for how in _OF_MEDIANS},
    "KLN": (POINTS, 1),
    "ThresholdMedian": (THRESHOLDS, 1),
    "PointLearner": (POINTS, K),
    "StablePoints": (POINTS, K),
    "StableNodes": ("caterpillar(256, 3, 0.5)", K),
    "ERM": (POINTS, K),
    "ProperVC1": ("caterpillar(256, 3, 0.5)", 1),
    "EmpiricalLearner(KLN)": (POINTS, K),
    "ParityLearner": ("Parities(10)", K),
    "NearestParity(KLN)": ("Parities(10)", K),
    "ConjunctionLearner(literals=3)": (CUBE, 1),
    "RepresentationLearner(PointBuckets)": (POINTS, 1),
    "RepresentationLearner(Whole)": (THRESHOLDS, 1),
    "RepresentationLearner(PointSetBuckets)": ("PointSets(2**10, 2)", 1),
    "Boosted(KLN)": ("Thresholds(32)", 1),
    "Confident(KLN)": (THRESHOLDS, 1),
    "BitReduction": ("Multiclass.of(one_bit_gap(15))", 1),
    "SparseAggregate(GloballyStable)": ("Finite.of(thresholds(6))", 1),
    "SparseAggregate(Irreducibility)": ("Finite.of(thresholds(6))", 1),
    "PolygonLearner": ("ConvexPolygons(31)", 1),
    "UnionLearner": ("Unions(31, 1)", 1),
    "UnionLearner(family=dpjax.mechanisms.cover:Pieces(31))": ("Unions(31)", 1),
}
"""Every learner, with a class that it fits and a number of concepts."""


def budgets(count: int, seed: int) -> Iterator[tuple[float, float]]:
    """epsilon from 1e-3 to 20, delta from 1e-12 to 1e-2, both uniform on a logarithmic scale."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        yield float(10 ** generator.uniform(-3, np.log10(20))), float(10 ** generator.uniform(-12, -2))


def program(plan: Any) -> tuple[Any, ...]:
    """What jit tells plans apart by: structure, and the shapes and dtypes of the leaves."""
    leaves, structure = jax.tree.flatten(plan)
    return structure, *((np.shape(leaf), np.result_type(leaf)) for leaf in leaves)


def learner_of(name: str, k: int | None = None) -> Any:
    """One of `CASES`, by default for its number of concepts."""
    kind, usual = CASES[name]
    k = usual if k is None else k
    concepts = Builder().build("concepts", kind, CONCEPTS)
    known = Builder().knowing(concepts=concepts, domain=concepts.domain, k=k)
    return for_concepts(known.build("learner", name, LEARNERS), k)


def row(name: str, count: int, seed: int) -> list[Any] | None:
    """Of one learner; None for one that promises no privacy."""
    learner = learner_of(name)
    if learner.guarantee(learner.plan(Privacy(1.0, 1e-6), ACCURACY)) is None:
        return None
    parts, refused, above = [], 0, 0
    for epsilon, delta in budgets(count, seed):
        try:
            plan = learner.plan(Privacy(epsilon, delta), ACCURACY)
        except InputError:
            refused += 1
            continue
        whole = learner.guarantee(plan)
        assert whole is not None
        above += whole.epsilon > epsilon or whole.delta > delta  # exactly, in float64: no printed digits tell
        parts.append((whole.epsilon / epsilon, whole.delta / delta))
    epsilons, deltas = np.array(parts).T
    shapes = {program(learner.plan(Privacy(e, 1e-6), ACCURACY)) for e in EPSILONS}
    return [
        name,
        CASES[name][0],
        str(len(shapes)),
        str(refused),
        str(above),
        f"{epsilons.min():.7f}",
        f"{epsilons.max():.9f}",
        f"{deltas.max():.9f}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Goes through all learners."""
    given = options(__doc__, 0, 200, arguments)
    found = [row(name, given.trials, given.seed) for name in CASES]
    heads = (
        "learner",
        "class",
        "programs",
        "refused",
        "above the budget",
        "least part of epsilon",
        "largest",
        "largest part of delta",
    )
    text = f"""# How much of a budget plans spend

A plan turns a budget into the numbers of a mechanism. No plan spends more than its budget, each spends nearly all of
its epsilon, and for most learners one compiled program serves every budget.

For each learner: how many programs eight values of epsilon from .25 to 4 compile, and at {given.trials}
random budgets (epsilon from 1e-3 to 20, delta from 1e-12 to 1e-2) which fraction of the budget the plan's
numbers spend according to the guarantee. "Above the budget" counts the guarantees whose epsilon or delta exceeds the
budget's by any amount, compared in float64. Made by `python scripts/plans.py --trials {given.trials}`.

{table(heads, [one for one in found if one is not None])}
"""
    write_page(given.out / "plans.md", text)


if __name__ == "__main__":
    main()
