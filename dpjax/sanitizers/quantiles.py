"""Standard methods for many private quantiles, as threshold sanitizers: independent quantiles and recursive medians.

m quantiles at ranks i / (m + 1) form a synthetic database with weight 2 each and weight 1 at each end of the domain:
between quantile i and the next the estimate is (i + 1/2) / (m + 1), the middle of its possible values.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.distance import as_replace_one
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.splits import best_split, least_composed
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import bit_strings as B
from dpjax.core import checks, keys
from dpjax.core.checks import NoTheoremError
from dpjax.core.plans import STATIC, Positive, Slack, Spends, down, plan_type, require_leaves
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import exponential_median
from dpjax.sanitizers.base import OfThresholds, Sanitized, top_of, whole_rows
from dpjax.sanitizers.blocks import log_size, reference_epsilon
from dpjax.sanitizers.hierarchy import MOST_LEVELS, exponential_medians, levels_tried, median_tree
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import hierarchy
from dpjax.theory import sanitizers as sizes

MOST_TIES = 30  # bits


def of_quantiles(points: Array, bits: int, size: int | None) -> Sanitized:
    """The synthetic database of m equally spaced quantiles ``uint32[m, W]``; m + 2 points."""
    top = top_of(bits, size)
    weights = jnp.full(points.shape[0] + 2, 2, jnp.int32).at[0].set(1).at[-1].set(1)
    return Sanitized.of(jnp.concatenate([jnp.zeros_like(top), points, top]), weights)


@plan_type
class QuantilesPlan:
    """epsilon: ``float32[]``, of one quantile. slack: ``float32[]``, the delta of the composition. count: m."""

    epsilon: Positive
    slack: Slack
    count: int = field(metadata=STATIC)

    @property
    def size(self) -> int:
        """The number of points: the quantiles and both ends."""
        return self.count + 2


@dataclass(frozen=True)
class IndependentQuantiles(OfThresholds):
    """m exponential quantiles, each of all rows at its fraction of the budget.

    Args:
      count: m >= 1; by default the number that needs the fewest rows.
      domain_size: the domain is {0..domain_size - 1}, or None for all 2**bits values.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database and every n: m exponential mechanisms whose margins
      depend on n only, composed by the theorem with the largest budget per quantile.
    Utility: error at most alpha with probability 1 - beta from `sample_size`; proof in `theory.sanitizers.quantiles`.
      Holds for rows with any number of duplicates.
    Reference: Smith 2011 (one quantile); McSherry and Talwar 2007; Cesar and Rogers 2021 (composition).
    """

    count: int | None = field(default=None, kw_only=True)
    domain_size: int | None = field(default=None, kw_only=True)
    spends: ClassVar[Spends] = "approximate"

    def __post_init__(self):
        super().__post_init__()
        checks.whole_or_none("count", self.count, 1)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> QuantilesPlan:
        """From 1 / (2 alpha) to 2 / alpha quantiles."""
        epsilon, delta, alpha, beta = host_numbers(privacy, accuracy)
        count = self.count
        if count is None:
            rows = lambda m: self._rows(reference_epsilon(delta, m), m, alpha, beta)  # noqa: E731
            count = min(counts_tried(alpha, 48), key=rows)
        part = best_split(epsilon, delta, count, "bounded range")[0]
        return QuantilesPlan(down(part.epsilon), down(part.slack), count)

    def sanitize(self, key: Array, x: Array, mask: Array, plan: QuantilesPlan) -> Sanitized:
        """m + 2 points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        n, size = jnp.sum(mask, dtype=jnp.int32), self.domain_size
        ranks = boundaries(n, plan.count + 1)[1:-1]

        def one(own: Array, rank: Array) -> Array:
            margins = jnp.maximum(rank, 1), jnp.maximum(n - rank, 1)
            return exponential_median(x, mask, plan.epsilon, bits=self.bits, size=size, margins=margins).sample(own)

        return of_quantiles(jax.vmap(one)(keys.per_index(key, plan.count), ranks), self.bits, size)

    def guarantee(self, plan: QuantilesPlan) -> Guarantee:
        """m quantiles."""
        require_leaves(plan)
        part = exponential_guarantee(float(plan.epsilon), "quantile (exponential)")
        return least_composed(part, plan.count, float(plan.slack), f"{plan.count} independent quantiles")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.quantiles` at the epsilon of one quantile."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        rows = self._rows(effective_epsilon(plan.epsilon), plan.count, alpha, beta)
        return whole_rows(rows, alpha, f"1 / {2 * plan.count + 2}", "quantiles")

    def _rows(self, epsilon: float, count: int, alpha: float, beta: float) -> float:
        return sizes.quantiles(log_size(self.bits, self.domain_size), epsilon / 2, count, alpha, beta)


@plan_type
class RecursionPlan:
    """epsilon: ``float32[]``, of one median when a row is added or removed. ties: bits that distinguish equal rows."""

    epsilon: Positive
    levels: int = field(metadata=STATIC)
    ties: int = field(metadata=STATIC)

    @property
    def size(self) -> int:
        """The number of points: the medians and both ends."""
        return 2**self.levels + 1


@dataclass(frozen=True)
class RecursiveQuantiles(OfThresholds):
    """Approximate quantiles by recursion: the median of all rows, then those of the rows below and above it, and so on.

    Args:
      levels: in [1, 14], by default the number that needs the fewest rows; m = 2^levels - 1 quantiles.
      ties: bits that distinguish equal rows, by default as many as the rows of `sample_size` can need; up to 2^ties
        equal rows count as distinct. 0 is the published algorithm, whose error can be as large as the frequency of a
        single value.

    Every step is a median, so adding a row never decreases its score and the rate is twice that of a general
    quantile. Equal rows are distinguished by their number among equals: the multiset of numbered rows then changes only
    by the row that is added or removed.

    Privacy: (epsilon, 0), REPLACE_ONE, for every database and every n: `hierarchy.median_tree` at epsilon / (2 levels).
      A replaced row changes two parts per level; the cost of one part suffices under ADD_OR_REMOVE_ONE only.
    Utility: error at most alpha with probability 1 - beta from `sample_size`, if no value occurs more than 2^ties
      times; proof in `theory.sanitizers.recursive`.
    Reference: Kaplan, Schnapp, Stemmer 2022, Algorithm 1 (ApproximateQuantiles); constants derived here.
    """

    levels: int | None = field(default=None, kw_only=True)
    ties: int | None = field(default=None, kw_only=True)
    spends: ClassVar[Spends] = "pure"

    def __post_init__(self):
        super().__post_init__()
        checks.whole_or_none("levels", self.levels, 1, MOST_LEVELS)
        checks.whole_or_none("ties", self.ties, 0, 31)

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> RecursionPlan:
        """The levels that need the fewest rows, and an even number of tie bits, so that epsilons share programs."""
        epsilon, _, alpha, beta = host_numbers(privacy, accuracy)
        levels = self.levels
        if levels is None:
            levels = min(levels_tried(alpha), key=lambda level: self._rows(0.5 / level, level, 0, alpha, beta))
        part = down(epsilon / (2 * levels))
        ties = self.ties
        if ties is None:
            ties = enough_ties(lambda t: self._rows(float(part), levels, t, alpha, beta))
        return RecursionPlan(part, levels, ties)

    def sanitize(self, key: Array, x: Array, mask: Array, plan: RecursionPlan) -> Sanitized:
        """2^levels + 1 points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        rows, real = numbered(B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32), self.bits, plan.ties)
        epsilons = jnp.full(plan.levels, plan.epsilon, jnp.float32)
        bits = self.bits + plan.ties
        points = median_tree(key, epsilons, exponential_medians(rows, real, bits), bits)[1]
        return of_quantiles(shifted_right(points, self.bits, plan.ties), self.bits, None)

    def guarantee(self, plan: RecursionPlan) -> Guarantee:
        """Levels of medians."""
        require_leaves(plan)
        part = exponential_guarantee(float(plan.epsilon), "medians of one level", Neighboring.ADD_OR_REMOVE_ONE)
        return basic((as_replace_one(part),), f"{2**plan.levels - 1} recursive quantiles", plan.levels)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.recursive`; NoTheoremError for ``ties`` that cannot number so many equal rows."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        rows = self._rows(effective_epsilon(plan.epsilon), plan.levels, plan.ties, alpha, beta)
        return all_numbered(whole_rows(rows, alpha, f"2**-{plan.levels + 1}", "levels"), plan.ties)

    def unseen(self, concepts: Any, plan: RecursionPlan, n: int, beta: float) -> float:
        """`theory.hierarchy.largest_part` for each interval of a difference: equal rows are within or without."""
        intervals = self.parts_of_a_difference(concepts) / 2
        rates = (effective_epsilon(plan.epsilon),) * plan.levels
        return intervals * hierarchy.largest_part(log_size(self.bits + plan.ties, None), rates, n, beta)

    def _rows(self, epsilon: float, levels: int, ties: int, alpha: float, beta: float) -> float:
        return sizes.recursive(log_size(self.bits + ties, None), epsilon, levels, alpha, beta)


def counts_tried(alpha: float, sixteenths: int) -> list[int]:
    """Numbers of quantiles from 1 / (2 alpha) on, up to ``sixteenths`` sixteenths more."""
    least = math.floor(0.5 / alpha)
    return sorted({least + math.ceil((least + 1) * extra / 16) for extra in range(1, sixteenths + 1)})


def enough_ties(rows: Callable[[int], float]) -> int:
    """The smallest even number of bits that can number all rows that are needed with it; `MOST_TIES` at most."""
    return next((ties for ties in range(0, MOST_TIES, 2) if rows(ties) <= 2**ties), MOST_TIES)


def all_numbered(rows: int, ties: int) -> int:
    """The rows; NoTheoremError if they do not have distinct numbers of ``ties`` bits: they may all be equal."""
    if rows > 2**ties:
        expected = f"{(rows - 1).bit_length()} bits or more, which number {rows} equal rows"
        raise NoTheoremError("ties", expected, str(ties), "leave ties out, or search for n")
    return rows


def numbered(rows: Array, n: Array, bits: int, ties: int) -> tuple[Array, Array]:
    """Sorted rows, each followed by its number among equal ones in ``ties`` bits, and which are real.

    Numbers are clipped to 2^ties - 1. Rows and numbers ascend. Adding a row adds one element.
    """
    place = jnp.arange(rows.shape[0], dtype=jnp.int32)
    fresh = jnp.append(jnp.ones(1, bool), ~B.equal(rows[1:], rows[:-1]))
    number = jnp.minimum(place - jax.lax.cummax(jnp.where(fresh, place, 0)), jnp.int32(2**ties - 1)).astype(jnp.uint32)
    wide = shifted_left(rows, bits, ties)
    return wide.at[:, -1].set(wide[:, -1] | number), place < n


def shifted_left(x: Array, bits: int, by: int) -> Array:
    """x 2^by as elements of bits + by bits, ``uint32[..., W']``, by in [0, 31]."""
    grown = B.limbs(bits + by)
    padded = jnp.pad(x, ((0, 0), (1, 0)))
    if by:
        carry = jnp.pad(padded[:, 1:], ((0, 0), (0, 1))) >> jnp.uint32(32 - by)
        padded = (padded << jnp.uint32(by)) | carry
    return padded[:, padded.shape[1] - grown :]


def shifted_right(x: Array, bits: int, by: int) -> Array:
    """floor(x / 2^by) as elements of ``bits`` bits, for elements of bits + by bits."""
    if by:
        above = jnp.pad(x[:, :-1], ((0, 0), (1, 0)))
        x = (x >> jnp.uint32(by)) | (above << jnp.uint32(32 - by))
    return x[:, x.shape[1] - B.limbs(bits) :]
