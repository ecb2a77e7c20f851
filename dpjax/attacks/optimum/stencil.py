"""The privacy constraints of pure epsilon as two tables of places, without a matrix.

The databases T + a of a family (n - 1 common rows T and one of kind a) are neighbors of each other, and every pair of
neighbors is in one family. So the operator of the constraints copies each probability into the families of its
database, q(T, a, h) = p(T + a, h), and the constraints are those of a cone in each (T, h):

    K = {q : l <= q(a) <= e^epsilon l for all a, for some l >= 0}.

The product of the operator's transpose and itself is diagonal: a database is in as many families as it has kinds of
rows. With a group of symmetries one database and one family of each orbit are kept; p(S, h) = p(g S, g h) fills in the
others, so that both tables have an entry for each (family or database, kind, hypothesis) that is kept.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.symmetry import Symmetry, products


@dataclass(frozen=True)
class Orbits:
    """Databases up to symmetries.

    kept: ``int64[o]``, the first database of each orbit. of: ``int64[size]``, the number of its orbit. by: ``int64
    [size]``, a symmetry that maps the database to the one that is kept. sizes: ``int64[o]``, databases of each orbit.
    """

    kept: np.ndarray
    of: np.ndarray
    by: np.ndarray
    sizes: np.ndarray

    @classmethod
    def under(cls, databases: Databases, group: list[Symmetry]) -> "Orbits":
        """The orbits of a group."""
        flips = [number for number, symmetry in enumerate(group) if symmetry.order == group[0].order]
        orders = {symmetry.order: number for number, symmetry in reversed(list(enumerate(group)))}
        least, by = _least(databases, group, flips, databases.counts)
        some, place = np.unique(least, return_inverse=True)
        best, after = np.full(len(some), databases.size), np.zeros(len(some), np.int64)
        for number in orders.values():  # the group is the union of the products of an element of flips and one of these
            moved = databases.permuted(group[number].cells, databases.counts[some])
            better = least[moved] < best
            best[better] = least[moved][better]
            after[better] = products(group, np.full(len(some), number), by[moved])[better]
        kept, of, sizes = np.unique(best[place], return_inverse=True, return_counts=True)
        return cls(kept, of.ravel(), products(group, by, after[place]), sizes)


def _least(
    databases: Databases, group: list[Symmetry], numbers: list[int], counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(The least image of each database under some elements of a group, the number of one that maps it there)."""
    least, by = np.full(len(counts), databases.size), np.zeros(len(counts), np.int64)
    for number in numbers:
        places = databases.permuted(group[number].cells, counts)
        by[places < least] = number
        np.minimum(least, places, out=least)
    return least, by


@dataclass(frozen=True)
class Stencil:
    """The tables for ``databases``, under REPLACE_ONE, and a group of symmetries of ``hypotheses`` functions."""

    databases: Databases
    group: list[Symmetry]
    hypotheses: int

    @cached_property
    def of_databases(self) -> Orbits:
        """Databases of n rows."""
        return Orbits.under(self.databases, self.group)

    @cached_property
    def of_families(self) -> Orbits:
        """Families: databases of n - 1 rows."""
        return Orbits.under(self.databases.without_a_row, self.group)

    @cached_property
    def moved(self) -> np.ndarray:
        """``int64[g, h]``: what each symmetry makes of each hypothesis."""
        return np.array([symmetry.hypotheses for symmetry in self.group])

    @cached_property
    def spread(self) -> np.ndarray:
        """``int64[kinds, h, families]``: the place of q(T, a, h) in p, ``[h, databases]`` flattened."""
        smaller = self.databases.without_a_row.counts[self.of_families.kept]
        return self._places(self.databases.members(smaller).T)

    @cached_property
    def whole(self) -> np.ndarray:
        """``int64[h, size]``: the place in p of the probabilities of every database."""
        return self._places(np.arange(self.databases.size)[None])[0]

    def expanded(self, laws: np.ndarray) -> np.ndarray:
        """The laws of all databases, ``[size, h]``, from those of the ones that are kept, ``[kept, h]``."""
        return laws.T.ravel()[self.whole].T

    def _places(self, members: np.ndarray) -> np.ndarray:
        orbits = self.of_databases
        named = self.moved[orbits.by[members]]  # [..., databases, h]
        return np.moveaxis(named, -1, -2) * len(orbits.kept) + orbits.of[members][..., None, :]

    @cached_property
    def collect(self) -> np.ndarray:
        """``int64[kinds, h, databases]``: the places in q, flattened, that sum to a probability; its size for none."""
        kinds, orbits = self.databases.kinds, self.of_families
        counts = self.databases.counts[self.of_databases.kept]
        cells = np.array([symmetry.cells for symmetry in self.group])
        places = np.full((kinds, self.hypotheses, len(counts)), kinds * self.hypotheses * len(orbits.kept))
        for kind in range(kinds):
            some = np.flatnonzero(counts[:, kind])
            family = self.databases.without_a_row.index(counts[some] - np.eye(kinds, dtype=np.int64)[kind])
            by = orbits.by[family]
            row = cells[by, kind][:, None] * self.hypotheses + self.moved[by]
            places[kind][:, some] = (row * len(orbits.kept) + orbits.of[family][:, None]).T
        return places
