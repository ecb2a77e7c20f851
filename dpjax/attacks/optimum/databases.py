"""All databases of n labeled rows up to the order of rows, as counts of cells, and their neighbors."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from dpjax.core import checks
from dpjax.core.types import Neighboring, require_relation


@dataclass(frozen=True)
class Databases:
    """Counts of the cells of a row (an element with its labels), in lexicographic order.

    Under REPLACE_ONE all databases of exactly ``rows`` rows. Under ADD_OR_REMOVE_ONE all databases of at most ``rows``
    rows: a last kind of row, the absent one, is added to the cells, so that every list of counts adds up to ``rows``,
    and a neighbor differs by one row that becomes absent or present.
    """

    rows: int
    cells: int
    neighboring: Neighboring = Neighboring.REPLACE_ONE

    def __post_init__(self):
        checks.integer("rows", self.rows, 0)
        checks.integer("cells", self.cells, 1)
        require_relation(self.neighboring)

    @property
    def kinds(self) -> int:
        """The number of kinds of rows: the cells, and the absent row under ADD_OR_REMOVE_ONE."""
        return self.cells + (self.neighboring is Neighboring.ADD_OR_REMOVE_ONE)

    @property
    def size(self) -> int:
        """The number of databases."""
        return comb(self.rows + self.kinds - 1, self.kinds - 1)

    @property
    def moves(self) -> list[tuple[int, int]]:
        """Ordered pairs (i, j) of kinds such that a row of kind i may become one of kind j."""
        present = range(self.cells)
        if self.neighboring is Neighboring.REPLACE_ONE:
            return [(i, j) for i in present for j in present if i != j]
        return [move for i in present for move in ((i, self.cells), (self.cells, i))]

    @cached_property
    def counts(self) -> np.ndarray:
        """``int64[size, kinds]``."""
        bars = np.array(list(combinations(range(self.rows + self.kinds - 1), self.kinds - 1)), np.int64)
        bars = bars.reshape(self.size, self.kinds - 1)
        edge = np.ones((self.size, 1), np.int64)
        return np.diff(np.concatenate([-edge, bars, (self.rows + self.kinds - 1) * edge], axis=1), axis=1) - 1

    @cached_property
    def ranks(self) -> np.ndarray:
        """``int64[kinds, rows + 1]``: entry (i, r) is the number of ways to distribute r rows over kinds i, i + 1, ...

        The index of counts c is the sum over i of ``ranks[i, r_i] - ranks[i, r_(i+1)]``, r_i = c_i + c_(i+1) + ...
        """
        last = self.kinds - 1
        return np.array([[comb(r + last - i, last - i) for r in range(self.rows + 1)] for i in range(self.kinds)])

    def index(self, counts: np.ndarray) -> np.ndarray:
        """The index of each list of counts, ``int64[...]`` of ``int64[..., kinds]``."""
        rest = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
        after = np.concatenate([rest[..., 1:], np.zeros_like(rest[..., :1])], axis=-1)
        kind = np.arange(self.kinds)
        return np.sum(self.ranks[kind, rest] - self.ranks[kind, after], axis=-1)

    def permuted(self, cells: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
        """The index of each database, by default of all, after each row of cell i becomes one of cell ``cells[i]``."""
        counts = self.counts if counts is None else counts
        places = np.append(cells, np.arange(self.cells, self.kinds))
        moved = np.empty_like(counts)
        moved[:, places] = counts
        return self.index(moved)

    @cached_property
    def families(self) -> np.ndarray:
        """``int64[R, kinds]``: entry (r, i) is database r of ``rows - 1`` rows with a further row of kind i."""
        return self.members(self.without_a_row.counts)

    def members(self, smaller: np.ndarray) -> np.ndarray:
        """The indices of databases of one row less with a further row of each kind: ``int64[r, kinds]`` of counts."""
        return self.index(smaller[:, None, :] + np.eye(self.kinds, dtype=np.int64))

    @property
    def without_a_row(self) -> "Databases":
        """The databases of one row less."""
        return Databases(self.rows - 1, self.cells, self.neighboring)

    @cached_property
    def pairs(self) -> np.ndarray:
        """``int64[p, 2]``: all ordered pairs of neighbors, each once."""
        if not self.rows:
            return np.zeros((0, 2), np.int64)
        moves = np.array(self.moves, np.int64).reshape(-1, 2)
        return self.families[:, moves].reshape(-1, 2)

    @cached_property
    def full(self) -> np.ndarray:
        """The indices of the databases of exactly ``rows`` rows."""
        return np.flatnonzero(self.counts[:, : self.cells].sum(axis=1) == self.rows)
