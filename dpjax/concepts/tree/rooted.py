"""Classes of VC dimension 1 as trees: what learners of paths ask of them."""

from abc import abstractmethod
from collections.abc import Sequence

from jax import Array

from dpjax.concepts.base import ConceptClass
from dpjax.core.members import required


class Rooted(ConceptClass):
    """Base class of classes whose hypotheses are the nodes of a rooted tree: a node labels the elements of its path to
    the root with 1, apart from flips of an element's label that all hypotheses have.

    Nodes are ``uint32[..., W]``, encoded as concepts; all zeros are the root. A tree may be a table or a rule, so that
    it can have any height.

    Reference: Ben-David 2015, "2 notes on classes with VC dimension 1"; Yan 2025, Section 4.
    """

    @required
    def height(self) -> int:
        """The largest depth, a whole number >= 0."""

    @abstractmethod
    def deterministic(self, x: Array, y: Array, mask: Array) -> Array:
        """The deepest node on the paths of all consistent concepts, for each of t samples, ``uint32[t, W]``; the root
        if there is none. Examples at the root are ignored. Traced. Yan 2025, Definition 15.

        x ``uint32[t, m, limbs]``, y and mask ``bool[t, m]``."""

    @abstractmethod
    def depth_of(self, node: Array) -> Array:
        """Depths of nodes, 0 at the root, ``uint32[..., ceil(b / 32)]`` for a height of b bits. Traced."""

    @abstractmethod
    def ancestor(self, node: Array, depth: Array) -> Array:
        """The ancestor-or-self of each node at one depth, ``uint32[..., W]``; the node if it is above. Traced."""

    def examples_at(self, nodes: Sequence[int], labels: Sequence[int]) -> tuple[list[int], list[int]]:
        """Host: an element at each of these nodes, given by number, and the labels with its flip; by default an
        element's number is that of its node and nothing is flipped."""
        return list(nodes), list(labels)

    def two_paths(self) -> tuple[int, int] | None:
        """Host: a deepest node, and a node off its path, or else in the middle of it; None if there is only one node
        below the root. By default of a single path."""
        return (self.height, self.height // 2) if self.height >= 2 else None
