"""A class of VC dimension 1 as a tree: a concept is the path from a node up to the root."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.base import Cover, Group
from dpjax.concepts.distributions import Distribution
from dpjax.concepts.domain import Domain
from dpjax.concepts.hypothesis import Hypothesis, sentences
from dpjax.concepts.tree.candidates import closure, first_concepts
from dpjax.concepts.tree.layout import LARGEST, preorder, tree_parents
from dpjax.concepts.tree.nodes import Nodes
from dpjax.concepts.tree.of_class import class_order
from dpjax.concepts.tree.points import ancestor_at_depth, deterministic_points
from dpjax.concepts.tree.rooted import Rooted
from dpjax.concepts.versions.paths import TreePaths
from dpjax.core import checks, wide
from dpjax.core.checks import InputError
from dpjax.core.matrices import zero_one_matrix
from dpjax.mechanisms.intervals import Pieces


@dataclass(frozen=True)
class Tree(Nodes, Rooted):
    """Node v labels the point x with [place[x] is v or an ancestor of v] xor flip[x].

    Nodes 0, ..., V are in preorder, node 0 is the root: the descendants-or-self of v are v, ..., tout[v] - 1, and
    v + 1 is the child with the largest subtree. The concepts of the class are the proper nodes; the other nodes are
    hypotheses too. Each leaf and the root are proper, and an improper inner node has at least two children; otherwise
    two points could not be distinguished. Each node except the root has at least one point. Points at the root are
    those on which all concepts agree: their label is 1 xor flip in all hypotheses.

    Build it with `Tree.of_class` or `Tree.of_parents`. Equal by value; the fields hold the bytes of the tables.
    Reference: Ben-David 2015, "2 notes on classes with VC dimension 1"; Yan 2025, Section 4 and
      Algorithm 1, Definition 17, Assumptions 1 and 2, Lemma 5, with complements merged.
    """

    places: bytes
    flips: bytes

    @staticmethod
    def of_class(matrix, f: int | None = None) -> "Tree":
        """From ``bool[m, N]``, one row per concept; duplicates are allowed.

        f: the row that becomes the root; by default the first one with the smallest height.
        Raises InputError for a class of VC dimension 2 or more, naming two points and four concepts.
        """
        order = class_order(zero_one_matrix(matrix), f)
        proper = np.zeros(len(order.parent), bool)
        proper[order.concept] = True
        return _tree(order.parent, proper, order.place, order.flip)

    @staticmethod
    def of_parents(parent, proper=None, place=None, flip=None) -> "Tree":
        """From a tree, with nodes in any order except that the root is first; they are renumbered in preorder.

        Args:
          parent: ``int[V + 1]``; parent[0] = 0.
          proper: ``bool[V + 1]``, by default all True.
          place: ``int[N]``, the node of each point, 0 for a constant one; every other node has a point. By default
            point x is at node x + 1 (at the root if V = 0).
          flip: ``bool[N]``, by default all False.
        """
        parent = tree_parents(parent)
        count = len(parent)
        proper = _column("proper", np.ones(count, bool) if proper is None else proper, count, 2).astype(bool)
        place = np.arange(1, count) if place is None else np.asarray(place)
        place = _column("place", np.zeros(1, int) if count == 1 and not place.size else place, None, count)
        empty = np.flatnonzero(np.bincount(place, minlength=count)[1:] == 0) + 1
        if len(empty):
            advice = "leave out the node, or give it a point"
            raise InputError("place", "a point at each node but the root", f"none at node {int(empty[0])}", advice)
        flip = _column("flip", np.zeros(len(place), bool) if flip is None else flip, len(place), 2)
        children = np.bincount(parent[1:], minlength=count)
        wrong = ~proper & (children < 2)
        wrong[0] = not proper[0]
        if wrong.any():
            expected = "True at the root, at leaves and at nodes with a single child"
            advice = "make it proper, or merge it with its child"
            raise InputError("proper", expected, f"False at node {int(np.flatnonzero(wrong)[0])}", advice)
        return _tree(parent, proper, place, flip.astype(bool))

    @cached_property
    def place(self) -> np.ndarray:
        """``int32[N]``, the node of each point."""
        return np.frombuffer(self.places, np.int32)

    @cached_property
    def flip(self) -> np.ndarray:
        """``bool[N]``."""
        return np.frombuffer(self.flips, bool)

    @property
    def domain(self) -> Domain:
        """{0, ..., N-1}."""
        return Domain(len(self.flips))

    @property
    def all_nodes(self) -> "Tree":
        """The class of all nodes, proper or not. A learner of it is an improper learner of this class."""
        return Tree(self.parents, np.ones(self.size, bool).tobytes(), self.places, self.flips)

    @property
    def line(self) -> Domain:
        """The node numbers, in preorder, as a line; see `ConceptClass.line`."""
        return Domain(self.size)

    def on_line(self, x: Array) -> Array:
        """The node of each element, ``uint32[..., 1]`` for ``uint32[..., 1]``."""
        return self.node_of(x)[..., None].astype(jnp.uint32)

    @property
    def differences(self) -> Mapping[str, int]:
        """Thresholds on the line whose errors add up to what a concept and its representative differ on.

        Two for each interval: one or two intervals below a common node, see `tree.candidates.closure`, and on both
        sides of it if the representative has to be a concept.
        """
        children = np.bincount(self.parent[1:], minlength=self.size)
        intervals = 2 if (children[1:] > 1).any() else 1
        return MappingProxyType({"thresholds": 2 * intervals * (1 if self.maximum else 2)})

    def dichotomies(self, points: Array, real: Array) -> tuple[Array, Array]:
        """One concept for each way in which the class cuts the `closure` of a set of nodes: (``uint32[c, 2]``, which of
        them count).

        points ``uint32[r, 1]``, on the line, real ``bool[r]``.
        """
        nodes = jnp.minimum(points[:, 0], jnp.uint32(self.size - 1)).astype(jnp.int32)
        first = first_concepts(self, closure(self, nodes, real))
        return _pair(jnp.minimum(first, self.size - 1)), first < self.size

    def growth(self, elements: int) -> int:
        """An upper bound of the number of concepts among which ``elements`` nodes let choose."""
        return min(int(np.sum(self.proper)), 2 * max(1, elements))

    def covers(self, alpha: float, agnostic: bool) -> list[Cover]:
        """See `ConceptClass.covers`: all concepts one by one, or nodes between which intervals have a mass of at most
        eta, with the concepts below each of them together. Proof in docs/proofs/one-tree.md#cover.
        """
        etas = alpha * 2.0 ** -np.arange(2, 12)
        single = [(Group(max(1, int(np.sum(self.proper)) - 1), False, 0.0),)]
        return single + [(Group(2 / eta, True, 2 * eta), Group(4 / eta, True, eta)) for eta in etas]

    def targets(self, count: int | None = None) -> np.ndarray:
        """Host: ``uint32[c, 2]``, all concepts, or at most ``count`` >= 1 of them spread over the proper nodes."""
        proper = np.flatnonzero(self.proper)
        few = len(proper) if count is None else min(len(proper), checks.integer("count", count, 1))
        return wide.encode(proper[(2 * np.arange(few) + 1) * len(proper) // (2 * few)])

    def matrix(self) -> np.ndarray:
        """Host: ``bool[p, N]``, the labels of each concept of the class, ascending by node."""
        node = np.flatnonzero(self.proper)[:, None]
        return ((self.place <= node) & (node < self.tout[self.place])) ^ self.flip

    def node_of(self, x: Array) -> Array:
        """``int32[...]`` nodes of elements ``uint32[..., 1]``; 0 for a point on which all concepts agree."""
        return jnp.asarray(self.place)[self._point(x)]

    def relabel(self, x: Array, y: Array) -> Array:
        """Labels xor flip, ``bool[...]`` or ``bool[..., k]`` like ``y``, of elements ``uint32[..., 1]``."""
        flip = jnp.asarray(self.flip)[self._point(x)]
        return y ^ flip.reshape(flip.shape + (1,) * (y.ndim - flip.ndim))

    def deterministic(self, x: Array, y: Array, mask: Array) -> Array:
        """The deterministic points of t samples as the path of one node, ``uint32[t, 2]``; the root if inconsistent.

        x ``uint32[t, m, 1]``, y and mask ``bool[t, m]``; see `tree.points.deterministic_points`.
        """
        return _pair(deterministic_points(self, self.node_of(x), self.relabel(x, y), mask))

    def depth_of(self, node: Array) -> Array:
        """``uint32[..., 1]`` for nodes ``uint32[..., 2]``."""
        return jnp.asarray(self.depth)[node[..., 1].astype(jnp.int32)][..., None].astype(jnp.uint32)

    def ancestor(self, node: Array, depth: Array) -> Array:
        """The ancestor-or-self of each node at ``depth`` (``uint32[1]``), ``uint32[..., 2]``; the node if deeper."""
        level = jnp.minimum(depth[0], jnp.uint32(self.height)).astype(jnp.int32)
        return _pair(ancestor_at_depth(self, node[..., 1].astype(jnp.int32), level))

    def examples_at(self, nodes: Sequence[int], labels: Sequence[int]) -> tuple[list[int], list[int]]:
        """See `Rooted.examples_at`; nodes other than the root."""
        points = [int(np.flatnonzero(self.place == node)[0]) for node in nodes]
        return points, [label ^ int(self.flip[point]) for point, label in zip(points, labels, strict=True)]

    def two_paths(self) -> tuple[int, int] | None:
        """See `Rooted.two_paths`: the first node off the path of the first of the deepest, or else its parent."""
        if self.height < 2:
            return None
        deepest, number = int(np.argmax(self.depth)), np.arange(self.size)
        off = number[(number > 0) & ~((number <= deepest) & (deepest < self.tout))]
        return deepest, int(off[0]) if len(off) else int(self.parent[deepest])

    def versions(self) -> TreePaths:
        """See `ConceptClass.versions`: sets of nodes."""
        return TreePaths(self)

    def is_member(self, hypothesis: Hypothesis) -> Array:
        """``bool[k]``, whether the hypothesis is a concept of the class."""
        return jnp.where(hypothesis.zero, jnp.bool_(self._holds_zero), jnp.asarray(self.proper)[self._node(hypothesis)])

    def describe(self, hypothesis: Hypothesis) -> list[str]:
        """A sentence for each hypothesis, on the host."""
        return sentences(hypothesis, lambda words: f"node {wide.decode(words)}")

    def predict(self, hypothesis: Hypothesis, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., 1]``."""
        place = self.node_of(x)[..., None]
        node = self._node(hypothesis).reshape((1,) * (place.ndim - 1) + (-1,))
        zero = hypothesis.zero.reshape(node.shape)
        label = self.relabel(x, (place <= node) & (node < jnp.asarray(self.tout)[place]))
        return label & ~zero

    def error(self, distribution: Distribution, hypothesis: Hypothesis, target: Hypothesis) -> Array:
        """Mass of the disagreement, exactly, in units of the distribution: ``uint64[k]`` (64-bit types enabled).

        O(k atoms) for a distribution of atoms, else O(k N).
        """
        if distribution.atoms:
            element, mass = distribution.start[:, 1:], wide.join(distribution.weight)
        else:
            element = jnp.arange(self.domain.size, dtype=jnp.uint32)[:, None]
            mass = distribution.mass_at(element[:, 0].astype(jnp.uint64))
        wrong = self.predict(hypothesis, element) != self.predict(target, element)
        wrong = jnp.where(wrong, mass[:, None], jnp.uint64(0))
        total = jnp.sum(wrong, axis=0)
        return jnp.where((total == 0) & jnp.any(wrong > 0, axis=0), jnp.uint64(2**64 - 1), total)  # 2**64 wraps to 0

    def pieces(self, x: Array, y: Array, mask: Array) -> Pieces:
        """Every concept is its own cell; errors are computed in one pass over the nodes. Improper nodes are not alive.

        x ``uint32[n, 1]``, y ``bool[n]``, mask ``bool[n]``. A replaced row changes an error by at most 1.
        """
        label, place = self.relabel(x, y), self.node_of(x)
        votes = jnp.where(mask, jnp.where(label, jnp.int32(-1), jnp.int32(1)), 0)
        change = jnp.zeros(self.size + 1, jnp.int32).at[place].add(votes).at[jnp.asarray(self.tout)[place]].add(-votes)
        ones = jnp.sum(label & mask, dtype=jnp.int32)
        number = jnp.asarray(wide.encode(np.arange(self.size)))
        errors = ones + jnp.cumsum(change[:-1], dtype=jnp.int32)
        return Pieces(number, number, errors, jnp.asarray(self.proper), size=self.size)

    @cached_property
    def _holds_zero(self) -> bool:
        node = int(np.max(self.place, where=self.flip, initial=0))
        return bool(
            self.proper[node] and np.array_equal((self.place <= node) & (node < self.tout[self.place]), self.flip)
        )

    def _point(self, x: Array) -> Array:
        return jnp.minimum(x[..., 0], jnp.uint32(self.domain.size - 1)).astype(jnp.int32)

    def _node(self, hypothesis: Hypothesis) -> Array:
        return jnp.minimum(hypothesis.concept[:, 1], jnp.uint32(self.size - 1)).astype(jnp.int32)


def _pair(node: Array) -> Array:
    """``int32[...]`` -> ``uint32[..., 2]``, as in a Hypothesis."""
    return jnp.stack([jnp.zeros_like(node), node], axis=-1).astype(jnp.uint32)


def _tree(parent: np.ndarray, proper: np.ndarray, place: np.ndarray, flip: np.ndarray) -> Tree:
    number = preorder(parent)
    old = np.argsort(number)
    table = number[parent][old].astype(np.int32), proper[old], number[place].astype(np.int32), flip
    return Tree(*(column.tobytes() for column in table))


def _column(name: str, values, length: int | None, below: int) -> np.ndarray:
    table = np.asarray(values)
    right = table.ndim == 1 and 1 <= len(table) <= LARGEST and (length is None or len(table) == length)
    if not right or table.dtype.kind not in "biu" or table.min() < 0 or table.max() >= below:
        expected = f"{length or 'one or more'} whole numbers in [0, {below})"
        advice = "give one number for each node (proper) or for each point (place, flip)"
        raise InputError(name, expected, f"{table.dtype} of shape {table.shape}", advice)
    return table
