"""Learners as targets: all outputs of `learn`, on every small sample."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import concepts as c
from dpjax import learners as le
from dpjax import lists as li
from dpjax import sanitizers as s
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import COMPOSITIONS
from dpjax.attacks import TableLearner
from dpjax.audit.enumeration.exact import TOLERANCE, table_of_run
from dpjax.audit.target.databases import Universe, samples, show_sample
from dpjax.audit.target.target import Pair, Target, universe_of
from dpjax.concepts.outside import describe
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import same_plan
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.evidence.boosting import FirstLabel
from dpjax.evidence.medians import small_majority, small_recprefix, small_rsc, small_treelog
from dpjax.learners import representations as r
from dpjax.learners.representation_learner import RepresentationPlan
from dpjax.learners.vc1_improper import ImproperPlan
from dpjax.mechanisms.cover import Pieces, SlabWedges
from dpjax.mechanisms.cover.lines.rejection import Performance
from dpjax.mechanisms.cover.slabs.rejection import Sizes
from dpjax.mechanisms.median import MedianDesign, MedianPlan

ACCURACY = Accuracy(0.1, 0.9)  # a large beta, so that the median needs fewer records than rows
_ROWS, _HARD_ROWS = 3, 24


@dataclass(frozen=True)
class World:
    """A learner on a domain so small that every sample of a few rows can be enumerated.

    Args:
      learner: with small static sizes; sizes below those of its theorem cost accuracy, not privacy.
      k: number of concepts. rows: samples of 1 to this many rows are enumerated in every order.
      many: number of rows of further samples, as multisets, for thresholds that a few rows do not reach; None for none.
      twin: factor on the budget for which the learner breaks its claim and the audit must detect it; None if few rows
        rarely have an effect at any budget.
      sharp: whether to audit at a large budget too, where a few rows come close to the claim.
      unlisted: why its law cannot be listed, so that its audits are statistical; empty if they are exact.
    """

    learner: Any
    k: int = 1
    rows: int = _ROWS
    many: int | None = None
    twin: float | None = 2.0
    sharp: bool = True
    unlisted: str = ""

    def target(self, name: str) -> Target:
        """The learner as a target of audits."""
        return learner_target(self.learner, name, self.k, rows=self.rows, many=self.many, unlisted=self.unlisted)


def learner_names() -> list[str]:
    """All names that `learner_world` accepts: those of `dpjax list`, and further configurations."""
    return sorted(WORLDS)


def learner_world(name: str) -> World:
    """The world with this name."""
    return WORLDS[checks.choice("target", name, WORLDS)]()


def learner_target(
    learner: Any,
    name: str,
    k: int = 1,
    *,
    rows: int = _ROWS,
    many: int | None = None,
    accuracy: Accuracy = ACCURACY,
    unlisted: str = "",
) -> Target:
    """Any learner of k concepts as a target.

    Its exact audit enumerates all samples of up to ``rows`` rows over its domain, which should have two to four
    elements, and all multisets of ``many`` rows. Databases of n rows are run with the plan for n rows and
    compared with its guarantee; the claim is the weakest of these. InputError for a guarantee above its budget, and for
    plans that depend on n if n is not public. A learner with ``hard_rows`` > ``rows`` is also audited on its hard
    neighbors of so many rows, exactly and statistically. unlisted: why there is no exact audit; empty if there is one.
    """
    reach, columns = learner.hard_rows, k * learner.concepts.columns
    hard = (1, _ROWS, max(_HARD_ROWS, reach))
    counts = sorted({*range(1, rows + 1), many or 1, reach, *hard})

    @lru_cache(16)
    def planned(epsilon: float, delta: float) -> dict[int, Any]:
        result: dict[int, Any] = {}  # distinct plans, keyed by the least n of each
        for n in counts:
            entry = learner.plan(Privacy(epsilon, delta), accuracy, n)
            if not result or not same_plan(entry, [*result.values()][-1]):
                result[n] = entry
        if len(result) > 1 and learner.neighboring is not Neighboring.REPLACE_ONE:
            actual, advice = f"other ones from {[*result][1:]} rows on", "plan without n under this relation"
            raise InputError("plan", "one plan for all n, which is not public here", actual, advice)
        return result

    def promised(epsilon: float, delta: float) -> list[Guarantee]:
        each = [learner.guarantee(numbers) for numbers in planned(epsilon, delta).values()]
        if None in each:
            raise InputError("target", "a learner that claims privacy", name, "audit another one")
        for entry in each:
            if entry.epsilon > epsilon * (1 + TOLERANCE) or entry.delta > delta * (1 + TOLERANCE):
                budget, actual = f"at most the budget ({epsilon:g}, {delta:g})", f"({entry.epsilon:g}, {entry.delta:g})"
                raise InputError(f"guarantee of {name}", budget, actual, "plan numbers that spend no more")
        return each

    def claim(epsilon: float, delta: float) -> Guarantee:
        each = promised(epsilon, delta)
        return replace(
            each[0],
            epsilon=max(guarantee.epsilon for guarantee in each),
            delta=max(guarantee.delta for guarantee in each),
        )

    def claims(epsilon: float, delta: float, databases: Sample) -> list[tuple[Guarantee, Any]]:
        rows = np.sum(np.asarray(databases.mask), axis=1)
        way = np.searchsorted([*planned(epsilon, delta)][1:], rows, side="right")
        return [(guarantee, way == i) for i, guarantee in enumerate(promised(epsilon, delta))]

    def universes() -> list[Universe]:
        domain: Any = learner.concepts.domain
        result = [samples(domain, columns, rows, learner.neighboring)]
        result += [] if many is None else [samples(domain, columns, many, learner.neighboring, ordered=False)]
        if reach > rows and (some := of_rows(reach)):
            result.append(universe_of(some, learner.neighboring, f"{len(some)} hard pairs of {reach} rows"))
        return result

    def of_rows(count: int) -> list[Pair]:
        all_ = learner.hard_neighbors(count)
        return [Pair(first, second, show_sample) for first, second in all_ if first.y.shape[1] == columns]

    def pairs() -> list[Pair]:
        return [pair for count in hard for pair in of_rows(count)]

    def run(key: Array, sample: Sample, plan: Any) -> Any:
        ways = [lambda key, sample, numbers=numbers: learner.learn(key, sample, numbers) for numbers in plan.values()]
        if len(ways) == 1:
            return ways[0](key, sample)
        n, later = jnp.sum(sample.mask, dtype=jnp.int32), jnp.asarray([*plan][1:], jnp.int32)
        return jax.lax.switch(jnp.sum(n >= later, dtype=jnp.int32), ways, key, sample)

    def show(outputs: Any) -> list[str]:
        count = len(outputs.outcome)
        each = describe(learner.concepts, jax.tree.map(lambda part: part.reshape(-1, *part.shape[2:]), outputs))
        parts = np.reshape(each, (count, -1)).tolist()
        return [part[0] if len(part) == 1 else f"({'; '.join(part)})" for part in parts]

    kinds = [kind for part in (learner, learner.learner) for kind in type(part).__mro__]
    covers = [f"dpjax.learners.{kind.__name__}" for kind in kinds if getattr(le, kind.__name__, None) is kind]
    covers.append(f"{type(learner).__module__.rpartition('.')[0]}.{type(learner).__name__}")
    at_once = max(1, Target.at_once // learner.passes)
    covers += learner.runs
    table = None if unlisted else table_of_run(run)
    head = name, claim, run, universes, pairs, table
    return Target(
        *head,
        lambda p: planned(float(p.epsilon), float(p.delta)),
        covers=tuple(dict.fromkeys(covers)),
        at_once=at_once,
        unlisted=unlisted,
        claims=claims,
        show=show,
    )


class _SmallMedian:
    method: str

    def median(self, design: MedianDesign) -> MedianPlan:
        """A plan for a few rows, at the design's budget."""
        if self.method not in _SMALL_MEDIANS:
            return design.plan()
        return _SMALL_MEDIANS[self.method](design.bits, Privacy(design.epsilon, design.delta))


@dataclass(frozen=True)
class SmallImproper(_SmallMedian, le.ImproperVC1):
    """An `ImproperVC1` with a median for a few rows."""


@dataclass(frozen=True)
class FewRows(SmallImproper):
    """A `SmallImproper` by rows with the ranks of a few rows: of the two deepest, one at or below the depth."""

    def _plan(self, privacy: Privacy, accuracy: Accuracy, n: int | None = None) -> ImproperPlan:
        """The budget's, with these ranks."""
        return replace(super()._plan(privacy, accuracy, n), high=np.int32(1), deep=np.int32(2))


@dataclass(frozen=True)
class ManyRows(le.ProperVC1):
    """A `ProperVC1` whose exact audit includes hard rows that are enough to start below the root."""

    hard_rows: ClassVar[int] = _HARD_ROWS


@dataclass(frozen=True)
class FewCounts(le.StablePoints):
    """A `StablePoints` whose noisy counts are at most 4, so that they can be listed."""

    most: ClassVar[int] = 4


@dataclass(frozen=True)
class SmallInterior(_SmallMedian, le.ThresholdInterior):
    """A `ThresholdInterior` with a median for a few rows."""


@dataclass(frozen=True)
class Labels(le.RepresentationLearner):
    """A `RepresentationLearner` that returns the labels of all elements, and nothing of the family."""

    def _learn(self, key: Array, sample: Sample, plan: RepresentationPlan) -> Any:
        """``bool[|X|, columns]``."""
        elements = jnp.arange(self.concepts.domain.size, dtype=jnp.uint32)[:, None]
        return self.predict(le.RepresentationLearner._learn(self, key, sample, plan), elements)


@dataclass(frozen=True)
class Region(le.PolygonLearner):
    """A `PolygonLearner` that returns the labels of the grid, which few samples tell apart better than its lines."""

    def _learn(self, key: Array, sample: Sample, plan: Any) -> Any:
        """``bool[(d + 1)^2]``."""
        side = np.arange(self.concepts.d + 1)
        grid = self.concepts.domain.encode([(i, j) for i in side for j in side])
        return self.predict(super()._learn(key, sample, plan), jnp.asarray(grid))[:, 0]


def few_sets(bit: c.PointSets) -> le.SparseAggregate:
    """Of one batch."""
    return le.SparseAggregate(li.MinimalSets(bit), 1)


_SMALL_MEDIANS: dict[str, Callable[[int, Privacy], MedianPlan]] = {
    "majority": small_majority,
    "recprefix": lambda bits, privacy: small_recprefix(bits, privacy, gap=1),
    "rsc": small_rsc,
    "treelog": small_treelog,
}
_TINY = c.Finite.of([[0, 0], [0, 1], [1, 0], [1, 1]])
_TINY_LINE = c.Finite.of([[0, 0], [0, 1], [1, 1]])
_LABELS = c.Multiclass.of([[0, 1], [2, 0], [1, 2]])
_CONSTANTS = c.Finite.of([[0, 0], [1, 1]])
_POINTS, _LINE = c.Points(c.Domain(3)), c.Thresholds(c.Domain(3))
_PAIRS, _BITS = c.PointSets(c.Domain(3), 2), c.PointSets(c.Domain(2), 1, 2)
_FEW_PIECES = Pieces(1, 3, 2)
_FEW_WEDGES = SlabWedges(1, _FEW_PIECES, bits=0, sizes=Sizes(boxes=64, batch=2, points=2, depth=0))
"""The default family of unions, with as many lines as can be listed."""
_LAPLACE = "it draws continuous Laplace noise"
_ADDED = Neighboring.ADD_OR_REMOVE_ONE


def _tree(height: int = 1) -> Any:
    return c.tree_generators.complete(2, height, 1.0)


def _twice(learner: Any, composition: str) -> World:
    return World(le.Independent(learner, 2, composition), 2)


def _counted(composition: str) -> World:
    sanitizer = s.PointCounts(c.Domain(2), 1, 1)
    return World(le.GenericLearner(c.Points(c.Domain(2)), 2, sanitizer, composition), 2, rows=2, twin=4)


WORLDS: dict[str, Callable[[], World]] = {
    **{f"kln-{name}": partial(_twice, le.KLN(c.Points(c.Domain(2))), name) for name in COMPOSITIONS},
    **{f"median-{name}": partial(_twice, le.ThresholdMedian(c.Thresholds(c.Domain(2))), name) for name in COMPOSITIONS},
    "kln-points": lambda: World(le.KLN(_POINTS)),
    "kln-thresholds": lambda: World(le.KLN(_LINE)),
    "kln-finite": lambda: World(le.KLN(_TINY)),
    "kln-tree": lambda: World(le.KLN(_tree())),
    "kln-parities": lambda: World(le.KLN(c.Parities(1))),
    "kln-conjunctions": lambda: World(le.KLN(c.Conjunctions(1))),
    "kln-added": lambda: World(le.KLN(_LINE, _ADDED), twin=4),
    "point": lambda: World(le.PointLearner(c.Points(c.Domain(2))), 2, rows=2, many=8),
    "stable-points": lambda: World(FewCounts(c.Points(c.Domain(2))), many=7),
    "stable-points-two": lambda: World(FewCounts(c.Points(c.Domain(2))), 2, rows=2, many=4),
    "stable-points-added": lambda: World(FewCounts(c.Points(c.Domain(2)), _ADDED), many=7),
    "stable-nodes": lambda: World(le.StableNodes(_tree(2)), rows=2, many=7),
    "stable-nodes-path": lambda: World(le.StableNodes(c.tree_generators.path(2)), 2, rows=2, many=4),
    "median-thresholds": lambda: World(le.ThresholdMedian(_LINE)),
    "median-added": lambda: World(le.ThresholdMedian(_LINE, _ADDED)),
    "interior-exponential": lambda: World(le.ThresholdInterior(_LINE, "exponential", 2)),
    "interior-added": lambda: World(le.ThresholdInterior(_LINE, "exponential", 2, _ADDED)),
    "interior-recprefix": lambda: World(SmallInterior(_LINE, "recprefix", 2), twin=8),
    "interior-majority": lambda: World(SmallInterior(_LINE, "majority", 2), twin=8),
    "interior-treelog": lambda: World(SmallInterior(_LINE, "treelog", 2), twin=4),
    "vc1-rows": lambda: World(FewRows(_LINE, "exponential"), twin=4),
    "vc1-rows-tree": lambda: World(FewRows(_tree(), "exponential"), twin=4),
    "vc1-rows-spider": lambda: World(FewRows(c.Spider(2, 2), "exponential"), rows=2, twin=4),
    "vc1-rows-recprefix": lambda: World(FewRows(_LINE, "recprefix"), twin=8),
    "vc1-exponential": lambda: World(le.ImproperVC1(_LINE, "exponential", 2), twin=4),
    "vc1-tree": lambda: World(le.ImproperVC1(_tree(), "exponential", 2), twin=4),
    "vc1-recprefix": lambda: World(SmallImproper(_LINE, "recprefix", 2), twin=8),
    "vc1-majority": lambda: World(SmallImproper(_LINE, "majority", 2), twin=8),
    "vc1-treelog": lambda: World(SmallImproper(_LINE, "treelog", 2), twin=8),
    "vc1-rsc": lambda: World(SmallImproper(_LINE, "rsc", 24), twin=None, unlisted=_LAPLACE),
    "vc1-proper": lambda: World(ManyRows(_tree(2), "exponential", None, 0.1, 1, 0.5), twin=2, sharp=False),
    "vc1-proper-tests": lambda: World(
        le.ProperVC1(_tree(3), "exponential", 12, 0.1, 1, 0.5), twin=16, sharp=False, unlisted=_LAPLACE
    ),
    "empirical": lambda: World(le.EmpiricalLearner(le.KLN(_POINTS), 2)),
    "empirical-independent": lambda: World(
        le.EmpiricalLearner(le.Independent(le.KLN(c.Points(c.Domain(2))), 2, "optimal"), 2), 2, rows=2, twin=4
    ),
    "nearest-parity": lambda: World(le.NearestParity(le.KLN(c.Parities(2)))),
    "parity": lambda: World(le.ParityLearner(c.Parities(2), 3, 1)),
    "parity-two": lambda: World(le.ParityLearner(c.Parities(1), 2, 2), 2),
    "hashed-basic": lambda: World(le.HashedPoints(_POINTS, 1, 2, 1)),
    "hashed-zcdp": lambda: World(le.HashedPoints(c.Points(c.Domain(2)), 2, 1, 1, "zcdp"), 2, rows=2),
    **{f"generic-{name}": partial(_counted, name) for name in ("basic", "zcdp")},
    "generic-blr": lambda: World(le.GenericLearner(_TINY, 1, s.BLR(_TINY.xor(), 2)), twin=4),
    "generic-mwem": lambda: World(le.GenericLearner(_TINY, 1, s.MWEM(_TINY.xor(), 1)), rows=2, twin=4),
    "generic-hierarchy": lambda: World(
        le.GenericLearner(c.Thresholds(c.Domain(2)), 1, s.Hierarchy(1, levels=1, counts=0.5)), rows=2, twin=4
    ),
    "generic-tree": lambda: World(
        le.GenericLearner(_tree(2), 1, s.RecursiveQuantiles(3, levels=1, ties=0), share=0.5), rows=2, twin=4
    ),
    "generic-joint": lambda: World(
        le.GenericLearner(c.Thresholds(c.Domain(2)), 2, s.RecursiveQuantiles(1, levels=1, ties=0), "joint", 0.3),
        2,
        rows=2,
        twin=8,
    ),
    "conjunction": lambda: World(le.ConjunctionLearner(c.Conjunctions(1), 2, 2)),
    "conjunction-added": lambda: World(le.ConjunctionLearner(c.Conjunctions(1), 2, 2, _ADDED), rows=2),
    "conjunction-rounds": lambda: World(le.ConjunctionLearner(c.Conjunctions(1), 2, 6), rows=2),
    "conjunction-noisy": lambda: World(
        le.ConjunctionLearner(c.Conjunctions(1), 2, 2, noisy=True),
        twin=16,
        sharp=False,
        unlisted="its noisy counts have too many values to list",
    ),
    "disjunction": lambda: World(le.ConjunctionLearner(c.Disjunctions(1), 1, 1)),
    "table-of-a-program": lambda: World(TableLearner(_TINY_LINE, rows=3, rounds=0)),
    # proper: of all functions the program has many optimal learners, and rounding decides which one is found
    "table-of-a-program-two": lambda: World(TableLearner(_TINY_LINE, 2, proper=True, rows=2, rounds=0), 2, rows=2),
    "polygon": lambda: World(
        le.PolygonLearner(c.ConvexPolygons(2, 3), 2, 2, performance=Performance(4, 4, 8)),
        twin=16,
        sharp=False,
        unlisted="it draws from too many lines to list",
    ),
    "polygon-measured": lambda: World(
        Region(c.ConvexPolygons(2, 3), 2, performance=Performance(4, 4, 8)),
        twin=4,
        sharp=False,
        unlisted="it draws from too many lines to list",
    ),
    "kln-labels": lambda: World(le.KLN(_LABELS), rows=2),
    "bits": lambda: World(le.BitReduction(_LABELS), rows=2),
    "stable": lambda: World(le.SparseAggregate(li.GloballyStable(_TINY_LINE), 2), rows=2, twin=16),
    "irreducible": lambda: World(le.SparseAggregate(li.Irreducibility(_TINY_LINE), 2), rows=2, twin=16),
    "irreducible-points": lambda: World(le.SparseAggregate(li.Irreducibility(_POINTS), 2), rows=2, twin=16),
    "irreducible-line": lambda: World(le.SparseAggregate(li.Irreducibility(_LINE, 1), 2), rows=2, twin=16),
    "minimal-sets": lambda: World(le.SparseAggregate(li.MinimalSets(_PAIRS), 2), rows=2, twin=16),
    "version-space": lambda: World(le.SparseAggregate(li.VersionSpace(_TINY_LINE), 2), rows=2, twin=16),
    "bits-sets": lambda: World(le.BitReduction(c.Bitwise(c.PointSets(c.Domain(2)), 2), few_sets, (1, 1)), twin=16),
    "bits-weights": lambda: World(le.BitReduction(_LABELS, weights=(1, 2))),
    "representation-points": lambda: World(le.RepresentationLearner(r.PointBuckets(_POINTS, 2, 1))),
    "representation-sets": lambda: World(le.RepresentationLearner(r.PointSetBuckets(_PAIRS, 2, 1))),
    "representation-labels": lambda: World(le.RepresentationLearner(r.PointSetBuckets(_BITS, 1, 1)), rows=2),
    "representation-whole": lambda: World(le.RepresentationLearner(r.Whole(_TINY), neighboring=_ADDED), twin=4),
    "representation-runs": lambda: World(
        le.RepresentationLearner(r.LearnerRuns(le.KLN(_TINY), 1.0, 4, 0.25, 1)), twin=4
    ),
    "representation-in-total": lambda: World(Labels(r.PointSetBuckets(_PAIRS, 2, 1))),
    "boosted": lambda: World(le.Boosted(le.KLN(_CONSTANTS), rounds=2, draws=2, kappa=0.7), twin=4),
    "boosted-sharp": lambda: World(le.Boosted(FirstLabel(), rounds=2, draws=1, kappa=0.9), rows=2, many=6),
    "boosted-optimal": lambda: World(
        le.Boosted(FirstLabel(), rounds=4, draws=1, kappa=0.9, composition="optimal"), rows=2, twin=4
    ),
    "confident": lambda: World(le.Confident(le.KLN(_CONSTANTS), blocks=2), twin=8),
    "union": lambda: World(le.UnionLearner(c.Unions(1, 1), 1, 1, family=_FEW_WEDGES), rows=2),
    "union-pieces": lambda: World(le.UnionLearner(c.Unions(1, 1), rounds=1, family=_FEW_PIECES)),
}
"""Configurations of every exported learner; each new learner needs a row here, which the conformance tests use."""
