"""Optimal predictions, and whether queries reduce a class, by its structure: the base class of such oracles."""

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host_calls import source_of
from dpjax.core.members import Base, member, missing, required

Space = Any
"""A version space, hashable: the concepts that agree with some labels, of which there is at least one."""

_MOST_KNOWN = 1 << 20  # answers


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
        deeper = (1 + min(map(self.dimension, two)) for two in self._cuts(space))
        return self._known(("dimension", space), lambda: max(deeper, default=0))

    def reduced(self, space: Space, depth: int) -> int:
        """The least, over trees of at most ``depth`` >= 0 queries, of the largest dimension at a leaf."""
        here = self.dimension(space)
        if depth <= 0 or here == 0:
            return here
        sides = (max(self.reduced(side, depth - 1) for side in two) for two in self._cuts(space))
        return self._known(("reduced", space, depth), lambda: min(here, *sides))

    def reducible(self, space: Space, depth: int) -> bool:
        """Whether a tree of ``depth`` queries reduces the dimension at every leaf."""
        checks.integer("depth", depth, 0)
        return self.reduced(space, depth) < self.dimension(space)

    def prediction(self, space: Space, x: int) -> int:
        """The optimal prediction at element x: the label whose concepts keep the larger dimension, 0 if both do."""
        checks.integer("x", x, 0, self.elements - 1)
        zero, one = (self.after(space, x, y) for y in (0, 1))
        return int(zero is None or (one is not None and self.dimension(one) > self.dimension(zero)))

    def function(self, space: Space) -> tuple[int, ...] | None:
        """The optimal prediction of a space that no query reduces, as the numbers of a `Hypothesis` of the class, which
        take equal parts of its words: () for the zero function, None for a function that no hypothesis is. Equal
        functions have equal numbers. Optional: functions on small domains are also named by their labels."""
        raise missing("versions", self, Versions.function, "take a class whose functions have names")

    def keeps(self, space: Space, x: int, y: int, depth: int, least: int) -> bool:
        """Whether some concepts of the space label x with y, and no tree of so many queries reduces these below
        ``least``."""
        side = self.after(space, x, y)
        return side is not None and (least <= 0 or self.reduced(side, depth) >= least)

    @member
    def tree_depth(self) -> int | None:
        """The depth of trees that query everything, if trees of fewer queries take too long; None if they do not."""
        return None

    def longest_list(self, queries: int) -> int | None:
        """For rows that a concept labels: the most leaves whose dimension is the largest, of trees of so many queries
        that ask for the elements of the rows first, and then reduce each labeling of them with at most so many errors
        as far as possible. None if nothing better than Sauer's lemma is known."""
        return None

    def restricted(self, space: Space, labels: Mapping[int, int]) -> Space | None:
        """The concepts of the space with these labels, by element; None if there is none."""
        for x, y in labels.items():
            if (space := self.after(space, x, y)) is None:
                return None
        return space

    def query(self, space: Space, depth: int, least: int) -> int:
        """An element at which a tree of ``depth`` queries may begin, if one leaves dimensions of at most ``least``."""
        for x in self.queries(space):
            sides = (self.after(space, x, y) for y in (0, 1))
            if all(side is None or self.reduced(side, depth - 1) <= least for side in sides):
                return x
        expected, advice = f"a query that leaves dimensions of at most {least}", "let reduced and queries agree"
        raise InputError("versions", expected, "none", advice)

    def leaves(self, space: Space, depth: int) -> Iterator[Space]:
        """The spaces at the leaves of a tree of at most ``depth`` queries whose largest dimension is `reduced`; a space
        that is reduced so far is not queried further."""
        least, nodes = self.reduced(space, depth), [(space, depth)]
        while nodes:
            here, left = nodes.pop()
            if self.dimension(here) <= least:
                yield here
                continue
            x = self.query(here, left, least)
            sides = (self.after(here, x, y) for y in (1, 0))
            nodes += [(side, left - 1) for side in sides if side is not None]

    @member
    def cache_token(self) -> str | None:
        """A digest of the files of the class and of its base classes; None if they cannot be read."""
        return source_of(*(kind for kind in type(self).__mro__ if issubclass(kind, Versions)))

    def _cuts(self, space: Space) -> Iterable[tuple[Space, Space]]:
        for x in self.queries(space):
            zero, one = (self.after(space, x, y) for y in (0, 1))
            if zero is not None and one is not None:
                yield zero, one

    @cached_property
    def _memo(self) -> dict[Hashable, int]:
        return {}

    def _known(self, question: Hashable, answer: Any) -> int:
        if (known := self._memo.get(question)) is None:
            if len(self._memo) >= _MOST_KNOWN:
                self._memo.clear()
            self._memo[question] = known = answer()
        return known
