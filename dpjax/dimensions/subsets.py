"""Tables over all sets of rows of a small class: Littlestone dimensions, optimal predictions, irreducibility, trees.

Bit i of a table's index says whether row i is in the set.
"""

from dataclasses import dataclass

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.dimensions.matrix import binary_matrix, bitset

MOST_ROWS, MOST_POINTS = 24, 32


@dataclass(frozen=True)
class SubsetTables:
    """Tables of a binary class with m <= 24 rows over N <= 32 elements.

    littlestone: ``int8[2^m]``, the Littlestone dimension of the set; -1 for the empty one.
    prediction: ``uint32[2^m]``, bit x is the label of element x whose rows keep the larger dimension; 0 if both do.
    irreducible: ``bool[2^m]``: at every element some label keeps the dimension.
    reduced: ``int8[K + 1, 2^m]``, entry k the least, over trees of queries of depth k, of a leaf's largest dimension.
    query: ``int8[K + 1, 2^m]``, the element at the root of such a tree; STOP where no tree does better than no query,
        LESS where depth k - 1 does as well.
    ones: ``uint32[N]``, the rows with label 1 at each element.
    """

    littlestone: np.ndarray
    prediction: np.ndarray
    irreducible: np.ndarray
    reduced: np.ndarray
    query: np.ndarray
    ones: np.ndarray

    STOP = -1
    LESS = -2


def subset_tables(matrix, depth: int = 0) -> SubsetTables:
    """The tables, with decision trees up to a depth. Exact; 2^m N (dimension + depth) steps.

    matrix ``bool[m, N]``, m <= 24 distinct rows, N <= 32. InputError for larger classes, with the memory they need.

    Reference: Bun, Livni, Moran 2020 (predictions); Ghazi, Golowich, Kumar, Manurangsi 2021 (irreducibility).
    """
    table = binary_matrix(matrix)
    checks.integer("depth", depth, 0, 126)
    rows, points = table.shape
    if rows > MOST_ROWS or points > MOST_POINTS:
        expected = f"at most {MOST_ROWS} rows and {MOST_POINTS} columns for tables over all sets of rows"
        actual = f"{rows} rows, {points} columns: {2**rows} sets, {2.0**rows * (7 + 2 * depth) / 2**30:.3g} GiB"
        advice = "take a smaller class, or `littlestone_dimension`, which needs no tables"
        raise InputError("class matrix", expected, actual, advice)
    ones = np.array([bitset(column) for column in table.T], np.uint32)
    sets = np.arange(1 << rows, dtype=np.uint32)
    littlestone = _littlestone(sets, np.unique(ones))
    prediction, irreducible = np.zeros(len(sets), np.uint32), np.ones(len(sets), bool)
    for x, bits in enumerate(ones):
        low, high = littlestone[sets & ~bits], littlestone[sets & bits]
        prediction |= (high > low).astype(np.uint32) << np.uint32(x)
        irreducible &= np.maximum(low, high) == littlestone
    reduced, query = _trees(sets, littlestone, ones, depth)
    return SubsetTables(littlestone, prediction, irreducible, reduced, query, ones)


def _littlestone(sets: np.ndarray, ones: np.ndarray) -> np.ndarray:
    """Level by level: a set has dimension t or more if some element splits it into two sets of t - 1 or more."""
    reached = sets != 0
    dimensions = reached.astype(np.int8) - np.int8(1)
    while reached.any():
        deeper = np.zeros(len(sets), bool)
        for bits in ones:
            deeper |= reached[sets & bits] & reached[sets & ~bits]
        dimensions += deeper
        reached = deeper
    return dimensions


def _trees(sets: np.ndarray, littlestone: np.ndarray, ones: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    reduced = [littlestone]
    query = [np.full(len(sets), SubsetTables.STOP, np.int8)]
    for _ in range(depth):
        best, root = reduced[-1].copy(), np.full(len(sets), SubsetTables.LESS, np.int8)
        for x, bits in enumerate(ones):
            largest = np.maximum(reduced[-1][sets & ~bits], reduced[-1][sets & bits])
            better = largest < best
            best[better], root[better] = largest[better], x
        root[best == littlestone] = SubsetTables.STOP
        reduced.append(best)
        query.append(root)
    return np.stack(reduced), np.stack(query)
