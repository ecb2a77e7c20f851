"""The privacy constraints under REPLACE_ONE as two tables of places, without a matrix.

The databases T + a of a family (n - 1 common rows T and one of kind a) are neighbors of each other, and every pair of
neighbors is in one family. So the operator of the constraints copies each probability into the families of its
database, q(T, a, h) = p(T + a, h), and with delta = 0 (otherwise see `constraints`) these are in a cone:

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

    kept: ``int64[o]``, the first database of each orbit. of: ``int64[size]``, the number of its orbit, -1 if it is left
    out. by: ``int64[size]``, a symmetry that maps the database to the one that is kept. sizes: ``int64[o]``, databases
    of each orbit.
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

    def only(self, some: np.ndarray) -> "Orbits":
        """Without the databases that are not in a set that all symmetries leave as it is, ``bool[size]``."""
        stay = some[self.kept]
        numbers = np.where(stay, np.cumsum(stay) - 1, -1)
        return Orbits(self.kept[stay], numbers[self.of], self.by, self.sizes[stay])


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
    """The tables for ``databases``, under REPLACE_ONE, and a group of symmetries of ``hypotheses`` functions.

    inside: ``bool[size]``, a set of databases that all symmetries leave as it is: the others, and families with fewer
    than two databases inside, are left out. None for all.
    """

    databases: Databases
    group: list[Symmetry]
    hypotheses: int
    inside: np.ndarray | None = None

    @cached_property
    def of_databases(self) -> Orbits:
        """Databases of n rows."""
        every = Orbits.under(self.databases, self.group)
        return every if self.inside is None else every.only(self.inside)

    @cached_property
    def of_families(self) -> Orbits:
        """Families: databases of n - 1 rows."""
        every = self._every_family
        if self.inside is None:
            return every
        members = self.databases.members(self.databases.without_a_row.counts)
        return every.only(self.inside[members].sum(axis=1) > 1)

    @cached_property
    def _every_family(self) -> Orbits:
        return Orbits.under(self.databases.without_a_row, self.group)

    @cached_property
    def moved(self) -> np.ndarray:
        """``int64[g, h]``: what each symmetry makes of each hypothesis."""
        return np.array([symmetry.hypotheses for symmetry in self.group])

    @cached_property
    def spread(self) -> np.ndarray:
        """``int64[kinds, h, families]``: the place of q(T, a, h) in p, ``[h, databases]`` flattened."""
        places = self._places(self._members.T)
        if self.present is None:
            return places
        first = np.argmax(self.present, axis=0)[None]  # stands for those that are left out
        return np.where(self.present, places, np.take_along_axis(places, first, axis=0))

    @cached_property
    def present(self) -> np.ndarray | None:
        """``bool[kinds, 1, families]``: whether q(T, a, h) is inside; None if all are."""
        return None if self.inside is None else self.inside[self._members].T[:, None]

    @cached_property
    def _members(self) -> np.ndarray:
        return self.databases.members(self.databases.without_a_row.counts[self.of_families.kept])

    @cached_property
    def whole(self) -> np.ndarray:
        """``int64[h, size]``: the place in p of the probabilities of every database."""
        return self._places(np.arange(self.databases.size)[None])[0]

    def expanded(self, laws: np.ndarray) -> np.ndarray:
        """The laws of all databases, ``[size, h]``, from those of the ones that are kept, ``[kept, h]``."""
        return laws.T.ravel()[self.whole].T

    def of_every_family(self, flows: np.ndarray) -> np.ndarray:
        """Flows ``[..., h, families]`` with those of families that are left out, 0."""
        if self.inside is None:
            return flows
        kept = self._every_family.kept
        every = np.zeros((*flows.shape[:-1], len(kept)), flows.dtype)
        every[..., np.searchsorted(kept, self.of_families.kept)] = flows
        return every

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
        none = kinds * self.hypotheses * len(orbits.kept)
        places = np.full((kinds, self.hypotheses, len(counts)), none)
        for kind in range(kinds):
            some = np.flatnonzero(counts[:, kind])
            family = self.databases.without_a_row.index(counts[some] - np.eye(kinds, dtype=np.int64)[kind])
            by = orbits.by[family]
            row = cells[by, kind][:, None] * self.hypotheses + self.moved[by]
            number = orbits.of[family][:, None]
            places[kind][:, some] = np.where(number < 0, none, row * len(orbits.kept) + number).T
        return places
