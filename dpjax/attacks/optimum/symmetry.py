"""Symmetries of a class: renamings of elements, labels and columns that map the class to itself.

The worst success over cases is concave in the learner's probabilities. If the set of cases is closed under the
symmetries, the average of a best learner over all of them is a best learner too, and invariant, so the program needs
one variable for each orbit of (database, hypothesis) only.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import factorial

import numpy as np

from dpjax.attacks.optimum.cases import Case, Goal

_MOST = 1 << 14  # renamings of one column
_Row = tuple[int, ...]


@dataclass(frozen=True)
class Symmetry:
    """A renaming, by what each thing becomes.

    order: of elements. cells: ``int64[cells]``. hypotheses: ``int64[h]``. targets: of lists of concepts.
    """

    order: _Row
    cells: np.ndarray
    hypotheses: np.ndarray
    targets: dict[_Row, _Row]

    def moved(self, case: Case, goal: Goal) -> Case:
        """The image of a case, which is a case of the same goal."""
        masses = [0] * len(case.elements)
        places = self.cells.tolist() if goal.agnostic else self.order
        for place, mass in zip(places, case.elements, strict=True):
            masses[place] = mass
        return goal.case(None if case.target is None else self.targets[case.target], masses)


@lru_cache(64)
def symmetries(goal: Goal) -> list[Symmetry]:
    """The group, with the identity; the identity alone for a domain with too many renamings."""
    m, k = goal.elements, goal.k
    few = factorial(m) << m <= _MOST
    orders = list(permutations(range(m))) if few else [tuple(range(m))]
    flips = list(product((0, 1), repeat=m)) if few else [(0,) * m]
    concepts = {row: i for i, row in enumerate(goal.table)}
    functions = {row: i for i, row in enumerate(map(tuple, goal.functions.tolist()))}
    group = []
    for order in orders:
        images = {flip: [_moved(row, order, flip) for row in goal.table] for flip in flips}
        fitting = [flip for flip in flips if concepts.keys() == set(images[flip])]
        of_concepts = {flip: [concepts[row] for row in images[flip]] for flip in fitting}
        of_functions = {flip: [functions[_moved(row, order, flip)] for row in functions] for flip in fitting}
        for choice in product(fitting, repeat=k):
            for columns in permutations(range(k)):
                targets = _lists(goal.targets, [of_concepts[flip] for flip in choice], columns)
                hypotheses = _lists(goal.hypotheses, [of_functions[flip] for flip in choice], columns)
                base = len(functions) ** np.arange(k - 1, -1, -1)
                pairs = zip(goal.targets.tolist(), targets.tolist(), strict=True)
                renamed = {tuple(target): tuple(image) for target, image in pairs}
                group.append(Symmetry(order, _cells(order, choice, columns), hypotheses @ base, renamed))
    return group


def products(group: list[Symmetry], first: np.ndarray, then: np.ndarray) -> np.ndarray:
    """The numbers of the symmetries that are one, ``int64[...]``, followed by another."""
    cells = np.array([symmetry.cells for symmetry in group])
    number = {row.tobytes(): place for place, row in enumerate(cells)}
    pairs, place = np.unique(first * len(group) + then, return_inverse=True)
    found = [number[cells[b, cells[a]].tobytes()] for a, b in zip(*np.divmod(pairs, len(group)), strict=True)]
    return np.array(found, np.int64)[place]


def _moved(row: _Row, order: _Row, flip: _Row) -> _Row:
    """Element x becomes order[x], with its label flipped if flip[x] is 1."""
    moved = [0] * len(row)
    for x, label in enumerate(row):
        moved[order[x]] = label ^ flip[x]
    return tuple(moved)


def _cells(order: _Row, flips: tuple[_Row, ...], columns: _Row) -> np.ndarray:
    k, numbers = len(columns), []
    for x, place in enumerate(order):
        for labels in range(1 << k):
            numbers.append((place << k) + sum(((labels >> j & 1) ^ flips[j][x]) << columns[j] for j in range(k)))
    return np.array(numbers, np.int64)


def _lists(lists: np.ndarray, maps: list[list[int]], columns: _Row) -> np.ndarray:
    """Lists of one function a column, after column j becomes columns[j]."""
    moved = np.empty_like(lists)
    for j, place in enumerate(columns):
        moved[:, place] = np.array(maps[j])[lists[:, j]]
    return moved
