"""Version spaces of thresholds: intervals."""

from collections.abc import Iterable
from dataclasses import dataclass

from dpjax.concepts.versions.base import Versions

Interval = tuple[int, int]
"""The first and the last concept."""


@dataclass(frozen=True)
class Intervals(Versions):
    """Concept t labels {0, ..., t} with 1, one for each element: a query cuts an interval, best in the middle."""

    elements: int
    steady = True

    @property
    def whole(self) -> Interval:
        """All concepts."""
        return 0, self.elements - 1

    def after(self, space: Interval, x: int, y: int) -> Interval | None:
        """Those from x on, or those below."""
        first, last = (max(space[0], x), space[1]) if y else (space[0], min(space[1], x - 1))
        return (first, last) if first <= last else None

    def queries(self, space: Interval) -> Iterable[int]:
        """All but the first."""
        return range(space[0] + 1, space[1] + 1)

    def query(self, space: Interval, depth: int, least: int) -> int:
        """The middle."""
        return (space[0] + space[1] + 1) // 2

    def function(self, space: Interval) -> tuple[int, ...]:
        """The last threshold from which on there are 2^dimension."""
        return (space[1] + 1 - (1 << self.dimension(space)),)

    def dimension(self, space: Interval) -> int:
        """floor(log2) of the number of concepts."""
        return self.reduced(space, 0)

    def reduced(self, space: Interval, depth: int) -> int:
        """floor(log2) of the largest of 2^depth parts: no tree has more, and cuts in the middle attain it."""
        return (-(space[0] - space[1] - 1 >> depth)).bit_length() - 1
