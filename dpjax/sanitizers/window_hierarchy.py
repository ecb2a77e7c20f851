"""S-hier on large domains: three-way splits at medians of windows, whose rows hardly grow with the domain."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.core import bit_strings as B
from dpjax.core import checks
from dpjax.core.plans import STATIC, Count, Positive, Spends, bucket, plan_type, require_leaves, whole
from dpjax.core.types import Accuracy, Privacy, host_numbers
from dpjax.mechanisms.median import (
    RACED,
    MajorityDesign,
    MajorityPlan,
    MedianDesign,
    MedianPlan,
    failure_of,
    median_guarantee,
    plan_for,
    plan_majority_like,
    private_median,
)
from dpjax.sanitizers.base import whole_rows
from dpjax.sanitizers.hierarchy import (
    Median,
    Parts,
    ThreeWay,
    counts_guarantee,
    levels_tried,
    median_tree,
    scale_of_counts,
)
from dpjax.theory import hierarchy as sizes

COUNTS = 0.2
"""The fraction of epsilon for the counts: best, or within 3% of the rows, for alpha from .2 to .003."""
_MEDIANS = 0.9  # of beta
_TYPICAL = 0.1  # an epsilon of a median; records are about proportional to its inverse


@plan_type
class WindowPlan:
    """A median of the ``window`` rows in the middle of a part, ``int32[]``."""

    median: MedianPlan
    window: Count


@plan_type
class WindowHierarchyPlan:
    """splits: a `WindowPlan` for each level, the root first. scale: ``float32[]``, of each count. most: static; no
    window is larger. tiers: of counts."""

    splits: tuple[WindowPlan, ...]
    scale: Positive
    most: int = field(metadata=STATIC)
    tiers: int = field(metadata=STATIC)

    @property
    def size(self) -> int:
        """The number of points: two ends of each of 2^levels parts, and the medians between them."""
        return 3 * 2 ** len(self.splits) - 1


@dataclass(frozen=True)
class WindowHierarchy(ThreeWay):
    """Three-way splits at medians of the middle of each part, and noisy counts of the leaves, see `ThreeWay`.

    A part of c rows, in order, is continued by its low end before its first row and its high end behind its last one.
    Its window is the w rows from place floor((c - w) / 2) on, and is split at a private interior point of the window.

    Args:
      levels: in [1, 14], by default the number that needs the fewest rows.
      counts: the fraction of epsilon for the counts, in (0, 1), by default `COUNTS`.
      tiers: of counts, in [1, 4], by default the one of 1 to 3 that needs the fewest rows at epsilon 1.
      median: for interior points, one of `mechanisms.median.RACED`. On small domains "exponential" needs fewer rows
        than "majority", and `Hierarchy` still fewer; of the others "majority" needs the fewest, wherever tried.
      domain_size: the domain is {0..domain_size - 1}, or None for all 2**bits values.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database and every n. A row that is added to a part, or removed,
      replaces at most one row of its window (docs/proofs/hierarchy.md#windows), so a level spends twice the budget of
      its medians, and the root, which has all rows, once; the counts as in `Hierarchy`.
    Utility: error at most alpha with probability 1 - beta from `sample_size`, `theory.hierarchy.windows`, which grows
      with log log of the domain's size, with "recprefix" as its records do.
    Reference: Bun, Nissim, Stemmer 2016, Proposition 2.21, which is the case "recprefix" up to the choice of parts; the
      windows are our own.
    """

    median: str = field(default="majority", kw_only=True)
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        super().__post_init__()
        checks.choice("median", self.median, RACED)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> WindowHierarchyPlan:
        """Equal parts of delta and of beta; epsilons with the fewest rows if those are proportional to 1 / epsilon."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        checks.delta(delta, positive_for="medians of windows")
        splits = tuple(WindowPlan(each.plan(), whole(each.interior)) for each in self._designed(privacy, accuracy))
        most = max(int(split.window) for split in splits)
        tiers = self._structure(delta, alpha, beta)[1]
        scale = scale_of_counts(epsilon - _spent(splits).epsilon, tiers)
        return WindowHierarchyPlan(splits, scale, bucket(most), tiers)

    def split(self, key: Array, x: Array, mask: Array, plan: WindowHierarchyPlan) -> tuple[Parts, Array, Array]:
        """`median_tree` of medians of windows."""
        levels = jax.tree.map(lambda *leaves: jnp.stack(leaves), *plan.splits)
        return median_tree(key, levels, window_medians(x, mask, plan.most), self.bits, self.domain_size)

    def guarantee(self, plan: WindowHierarchyPlan) -> Guarantee:
        """Levels of medians, and the counts."""
        require_leaves(plan)
        parts = _spent(plan.splits), counts_guarantee(plan)
        return basic(parts, f"threshold sanitizer, {len(plan.splits)} levels")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.hierarchy.windows`."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        windows = [int(split.window) for split in plan.splits]
        rows = sizes.windows(windows, float(plan.scale), alpha, (1 - _MEDIANS) * beta, plan.tiers)
        return whole_rows(rows, alpha, f"2**-{len(windows) + 1}", "levels")

    def _designed(self, privacy: Privacy, accuracy: Accuracy) -> list[MedianDesign]:
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        part, of_delta, of_beta = _shares(self, epsilon, delta, beta, self._structure(delta, alpha, beta)[0])
        typical = _typical(self, of_delta, of_beta)
        if isinstance(typical, MajorityDesign):
            return [plan_majority_like(typical, each) for each in part]
        return [plan_for(self.median, self.bits, each, of_delta, of_beta) for each in part]

    def _structure(self, delta: float, alpha: float, beta: float) -> tuple[int, int]:
        return _structure(self, delta, alpha, beta)

    def unseen(self, concepts: Any, plan: WindowHierarchyPlan, n: int, beta: float) -> float:
        """The largest part for each interval of a difference, if the medians fail together with at most beta; or n."""
        medians = [split.median for split in plan.splits if isinstance(split.median, MajorityPlan)]
        if len(medians) < len(plan.splits):
            return super().unseen(concepts, plan, n, beta)
        windows = [int(split.window) for split in plan.splits]
        failure = math.fsum(2**i * failure_of(*each) for i, each in enumerate(zip(medians, windows, strict=True)))
        part = sizes.largest_part_of_windows(windows, n)
        return self.parts_of_a_difference(concepts) / 2 * part if failure <= beta else float(n)


@lru_cache(maxsize=1024)
def _structure(sanitizer: WindowHierarchy, delta: float, alpha: float, beta: float) -> tuple[int, int]:
    """The levels and tiers that need the fewest rows at epsilon 1, if records were proportional to 1 / epsilon."""
    tried = levels_tried(alpha) if sanitizer.levels is None else (sanitizer.levels,)
    _, of_delta, of_beta = _shares(sanitizer, 1.0, delta, beta, tried[min(1, len(tried) - 1)])
    records = _typical(sanitizer, of_delta, of_beta).interior * _TYPICAL

    def rows(levels: int, tiers: int) -> float:
        windows = [records / each for each in _shares(sanitizer, 1.0, delta, beta, levels)[0]]
        rows = sizes.windows(windows, 2 * tiers / _counts(sanitizer), alpha, (1 - _MEDIANS) * beta, tiers)
        return rows * (1.03 if tiers > 1 else 1.0)  # more levels have more medians, whose records are a little more

    return min(sanitizer.structures(tried), key=lambda each: rows(*each))


def _typical(sanitizer: WindowHierarchy, delta: float, beta: float) -> MedianDesign:
    return plan_for(sanitizer.median, sanitizer.bits, _TYPICAL, delta, beta)


def _shares(
    sanitizer: WindowHierarchy, epsilon: float, delta: float, beta: float, levels: int
) -> tuple[list[float], float, float]:
    """Of one median: its epsilon by level, its delta, and its probability of failure."""
    parts = np.array([_touched(level) for level in range(levels)])
    weights = np.sqrt(2.0 ** np.arange(levels) / parts)
    each = (1 - _counts(sanitizer)) * epsilon * weights / (weights @ parts)
    return each.tolist(), delta / int(parts.sum()), _MEDIANS * beta / (2**levels - 1)


def _counts(sanitizer: WindowHierarchy) -> float:
    return COUNTS if sanitizer.counts is None else sanitizer.counts


def _touched(level: int) -> int:
    """Parts of a level that one replaced row changes, by one step each: the root holds all rows."""
    return 1 if level == 0 else 2


def _spent(splits: Sequence[WindowPlan]) -> Guarantee:
    medians = [median_guarantee(split.median, "median of a window") for split in splits]
    return basic([m for level, m in enumerate(medians) for _ in range(_touched(level))], "three-way splits")


def window_medians(x: Array, mask: Array, most: int) -> Median:
    """For `median_tree`, whose ``levels`` are `WindowPlan`; at most ``most`` rows in a window."""
    rows = B.sort_rows(x, mask)
    real = jnp.arange(x.shape[0], dtype=jnp.int32) < jnp.sum(mask, dtype=jnp.int32)

    def median(key: Array, part: Parts, level: WindowPlan) -> Array:
        begin = jnp.sum(real & B.less(rows, part.low), dtype=jnp.int32)
        count = jnp.sum(part.holds(rows)[0] & real, dtype=jnp.int32)
        middle, place = window_of(rows, begin, count, level.window, part, most), jnp.arange(most, dtype=jnp.int32)
        return private_median(key, middle, place < level.window, level.median).element

    return median


def window_of(rows: Array, begin: Array, count: Array, window: Array, part: Parts, most: int) -> Array:
    """The middle of the ``count`` sorted rows from ``begin`` on, ``uint32[most, W]``, the first ``window`` of them."""
    at = jnp.arange(most, dtype=jnp.int32) + (count - window) // 2  # rounded down
    inside = rows[jnp.clip(begin + at, 0, rows.shape[0] - 1)]
    return jnp.where((at < 0)[:, None], part.low, jnp.where((at >= count)[:, None], part.high, inside))
