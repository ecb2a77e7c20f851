"""What practitioners use for many private quantiles, as threshold sanitizers: independent ones, and recursive ones.

m quantiles at shares i / (m + 1) stand for a synthetic database with 2 parts of weight each, and 1 at each end of the
domain: between quantile i and the next the share is (i + 1/2) / (m + 1), the middle of what it can be.
"""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.distance import as_replace_one
from dpjax.accounting.guarantee import Guarantee
from dpjax.accounting.zcdp import exponential_guarantee
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, as_float
from dpjax.mechanisms.median import bits as B
from dpjax.mechanisms.median import exponential_median
from dpjax.sanitizers.base import Sanitized
from dpjax.sanitizers.blocks import log_size
from dpjax.sanitizers.hierarchy import median_tree
from dpjax.sanitizers.shares import composed, each, host_share, share
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import sanitizers as sizes

_DOWN = 1 - 2.0**-20  # covers the rounding to float32
_MOST_LEVELS = 14


def of_quantiles(points: Array, bits: int, size: int | None) -> Sanitized:
    """The synthetic database of m equally spaced quantiles ``uint32[m, W]``; m + 2 points."""
    top = jnp.asarray(B.encode(2**bits - 1 if size is None else size - 1, bits))[None]
    weights = jnp.full(points.shape[0] + 2, 2, jnp.int32).at[0].set(1).at[-1].set(1)
    return Sanitized.of(jnp.concatenate([jnp.zeros_like(top), points, top]), weights)


@dataclass(frozen=True)
class IndependentQuantiles:
    """m exponential quantiles, each of all rows at its share of the budget.

    Args:
      count: static m >= 1.
      bits: of a row.
      size: the domain is {0..size - 1}, or None for all 2**bits values.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database and every n: m exponential mechanisms whose margins
      depend on n only, by zCDP or basic composition, whichever leaves more.
    Utility: error at most alpha with probability 1 - beta from `sample_size`; proof in `theory.sanitizers.quantiles`.
      Values that many rows share are no obstacle.
    Reference: Smith 2011 (one quantile); McSherry and Talwar 2007; Cesar and Rogers 2021 (composition).
    """

    count: int
    bits: int
    size: int | None = None
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("count", self.count, 1)
        B.limbs(self.bits)

    @staticmethod
    def planned(
        alpha: float, bits: int, privacy: Privacy, beta: float, size: int | None = None
    ) -> "IndependentQuantiles":
        """The number of quantiles, from 1 / (2 alpha) to 2 / alpha, that needs the fewest rows."""
        accuracy, least = Accuracy(alpha, beta), math.floor(0.5 / checks.probability("alpha", alpha))
        counts = sorted({least + math.ceil((least + 1) * extra / 16) for extra in range(1, 49)})
        plans = [IndependentQuantiles(count, bits, size) for count in counts]
        return min(plans, key=lambda plan: plan._rows(privacy, accuracy))

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """m + 2 points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        epsilon, n = share(privacy, self.count, pure=True).epsilon, jnp.sum(mask, dtype=jnp.int32)
        ranks = boundaries(n, self.count + 1)[1:-1]

        def one(own: Array, rank: Array) -> Array:
            margins = jnp.maximum(rank, 1), jnp.maximum(n - rank, 1)
            return exponential_median(x, mask, epsilon, bits=self.bits, size=self.size, margins=margins).sample(own)

        return of_quantiles(each(one, keys.per_index(key, self.count), ranks), self.bits, self.size)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """m quantiles at the share of one."""
        part = exponential_guarantee(
            float(host_share(privacy, self.count, pure=True).epsilon), "quantile (exponential)"
        )
        return composed(part, self.count, privacy, f"{self.count} independent quantiles")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.quantiles` at the share of one."""
        rows = self._rows(privacy, accuracy)
        if rows == math.inf:
            raise InputError(
                "alpha", f"more than 1 / {2 * self.count + 2}", repr(accuracy.alpha), "plan it for this alpha"
            )
        return int(rows)

    def _rows(self, privacy: Privacy, accuracy: Accuracy) -> float:
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        rate = float(host_share(privacy, self.count, pure=True).epsilon) / 2
        return sizes.quantiles(log_size(self.bits, self.size), rate, self.count, alpha, beta)


@dataclass(frozen=True)
class RecursiveQuantiles:
    """Approximate quantiles by recursion: the median of all rows, then those of the rows below and above it, and so on.

    Args:
      levels: static, in [1, 14]; m = 2^levels - 1 quantiles.
      bits: of a row.
      ties: bits that tell equal rows apart; up to 2^ties equal rows count as distinct. 0 is the published algorithm,
        which may be wrong by any share that a single value has.

    Every step is a median, so its score never falls when a row is added and the rate is twice that of a general
    quantile. Equal rows are told apart by their number among equals: as a multiset, that changes by the row that is
    added or removed and no other.

    Privacy: (epsilon, 0), REPLACE_ONE, for every database and every n: `hierarchy.median_tree` at epsilon / (2 levels).
      A replaced row touches two parts a level; the price of one would do under ADD_OR_REMOVE_ONE only.
    Utility: error at most alpha with probability 1 - beta from `sample_size`, if no value occurs more than 2^ties
      times; proof in `theory.sanitizers.recursive`.
    Reference: Kaplan, Schnapp, Stemmer 2022, Algorithm 1 (ApproximateQuantiles); constants derived here.
    """

    levels: int
    bits: int
    ties: int = 0
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("levels", self.levels, 1, _MOST_LEVELS)
        checks.integer("ties", self.ties, 0, 31)
        B.limbs(self.bits + self.ties)

    @staticmethod
    def planned(alpha: float, bits: int, privacy: Privacy, beta: float) -> "RecursiveQuantiles":
        """The levels that need the fewest rows, with as many bits for ties as that many rows can need."""
        accuracy, least = Accuracy(alpha, beta), max(1, math.ceil(-math.log2(checks.probability("alpha", alpha))) - 1)
        plans = []
        for levels in range(least, min(least + 4, _MOST_LEVELS + 1)):
            ties = (RecursiveQuantiles(levels, bits, ties) for ties in range(32))
            plans += [plan for plan in ties if plan._rows(privacy, accuracy) <= 2**plan.ties][:1]
        if not plans:
            raise InputError("alpha", "one that 2**31 rows can reach", repr(alpha), "relax alpha or epsilon")
        return min(plans, key=lambda plan: plan._rows(privacy, accuracy))

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """2^levels + 1 points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        epsilon = as_float(privacy.epsilon) * (_DOWN / (2 * self.levels))
        rows, real = numbered(B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32), self.bits, self.ties)
        points = median_tree(key, rows, real, epsilon, self.levels, self.bits + self.ties)[1]
        return of_quantiles(shifted_right(points, self.bits, self.ties), self.bits, None)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """Levels of medians."""
        one = float(privacy.epsilon) / (2 * self.levels)
        part = exponential_guarantee(one, "medians of one level", Neighboring.ADD_OR_REMOVE_ONE)
        return basic((as_replace_one(part),), f"{2**self.levels - 1} recursive quantiles", self.levels)

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.sanitizers.recursive`, for rows of which no more than 2^ties are equal."""
        rows = self._rows(privacy, accuracy)
        if rows == math.inf:
            raise InputError(
                "alpha", f"more than 2**-{self.levels + 1}", repr(accuracy.alpha), "plan it for this alpha"
            )
        return int(rows)

    def _rows(self, privacy: Privacy, accuracy: Accuracy) -> float:
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        rate = checks.epsilon(float(privacy.epsilon)) * _DOWN / (2 * self.levels)
        return sizes.recursive(log_size(self.bits + self.ties, None), rate, self.levels, alpha, beta)


def numbered(rows: Array, n: Array, bits: int, ties: int) -> tuple[Array, Array]:
    """Sorted rows, each followed by its number among equal ones in ``ties`` bits, and which are real.

    A number beyond 2^ties - 1 is that. Rows and numbers ascend. If a row is added, one element is.
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
