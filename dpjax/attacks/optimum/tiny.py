"""All classes of concepts on a few points, up to the symmetries of the program, and their names."""

from collections.abc import Sequence
from itertools import permutations, product
from typing import Any

import numpy as np

from dpjax.dimensions import families

Matrix = tuple[tuple[int, ...], ...]


def tiny_classes(points: int, fewest: int = 1) -> list[Matrix]:
    """A representative of each class of at least two concepts on ``fewest`` to ``points`` points, at most 4.

    There are 1, 4, 20 and 400 classes on 1, 2, 3 and 4 points.
    """
    found = []
    for m in range(fewest, points + 1):
        every = list(product((0, 1), repeat=m))
        classes = (tuple(row for i, row in enumerate(every) if bits >> i & 1) for bits in _kept(m).tolist())
        found += sorted((one for one in classes if len(one) > 1), key=lambda one: (len(one), one))
    return found


def _kept(m: int) -> np.ndarray:
    """The sets of functions that represent their classes, as bits: function i has the labels of i, x = 0 the highest.

    Of two sets of one size that is less as a tuple which has the least function that only one of them has.
    """
    functions = np.array(list(product((0, 1), repeat=m)))
    weights = 1 << np.arange(m - 1, -1, -1)
    size = len(functions)
    every = np.arange(1 << size)
    best = np.zeros_like(every)
    for order in permutations(range(m)):
        for flip in product((0, 1), repeat=m):
            image = (functions[:, order] ^ np.array(flip)) @ weights
            np.maximum(best, _moved(image), out=best)
    return every[best == _moved(np.arange(size))]


def _moved(image: np.ndarray) -> np.ndarray:
    """The images of all sets of functions, with the first function as the highest bit."""
    moved = np.zeros(1, np.int64)
    for place in image.tolist():
        moved = np.append(moved, moved | 1 << (len(image) - 1 - place))
    return moved


def representative(concepts: Sequence[tuple[int, ...]]) -> Matrix:
    """The least of the classes that a renaming of points and an exchange of labels at points make of this one."""
    m = len(concepts[0])
    return min(
        tuple(sorted(tuple(row[x] ^ flip[x] for x in order) for row in concepts))
        for order in permutations(range(m))
        for flip in product((0, 1), repeat=m)
    )


def name_of(matrix: Matrix) -> str:
    """Its concepts, and the usual name of a few classes."""
    m = len(matrix[0])
    usual = {"thresholds": families.thresholds(m), "points": families.points(m)} if m > 1 else {}
    names = [
        name for name, one in usual.items() if len(one) > 1 and representative(rows_of(one)) == representative(matrix)
    ]
    names += ["all functions"] * (len(matrix) == 2**m)
    return code_of(matrix) + f" ({', '.join(names)})" * bool(names)


def code_of(matrix: Matrix) -> str:
    """The labels of each concept, "00 01 10"."""
    return " ".join("".join(map(str, row)) for row in matrix)


def matrix_of_code(code: str) -> Matrix:
    """The inverse of `code_of`."""
    return tuple(tuple(map(int, row)) for row in code.split())


def rows_of(matrix: Any) -> Matrix:
    """A matrix as tuples."""
    return tuple(tuple(map(int, row)) for row in matrix)
