"""S-hier: repeated three-way splits by private medians, then noisy counts of the leaves."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.distance import as_replace_one
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.numeric.ranges import positive
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import bit_strings as B
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, Positive, Spends, down, plan_type, require_leaves, require_shape, up
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers
from dpjax.laws import RoundedLaplace
from dpjax.mechanisms.exponential import effective_epsilon
from dpjax.mechanisms.median import exponential_median
from dpjax.mechanisms.noise import laplace_mechanism_guarantee
from dpjax.sanitizers.base import OfThresholds, Sanitized, noisy_counts, top_of, whole_rows
from dpjax.sanitizers.blocks import log_size
from dpjax.theory import hierarchy as sizes

MOST_LEVELS, MOST_TIERS = 14, 4
_SUMMED = 0.9  # about what the exact tail of the noise of one tier saves of the rows, if it is computed
_FRACTIONS = tuple(i / 20 for i in range(1, 16))


class Parts(NamedTuple):
    """Intervals of the domain, both ends inclusive, in ascending order, ``uint32[2^l, W]``; alive ``bool[2^l]``.

    An interval that is not alive is empty; both its ends are then the median that cut it off.
    """

    low: Array
    high: Array
    alive: Array

    @staticmethod
    def whole(bits: int, size: int | None) -> "Parts":
        """One part: the domain."""
        top = top_of(bits, size)
        return Parts(jnp.zeros_like(top), top, jnp.ones(1, bool))

    def holds(self, rows: Array) -> Array:
        """Which rows lie in which part, ``bool[2^l, capacity]``."""
        above = B.less_equal(self.low[:, None], rows[None])
        return above & B.less_equal(rows[None], self.high[:, None]) & self.alive[:, None]

    def put(self, place: Array | int, parts: "Parts") -> "Parts":
        """With ``parts`` from the index ``place`` on."""
        return Parts(
            *(
                jax.lax.dynamic_update_slice_in_dim(column, part, place, 0)
                for column, part in zip(self, parts, strict=True)
            )
        )

    def split(self, at: Array) -> "Parts":
        """{< z} and {> z} of every part; ``at`` lies in it."""
        left = self.alive & B.less(self.low, at)
        right = self.alive & B.less(at, self.high)
        before = jnp.where(left[:, None], B.subtract_one(at), at)
        after = jnp.where(right[:, None], B.add_one(at), at)
        lows = jnp.stack([jnp.where(left[:, None], self.low, at), after], axis=1)
        highs = jnp.stack([before, jnp.where(right[:, None], self.high, at)], axis=1)
        alive = jnp.stack([left, right], axis=1)
        return Parts(*(column.reshape(-1, *column.shape[2:]) for column in (lows, highs, alive)))


Median = Callable[[Array, Parts, Any], Array]
"""(key, one part, numbers of its level) -> an element, ``uint32[W]``."""


def levels_tried(alpha: float) -> range:
    """Four numbers of levels; the first leaves parts of at most 2 alpha. InputError if all are too many."""
    least = max(1, math.ceil(-math.log2(alpha)) - 1)
    if least > MOST_LEVELS:
        raise InputError("alpha", f"at least 2**-{MOST_LEVELS}", repr(alpha), "use RankBlocks")
    return range(least, min(least + 4, MOST_LEVELS + 1))


def median_tree(
    key: Array, levels: Any, median: Median, bits: int, size: int | None = None
) -> tuple[Parts, Array, Array]:
    """Recursive medians: (the 2^levels parts between them, the 2^levels - 1 medians in order, whether each is real).

    They are computed one after the other, level by level: the program does not grow with the number of levels.

    Args:
      key: consumed.
      levels: a pytree of arrays ``[levels, ...]``, the numbers of one median of each level, the root first.
      median: of one part, which reads no other rows. An answer outside the part is moved to its nearest end.

    Privacy: twice what one median of each level spends when a row is added to its part or removed, added over the
      levels, REPLACE_ONE, for every database. Given the levels above, the parts of a level are public and disjoint, so
      a removed row changes one of them and an added row one of them; sizes of the parts are never published.
    Reference: Kaplan, Schnapp, Stemmer 2022 (recursive quantiles); three-way splits and constants our own.
    """
    depth = jax.tree.leaves(levels)[0].shape[0]
    inner = 2**depth - 1
    nodes = Parts(*(jnp.zeros((2 * inner + 1, *part.shape[1:]), part.dtype) for part in Parts.whole(bits, size)))
    of_nodes = [keys.per_index(keys.stream(key, f"level {level}"), 2**level) for level in range(depth)]

    def of_each(column: Array) -> Array:
        return jnp.repeat(jnp.asarray(column), 2 ** np.arange(depth), axis=0, total_repeat_length=inner)

    def one(nodes: Parts, turn: tuple[Array, Array, Any]) -> tuple[Parts, tuple[Array, Array]]:
        node_key, node, numbers = turn
        part = Parts(*(jax.lax.dynamic_slice_in_dim(column, node, 1) for column in nodes))
        at = median(node_key, part, numbers)[None]
        at = jnp.where(B.less(at, part.low)[:, None], part.low, at)
        at = jnp.where(B.less(part.high, at)[:, None], part.high, at)
        return nodes.put(2 * node + 1, part.split(at)), (at[0], part.alive[0])

    start = nodes.put(0, Parts.whole(bits, size))
    turns = jnp.concatenate(of_nodes), jnp.arange(inner, dtype=jnp.int32), jax.tree.map(of_each, levels)
    nodes, columns = jax.lax.scan(one, start, turns)
    at, alive = (
        in_order([column[2**level - 1 : 2 ** (level + 1) - 1] for level in range(depth)]) for column in columns
    )
    return Parts(*(column[inner:] for column in nodes)), at, alive


def exponential_medians(x: Array, mask: Array, bits: int, size: int | None = None) -> Median:
    """For `median_tree`, whose ``levels`` are epsilons, ``float32[levels]``, of one median when a row is added or
    removed: its rate, as adding rows never lowers its score. x: ``uint32[capacity, W]``, in any order."""

    def median(key: Array, part: Parts, epsilon: Array) -> Array:
        law = exponential_median(
            x,
            part.holds(x)[0] & mask,
            epsilon,
            bits=bits,
            size=size,
            monotonic=True,
            neighboring=Neighboring.ADD_OR_REMOVE_ONE,
        )
        return law.sample(key)

    return median


def in_order(levels: list[Array]) -> Array:
    """Entries of a full binary tree, one array ``[2^l, ...]`` per level, from left to right."""
    depth = len(levels)
    places = [np.arange(2**level) * 2 ** (depth - level) + 2 ** (depth - level - 1) - 1 for level in range(depth)]
    return jnp.concatenate(levels)[np.argsort(np.concatenate(places))]


@plan_type
class HierarchyPlan:
    """medians: ``float32[levels]``, epsilon of a median of each level, ADD_OR_REMOVE_ONE. scale: ``float32[]``, of each
    count. tiers: of counts."""

    medians: Any
    scale: Positive
    levels: int = field(metadata=STATIC)
    tiers: int = field(metadata=STATIC)

    @property
    def size(self) -> int:
        """The number of points: two ends of each of 2^levels parts, and the medians between them."""
        return 3 * 2**self.levels - 1


@dataclass(frozen=True)
class ThreeWay(OfThresholds):
    """Base class: parts split three ways, {< z}, {z}, {> z}, at private medians z; noisy counts make the weights.

    A leaf that is an interval has half its weight at each of its ends, so inside it the error is half its rows.

    Counts are those of the leaves (one tier), or of a tree over them whose depth is the number of tiers and in which
    all nodes of a tier have equally many children (`theory.hierarchy.fanouts`). From the first tier on, the running
    sums over the children of a node are corrected to end where those of the nodes do, the root's at n; those of the
    leaves are then made to stay in [0, n] and to be nondecreasing. A sum over r leaves has the noise of about sqrt(r)
    counts with one tier, and of T^1.5 r^(1/(2 T)) of these with T. Noisy counts are integers clipped to [-n, 2 n].
    """

    levels: int | None = field(default=None, kw_only=True)
    counts: float | None = field(default=None, kw_only=True)
    tiers: int | None = field(default=None, kw_only=True)
    domain_size: int | None = field(default=None, kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        checks.whole_or_none("levels", self.levels, 1, MOST_LEVELS)
        checks.whole_or_none("tiers", self.tiers, 1, MOST_TIERS)
        checks.whole_or_none("domain_size", self.domain_size, 1, 2**self.bits)
        if self.counts is not None:
            checks.probability("counts", self.counts)

    @abstractmethod
    def split(self, key: Array, x: Array, mask: Array, plan: Any) -> tuple[Parts, Array, Array]:
        """`median_tree`."""

    def sanitize(self, key: Array, x: Array, mask: Array, plan: Any) -> Sanitized:
        """3 * 2^levels - 1 points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        of_medians, of_counts = keys.streams(key, "medians", "counts")
        parts, medians, counts = self.leaves(of_medians, x, mask, plan)
        weights = consistent(counts.sample(of_counts), jnp.sum(mask, dtype=jnp.int32), fanouts_of(parts, plan.tiers))
        inner = weights[::2]
        ends = jnp.stack([inner // 2, inner - inner // 2], axis=1)
        weights = jnp.concatenate([ends[:, 0], ends[:, 1], weights[1::2]])
        points = jnp.concatenate([parts.low, parts.high, medians])
        return Sanitized.of(points, weights, listed=jnp.ones(weights.shape, bool))

    def leaves(self, key: Array, x: Array, mask: Array, plan: Any) -> tuple[Parts, Array, RoundedLaplace]:
        """The intervals, the medians between them, and the law of the noisy counts, tier by tier from left to right."""
        parts, medians, real = self.split(key, x, mask, plan)
        counts, n = leaf_counts(x, mask, parts, medians, real), jnp.sum(mask, dtype=jnp.int32)
        counts = in_tiers(counts, fanouts_of(parts, plan.tiers))
        law = noisy_counts(counts, plan.scale, sensitivity=2 * plan.tiers, low=-n, high=2 * n, most=3 * x.shape[0])
        return parts, medians, law

    def structures(self, levels: Sequence[int]) -> list[tuple[int, int]]:
        """Levels with their tiers, of which the planner takes the best; with few levels one tier is. InputError if the
        given tiers are too many for all these levels."""
        if self.tiers is None:
            return [(each, tiers) for each in levels for tiers in ((1,) if each < 5 else (1, 2, 3))]
        if self.tiers > max(levels) + 1:
            raise InputError("tiers", f"at most {max(levels) + 1}, levels + 1", repr(self.tiers), "give more levels")
        return [(each, self.tiers) for each in levels if self.tiers <= each + 1]


@dataclass(frozen=True)
class Hierarchy(ThreeWay):
    """Three-way splits at exponential medians, and noisy counts of the leaves, see `ThreeWay`.

    Args:
      levels: in [1, 14], by default the number that needs the fewest rows.
      counts: the fraction of epsilon for the counts, in (0, 1), by default the one that needs the fewest rows.
      tiers: of counts, in [1, 4], by default the one of 1 to 3 that needs the fewest rows at epsilon 1.
      domain_size: the domain is {0..domain_size - 1}, or None for all 2**bits values.

    An excess of a part is halved by each of its splits; so a level has sqrt(2) times the epsilon of the level before.

    Privacy: (epsilon, 0), REPLACE_ONE, for every database and every n. `median_tree` spends (1 - counts) epsilon, twice
      the sum of its levels' epsilons. Its leaves are then public and disjoint; a replaced row decreases one count and
      increases another by 1 in each tier, so noise Laplace(2 tiers / (counts epsilon)) spends counts epsilon. No
      threshold and no delta are needed: the leaves are known without the rows.
    Utility: error at most alpha with probability 1 - beta from `sample_size`; docs/proofs/hierarchy.md.
    Reference: Kaplan, Schnapp, Stemmer 2022 (recursion); Dwork and Roth 2014, Theorem 3.6 (counts); Dwork, Naor,
      Pitassi, Rothblum 2010 (tiers); the sanitizer and its constants are our own.
    """

    spends: ClassVar[Spends] = "pure"

    def plan(self, privacy: Privacy, accuracy: Accuracy) -> HierarchyPlan:
        """The levels, the tiers and the fraction for counts that need the fewest rows; for 2^-levels if alpha is
        unreachable."""
        epsilon, _, alpha, beta = host_numbers(privacy, accuracy)
        return _plan(epsilon, *_chosen(self, alpha, beta))

    def structure(self, alpha: float, beta: float) -> tuple[int, float, int]:
        """The levels, the fraction for counts, and the tiers."""
        levels = levels_tried(alpha) if self.levels is None else (self.levels,)
        fractions = _FRACTIONS if self.counts is None else (self.counts,)
        aim = alpha if alpha > 0.5 / 2 ** max(levels) else 2.0 ** -max(levels)
        tried = [(level, fraction, tiers) for level, tiers in self.structures(levels) for fraction in fractions]

        def rows(each: tuple[int, float, int]) -> float:
            gain = _SUMMED if each[0] <= sizes.MOST_SUMMED and each[2] == 1 else 1.0
            return gain * self._rows(_plan(1.0, *each), aim, beta)

        return min(tried, key=rows)

    def split(self, key: Array, x: Array, mask: Array, plan: HierarchyPlan) -> tuple[Parts, Array, Array]:
        """`median_tree` of exponential medians."""
        medians = exponential_medians(x, mask, self.bits, self.domain_size)
        return median_tree(key, plan.medians, medians, self.bits, self.domain_size)

    def guarantee(self, plan: HierarchyPlan) -> Guarantee:
        """Levels of medians, and the counts."""
        require_leaves(plan)
        require_shape("medians", plan.medians, (plan.levels,))
        add, what = Neighboring.ADD_OR_REMOVE_ONE, "medians of one level"
        parts = [as_replace_one(exponential_guarantee(float(epsilon), what, add)) for epsilon in plan.medians]
        splits = basic(parts, "three-way splits")
        return basic((splits, counts_guarantee(plan)), f"threshold sanitizer, {plan.levels} levels")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.hierarchy.hierarchy_exact`."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        rows = self._rows(plan, alpha, beta, sizes.hierarchy_exact)
        return whole_rows(rows, alpha, f"2**-{plan.levels + 1}", "levels")

    def unseen(self, concepts: Any, plan: HierarchyPlan, n: int, beta: float) -> float:
        """`theory.hierarchy.largest_part` for each interval of a difference: all ends of parts are listed."""
        rates = tuple(effective_epsilon(epsilon) for epsilon in plan.medians)
        intervals = self.parts_of_a_difference(concepts) / 2
        return intervals * sizes.largest_part(log_size(self.bits, self.domain_size), rates, n, beta)

    def _rows(
        self, plan: HierarchyPlan, alpha: float, beta: float, bound: Callable[..., float] = sizes.hierarchy
    ) -> float:
        rates = tuple(effective_epsilon(epsilon) for epsilon in plan.medians)
        return bound(log_size(self.bits, self.domain_size), rates, float(plan.scale), alpha, beta, plan.tiers)


@lru_cache(maxsize=1024)
def _chosen(sanitizer: Hierarchy, alpha: float, beta: float) -> tuple[int, float, int]:
    return sanitizer.structure(alpha, beta)


def _plan(epsilon: float, levels: int, counts: float, tiers: int) -> HierarchyPlan:
    """The counts get what the medians leave of epsilon."""
    weights = 2.0 ** (np.arange(levels) / 2)
    medians = np.array([down(share) for share in (1 - counts) * epsilon / 2 * weights / weights.sum()], np.float32)
    return HierarchyPlan(medians, scale_of_counts(epsilon - 2 * sum(map(float, medians)), tiers), levels, tiers)


def scale_of_counts(left: float, tiers: int) -> np.float32:
    """The scale of the noise of counts at what the medians leave of epsilon; InputError if that is nothing."""
    if left <= 0:
        raise InputError("counts", "a fraction of epsilon for the counts", "about 0", "give a larger fraction")
    return up(2 * tiers / (left * (1 - 1e-14)))


def counts_guarantee(plan: Any) -> Guarantee:
    """A replaced row leaves one count of each tier and enters one. plan: with a ``scale`` and ``tiers``."""
    rate = 2 * plan.tiers / positive("scale", plan.scale)
    return laplace_mechanism_guarantee(rate, sensitivity=2 * plan.tiers, what="counts of the leaves")


def fanouts_of(parts: Parts, tiers: int) -> tuple[int, ...]:
    """`theory.hierarchy.fanouts` for these parts."""
    return sizes.fanouts(parts.alive.shape[0].bit_length() - 1, tiers)


def leaf_counts(x: Array, mask: Array, parts: Parts, medians: Array, real: Array) -> Array:
    """Rows of interval, median, interval, ..., interval, ``int32[2^(levels + 1) - 1]``; every row is in one leaf."""
    inner = jnp.sum(parts.holds(x) & mask[None], axis=1, dtype=jnp.int32)
    atoms = jnp.sum(B.equal(medians[:, None], x[None]) & mask[None] & real[:, None], axis=1, dtype=jnp.int32)
    return jnp.append(jnp.stack([inner[:-1], atoms], axis=1).reshape(-1), inner[-1:])


def in_tiers(leaves: Array, fanouts: Sequence[int]) -> Array:
    """Counts of all nodes, tier by tier and from left to right, ``int32[...]``; behind the leaves are empty ones."""
    leaves = jnp.pad(leaves, (0, math.prod(fanouts) - leaves.shape[0]))
    nodes = (math.prod(fanouts[: tier + 1]) for tier in range(len(fanouts)))
    return jnp.concatenate([jnp.sum(leaves.reshape(many, -1), axis=1, dtype=jnp.int32) for many in nodes])


def consistent(counts: Array, n: Array, fanouts: Sequence[int]) -> Array:
    """Weights >= 0 of the leaves that sum to n, from noisy counts of `in_tiers`: running sums, corrected for the totals
    of the tier above, monotone. ``int32[...]``, without the empty leaf behind.

    If the running sums of each node's children are off by at most E after subtracting i / f of their total's error from
    the i-th, so are these by T E.
    """
    ends, at = jnp.stack([jnp.zeros_like(n), n]), 0  # running sums at the ends of the nodes of a tier
    for f in fanouts:
        nodes = ends.shape[0] - 1
        sums = jnp.cumsum(counts[at : at + nodes * f].reshape(nodes, f), axis=1, dtype=jnp.int32)
        part, at = jnp.arange(1, f + 1, dtype=jnp.int32), at + nodes * f
        excess = (sums[:, -1] - jnp.diff(ends))[:, None]
        sums = sums - ((excess // f) * part + (excess % f) * part // f) + ends[:-1, None]
        ends = jnp.append(ends[:1], sums.reshape(-1))
    sums = jnp.clip(ends[1 : ends.shape[0] // 2 * 2], 0, n).at[-1].set(n)
    return jnp.diff(jax.lax.cummax(sums), prepend=jnp.zeros(1, jnp.int32))
