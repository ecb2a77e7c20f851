"""All classes of concepts on a few points, up to the symmetries of the program, and their names."""

from collections.abc import Sequence
from itertools import combinations, permutations, product
from typing import Any

from dpjax.dimensions import families

Matrix = tuple[tuple[int, ...], ...]


def tiny_classes(points: int) -> list[Matrix]:
    """A representative of each class of at least two concepts on 1 to ``points`` points: 25 classes for 3 points."""
    found = []
    for m in range(1, points + 1):
        every = list(product((0, 1), repeat=m))
        subsets = (some for size in range(2, len(every) + 1) for some in combinations(every, size))
        found += sorted({representative(some) for some in subsets}, key=lambda one: (len(one), one))
    return found


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


def rows_of(matrix: Any) -> Matrix:
    """A matrix as tuples."""
    return tuple(tuple(map(int, row)) for row in matrix)
