"""Version spaces of trees, the nodes that agree: how far queries reduce them, by their numbers."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpjax.concepts.versions.base import Space, Versions
from dpjax.concepts.versions.ranks import joined, of_path


class Paths(Versions):
    """Base class for concepts that are nodes of a rooted tree, each the path to the root."""

    @abstractmethod
    def number(self, space: Space, allowed: int | None = None, most: int = 0) -> int | None:
        """That of `ranks`, with at most ``most`` levels of cuts; None if these are too few."""

    def dimension(self, space: Space) -> int:
        """The highest bit of the number."""
        return self._known(space, lambda: (self.number(space) or 1).bit_length() - 1)

    def reduced(self, space: Space, depth: int) -> int:
        """The least dimension that so many levels of cuts reach, by bisection."""
        low, high = 0, self.dimension(space)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.number(space, middle, depth) is None else (low, middle)
        return low


@dataclass(frozen=True)
class TreePaths(Paths):
    """Of a `Tree`: a space is the set of its proper nodes, as the bits of a number."""

    tree: Any

    @property
    def elements(self) -> int:
        """The points of the tree."""
        return len(self.tree.place)

    @cached_property
    def whole(self) -> int:
        """All proper nodes."""
        return int.from_bytes(np.packbits(self.tree.proper, bitorder="little").tobytes(), "little")

    def after(self, space: int, x: int, y: int) -> int | None:
        """The nodes below that of the point, or all others."""
        place = int(self.tree.place[x])
        below = (1 << int(self.tree.tout[place])) - (1 << place)
        return (space & below if y ^ int(self.tree.flip[x]) else space & ~below) or None

    def queries(self, space: int) -> Iterable[int]:
        """One point of every node below which there is some of the space."""
        nodes, points = np.unique(self.tree.place, return_index=True)
        tout = self.tree.tout
        for node, x in zip(nodes.tolist(), points.tolist(), strict=True):
            below = (1 << int(tout[node])) - (1 << node)
            if space & below and space & ~below:
                yield x

    def function(self, space: int) -> tuple[int, ...]:
        """The lowest node below which there is a space of the same dimension."""
        here, tout = self.dimension(space), self.tree.tout.tolist()
        for node in range(space.bit_length() - 1, 0, -1):
            below = space & ((1 << tout[node]) - (1 << node))
            if below and self.dimension(below) == here:
                return (node,)
        return (0,)

    def number(self, space: int, allowed: int | None = None, most: int = 0) -> int | None:
        """From the last node in preorder to the first."""
        parts: dict[int, list[int]] = {}
        parent = self.tree.parent.tolist()
        for node in range(space.bit_length() - 1, -1, -1):
            number = joined(parts.pop(node, []), bool(space >> node & 1), allowed, most)
            if number is None or node == 0:
                return number
            if number:
                parts.setdefault(parent[node], []).append(number)
        raise AssertionError("a space without a concept")


@dataclass(frozen=True)
class SpiderPaths(Paths):
    """Of a `Spider`: a space is a range of steps of one leg, (leg, first, last), or the root with the first steps of
    all legs, those with fewer than all of them as pairs (leg, steps)."""

    legs: int
    bits: int

    @property
    def elements(self) -> int:
        """A leg has 2^bits."""
        return self.legs << self.bits

    @property
    def whole(self) -> frozenset:
        """All nodes."""
        return frozenset()

    def after(self, space: Any, x: int, y: int) -> Any:
        """The steps from that of the element on, or all others."""
        leg, step = x >> self.bits, x & (1 << self.bits) - 1
        if step == 0:  # at the root, where all concepts agree
            return None if y else space
        if isinstance(space, frozenset):
            steps = dict(space)
            last = steps.get(leg, (1 << self.bits) - 1)
            if y:
                return (leg, step, last) if step <= last else None
            return frozenset((steps | {leg: min(last, step - 1)}).items())
        at, first, last = space
        if at != leg:
            return None if y else space
        first, last = (max(first, step), last) if y else (first, min(last, step - 1))
        return (at, first, last) if first <= last else None

    def queries(self, space: Any) -> Iterable[int]:
        """The steps of the leg, or of the cut legs and of one that is not cut."""
        if not isinstance(space, frozenset):
            leg, first, last = space
            yield from ((leg << self.bits) + step for step in range(first + 1, last + 1))
            return
        steps = dict(space)
        if (leg := next((i for i in range(len(steps) + 1) if i not in steps), self.legs)) < self.legs:
            steps[leg] = (1 << self.bits) - 1
        for leg, last in steps.items():
            yield from ((leg << self.bits) + step for step in range(1, last + 1))

    def function(self, space: Any) -> tuple[int, ...]:
        """The lowest node below which there is a space of the same dimension: on one leg, or the root."""
        here, longest = self.dimension(space), (1 << self.bits) - 1
        if not isinstance(space, frozenset):
            return ((space[0] << self.bits) + space[2] + 1 - (1 << here),)
        steps = dict(space)
        if len(steps) < self.legs and longest.bit_length() - 1 == here:
            steps[next(leg for leg in range(self.legs) if leg not in steps)] = longest
        ends = [(leg << self.bits) + last + 1 - (1 << here) for leg, last in steps.items() if last >> here]
        return (ends[0],) if ends else (0,)

    def number(self, space: Any, allowed: int | None = None, most: int = 0) -> int | None:
        """From the lengths of the legs; of equal ones those that are more than there are levels for change nothing."""
        if not isinstance(space, frozenset):
            number = of_path(space[2] - space[1] + 1, allowed)
            return number if allowed is None or number.bit_length() <= allowed + most + 1 else None
        uncut, equal = of_path((1 << self.bits) - 1, allowed), min(self.legs - len(space), most + 2)
        if allowed is not None and equal == most + 2 and joined([uncut] * 2, True, allowed) is None:
            return None  # all but one of the equal legs would be cut, each at a level of its own
        parts = [of_path(steps, allowed) for _, steps in space] + [uncut] * equal
        if allowed is not None and max(parts).bit_length() > allowed + most + 1:
            return None
        return joined(parts, True, allowed, most)
