"""A fixed assignment of rows to disjoint blocks of given proportions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.core.types import Sample

_SLOTS = 32  # of the largest block in a period: the others have at most 1/32 of it too many


@dataclass(frozen=True)
class Blocks:
    """Row j belongs to block order[j mod period], whatever the data and the number of rows.

    order: the blocks of one period, each block's rows evenly spread.
    """

    order: tuple[int, ...]

    @staticmethod
    def of(weights: Sequence[int]) -> "Blocks":
        """Blocks with about ``weights`` rows, each >= 1: rounded up to multiples of 1/32 of the largest."""
        slots = [-(-_SLOTS * weight // max(weights)) for weight in weights]
        slots = [count // gcd(*slots) for count in slots]
        times = [(Fraction(2 * i + 1, count), block) for block, count in enumerate(slots) for i in range(count)]
        return Blocks(tuple(block for _, block in sorted(times)))

    def rows(self, block: int, n: int) -> int:
        """The number of rows of a block among the first n."""
        periods, rest = divmod(n, len(self.order))
        return periods * self.order.count(block) + self.order[:rest].count(block)

    def needed(self, sizes: Sequence[int]) -> int:
        """The least n from which on every block i has sizes[i] >= 1 rows."""
        return max(self._end(block, size) for block, size in enumerate(sizes))

    def last(self, n: int) -> list[int]:
        """The last row of each block among the first n; without the blocks that have none."""
        counts = [self.rows(block, n) for block in range(max(self.order) + 1)]
        return [self._end(block, count) - 1 for block, count in enumerate(counts) if count]

    def take(self, sample: Sample, block: int) -> Sample:
        """The rows of a block, in a buffer whose size depends only on the sample's capacity and the block's weight."""
        period, places = len(self.order), np.flatnonzero(np.equal(self.order, block))
        periods = -(-sample.capacity // period)

        def of(part: jax.Array) -> jax.Array:
            rest = part.shape[1:]
            padded = jnp.pad(part, ((0, periods * period - part.shape[0]), *((0, 0) for _ in rest)))
            return padded.reshape(periods, period, *rest)[:, places].reshape(-1, *rest)

        return jax.tree.map(of, sample)

    def _end(self, block: int, size: int) -> int:
        places = np.flatnonzero(np.equal(self.order, block))
        periods, rest = divmod(size - 1, len(places))
        return periods * len(self.order) + int(places[rest]) + 1
