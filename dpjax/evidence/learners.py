"""Learners as targets: everything that `learn` returns, over every small sample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.cover.table import cover_table
from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.databases import Universe, samples, show_sample
from dpjax.audit.outcomes import exact_table
from dpjax.audit.target import Pair, Target
from dpjax.concepts import (
    Conjunctions,
    ConvexPolygons,
    Domain,
    Parities,
    Points,
    Thresholds,
    Unions,
    tree_generators,
)
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.evidence.medians import small_recprefix, small_rsc, small_treelog
from dpjax.learners import (
    KLN,
    ConjunctionLearner,
    EmpiricalLearner,
    GenericLearner,
    HashedPoints,
    ImproperVC1,
    Independent,
    Learner,
    ParityLearner,
    PointLearner,
    PolygonLearner,
    ProperVC1,
    ThresholdInterior,
    UnionLearner,
)
from dpjax.learners.covering import Covering
from dpjax.mechanisms.median import MedianDesign, MedianPlan
from dpjax.sanitizers import PointCounts

ACCURACY = Accuracy(0.1, 0.9)  # a large beta, so that the median takes fewer records than there are rows
_ROWS = 3
_HISTOGRAM_ROWS = {1: 12, 2: 8}  # of a learner with thresholds that three rows never reach, by the number of labels
_HARD_ROWS = 24


def learner_target(learner: Learner, name: str, k: int) -> Target:
    """A learner of k concepts as a target.

    Its exact audit goes through all samples of up to three rows over its domain, which should have two to four
    elements; for PointLearner also through all of eight or twelve rows without regard to order.
    """
    if learner.guarantee(Privacy(1.0, 1e-6)) is None:
        raise InputError("target", "a learner that claims privacy", name, "audit another one: this one promises none")

    counted = isinstance(learner, PointLearner) or isinstance(getattr(learner, "sanitizer", None), PointCounts)

    def claim(epsilon: float, delta: float) -> Guarantee:
        promised = learner.guarantee(Privacy(epsilon, delta))
        assert promised is not None
        return promised

    def run(key: Array, sample: Any, privacy: Privacy) -> Any:
        return learner.learn(key, sample, privacy, ACCURACY)

    def universes() -> list[Universe]:
        domain: Any = learner.concepts.domain
        found = [samples(domain, k, _ROWS, learner.neighboring)]
        if isinstance(learner, PointLearner):
            found.append(samples(domain, k, _HISTOGRAM_ROWS.get(k, 6), learner.neighboring, ordered=False))
        return found

    def pairs() -> list[Pair]:
        hard = [pair for rows in (1, _ROWS, _HARD_ROWS) for pair in learner.hard_neighbors(rows)]
        return [Pair(one, other, show_sample) for one, other in hard if one.y.shape[1] == k]

    caveat = "released noisy counts not told apart" if counted else ""
    table = lambda databases, privacy: _table(learner, databases, privacy)  # noqa: E731
    covers = [f"dpjax.learners.{type(part).__name__}" for part in (learner, getattr(learner, "learner", None)) if part]
    if isinstance(learner, Covering):
        covers.append("dpjax.mechanisms.cover.set_cover")
    at_once = max(1, Target.at_once // getattr(learner, "passes", 1))
    return Target(name, claim, run, universes, pairs, table, caveat=caveat, covers=tuple(covers), at_once=at_once)


_SMALL_MEDIANS: dict[str, Callable[[int, Privacy], MedianPlan]] = {
    "recprefix": small_recprefix, "rsc": small_rsc, "treelog": small_treelog,
}  # fmt: skip


@dataclass(frozen=True)
class SmallImproper(ImproperVC1):
    """An `ImproperVC1` with a median for a few rows."""

    def median(self, design: MedianDesign, t: int) -> MedianPlan:
        """At the design's budget."""
        return _SMALL_MEDIANS[self.method](design.bits, Privacy(design.epsilon, design.delta))


@dataclass(frozen=True)
class SmallInterior(ThresholdInterior):
    """A `ThresholdInterior` with a median for a few rows."""

    def median(self, design: MedianDesign) -> MedianPlan:
        """At the design's budget."""
        return _SMALL_MEDIANS[self.method](design.bits, Privacy(design.epsilon, design.delta))


def small_vc1(kind: str, method: str, domain: Domain) -> ImproperVC1 | ProperVC1 | ThresholdInterior:
    """A learner of VC dimension 1 for a few rows: "vc1" or "interior", its median by ``method``.

    method "proper": of "vc1", on a small tree, whatever the domain.
    The integers are far below those of a theorem: they cost accuracy, not privacy.
    """
    if method == "proper":
        return ProperVC1(tree_generators.complete(2, 2, 1.0), "exponential", 12, 0.1, 1, 0.5)
    concepts = Thresholds(domain)
    if method not in _SMALL_MEDIANS:
        kinds: tuple[Any, Any] = ImproperVC1, ThresholdInterior
        return kinds[kind != "vc1"](concepts, "exponential", 2)
    return SmallImproper(concepts, method, 2) if kind == "vc1" else SmallInterior(concepts, method, 2)


def small_multi(name: str) -> Learner:
    """A learner of its ``k`` or two concepts for a few rows: "generic-zcdp", "hashed-basic", "empirical", "parity"."""
    kind, _, composition = name.partition("-")
    points = Points(Domain(3))
    if kind == "parity":
        return ParityLearner(Parities(2), 3, 1)
    if kind == "empirical":
        return EmpiricalLearner(KLN(points), 2)
    if kind == "hashed":
        return HashedPoints(points, 2, 1, 1, composition)
    return GenericLearner(points, 2, PointCounts(points.domain, 1, 1), composition)


def small_cover(name: str) -> ConjunctionLearner | PolygonLearner | UnionLearner:
    """A set cover of a round or two for a few rows: "conjunction", "polygon" or "union"."""
    if name == "union":
        return UnionLearner(Unions(1, 1), cover_table(1, 1, Neighboring.REPLACE_ONE, 1e-6, (1.0, 4.0)), 3, 2)
    table = cover_table(2, 2, Neighboring.REPLACE_ONE, 1e-6, (1.0, 4.0))
    if name == "conjunction":
        return ConjunctionLearner(Conjunctions(1), table)
    return PolygonLearner(ConvexPolygons(2, 3), table, slabs=4, bins=4, spare=8)


def _table(learner: Learner, databases: Sample, privacy: Privacy) -> np.ndarray:
    if isinstance(learner, Independent):  # a direct sum: the product of its columns
        share = learner.share(privacy)  # the numbers with which learn runs
        one_by_one = (Sample(databases.x, databases.y[..., [j]], databases.mask) for j in range(learner.k))
        joint = np.zeros((len(databases.mask), 1))
        for column in one_by_one:
            part = _table(learner.learner, column, share)
            joint = (joint[:, :, None] + part[:, None, :]).reshape(len(joint), -1)
        return joint
    with jax.enable_x64(True):
        exactly = Privacy(jnp.float64(privacy.epsilon), jnp.float64(privacy.delta))
        accuracy = Accuracy(jnp.float64(ACCURACY.alpha), jnp.float64(ACCURACY.beta))

        def run(sample: Sample) -> Any:
            return learner.learn(jax.random.key(0), sample, exactly, accuracy)

        return exact_table(run, databases, learner.concepts.size)
