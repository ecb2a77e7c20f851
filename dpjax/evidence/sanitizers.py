"""Sanitizers as targets, on databases of a few two-bit numbers."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax import sanitizers as s
from dpjax.audit.enumeration.exact import table_of_run
from dpjax.audit.target.databases import Universe, samples, show_sample
from dpjax.audit.target.target import Pair, Target
from dpjax.concepts.domain import Domain
from dpjax.concepts.finite import Finite
from dpjax.concepts.points import Points
from dpjax.concepts.thresholds import Thresholds
from dpjax.core import checks, keys
from dpjax.core.plans import up, whole
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample
from dpjax.evidence.medians import small_majority, small_recprefix
from dpjax.evidence.worlds import rows_of
from dpjax.sanitizers.window_hierarchy import WindowHierarchyPlan, WindowPlan

_BITS, _ROWS = 2, 4
_ACCURACY = Accuracy(0.5, 0.1)  # unused, since the structure is given
_QUERIES = Finite.of([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1]])


@dataclass(frozen=True)
class SmallWindows(s.WindowHierarchy):
    """A `WindowHierarchy` with windows of three rows at the first level and of two at the second, by majority or
    RecPrefix."""

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> WindowHierarchyPlan:
        """Half of epsilon and all of delta for the medians, half of epsilon for the counts."""
        epsilon, delta, levels = float(privacy.epsilon), float(privacy.delta), self.levels or 1
        part = Privacy(epsilon / (4 * levels - 2), delta / (2 * levels - 1))
        median = small_majority(self.bits, part) if self.median == "majority" else small_recprefix(self.bits, part)
        splits = tuple(WindowPlan(median, whole(rows)) for rows in (3, 2)[:levels])
        return WindowHierarchyPlan(splits, up(4 / epsilon), 4, 1)


@dataclass(frozen=True)
class NoisyCounts(s.Hierarchy):
    """A `Hierarchy` whose weights are its noisy counts of all tiers, before they are made consistent."""

    def sanitize(self, key: Array, x: Array, mask: Array, plan: Any) -> s.Sanitized:
        """As many weights as counts; not for use as a synthetic database."""
        of_medians, of_counts = keys.streams(key, "medians", "counts")
        parts, medians, counts = self.leaves(of_medians, x, mask, plan)
        return s.Sanitized.of(jnp.concatenate([parts.low, parts.high, medians]), counts.sample(of_counts))


SMALL: dict[str, s.Sanitizer] = {
    "sanitizer-blocks": s.RankBlocks(_BITS, blocks=2, median="exponential"),
    "sanitizer-blr": s.BLR(_QUERIES, 2),
    "sanitizer-blr-points": s.BLR(Points(Domain(1 << _BITS)), 2),
    "sanitizer-blr-thresholds": s.BLR(Thresholds(Domain(1 << _BITS)), 2),
    "sanitizer-hierarchy": s.Hierarchy(_BITS, levels=1, counts=0.5),
    "sanitizer-independent": s.IndependentQuantiles(_BITS, count=2),
    "sanitizer-joint": s.JointQuantiles(_BITS, count=2, ties=0),
    "sanitizer-majority": SmallWindows(_BITS, levels=1),
    "sanitizer-mwem": s.MWEM(_QUERIES, 2),
    "sanitizer-mwem-replays": s.MWEM(_QUERIES, 2, 2),
    "sanitizer-points": s.PointCounts(Domain(1 << _BITS), 2, 2),
    "sanitizer-recprefix": SmallWindows(_BITS, levels=1, median="recprefix"),
    "sanitizer-recursive": s.RecursiveQuantiles(_BITS, levels=2, ties=0),
    "sanitizer-tiers": NoisyCounts(_BITS, levels=1, counts=0.5, tiers=2),
    "sanitizer-slices": s.Slices(_BITS, count=2),
}


def sanitizer_target(name: str) -> Target:
    """A small target of a sanitizer."""
    sanitizer = SMALL[checks.choice("target", name, SMALL)]

    def plan(privacy: Privacy) -> Any:
        return sanitizer.plan(privacy, _ACCURACY)

    def run(key: Array, data: Sample, plan: Any) -> tuple[Array, Array]:
        made = sanitizer.sanitize(key, data.x, data.mask, plan)
        return made.points, made.weights

    kind = next(kind for kind in type(sanitizer).__mro__ if getattr(s, kind.__name__, None) is kind)
    rows = 1 if name == "sanitizer-tiers" else _ROWS  # six counts of two rows have too many outcomes to list
    head = name, lambda e, d: sanitizer.guarantee(plan(Privacy(e, d))), run, partial(_universes, rows)
    return Target(*head, _pairs, table_of_run(run), plan, covers=(f"dpjax.sanitizers.{kind.__name__}",))


def sanitizer_names() -> list[str]:
    """All names that `sanitizer_target` accepts."""
    return sorted(SMALL)


def _universes(most: int) -> list[Universe]:
    replace = Neighboring.REPLACE_ONE
    return [samples(Domain(1 << _BITS), 0, rows, replace, ordered=False) for rows in range(1, most + 1)]


def _pairs() -> list[Pair]:
    """A row moves from one end to the other, or across the middle."""
    databases = [([0, 0, 3, 3], [0, 3, 3, 3]), ([0, 0, 0, 3], [0, 0, 3, 3]), ([0, 0, 0, 0], [0, 0, 0, 3])]
    return [Pair(rows_of(first, _BITS), rows_of(second, _BITS), show_sample) for first, second in databases]
