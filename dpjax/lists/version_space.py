"""Lists of all concepts that agree with a batch: the target is on every one."""

from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.finite import Finite
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.core import checks
from dpjax.core.plans import STATIC, plan_type
from dpjax.core.products import exact_dot
from dpjax.core.types import Accuracy, Privacy
from dpjax.lists.base import Cells, ListPlan, Lists
from dpjax.theory import version_spaces


@plan_type
class VersionSpacePlan(ListPlan):
    """ends: ``int32[1]``, a batch has one part. length: the number of concepts."""

    ends: Any
    length: int = field(metadata=STATIC)


@dataclass(frozen=True)
class VersionSpace(Lists):
    """The concepts of a finite class without an error on the batch: what `Irreducibility` comes to if its trees may
    query all elements, since their leaves are then single concepts.

    Args:
      concepts: a class given as a matrix. What is selected is a concept; no answer is the zero function.
      batch_rows: rows of a batch in `sample_size`, >= 1. One needs the fewest rows; more need fewer lists, and less
        memory.

    Not private by itself: see `SparseAggregate`.
    Utility: for realizable rows the target is on every list, and others are on few: `theory.version_spaces.batches`.
      With one row for each batch these are as many as `KLN` needs, or those of the selection's gate, if delta is tiny
      or alpha large; for every matrix that can be stored fewer than `theory.irreducibility.rows` of its Littlestone
      dimension. Proof: docs/proofs/irreducibility.md#a-tree-that-queries-everything.
    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 2.8 and Theorem 3.6, after Ghazi, Golowich, Kumar, Manurangsi
      2021.
    """

    concepts: Finite
    batch_rows: int = 1

    def __post_init__(self):
        checks.instance("concepts", self.concepts, Finite, "give a matrix: Finite.of")
        checks.integer("batch_rows", self.batch_rows, 1, 2**31 - 1)

    @property
    def cells(self) -> int:
        """The elements of the domain."""
        return self.concepts.width

    def plan(self, accuracy: Accuracy) -> VersionSpacePlan:
        """No numbers."""
        return VersionSpacePlan(np.ones(1, np.int32), self.concepts.size)

    def names(self, key: Array, cells: Cells, plan: VersionSpacePlan) -> tuple[Array, Array]:
        """The numbers of the concepts. The key is not used."""
        seen = (cells.counts[0] > 0).astype(jnp.float32)
        table = jnp.asarray(self.concepts.matrix()).astype(jnp.float32)
        wrong = exact_dot(table, seen[:, 0] - seen[:, 1]) + jnp.sum(seen[:, 1])  # elements, below 2**24
        return jnp.arange(self.concepts.size, dtype=jnp.uint32)[:, None], wrong == 0

    def hypothesis(self, name: Array, outcome: Array) -> Hypothesis:
        """The concept with that number."""
        number = jnp.stack([jnp.uint32(0), name[0]])[None]
        return Hypothesis(number, (outcome < 0)[None], outcome[None])

    def rows(self, accuracy: Accuracy) -> int:
        """``batch_rows``."""
        return self.batch_rows

    def batches(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.version_spaces.batches`."""
        numbers = float(privacy.epsilon), float(privacy.delta), float(accuracy.alpha), float(accuracy.beta)
        return version_spaces.batches(self.concepts.size, self.batch_rows, *numbers)
