"""The function that the stability theorem of irreducible classes names, straight from the definitions, by recursion."""

from functools import lru_cache


class Stable:
    """Of a binary class, rows as tuples of labels; classes are frozensets of row numbers."""

    def __init__(self, rows):
        self.rows = [tuple(map(int, row)) for row in rows]
        self.points = range(len(self.rows[0]))
        self.littlestone = lru_cache(None)(self._littlestone)
        self.reduced = lru_cache(None)(self._reduced)

    def split(self, space, x):
        ones = frozenset(i for i in space if self.rows[i][x])
        return space - ones, ones

    def _littlestone(self, space):
        if len(space) <= 1:
            return len(space) - 1
        parts = (self.split(space, x) for x in self.points)
        return max([1 + min(self.littlestone(a), self.littlestone(b)) for a, b in parts if a and b], default=0)

    def _reduced(self, space, depth):
        """The least, over trees of this depth, of the largest Littlestone dimension of a leaf."""
        if depth == 0:
            return self.littlestone(space)
        below = [max(self.reduced(part, depth - 1) for part in self.split(space, x)) for x in self.points]
        return min(self.littlestone(space), *below)

    def leaves(self, space, depth):
        """Of one optimal tree."""
        best = self.reduced(space, depth)
        if not space or depth == 0 or best == self.littlestone(space):
            return [space]
        for x in self.points:
            parts = self.split(space, x)
            if max(self.reduced(part, depth - 1) for part in parts) == best:
                return [leaf for part in parts for leaf in self.leaves(part, depth - 1)]
        return self.leaves(space, depth - 1)

    def prediction(self, space):
        parts = [self.split(space, x) for x in self.points]
        return sum(1 << x for x, (a, b) in enumerate(parts) if self.littlestone(b) > self.littlestone(a))

    def named(self, errors, levels, depths, r, queried):
        """The function of the theorem, for the concepts' population errors, levels alpha_0 > ... > alpha_{d+1}, and
        batches of so many elements."""
        spaces = [frozenset(i for i, error in enumerate(errors) if error <= level) for level in levels]
        deepest = len(self.points)
        for j, depth in enumerate(depths):
            w = self.reduced(spaces[j], depth)
            if self.reduced(spaces[j + 1], min(2 * depth + queried + r, deepest)) != w:
                continue
            for leaf in self.leaves(spaces[j], depth):
                kept = frozenset(leaf & spaces[j + 1])
                steps = min(depth + queried + r, deepest)
                if kept and self.littlestone(kept) == w and self.reduced(kept, steps) == w:
                    return self.prediction(kept)
        raise AssertionError("no level is stable, against the theorem")
