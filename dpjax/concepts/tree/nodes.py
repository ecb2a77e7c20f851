"""The nodes of a tree as tables: ancestors, descendants, children, and proper nodes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpjax.concepts.tree.layout import subtree_sizes


@dataclass(frozen=True)
class Nodes:
    """Nodes 0, ..., V in preorder with root 0, each with its largest subtree first. Equal by value.

    The descendants-or-self of v are v, ..., tout[v] - 1, and v + 1 is the child with the largest subtree. The tables
    are read-only NumPy arrays, computed once; inside a program they are constants.

    parents, members: the bytes of `parent` and `proper`.
    """

    parents: bytes
    members: bytes

    @cached_property
    def parent(self) -> np.ndarray:
        """``int32[V + 1]``; the root is its own parent."""
        return np.frombuffer(self.parents, np.int32)

    @cached_property
    def proper(self) -> np.ndarray:
        """``bool[V + 1]``, whether a node is a concept of the class."""
        return np.frombuffer(self.members, bool)

    @cached_property
    def head(self) -> np.ndarray:
        """``int32[V + 1]``, the top of the path of largest subtrees through a node: head[v], ..., v is a path."""
        node = np.arange(self.size, dtype=np.int32)
        starts = np.where(self.parent == node - 1, np.int32(0), node)
        return _frozen(np.maximum.accumulate(starts))

    @cached_property
    def _depth_and_turns(self) -> tuple[np.ndarray, int]:
        top, turns = self.head, 0
        depth = np.arange(self.size, dtype=np.int32) - top
        while top.any():
            above = self.parent[top]
            depth = depth + np.where(top > 0, above - self.head[above] + 1, 0)
            top, turns = self.head[above], turns + 1
        return _frozen(depth), turns

    @property
    def depth(self) -> np.ndarray:
        """``int32[V + 1]``, 0 at the root."""
        return self._depth_and_turns[0]

    @property
    def turns(self) -> int:
        """The largest number of heads on a path from a node to the root, without the root's: at most log2(V + 1)."""
        return self._depth_and_turns[1]

    @property
    def height(self) -> int:
        """The largest depth; it is the threshold dimension of C xor f."""
        return int(self.depth.max())

    @cached_property
    def tout(self) -> np.ndarray:
        """``int32[V + 1]``, one more than the last descendant-or-self."""
        return _frozen(np.arange(self.size, dtype=np.int32) + subtree_sizes(self.parent, self.depth))

    @cached_property
    def child(self) -> np.ndarray:
        """``int32[V]``, the children of node 0, then those of node 1, ..., ascending; see `child_start`."""
        return _frozen((np.argsort(self.parent[1:], kind="stable") + 1).astype(np.int32))

    @cached_property
    def child_start(self) -> np.ndarray:
        """``int32[V + 2]``; the children of v are child[child_start[v] : child_start[v + 1]]."""
        counts = np.bincount(self.parent[1:], minlength=self.size)
        return _frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))

    @cached_property
    def following(self) -> np.ndarray:
        """``int32[V + 2]``, the first proper node at or after each of 0, ..., V + 1; V + 1 if there is none."""
        number = np.arange(self.size, dtype=np.int32)
        proper = np.where(self.proper, number, np.int32(self.size))
        return _frozen(np.append(np.minimum.accumulate(proper[::-1])[::-1], np.int32(self.size)))

    @cached_property
    def preceding(self) -> np.ndarray:
        """``int32[V + 1]``, the last proper node at or before each node."""
        number = np.arange(self.size, dtype=np.int32)
        return _frozen(np.maximum.accumulate(np.where(self.proper, number, np.int32(0))))

    @cached_property
    def proper_above(self) -> np.ndarray:
        """``int32[V + 1]``, the nearest proper node strictly above each; the root for itself."""
        number = np.arange(self.size, dtype=np.int32)
        climb = np.where(self.proper, number, self.parent)
        above = self.parent
        while not self.proper[above].all():
            above, climb = climb[above], climb[climb]
        return _frozen(above.copy())

    @cached_property
    def most_children(self) -> int:
        """The largest number of children of an improper node; 1 if there is none."""
        counts = np.bincount(self.parent[1:], minlength=self.size)
        return max(1, int(counts[~self.proper].max(initial=1)))

    @cached_property
    def longest_improper(self) -> int:
        """The largest number of consecutive improper nodes on a path."""
        return max(0, int(np.max(self.depth - self.depth[self.proper_above])) - 1)

    @cached_property
    def maximum(self) -> bool:
        """Whether all nodes are proper: then C is a maximum class, with as many concepts as VC dimension 1 allows."""
        return bool(self.proper.all())

    @property
    def size(self) -> int:
        """The number of nodes V + 1, that is, of hypotheses, proper or not."""
        return len(self.parents) // 4


def _frozen(table: np.ndarray) -> np.ndarray:
    table.flags.writeable = False
    return table
