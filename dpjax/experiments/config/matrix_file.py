"""A class as a table of labels in a file: CSV or NumPy's format."""

import io
import math
import os
import re
from contextlib import suppress
from pathlib import Path

import numpy as np

from dpjax.concepts.finite import Finite
from dpjax.concepts.multiclass import Multiclass
from dpjax.core.checks import InputError
from dpjax.core.files import read_bytes
from dpjax.core.matrices import LARGEST, LARGEST_LABEL

_MOST_BYTES = 8 * LARGEST + 4096
SUFFIXES = (".csv", ".npy", ".txt", ".tsv")


def is_matrix_file(text: str) -> bool:
    """Whether a word names a file of labels: by its ending, or because there is such a file."""
    named = os.path.splitext(text)[1] in SUFFIXES or os.path.isfile(text)  # False of what is no name of a file
    return named or (os.path.isdir(text) and ("/" in text or "." in text))


def read_class(path: Path) -> Finite | Multiclass:
    """The class of the rows of a file: `Finite` if all labels are 0 and 1, else `Multiclass`."""
    table = read_matrix(path)
    return Multiclass.of(table) if table.size and table.max() > 1 else Finite.of(table)


def read_matrix(path: Path) -> np.ndarray:
    """``int64[m, N]`` from FILE.npy, or from text: a line of whole numbers per concept, also as 1.0 or 1.00e+00.

    Numbers are separated by commas or semicolons, or by blanks in a line with neither; lines that begin with # are
    skipped. InputError for other files, and for empty cells.
    """
    try:
        return _array(path) if path.suffix == ".npy" else _text(path)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error


def _array(path: Path) -> np.ndarray:
    try:
        file = io.BytesIO(read_bytes(path, _MOST_BYTES))
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
        if math.prod(shape) * dtype.itemsize > len(file.getbuffer()):
            raise ValueError("a shape of more numbers than there are")
        file.seek(0)
        return np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, TypeError, MemoryError) as error:
        raise _unreadable(path, "no array of numbers in NumPy's format") from error


def _text(path: Path) -> np.ndarray:
    try:
        lines = read_bytes(path, _MOST_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"no UTF-8 text ({error.reason})") from error
    rows = [
        _labels(path, number, line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        actual = f"{path} with lines of {sorted(widths)} numbers" if widths else f"{path} without lines"
        raise InputError("class", "lines of one length", actual, "give every concept a label at every element")
    return np.array(rows, np.int64)


def _labels(path: Path, number: int, line: str) -> list[int]:
    words = [word.strip() for word in (re.split("[,;]", line) if re.search("[,;]", line) else line.split())]
    if "" in words:
        raise _unreadable(path, f"an empty cell in line {number}, column {words.index('') + 1}")
    labels = []
    for word in words:
        try:
            labels.append(_whole(word))
        except ValueError as error:
            header = " (a line of names has to be removed, or to begin with #)" if number == 1 else ""
            raise _unreadable(path, f"another word in line {number}, column {len(labels) + 1}{header}") from error
        if abs(labels[-1]) > LARGEST_LABEL:
            raise _unreadable(path, f"a number beyond 2^63 - 1 in line {number}, column {len(labels)}")
    return labels


def _whole(word: str) -> int:
    with suppress(ValueError):
        return int(word)
    value = float(word)  # as np.savetxt writes whole numbers
    if not value.is_integer() or abs(value) > 2**53:
        raise ValueError("not a whole number that a float holds exactly")
    return int(value)


def _unreadable(path: Path, given: str) -> InputError:
    return InputError("class", "a readable table of whole numbers", f"{path}: {given}", "correct the file")
