"""The longest sequence of (point, row) pairs in which every pair restricts the later ones: threshold and star number.

A state is a set of rows and a set of points from which later pairs may be chosen, both bitsets. A pair (x, c) keeps the
rows without x, and some of the points; a pair is skipped if another one keeps all that it keeps.
"""

from collections.abc import Callable, Iterator

from dpjax.dimensions.clock import Clock
from dpjax.dimensions.matrix import members
from dpjax.dimensions.recursion import deep_recursion

State = tuple[int, int]
Pair = tuple[int, int]  # (point, row)


class LongestSequence:
    """A search with a table of states. ``best`` is the longest sequence so far, also if the time limit ends it."""

    def __init__(self, ones: list[int], holders: list[int], keep: Callable[[int, int], int], clock: Clock):
        """ones[c]: the points of row c. holders[x]: the rows of point x. keep(x, c): the points that (x, c) keeps."""
        self._ones, self._holders, self._keep, self._clock = ones, holders, keep, clock
        self._lengths: dict[State, int] = {}
        self.best: tuple[Pair, ...] = ()

    def run(self, rows: int, points: int, longer_than: int = 0) -> None:
        """Makes ``best`` a longest sequence if that has more than ``longer_than`` pairs."""
        state = self._useful(rows, points)
        chosen: list[Pair] = []
        try:
            for pair in self._greedy(state):
                chosen.append(pair)
        finally:
            self.best = tuple(chosen)
        if min(map(int.bit_count, state)) > max(longer_than, len(self.best)):
            with deep_recursion(4 * min(map(int.bit_count, state)) + 64):
                length = self._length(state, ())
            while len(self.best) < length:
                self.best = self._walk(state, length)

    def _greedy(self, state: State) -> Iterator[Pair]:
        """The row with most of the points, and of these the one in the fewest rows, again and again."""
        rows, points = state
        while rows and points:
            self._clock.tick()
            c = max(members(rows), key=lambda c: (self._ones[c] & points).bit_count())
            if not self._ones[c] & points:
                break
            x = min(members(self._ones[c] & points), key=lambda x: (self._holders[x] & rows).bit_count())
            yield x, c
            rows, points = rows & ~self._holders[x], points & self._keep(x, c)

    def most(self, rows: int, points: int) -> int:
        """An upper bound of the length, without a search."""
        return min(map(int.bit_count, self._useful(rows, points)))

    def _useful(self, rows: int, points: int) -> State:
        """Without rows that have none of the points, and points in none of the rows."""
        while True:
            covered, kept = 0, 0
            for c in members(rows):
                if self._ones[c] & points:
                    covered |= self._ones[c]
                    kept |= 1 << c
            if kept == rows and covered & points == points:
                return rows, points
            rows, points = kept, covered & points

    def _length(self, state: State, chosen: tuple[Pair, ...]) -> int:
        """The length of the longest sequence from a state; ``chosen`` led there."""
        if len(chosen) > len(self.best):
            self.best = chosen
        if (length := self._lengths.get(state)) is None:
            self._clock.tick()
            length = 0
            for pair, after in self._pairs(state):
                if 1 + min(map(int.bit_count, after)) <= length:
                    break
                length = max(length, 1 + self._length(after, (*chosen, pair)))
            self._lengths[state] = length
        return length

    def _pairs(self, state: State) -> list[tuple[Pair, State]]:
        """The pairs and the states after them, the largest state first.

        Of the pairs with one point, or with one row, those are left out that keep a subset of what another keeps.
        """
        rows, points = state
        of_row: dict[int, dict[int, int]] = {}  # by row: the point and the rows that are kept
        for x in members(points):
            self._clock.tick()
            kept = {c: points & self._keep(x, c) for c in members(rows & self._holders[x])}
            for c in _largest(kept):
                of_row.setdefault(c, {})[x] = rows & ~self._holders[x]
        reached: dict[State, Pair] = {}
        for c, kept in of_row.items():
            for x in _largest(kept):
                reached.setdefault(self._useful(kept[x], points & self._keep(x, c)), (x, c))
        return sorted(
            ((pair, after) for after, pair in reached.items()), key=lambda entry: -min(map(int.bit_count, entry[1]))
        )

    def _walk(self, state: State, length: int) -> tuple[Pair, ...]:
        """A sequence of the length that the table has for the state."""
        chosen: list[Pair] = []
        for left in range(length, 0, -1):
            pair, state = next(entry for entry in self._pairs(state) if self._lengths.get(entry[1], -1) == left - 1)
            chosen.append(pair)
        return tuple(chosen)


def _largest(sets: dict[int, int]) -> list[int]:
    """The keys of sets that are no subset of another one; of equal sets, the first key."""
    kept: list[int] = []
    for key in sorted(sets, key=lambda key: (-sets[key].bit_count(), key)):
        if not any(sets[key] | sets[other] == sets[other] for other in kept):
            kept.append(key)
    return kept
