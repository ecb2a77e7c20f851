"""A finite class as a matrix of labels: validation, and its columns as sets of rows."""

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError

LARGEST = 1 << 28  # entries of a matrix

Cells = tuple[tuple[int, int], ...]
"""A column: (label, the set of rows with that label) for each label that occurs, labels ascending."""


def class_matrix(matrix, labels: int | None = None) -> np.ndarray:
    """``int64[m, N]``: m >= 1 distinct rows of labels >= 0, below ``labels`` if that is given; InputError otherwise."""
    try:
        table = np.asarray(matrix)
    except ValueError:
        table = np.asarray(matrix, object)
    whole = table.dtype == bool or np.issubdtype(table.dtype, np.integer)
    if table.ndim != 2 or not len(table) or not whole:
        raise InputError(
            "class matrix", "a two-dimensional table of whole numbers with a row or more",
            f"shape {table.shape} of {table.dtype}", "give one row per concept and one column per domain element",
        )  # fmt: skip
    if table.size > LARGEST:
        raise InputError(
            "class matrix", f"at most 2^28 = {LARGEST} entries", f"{len(table)} rows of {table.shape[1]} labels",
            "take fewer domain elements",
        )  # fmt: skip
    most = None if labels is None else checks.integer("labels", labels, 1)
    outside = (table < 0) if most is None else (table < 0) | (table >= most)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        span = ">= 0" if most is None else f"in 0..{most - 1}"
        raise InputError(
            f"label in row {row}, column {column}", f"a whole number {span}", str(table[row, column]),
            "number the labels from 0",
        )  # fmt: skip
    _distinct(table)
    return table.astype(np.int64)


def binary_matrix(matrix) -> np.ndarray:
    """``bool[m, N]``: m >= 1 distinct rows of 0 and 1; InputError otherwise."""
    return class_matrix(matrix, labels=2).astype(bool)


def _distinct(table: np.ndarray) -> None:
    seen: dict[bytes, int] = {}
    for number, row in enumerate(np.ascontiguousarray(table)):
        if (first := seen.setdefault(row.tobytes(), number)) != number:
            raise InputError(
                "class matrix", "distinct rows", f"row {number} equal to row {first}",
                "list every concept once, for example by numpy.unique(matrix, axis=0)",
            )  # fmt: skip


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
