"""Rectangles at several angles with sides in a finite set of lines, sampled exactly, for any number of rows."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.checks import InputError
from dpjax.mechanisms.cover.lines.cuts import Cut
from dpjax.mechanisms.cover.triangles.corners import range_counts
from dpjax.mechanisms.cover.triangles.strips import Binned, Strips


@dataclass(frozen=True)
class Rectangles(Strips):
    """Intersections of two orthogonal ranges of strips, see `Strips`; a range is one or more consecutive strips.

    directions: even; a rectangle has one of directions / 2 angles. There are directions / 2 times
    (bins (bins + 1) / 2)^2 of them, of measure 1 each.

    A selection takes O(directions (n + bins^4)) steps. A rectangle costs fewer nats than a triangle at a lower
    resolution, and a union of few rectangles has no spikes: docs/gallery/boundary.md.
    """

    directions: int = 16
    bins: int = 24

    def __post_init__(self):
        super().__post_init__()
        if self.directions % 2:
            raise InputError("directions", "an even number", str(self.directions), "right angles need pairs")

    @property
    def size(self) -> int:
        """Pairs of ranges at all angles."""
        return self.directions // 2 * len(self._ranges()[0]) ** 2

    @property
    def edges(self) -> int:
        """4, see `Planar`."""
        return 4

    def groups(self) -> np.ndarray:
        """All pairs of orthogonal directions, ``int32[directions / 2, 2]``."""
        first = np.arange(self.directions // 2, dtype=np.int32)
        return np.stack([first, first + np.int32(self.directions // 2)], axis=1)

    def counts(self, rows: Binned, weight: Array, group: Array) -> tuple[Array, Array]:
        """By the two ranges, ``float64[ranges, ranges]`` each."""
        first, second = (jax.lax.dynamic_index_in_dim(rows.bins, group[i], 0, False) for i in range(2))
        return range_counts(first, second, weight, self.bins, *self._ranges())

    def piece(self, group: Array, number: Array) -> Cut:
        """Four cuts, each leaf with a leading axis of 4."""
        low, high = map(jnp.asarray, self._ranges())
        place = jnp.stack([number // jnp.int32(len(low)), number % jnp.int32(len(low))])
        sides = jnp.stack([low[place] + jnp.int32(self.bins), high[place]], axis=1)  # from low on, and up to high
        return self.cuts(jnp.repeat(group, 2), sides.reshape(-1))

    def _ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last strip of every range, ``int32[bins (bins + 1) / 2]`` each."""
        low, high = np.triu_indices(self.bins)
        return low.astype(np.int32), high.astype(np.int32)
