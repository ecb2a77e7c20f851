"""Optimal predictions, and whether queries reduce a class, by its structure: the base class of such oracles."""

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any

from dpjax.core import checks
from dpjax.core.members import Base, member, required

Space = Any
"""A version space, hashable: the concepts that agree with some labels, of which there is at least one."""


class Versions(Base):
    """Base class of the version spaces of a binary class, on the host: a frozen dataclass, equal by value.

    A subclass has ``elements`` and ``whole``, and implements ``after`` and ``queries``; by default everything else is
    computed by recursion over the queries, for small classes. Elements are numbers, as in `Domain`.

    Reference: Littlestone 1988 (optimal predictions); Ghazi, Golowich, Kumar, Manurangsi 2021 (irreducibility).
    """

    @required
    def elements(self) -> int:
        """The number of elements of the domain."""

    @required
    def whole(self) -> Space:
        """The space of all concepts."""

    @abstractmethod
    def after(self, space: Space, x: int, y: int) -> Space | None:
        """The concepts of the space that label element x, below ``elements``, with y, 0 or 1; None if there is none."""

    @abstractmethod
    def queries(self, space: Space) -> Iterable[int]:
        """Elements that concepts of the space label differently; of elements that are alike one is enough."""

    @member
    def steady(self) -> bool:
        """Whether some way to answer queries keeps, for every number of them at once, the largest dimension that can
        be kept: then `Copies` needs no recursion."""
        return False

    def dimension(self, space: Space) -> int:
        """The Littlestone dimension."""
        return self._known(
            space, lambda: max((1 + min(map(self.dimension, two)) for two in self._cuts(space)), default=0)
        )

    def reduced(self, space: Space, depth: int) -> int:
        """The least, over trees of at most ``depth`` >= 0 queries, of the largest dimension at a leaf."""
        here = self.dimension(space)
        if depth <= 0 or here == 0:
            return here
        sides = (max(self.reduced(side, depth - 1) for side in two) for two in self._cuts(space))
        return self._known((space, depth), lambda: min(here, *sides))

    def reducible(self, space: Space, depth: int) -> bool:
        """Whether a tree of ``depth`` queries reduces the dimension at every leaf."""
        checks.integer("depth", depth, 0)
        return self.reduced(space, depth) < self.dimension(space)

    def prediction(self, space: Space, x: int) -> int:
        """The optimal prediction at element x: the label whose concepts keep the larger dimension, 0 if both do."""
        checks.integer("x", x, 0, self.elements - 1)
        zero, one = (self.after(space, x, y) for y in (0, 1))
        return int(zero is None or (one is not None and self.dimension(one) > self.dimension(zero)))

    def _cuts(self, space: Space) -> Iterable[tuple[Space, Space]]:
        for x in self.queries(space):
            zero, one = (self.after(space, x, y) for y in (0, 1))
            if zero is not None and one is not None:
                yield zero, one

    @cached_property
    def _memo(self) -> dict[Hashable, int]:
        return {}

    def _known(self, question: Hashable, answer: Any) -> int:
        if question not in self._memo:
            self._memo[question] = answer()
        return self._memo[question]
