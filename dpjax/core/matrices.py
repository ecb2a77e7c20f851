"""Host: tables that are given as finite classes, a row per concept and a column per domain element."""

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError

LARGEST = 1 << 28  # entries of a matrix of labels
LARGEST_LABEL = (1 << 63) - 1
_LARGEST_FLOAT = 1 << 53  # whole numbers that float64 holds exactly


def class_matrix(matrix, labels: int | None = None, elements: int = 0) -> np.ndarray:
    """``int64[m, N]``: m >= 1 distinct rows of labels 0..2^63 - 1, not always a copy; InputError otherwise.

    labels: if given, the labels are below it. elements: the least N.
    """
    table = _table_of(matrix)
    if table.ndim == 2 and np.issubdtype(table.dtype, np.floating):  # as np.loadtxt reads whole numbers
        if (wrong := np.argwhere(~((np.abs(table) <= _LARGEST_FLOAT) & (np.floor(table) == table)))).size:
            row, column = wrong[0]
            advice = "number the labels from 0"
            raise InputError(f"label in row {row}, column {column}", "a whole number", str(table[row, column]), advice)
        table = table.astype(np.int64)
    whole = table.dtype == bool or np.issubdtype(table.dtype, np.integer)
    if table.ndim != 2 or not len(table) or table.shape[1] < elements or not whole:
        least = "a row or more" if not elements else "a row and a column or more"
        raise _no_matrix(f"a two-dimensional table of whole numbers with {least}", f"{table.shape} of {table.dtype}")
    if table.size > LARGEST:
        actual = f"{len(table)} rows of {table.shape[1]} labels"
        raise InputError("class matrix", f"at most 2^28 = {LARGEST} entries", actual, "take fewer domain elements")
    largest = LARGEST_LABEL if labels is None else min(checks.integer("labels", labels, 1) - 1, LARGEST_LABEL)
    if table.size and (int(table.min()) < 0 or int(table.max()) > largest):
        row, column = np.argwhere((table < 0) | (table > largest))[0]
        span = "in 0..2^63 - 1" if labels is None else f"in 0..{largest}"
        expected = f"a whole number {span}"
        advice = "number the labels from 0"
        raise InputError(f"label in row {row}, column {column}", expected, str(table[row, column]), advice)
    _require_distinct(table)
    return table.astype(np.int64, copy=False)


def first_rows(table: np.ndarray) -> np.ndarray:
    """The numbers of the rows of a table that are equal to none before, ascending."""
    first: dict[bytes, int] = {}
    for number, row in enumerate(np.ascontiguousarray(table)):
        first.setdefault(row.tobytes(), number)
    return np.array(list(first.values()), np.int64)


def zero_one_matrix(matrix) -> np.ndarray:
    """``bool[m, N]``, at least one row and column of 0 and 1, of any type; equal rows are allowed."""
    table = _table_of(matrix)
    if table.ndim != 2 or 0 in table.shape or table.dtype == object:
        raise _no_matrix("a two-dimensional table of 0 and 1", str(table.shape))
    if (others := np.argwhere(~np.isin(table, (0, 1)))).size:
        row, column = others[0]
        advice = "labels of two kinds are 0 and 1; more labels: Multiclass.of"
        raise InputError(f"label in row {row}, column {column}", "0 or 1", str(table[row, column]), advice)
    return table.astype(bool)


def _table_of(matrix) -> np.ndarray:
    """An array; of objects if the rows have different lengths."""
    try:
        return np.asarray(matrix)
    except ValueError:
        return np.asarray(matrix, object)


def _no_matrix(expected: str, shape: str) -> InputError:
    advice = "give one row per concept and one column per domain element"
    return InputError("class matrix", expected, f"shape {shape}", advice)


def _require_distinct(table: np.ndarray) -> None:
    seen: dict[bytes, int] = {}
    small = np.min_scalar_type(int(table.max(initial=0)))  # fewer bytes to compare
    for number, row in enumerate(np.ascontiguousarray(table, small)):
        if (first := seen.setdefault(row.tobytes(), number)) != number:
            advice = "list every concept once, for example by numpy.unique(matrix, axis=0)"
            raise InputError("class matrix", "distinct rows", f"row {number} equal to row {first}", advice)
