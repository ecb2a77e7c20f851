"""Lists of the smallest sets of elements that explain nearly all positive rows: for point functions of any domain."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.point_sets import PointSets
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.plans import STATIC, plan_type
from dpjax.core.types import Accuracy, Privacy
from dpjax.lists.base import Cells, ListPlan, Lists
from dpjax.theory import irreducibility, version_spaces

_MOST_ONES = 12


@plan_type
class MinimalSetsPlan(ListPlan):
    """ends: ``int32[1]``, a batch has one part. cuts ``float32[d + 1]``: largest empirical errors of the levels.

    length: static, 2^d.
    """

    ends: Any
    cuts: Any
    length: int = field(metadata=STATIC)


@dataclass(frozen=True)
class MinimalSets(Lists):
    """For each of d + 1 levels of error, the sets of the fewest elements whose indicator errs at most so often, among
    the d elements with the most positive rows less negative ones.

    For labels without noise and a large domain these are the optimal predictions of the irreducible classes of
    `Irreducibility`, found without a table: after the at most d positive elements are queried, the functions at a leaf
    that has said yes to a are 1 on d - a elements of nearly all the domain, and that dimension no further query
    reduces.

    Args:
      concepts: point sets of d <= 12 elements with labels of one bit, over up to 2^64 elements. Improper: a function on
        the list is 1 on at most d elements.

    Not private by itself: see `SparseAggregate`.
    Utility: for realizable rows, one function of error at most alpha is on a list with probability .9, and no other of
      larger error. `theory.version_spaces.minimal_sets` rows, whatever the domain. Proof:
      docs/proofs/irreducibility.md#sets-of-d-elements.
    Reference: Bun, Gaboardi, Sivakumar 2021, Theorem 3.6, after Ghazi, Golowich, Kumar, Manurangsi 2021; the theorem
      for sets and its constants are our own.
    """

    concepts: PointSets

    def __post_init__(self):
        checks.instance("concepts", self.concepts, PointSets, "give PointSets(domain, d)")
        if self.concepts.bits > 1 or self.concepts.ones > _MOST_ONES:
            expected, actual = f"labels of one bit, sets of at most {_MOST_ONES} elements", repr(self.concepts)
            raise InputError("concepts", expected, actual, "learn the bits separately, or take smaller sets")

    @property
    def cells(self) -> None:
        """Those of a batch's elements."""
        return None

    @property
    def dimension(self) -> int:
        """The Littlestone dimension of the class."""
        versions = self.concepts.versions()
        return versions.dimension(versions.whole)

    @property
    def words(self) -> int:
        """A number, and the limbs of d elements."""
        return 1 + self.concepts.ones * self.concepts.domain.limbs

    def plan(self, accuracy: Accuracy) -> MinimalSetsPlan:
        """The cuts."""
        cuts = version_spaces.minimal_sets(self.concepts.ones, float(accuracy.alpha)).cuts
        return MinimalSetsPlan(np.ones(1, np.int32), np.array(cuts, np.float32), 1 << self.concepts.ones)

    def names(self, key: Array, cells: Cells, plan: MinimalSetsPlan) -> tuple[Array, Array]:
        """Each a number of elements, then the elements, ascending. The key is not used."""
        count = cells.counts[0]
        gain, rows = count[:, 1] - count[:, 0], jnp.sum(count).astype(jnp.float32)
        best, at = jax.lax.top_k(jnp.pad(gain, (0, self.concepts.ones)), self.concepts.ones)
        at = jnp.sort(jnp.where(best > 0, at, len(gain)))
        element, gain = (jnp.append(part, part[:1] * 0, axis=0)[at] for part in (cells.elements, gain))
        chosen, place = _subsets(self.concepts.ones)
        missed = (jnp.sum(count[:, 1]) - jnp.sum(jnp.where(chosen, gain, 0), axis=1)).astype(jnp.float32)
        fits = missed <= (plan.cuts * rows)[:, None]  # none of the least has an element of gain 0: it fits without
        size = chosen.sum(axis=1, dtype=np.int32)
        least = jnp.min(jnp.where(fits, size, self.concepts.ones + 1), axis=1, keepdims=True)
        listed = jnp.append(element, element[:1] * 0, axis=0)[place].reshape(len(chosen), -1)
        return jnp.concatenate([size.astype(np.uint32)[:, None], listed], axis=1), jnp.any(
            fits & (size == least), axis=0
        )

    def hypothesis(self, name: Array, outcome: Array) -> Hypothesis:
        """The indicator; of fewer than d elements the least one is repeated."""
        size, ones = name[0].astype(jnp.int32), self.concepts.ones
        element = name[1:].reshape(ones, -1)[jnp.maximum(jnp.arange(ones, dtype=jnp.int32) - (ones - size), 0)]
        words = jnp.pad(element, ((0, 0), (2 - element.shape[1], 0))).reshape(1, -1)
        return Hypothesis(words, (size == 0)[None], outcome[None])

    def rows(self, accuracy: Accuracy) -> int:
        """`theory.version_spaces.minimal_sets`."""
        return version_spaces.minimal_sets(self.concepts.ones, float(accuracy.alpha)).rows

    def batches(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.irreducibility.batches`."""
        numbers = float(privacy.epsilon), float(privacy.delta), float(accuracy.beta)
        return irreducibility.batches(1 << self.concepts.ones, *numbers)


def _subsets(count: int) -> tuple[np.ndarray, np.ndarray]:
    """All subsets of ``count`` places, ``bool[2^count, count]``, and their places in order, then ``count``."""
    chosen = (np.arange(1 << count)[:, None] >> np.arange(count) & 1) > 0
    return chosen, np.sort(np.where(chosen, np.arange(count), count), axis=1).astype(np.int32)
