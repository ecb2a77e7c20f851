"""Reductions between classes: their definition, what they say of each other, and learners that are moved by them."""

import numpy as np
import pytest

from dpjax.attacks.optimum import Databases, goal_of, optimum
from dpjax.attacks.optimum.private_table import TOTAL, is_private
from dpjax.attacks.optimum.reductions import reduction
from dpjax.attacks.optimum.tiny import matrix_of_code, tiny_classes
from dpjax.attacks.optimum.worst import worst_distribution
from dpjax.core.types import Privacy

CLASSES = tiny_classes(3)


def test_every_reduction_is_one():
    pairs = [(inner, outer, reduction(inner, outer)) for inner in CLASSES for outer in CLASSES]
    for inner, outer, found in pairs:
        if found is None:
            continue
        images = {tuple(row[x] ^ flip for x, flip in zip(found.points, found.flips, strict=True)) for row in outer}
        assert set(inner) <= images
        assert found.whole == (set(found.points) == set(range(len(outer[0]))))
    assert sum(found is None for _, _, found in pairs) > 100
    known = {(inner, outer) for inner, outer, found in pairs if found}
    assert all((a, d) in known for a, b in known for c, d in known if b == c)  # transitive


@pytest.mark.parametrize(
    ("inner", "outer", "there"),
    [
        ("00 01", "000 001 010", True),  # a subclass of a restriction
        ("000 111", "0 1", True),  # three points that tell the same
        ("0 1", "000 111", True),
        ("000 001 110", "00 01 10", True),
        ("000 001 010", "00 01 10 11", False),  # a point without information
        ("00 01 10 11", "000 011 101 110", True),
        ("000 011 101 110", "00 01 10 11", False),
        ("00 01 10 11", "000 001 010 100", False),  # VC dimension 1
    ],
)
def test_known_ones(inner, outer, there):
    assert (reduction(matrix_of_code(inner), matrix_of_code(outer)) is not None) == there


@pytest.mark.parametrize(("inner", "outer"), [("000 001 110", "00 01 10"), ("00 01", "000 001 010")])
def test_a_moved_learner_is_as_good(inner, outer):
    """Success of the best learners for the same n, and of the table of one after the map of rows and hypotheses."""
    a, b = matrix_of_code(outer), matrix_of_code(inner)
    found, how = optimum(goal_of(a, 0.3), 3, Privacy(1.0)), reduction(b, a)
    goal = goal_of(b, 0.3)
    databases = Databases(3, goal.cells)
    cells = np.array([2 * how.points[c // 2] + (c % 2 ^ how.flips[c // 2]) for c in range(goal.cells)])
    counts = np.zeros((databases.size, 2 * len(a[0])), np.int64)
    for cell, place in enumerate(cells):
        counts[:, place] += databases.counts[:, cell]
    functions = {tuple(row): i for i, row in enumerate(goal.functions.tolist())}
    table = np.zeros((databases.size, goal.sizes[0]), np.int64)
    for h, row in enumerate(found.goal.functions.tolist()):
        moved = tuple(row[x] ^ flip for x, flip in zip(how.points, how.flips, strict=True))
        table[:, functions[moved]] += found.table[found.databases.index(counts), h]

    assert is_private(table, databases, 1.0, 0.0)
    targets = [tuple(map(int, target)) for target in goal.targets]
    least = min(worst_distribution(table / TOTAL, goal, databases, target, 1e-5).least for target in targets)
    assert least >= found.everywhere - 1e-3
