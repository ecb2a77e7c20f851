"""A finite class as a matrix of labels: its columns as sets of rows."""

from collections.abc import Iterator

import numpy as np

from dpjax.core.matrices import class_matrix
from dpjax.dimensions.clock import Clock

Cells = tuple[tuple[int, int], ...]
"""A column: (label, the set of rows with that label) for each label that occurs, labels ascending."""

_BLOCK = 64  # rows or columns between two looks at the clock
_FEW = 16  # labels: with more, a column is read row by row


def binary_matrix(matrix) -> np.ndarray:
    """``bool[m, N]``: m >= 1 distinct rows of 0 and 1; InputError otherwise."""
    return class_matrix(matrix, labels=2).astype(bool)


def bitset(flags: np.ndarray) -> int:
    """The set of positions of the true entries of ``bool[m]``, as an integer whose bit i stands for position i."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def bitsets(table: np.ndarray, clock: Clock) -> list[int]:
    """The sets of the true entries of each row of ``bool[m, N]``."""
    sets: list[int] = []
    for start in range(0, len(table), _BLOCK):
        clock.tick()
        packed = np.packbits(np.ascontiguousarray(table[start : start + _BLOCK]), axis=1, bitorder="little")
        sets += [int.from_bytes(row.tobytes(), "little") for row in packed]
    return sets


def members(bits: int) -> list[int]:
    """The positions in a bitset, ascending."""
    positions = []
    while bits:
        lowest = bits & -bits
        positions.append(lowest.bit_length() - 1)
        bits ^= lowest
    return positions


def cells(column: np.ndarray) -> Cells:
    """A column ``int64[m]`` as sets of rows."""
    labels = np.unique(column)
    if len(labels) <= _FEW:
        return tuple((int(label), bitset(column == label)) for label in labels)
    rows: dict[int, int] = dict.fromkeys(labels.tolist(), 0)
    for row, label in enumerate(column.tolist()):
        rows[label] |= 1 << row
    return tuple(rows.items())


def columns_of(table: np.ndarray, clock: Clock) -> Iterator[Cells]:
    """The columns of ``int64[m, N]`` as sets of rows."""
    for start in range(0, table.shape[1], _BLOCK):
        for column in np.ascontiguousarray(table[:, start : start + _BLOCK].T):
            clock.tick()
            yield cells(column)


def informative(table: np.ndarray, clock: Clock) -> Iterator[tuple[int, Cells]]:
    """(number in the matrix, column) of the columns that are not constant, without repetitions."""
    seen: set[Cells] = set()
    for number, column in enumerate(columns_of(table, clock)):
        if len(column) > 1 and column not in seen:
            seen.add(column)
            yield number, column
