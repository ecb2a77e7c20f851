"""Databases as counts, and symmetries of classes, against direct enumeration."""

import itertools

import numpy as np
import pytest

from dpjax.attacks.optimum import Databases, goal_of
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.audit.target.databases import histograms
from dpjax.core.types import Neighboring
from dpjax.dimensions.families import points, thresholds


@pytest.mark.parametrize("neighboring", Neighboring)
@pytest.mark.parametrize(("rows", "cells"), [(1, 2), (3, 4), (4, 3), (2, 6)])
def test_all_databases_and_all_neighbors(rows, cells, neighboring):
    own = Databases(rows, cells, neighboring)
    least = rows if neighboring is Neighboring.REPLACE_ONE else 0
    other = histograms(rows, cells, neighboring, least)
    counts = [tuple(row[:cells]) for row in own.counts.tolist()]
    assert own.size == len(set(counts)) and set(counts) == set(map(tuple, other.databases.tolist()))
    mine = {(counts[i], counts[j]) for i, j in own.pairs}
    theirs = other.databases.tolist()
    assert mine == {(tuple(theirs[i]), tuple(theirs[j])) for i, j in other.pairs} and len(mine) == len(own.pairs)
    assert np.array_equal(own.index(own.counts), np.arange(own.size))


def test_permuted_databases():
    databases = Databases(3, 3)
    moved = databases.counts[databases.permuted(np.array([1, 2, 0]))]
    assert np.array_equal(moved[:, [1, 2, 0]], databases.counts)


@pytest.mark.parametrize(
    ("matrix", "order"),
    [
        (thresholds(2), 2),
        (thresholds(3), 2),
        (points(3), 6),
        ([[0, 0], [0, 1], [1, 0], [1, 1]], 8),
        ([[0, 0]], 2),
        ([[0], [1]], 2),
    ],
    ids=str,
)
def test_symmetries_map_cases_to_cases(matrix, order):
    goal = goal_of(matrix, 0.3, proper=True)
    group, cases = symmetries(goal), set(goal.on_grid(3))
    assert len(group) == order
    for one in group:
        assert {one.moved(case, goal) for case in cases} == cases
        for case in cases:  # the image of the distribution and of the good hypotheses is that of the case
            image = one.moved(case, goal)
            assert all(image.masses[place] == mass for place, mass in zip(one.cells, case.masses, strict=True))
            assert all(image.good[place] == good for place, good in zip(one.hypotheses, case.good, strict=True))


@pytest.mark.parametrize("how", [{"k": 2}, {"agnostic": True}, {"noise": 0.2}], ids=str)
def test_symmetries_of_other_goals(how):
    goal = goal_of(thresholds(2), 0.3, **how)
    cases = set(goal.on_grid(2))
    for one in symmetries(goal):
        for case in cases:
            image = one.moved(case, goal)
            assert image in cases
            assert all(image.masses[place] == mass for place, mass in zip(one.cells, case.masses, strict=True))
            assert all(image.good[place] == good for place, good in zip(one.hypotheses, case.good, strict=True))


def test_good_hypotheses_by_hand():
    goal = goal_of(thresholds(2), 0.3)
    target = goal.table.index((0, 1))
    case = goal.case((target,), (3, 7))
    assert {tuple(row) for row, good in zip(goal.functions.tolist(), case.good, strict=True) if good} == {
        (0, 1),
        (1, 1),
    }  # an error of exactly 0.3 is allowed
    assert case.masses == (3, 0, 0, 7) and str(case).startswith("target 1, elements with probabilities (3/10, 7/10)")
    agnostic = goal_of(thresholds(2), 0.3, agnostic=True).case(None, (1, 1, 2, 0))
    for row, good in zip(goal.functions.tolist(), agnostic.good, strict=True):
        assert good == (_wrong(row) / 4 <= min(map(_wrong, goal.table)) / 4 + 0.3)


def _wrong(row):
    """The mass of the wrong labels, of masses 1, 1, 2, 0 of (0; 0), (0; 1), (1; 0), (1; 1)."""
    cells = zip(itertools.product((0, 1), (0, 1)), (1, 1, 2, 0), strict=True)
    return sum(mass for (x, y), mass in cells if row[x] != y)
