"""Learning k concepts of one tree of low height with one stability histogram over nodes and their label vectors."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.hypothesis import Hypothesis
from dpjax.concepts.packing import unpack
from dpjax.core import checks
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.learners.stable_points import Cells, StableCells, StablePlan, count_cells
from dpjax.theory import points as theory


@dataclass(frozen=True)
class StableNodes(StableCells):
    """A stability histogram over pairs (node, label vector) with the whole budget; released pairs tell the nodes.

    A concept gets the last node, in preorder, among the released pairs whose vector has the concept's bit, and the root
    if there is none. In realizable samples all rows of a node have one vector, and the nodes with a concept's bit are
    those of its path, of which the last is the deepest. Only nodes below it were missed: with few levels, and so heavy
    ones among them, the error is small for any number of concepts. On a long chain there is no such learner
    (docs/proofs/one-tree.md); `GenericLearner` pays for k there. Improper: a node need not be a concept.

    Args:
      concepts: a class of VC dimension 1 as a tree: `Tree`, or one with its ``line``, ``on_line``, ``relabel`` and
        ``height``, whose hypotheses are node numbers.

    Privacy: (epsilon, delta) under ``neighboring``, for every sample: one histogram, post-processed.
    Utility: `theory.points.stable_points` at alpha / height, realizable, for every k.
    Reference: the histogram is that of Bun, Nissim, Stemmer 2016, Proposition 2.20, processed as Yan 2025, Theorem 5,
      allows; the learner is our own. Proof: docs/proofs/one-tree.md.
    """

    concepts: Any
    neighboring: Neighboring = Neighboring.REPLACE_ONE
    what: ClassVar[str] = "nodes"

    def __post_init__(self):
        require_class(self.concepts, ConceptClass.relabel, "Tree.of_class(matrix)")
        checks.instance("neighboring", self.neighboring, Neighboring, "take a member of Neighboring")

    def _learn(self, key: Array, sample: Sample, plan: StablePlan) -> Hypothesis:
        """k hypotheses at once."""
        k = sample.y.shape[1]
        cells = self.cells(sample)
        released = self.histogram(cells, plan).rounded(0, 0, self.concepts.line.size << min(k, 31)).sample(key) >= 0
        told = unpack(cells.labels, k) & released[:, None]  # [slots, k]
        slot = cells.rows.shape[0] - 1 - jnp.argmax(told[::-1], axis=0)  # the last one: pairs ascend by node
        return Hypothesis.of(jnp.where(jnp.any(told, axis=0)[:, None], cells.value[slot], jnp.uint32(0)))

    def cells(self, sample: Sample) -> Cells:
        """The distinct pairs of a node and the labels of its points, as those of the path from the root."""
        place, label = self.concepts.on_line(sample.x), self.concepts.relabel(sample.x, sample.y)
        return count_cells(Sample(place, label, sample.mask), self.concepts.line.size)

    def _sample_size(self, privacy: Privacy, accuracy: Accuracy) -> int:
        """`theory.points.stable_points` for the plan's numbers, at alpha / height."""
        plan, (_, _, alpha, beta) = self.plan(privacy, accuracy), host_numbers(privacy, accuracy)
        each = alpha / max(1, self.concepts.height)
        return theory.stable_points(float(plan.epsilon), float(plan.delta), each, beta, self.neighboring)
