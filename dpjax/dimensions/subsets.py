"""Tables over all sets of rows of a small class: Littlestone dimensions and optimal predictions.

Bit i of a table's index says whether row i is in the set.
"""

from dataclasses import dataclass

import numpy as np

from dpjax.core.checks import InputError
from dpjax.dimensions.matrix import binary_matrix, bitset

MOST_ROWS, MOST_POINTS = 24, 32


@dataclass(frozen=True)
class SubsetTables:
    """Tables of a binary class with m <= 24 rows over N <= 32 elements.

    littlestone: ``int8[2^m]``, the Littlestone dimension of the set; -1 for the empty one.
    prediction: ``uint32[2^m]``, bit x is the label of element x whose rows keep the larger dimension; 0 if both do.
    ones: ``uint32[N]``, the rows with label 1 at each element.
    """

    littlestone: np.ndarray
    prediction: np.ndarray
    ones: np.ndarray


def subset_tables(matrix) -> SubsetTables:
    """The tables. Exact; 2^m N dimension steps.

    matrix ``bool[m, N]``, m <= 24 distinct rows, N <= 32. InputError for larger classes, with the memory they need.

    Reference: Bun, Livni, Moran 2020.
    """
    table = binary_matrix(matrix)
    rows, points = table.shape
    if rows > MOST_ROWS or points > MOST_POINTS:
        expected = f"at most {MOST_ROWS} rows and {MOST_POINTS} columns for tables over all sets of rows"
        actual = f"{rows} rows, {points} columns: {2**rows} sets, {2.0**rows * 5 / 2**30:.3g} GiB"
        advice = "take a smaller class, or `littlestone_dimension`, which needs no tables"
        raise InputError("class matrix", expected, actual, advice)
    ones = np.array([bitset(column) for column in table.T], np.uint32)
    sets = np.arange(1 << rows, dtype=np.uint32)
    littlestone = _littlestone(sets, np.unique(ones))
    prediction = np.zeros(len(sets), np.uint32)
    for x, bits in enumerate(ones):
        low, high = littlestone[sets & ~bits], littlestone[sets & bits]
        prediction |= (high > low).astype(np.uint32) << np.uint32(x)
    return SubsetTables(littlestone, prediction, ones)


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
