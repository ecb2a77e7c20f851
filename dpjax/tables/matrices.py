"""A class as a table of labels in a file: CSV or NumPy's format."""

from pathlib import Path

import numpy as np

from dpjax.core.checks import InputError


def read_matrix(path: Path) -> np.ndarray:
    """``int64[m, N]`` from FILE.npy, or from text: a line of whole numbers per concept.

    Numbers are separated by commas, semicolons or blanks; lines that begin with # are skipped. InputError for other
    files.
    """
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        lines = [line.replace(",", " ").replace(";", " ").split() for line in path.read_text().splitlines()]
        rows = [[int(word) for word in line] for line in lines if line and not line[0].startswith("#")]
    except (OSError, ValueError) as error:
        given = f"{path}: {error.strerror if isinstance(error, OSError) else error}"
        raise InputError("class", "a readable table of whole numbers", given, "correct the file") from error
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        given = f"{path} with lines of {sorted(widths)} numbers" if widths else f"{path} without lines"
        raise InputError("class", "lines of one length", given, "give every concept a label at every element")
    return np.array(rows, np.int64)
