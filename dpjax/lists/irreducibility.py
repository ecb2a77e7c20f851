"""Lists of optimal predictions of irreducible subclasses: one function is on almost every list."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.finite import Finite
from dpjax.core import checks
from dpjax.core.checks import NoTheoremError
from dpjax.core.plans import STATIC, Number, down, plan_type, whole
from dpjax.core.types import Accuracy, Privacy
from dpjax.dimensions.subsets import SubsetTables
from dpjax.lists.base import Cells, ListPlan, Lists
from dpjax.lists.version_spaces import dimension_of, require_small, tables_of
from dpjax.theory import irreducibility as theory


@plan_type
class IrreducibilityPlan(ListPlan):
    """ends: of the two halves, ``int32[2]``. cuts ``float32[d + 1]``, keep ``float32[]``: largest empirical errors.

    depths, lengths: static, of the trees and lists of the levels. length: of the whole list.
    """

    ends: Any
    cuts: Any
    keep: Number
    depths: tuple[int, ...] = field(metadata=STATIC)
    lengths: tuple[int, ...] = field(metadata=STATIC)
    length: int = field(metadata=STATIC)


@dataclass(frozen=True)
class Irreducibility(Lists):
    """For each of d + 1 levels of error, the concepts below it are divided by a tree of queries that reduces their
    Littlestone dimension as far as possible; the list has the optimal predictions of the leaves that keep the largest
    dimension and are irreducible (at every element some label keeps it), if the second half of the batch agrees.

    Args:
      concepts: at most 20 concepts over 32 elements, of Littlestone dimension d.
      depth: r >= 1 of the trees, (2^j - 1) r at level j; by default the theorem's. With smaller ones nothing is proved.

    Not private by itself: see `SparseAggregate`.
    Utility: for realizable rows, one function that depends on the distribution and the target alone is on the list of
      every batch whose empirical errors separate the levels; `theory.irreducibility.sizes`.
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 3.6, after Ghazi, Golowich, Kumar, Manurangsi 2021 (irreducible
      classes, reducing trees); the improper learner and its proof are our own: docs/proofs/irreducibility.md.
    """

    concepts: Finite
    depth: int | None = None

    def __post_init__(self):
        require_small(self.concepts, "Irreducibility")
        checks.whole_or_none("depth", self.depth, 1)

    @property
    def dimension(self) -> int:
        """The Littlestone dimension of the class."""
        return dimension_of(self.concepts)

    @property
    def eta(self) -> float:
        """The stability that is promised: a lower bound of the largest probability of one function on a list, for
        trees of the theorem's depth."""
        return theory.ETA

    def sizes(self, accuracy: Accuracy) -> theory.Sizes:
        """`theory.irreducibility.sizes` of the class."""
        size, width = self.concepts.size, self.concepts.width
        return theory.sizes(self.dimension, size, width, float(accuracy.alpha), self.depth)

    def plan(self, accuracy: Accuracy) -> IrreducibilityPlan:
        """The cuts, and the halves in the theorem's proportion."""
        sizes = self.sizes(accuracy)
        ends = np.stack([whole(sizes.first), whole(sizes.first + sizes.second)])
        cuts = np.array(sizes.cuts, np.float32)
        return IrreducibilityPlan(ends, cuts, down(sizes.keep), sizes.depths, sizes.lengths, sizes.length)

    def names(self, key: Array, cells: Cells, plan: IrreducibilityPlan) -> tuple[Array, Array]:
        """The candidates of all levels. The key is not used."""
        table = jnp.asarray(self.concepts.matrix())
        first, second = cells.counts[0], cells.counts[1]
        errors = jnp.sum(jnp.where(table, first[:, 0], first[:, 1]), axis=1, dtype=jnp.int32)
        rows, bits = jnp.sum(first).astype(jnp.float32), jnp.uint32(1) << jnp.arange(len(table), dtype=jnp.uint32)
        tables, names, filled = tables_of(self.concepts, max(plan.depths)), [], []
        for j, length in enumerate(plan.lengths):
            near = errors.astype(jnp.float32) <= plan.cuts[j] * rows
            space = jnp.sum(jnp.where(near, bits, jnp.uint32(0)), dtype=jnp.uint32)
            level_names, kept = self._level(tables, space, plan.depths[j], length)
            names.append(level_names)
            filled.append(kept)
        name, kept = jnp.concatenate(names), jnp.concatenate(filled)
        label = name[:, None] >> jnp.arange(self.concepts.width, dtype=jnp.uint32) & 1
        wrong = jnp.sum(jnp.where(label > 0, second[:, 0], second[:, 1]), axis=1, dtype=jnp.int32)
        kept &= wrong.astype(jnp.float32) <= plan.keep * jnp.sum(second).astype(jnp.float32)
        return name[:, None], kept

    def rows(self, accuracy: Accuracy) -> int:
        """Both halves of a batch; NoTheoremError for smaller trees than the theorem's."""
        sizes, width = self.sizes(accuracy), self.concepts.width
        least = theory.irreducible_depth(self.dimension, self.concepts.size, width, float(accuracy.alpha))
        if self.depth is not None and self.depth < least:
            raise NoTheoremError("depth", f"at least the theorem's {least}", str(self.depth), "leave it to the planner")
        return sizes.first + sizes.second

    def batches(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.irreducibility.batches`."""
        epsilon, delta = float(privacy.epsilon), float(privacy.delta)
        return theory.batches(self.sizes(accuracy).length, epsilon, delta, float(accuracy.beta))

    def _level(self, tables: SubsetTables, space: Array, depth: int, length: int) -> tuple[Array, Array]:
        """The predictions of a tree's leaves, ``uint32[length]``, and which are candidates."""
        littlestone, reduced = jnp.asarray(tables.littlestone), jnp.asarray(tables.reduced[depth])
        leaves = self._leaves(tables, space, depth, length)
        index = leaves.astype(jnp.int32)
        largest = littlestone[index] == reduced[space.astype(jnp.int32)]
        kept = (leaves > 0) & largest & jnp.asarray(tables.irreducible)[index]
        return jnp.asarray(tables.prediction)[index], kept

    def _leaves(self, tables: SubsetTables, space: Array, depth: int, length: int) -> Array:
        """The leaves that are not empty, as sets of concepts ``uint32[length]``; 0 in other slots.

        At depth k a set that no tree of that depth divides with profit stays as it is.
        """
        ones, query = jnp.asarray(tables.ones), jnp.asarray(tables.query)

        def divide(slots: Array, left: Array) -> tuple[Array, None]:
            at = query[left, slots.astype(jnp.int32)].astype(jnp.int32)
            high = jnp.where(at >= 0, slots & ones[jnp.maximum(at, 0)], jnp.uint32(0))
            parts = jnp.concatenate([slots & ~high, high])
            place = jnp.where(parts > 0, jnp.cumsum(parts > 0, dtype=jnp.int32) - 1, length)
            return jnp.zeros(length, jnp.uint32).at[place].set(parts, mode="drop"), None

        start = jnp.zeros(length, jnp.uint32).at[0].set(space)
        return jax.lax.scan(divide, start, jnp.arange(depth, 0, -1, dtype=jnp.int32))[0]
