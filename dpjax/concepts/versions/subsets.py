"""Version spaces of sets of d elements: what is known to be inside and outside."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count, islice
from math import comb

from dpjax.concepts.versions.base import Versions
from dpjax.core import checks

Known = tuple[frozenset[int], frozenset[int]]
"""The elements inside, and those outside."""


@dataclass(frozen=True)
class Subsets(Versions):
    """The indicators of all sets of ``ones`` elements; with r of them to be found among f elements, all of these are
    alike, and the dimension is the lesser of r and f - r."""

    elements: int
    ones: int
    steady = True

    @property
    def whole(self) -> Known:
        """All concepts."""
        return frozenset(), frozenset()

    def after(self, space: Known, x: int, y: int) -> Known | None:
        """One element more is known."""
        inside, outside = space
        if x in inside or x in outside:
            return space if (x in inside) == bool(y) else None
        if self._side(space, x, y) is None:
            return None
        return (inside | {x}, outside) if y else (inside, outside | {x})

    def keeps(self, space: Known, x: int, y: int, depth: int, least: int) -> bool:
        """By numbers alone."""
        side = self._side(space, x, y)
        return side is not None and _reduced(*side, depth) >= least

    def prediction(self, space: Known, x: int) -> int:
        """By numbers alone."""
        checks.integer("x", x, 0, self.elements - 1)
        zero, one = (self._side(space, x, y) for y in (0, 1))
        return int(zero is None or (one is not None and _reduced(*one, 0) > _reduced(*zero, 0)))

    def restricted(self, space: Known, labels: Mapping[int, int]) -> Known | None:
        """All at once."""
        inside, outside = (space[1 - y] | {x for x, label in labels.items() if label == y} for y in (1, 0))
        left, free = self._left((inside, outside))
        return (inside, outside) if not inside & outside and 0 <= left <= free else None

    def longest_list(self, queries: int) -> int | None:
        """Among many elements the labelings with fewest elements inside are reduced least, and of those that err little
        the fewest are some of a concept's."""
        return comb(self.ones, self.ones // 2) if self.elements - queries >= 2 * self.ones else None

    def queries(self, space: Known) -> Iterable[int]:
        """The first unknown element."""
        left, free = self._left(space)
        unknown = (x for x in count() if x not in space[0] and x not in space[1])
        return islice(unknown, 1 if 0 < left < free else 0)

    def dimension(self, space: Known) -> int:
        """The lesser of r and f - r."""
        return self.reduced(space, 0)

    def reduced(self, space: Known, depth: int) -> int:
        """`dimension` of f - K elements, the worst answers."""
        return _reduced(*self._left(space), depth)

    def function(self, space: Known) -> tuple[int, ...] | None:
        """The elements inside; the least one is repeated, if they are fewer. None if most of the unknown are inside."""
        left, free = self._left(space)
        inside = sorted(space[0])
        if left == free > 0:
            inside = [x for x in range(self.elements) if x not in space[1]]
        elif 2 * left > free:
            return None
        return tuple(inside[:1] * (self.ones - len(inside)) + inside)

    def _left(self, space: Known) -> tuple[int, int]:
        """How many elements of the set are to be found, and among how many."""
        return self.ones - len(space[0]), self.elements - len(space[0]) - len(space[1])

    def _side(self, space: Known, x: int, y: int) -> tuple[int, int] | None:
        """`_left` after a label; None if no set has it."""
        left, free = self._left(space)
        if x in space[0] or x in space[1]:
            return (left, free) if (x in space[0]) == bool(y) else None
        left, free = left - y, free - 1
        return (left, free) if 0 <= left <= free else None


def _reduced(left: int, free: int, depth: int) -> int:
    """Of f - K elements that are left, those answers that leave half of them inside, or as near to it as can be, keep
    most."""
    after = max(0, free - depth)
    inside = min(max(after // 2, left - (free - after)), left, after)
    return min(inside, after - inside)
