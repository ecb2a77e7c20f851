"""S-basic: an interior point of each of k blocks of the sorted rows."""

import math
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.mechanisms.median import (
    ExponentialPlan,
    MedianPlan,
    RscPlan,
    median_guarantee,
    plan_exponential,
    plan_recprefix,
    private_median,
    required_records,
)
from dpjax.mechanisms.median import bits as B
from dpjax.sanitizers.base import Sanitized
from dpjax.sanitizers.shares import composed, each, host_share, share
from dpjax.sanitizers.thresholds import boundaries
from dpjax.theory import sanitizers as sizes

_PREFIX_FROM = 64  # bits; below, the exponential median needs fewer rows at every budget


@dataclass(frozen=True)
class RankBlocks:
    """k blocks of n / k neighbouring ranks, an interior point of each, with the block's size as its weight.

    Args:
      blocks: static k >= 1.
      median: plan of the interior points, of any method but "rsc"; it says how many bits rows have.

    A block whose median does not answer has outcome -1; its point is element 0 and its weight remains.

    Privacy: (epsilon, delta), REPLACE_ONE, for every database and every n: block boundaries are public, and when a row
      is replaced the sorted list loses a row at one rank and gains one at another, so between them each block loses
      one row and gains one. All k medians compose, by zCDP (exponential) or optimal composition, or by basic
      composition where that leaves more.
    Utility: if all points are interior, the error is below 1 / k: of two blocks' rows only those around the threshold
      can be on the wrong side, (ceil(n / k) - 1) / n at most. That is so with probability 1 - beta from `sample_size`.
    Reference: Bun, Nissim, Stemmer, Vadhan 2015, Section 5 (thresholds from interior points); constants our own.
    """

    blocks: int
    median: MedianPlan
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("blocks", self.blocks, 1)
        if isinstance(self.median, RscPlan):
            raise InputError("median", "a plan whose budget is traced", "RscPlan", "use exponential or recprefix")

    @staticmethod
    def planned(alpha: float, bits: int, privacy: Privacy, beta: float, size: int | None = None) -> "RankBlocks":
        """ceil(1 / alpha) blocks, with the median that needs the fewest rows."""
        blocks = blocks_for(alpha)
        beta = checks.probability("beta", beta)
        pure, prefix = (host_share(privacy, blocks, pure=pure) for pure in (True, False))
        clipped = min(max(pure.epsilon, 1e-3), 100.0)  # what a plan is for decides nothing about an exponential median
        plain = RankBlocks(blocks, plan_exponential(bits, clipped, beta / blocks, size=size))
        if bits < _PREFIX_FROM or size is not None or prefix.delta == 0 or not 1e-3 <= prefix.epsilon <= 100:
            return plain
        other = RankBlocks(blocks, plan_recprefix(bits, prefix.epsilon, prefix.delta, beta / blocks))
        accuracy = Accuracy(alpha, beta)
        return min(plain, other, key=lambda one: one.sample_size(privacy, accuracy))

    @property
    def bits(self) -> int:
        """Of a row."""
        return self.median.bits

    @property
    def pure(self) -> bool:
        """Whether a median spends no delta."""
        return isinstance(self.median, ExponentialPlan)

    def sanitize(self, key: Array, x: Array, mask: Array, privacy: Privacy) -> Sanitized:
        """k points. x: ``uint32[capacity, W]``, rows in any order. mask: ``bool[capacity]``."""
        part = share(privacy, self.blocks, pure=self.pure)
        rows, n = B.sort_rows(x, mask), jnp.sum(mask, dtype=jnp.int32)
        ends = boundaries(n, self.blocks)
        room = jnp.arange(-(-x.shape[0] // self.blocks), dtype=jnp.int32)

        def one(own: Array, first: Array, count: Array):
            block = rows[jnp.minimum(first + room, x.shape[0] - 1)]
            return private_median(own, block, room < count, part, self.median)

        found = each(one, keys.per_index(key, self.blocks), ends[:-1], ends[1:] - ends[:-1])
        return Sanitized.of(found.element, ends[1:] - ends[:-1], found.outcome)

    def guarantee(self, privacy: Privacy) -> Guarantee:
        """k medians at the share of one."""
        part = median_guarantee(host_share(privacy, self.blocks, pure=self.pure), self.median, "interior point")
        return composed(part, self.blocks, privacy, f"threshold sanitizer, {self.blocks} blocks")

    def sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """k times the rows of one interior point at its share of the budget and of beta."""
        alpha, beta = (checks.probability(name, float(getattr(accuracy, name))) for name in ("alpha", "beta"))
        if self.blocks < blocks_for(alpha):
            raise InputError("alpha", f"at least 1 / {self.blocks} blocks", repr(alpha), "plan it for this alpha")
        part, failure = host_share(privacy, self.blocks, pure=self.pure), beta / self.blocks
        if isinstance(self.median, ExponentialPlan):
            return self.blocks * sizes.interior(log_size(self.bits, self.median.size), float(part.epsilon) / 2, failure)
        return self.blocks * required_records(self.median, part, failure)


def blocks_for(alpha: float) -> int:
    """ceil(1 / alpha), with alpha read as it is printed: 0.1 gives 10."""
    return math.ceil(round(1 / checks.probability("alpha", alpha), 9))


def log_size(bits: int, size: int | None) -> float:
    """ln |X|."""
    return bits * math.log(2) if size is None else math.log(size)
