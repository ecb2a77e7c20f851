"""Version spaces of products: independent classes side by side, each with its own elements."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from dpjax.concepts.versions.base import Space, Versions
from dpjax.core import checks

Spaces = tuple[Space, ...]
"""One of each part."""


@dataclass(frozen=True)
class Copies(Versions):
    """A concept is one of each part, and the elements are those of the parts, one part's after the other's.

    Reference: Bun, Gaboardi, Sivakumar 2021, Claim 6.2; `dimensions.families.copies` lists such a class.
    """

    parts: tuple[Versions, ...]

    def __post_init__(self):
        checks.integer("number of parts", len(self.parts), 1)

    @property
    def elements(self) -> int:
        """Of all parts."""
        return sum(part.elements for part in self.parts)

    @property
    def whole(self) -> Spaces:
        """All concepts."""
        return tuple(part.whole for part in self.parts)

    @property
    def steady(self) -> bool:
        """If all parts are."""
        return all(part.steady for part in self.parts)

    @property
    def cache_token(self) -> str | None:
        """That of the class with those of its parts."""
        tokens = super().cache_token, *(part.cache_token for part in self.parts)
        return None if None in tokens else " ".join(map(str, tokens))

    def after(self, space: Spaces, x: int, y: int) -> Spaces | None:
        """What is left of the part that has the element."""
        i, start = self._part(x)
        side = self.parts[i].after(space[i], x - start, y)
        return None if side is None else (*space[:i], side, *space[i + 1 :])

    def queries(self, space: Spaces) -> Iterable[int]:
        """Those of all parts."""
        for part, start, inner in zip(self.parts, self._starts(), space, strict=False):
            yield from (start + x for x in part.queries(inner))

    def dimension(self, space: Spaces) -> int:
        """The sum."""
        return sum(part.dimension(inner) for part, inner in zip(self.parts, space, strict=True))

    def reduced(self, space: Spaces, depth: int) -> int:
        """If all parts are steady, the least sum over numbers of queries of each; else by recursion."""
        if not self.steady:
            return super().reduced(space, depth)
        least = [0] * (depth + 1)
        for part, inner in zip(self.parts, space, strict=True):
            alone = [part.reduced(inner, k) for k in range(depth + 1)]
            least = [min(alone[i] + least[k - i] for i in range(k + 1)) for k in range(depth + 1)]
        return least[depth]

    def _starts(self) -> Iterable[int]:
        return accumulate((part.elements for part in self.parts), initial=0)

    def _part(self, x: int) -> tuple[int, int]:
        """The part that has the element, and its first element."""
        return max(pair for pair in enumerate(self._starts()) if pair[1] <= x and pair[0] < len(self.parts))
