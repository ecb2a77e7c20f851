"""A finite class as a matrix of labels: its columns as sets of rows."""

import numpy as np

from dpjax.core.matrices import class_matrix

Cells = tuple[tuple[int, int], ...]
"""A column: (label, the set of rows with that label) for each label that occurs, labels ascending."""


def binary_matrix(matrix) -> np.ndarray:
    """``bool[m, N]``: m >= 1 distinct rows of 0 and 1; InputError otherwise."""
    return class_matrix(matrix, labels=2).astype(bool)


def bitset(flags: np.ndarray) -> int:
    """The set of positions of the true entries of ``bool[m]``, as an integer whose bit i stands for position i."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def members(bits: int) -> list[int]:
    """The positions in a bitset, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found


def cells(column: np.ndarray) -> Cells:
    """A column ``int64[m]`` as sets of rows."""
    return tuple((int(label), bitset(column == label)) for label in np.unique(column))


def informative(table: np.ndarray) -> dict[int, Cells]:
    """The columns that are not constant, without repetitions, by their number in the matrix."""
    kept: dict[Cells, int] = {}
    for number in range(table.shape[1]):
        column = cells(table[:, number])
        if len(column) > 1:
            kept.setdefault(column, number)
    return {number: column for column, number in kept.items()}
