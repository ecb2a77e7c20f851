"""Version spaces of any class of two labels: by its structure if it tells, else by sets of rows of its matrix."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from dpjax.concepts.base import ConceptClass, require_class
from dpjax.concepts.versions import Versions
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.members import implements
from dpjax.dimensions.clock import Clock
from dpjax.dimensions.littlestone import Search
from dpjax.dimensions.matrix import binary_matrix, bitsets
from dpjax.dimensions.psi import natarajan


def versions_of(concepts: ConceptClass) -> Versions:
    """Host: the version spaces of a class of two labels; InputError if it has more, or neither structure nor matrix."""
    require_class(concepts)
    if concepts.columns > 1:
        advice = "ask for those of each of its `bit_classes`"
        raise InputError("concepts", "a class of two labels", f"labels 0..{concepts.labels - 1}", advice)
    return _of(concepts)


@lru_cache(32)  # they remember answers
def _of(concepts: ConceptClass) -> Versions:
    if not implements(concepts, ConceptClass.versions):
        return MatrixVersions(concepts)
    if not callable(concepts.versions):
        advice = "write it as a method without arguments, not as a property"
        raise InputError(f"{type(concepts).__name__}.versions", "a method", type(concepts.versions).__name__, advice)
    made = concepts.versions()
    checks.instance(f"{type(concepts).__name__}.versions()", made, Versions, "return an instance of a subclass of it")
    return made


@dataclass(frozen=True)
class MatrixVersions(Versions):
    """A space is a set of distinct rows, bit i of a number for row i. For m rows m^{O(log m)} time at worst for a
    dimension (`dimensions.littlestone_dimension`), and up to N^depth for trees of queries of N elements."""

    concepts: ConceptClass

    @cached_property
    def elements(self) -> int:
        """The columns of the matrix."""
        return len(self._ones)

    @property
    def tree_depth(self) -> int:
        """All elements."""
        return self.elements

    @cached_property
    def whole(self) -> int:
        """All rows."""
        return (1 << len(self._table)) - 1

    def after(self, space: int, x: int, y: int) -> int | None:
        """The rows with that label."""
        return (space & self._ones[x] if y else space & ~self._ones[x]) or None

    def queries(self, space: int) -> Iterable[int]:
        """All elements on which rows differ."""
        return (x for x, ones in enumerate(self._ones) if space & ones and space & ~ones)

    def dimension(self, space: int) -> int:
        """Decided depth by depth."""
        return self._known(space, lambda: self._deepest(space))

    def reduced(self, space: int, depth: int) -> int:
        """The least dimension that a tree reaches."""
        return next(least for least in range(self.dimension(space) + 1) if self._reaches(space, least, depth))

    @cached_property
    def _table(self):
        return binary_matrix(self.concepts.matrix())

    @cached_property
    def _ones(self) -> list[int]:
        return bitsets(self._table.T, Clock(None))

    @cached_property
    def _search(self) -> Search:
        return Search(self._table, natarajan, Clock(None))

    @cached_property
    def _asked(self) -> dict[tuple[int, int], list[float]]:
        return {}

    def _deepest(self, space: int) -> int:
        depth = 0
        while self._search.at_least(space, depth + 1):
            depth += 1
        return depth

    def _reaches(self, space: int, least: int, depth: int) -> bool:
        """Whether a tree leaves no larger dimension; the most balanced queries are tried first."""
        if depth >= min(space.bit_count() - 1, self.elements) or not self._search.at_least(space, least + 1):
            return True  # queries that tell all rows apart leave dimension 0
        fails, reaches = known = self._asked.setdefault((space, least), [0, float("inf")])
        if depth <= fails or depth >= reaches:
            return depth >= reaches
        pairs = {frozenset(two) for two in self._cuts(space)}
        ordered = sorted(
            (sorted(two, key=int.bit_count, reverse=True) for two in pairs), key=lambda two: two[0].bit_count()
        )
        found = any(all(self._reaches(side, least, depth - 1) for side in two) for two in ordered)
        known[int(found)] = depth
        return found
