"""Triangles with edges in a finite set of lines, sampled exactly, for any number of rows."""

from dataclasses import dataclass
from itertools import combinations
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.mechanisms.cover.lines.cuts import Cut
from dpjax.mechanisms.cover.triangles.corners import corner_counts
from dpjax.mechanisms.cover.triangles.strips import Binned, Strips


@dataclass(frozen=True)
class Triangles(Strips):
    """Intersections of three halfplanes from a finite set of lines.

    For directions and bins see `Strips`. The three edges of a triangle have different slopes; each keeps the strips
    0, ..., i or the strips i, ..., bins - 1, so that two of its 2 bins choices keep everything. There are
    C(directions, 3) (2 bins)^3 triples, of measure 1 each; some of them are a halfplane, an intersection of two
    halfplanes, or the plane.

    A selection takes O(directions^3 (n + bins^4)) steps: rows are counted once per triple of directions, not once
    per triple of lines. Edges of other triangles are approximated to within a strip and a direction: utility is for
    data that are smooth at this resolution, privacy for all data.

    Reference: Kaplan, Mansour, Matias and Stemmer 2019, Section 5 (SelectTriangle); the sampler is derived here.
    """

    directions: int = 12
    bins: int = 16

    @property
    def size(self) -> int:
        """Triples of halfplanes."""
        return comb(self.directions, 3) * (2 * self.bins) ** 3

    @property
    def edges(self) -> int:
        """3, see `Planar`."""
        return 3

    def groups(self) -> np.ndarray:
        """All triples of directions, ascending, ``int32[C(directions, 3), 3]``."""
        return np.array(list(combinations(range(self.directions), 3)), np.int32)

    def counts(self, rows: Binned, weight: Array, group: Array) -> tuple[Array, Array]:
        """By the sides of the three edges, ``float64[2 bins, 2 bins, 2 bins]`` each."""
        first, second, third = (jax.lax.dynamic_index_in_dim(rows.bins, group[i], 0, False) for i in range(3))
        return corner_counts(first, second, third, weight, self.bins)

    def piece(self, group: Array, number: Array) -> Cut:
        """Three cuts, each leaf with a leading axis of 3."""
        both = jnp.int32(2 * self.bins)
        return self.cuts(group, jnp.stack([number // (both * both), number // both % both, number % both]))
