"""Bounds from the databases that are close to realizable ones, against the program on these and on all databases."""

import math
from itertools import combinations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from dpjax.attacks.optimum import Databases, goal_of, optimum
from dpjax.attacks.optimum.cones import nearest_in_family
from dpjax.attacks.optimum.program import case_weights
from dpjax.attacks.optimum.relaxed import distances, relaxed_bound
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.core.checks import InputError
from dpjax.core.types import Privacy
from dpjax.dimensions.families import thresholds


def test_distances_are_rows_that_no_target_explains():
    goal = goal_of(thresholds(2), 0.3)  # 11, 01, 00
    databases = Databases(3, goal.cells)
    counts = np.array([[3, 0, 0, 0], [0, 1, 2, 0], [1, 1, 0, 1], [1, 1, 1, 0]])
    assert distances(goal, databases)[databases.index(counts)].tolist() == [0, 1, 1, 1]


def test_entries_that_are_not_there_do_not_count():
    generator = np.random.default_rng(1)
    values = generator.normal(size=(5, 30)).astype(np.float32)
    present = generator.random((5, 30)) < 0.6
    present[0] = True
    near = np.asarray(nearest_in_family(jnp.asarray(values), jnp.float32(2.7), jnp.asarray(present)))
    for column, there, point in zip(values.T, present.T, near.T, strict=True):
        alone = np.asarray(nearest_in_family(jnp.asarray(column[there])[:, None], jnp.float32(2.7)))[:, 0]
        np.testing.assert_allclose(point[there], alone, atol=1e-6)
        np.testing.assert_array_equal(point[~there], column[~there])


def program(goal, databases, cases, epsilon, inside):
    """The value for the databases inside and all pairs of neighbors among them, by HiGHS."""
    h, size = goal.sizes[0], databases.size
    rows = [[0.0] * (size * h + 1) for _ in cases]
    for row, case in zip(rows, cases, strict=True):
        part = case_weights(case, databases)[:, None] * np.array(case.good)
        row[: size * h], row[-1] = (-part).ravel().tolist(), 1.0
    for members in databases.members(databases.without_a_row.counts):
        for a, b in combinations([member for member in members if inside[member]], 2):
            for first, second in ((a, b), (b, a)):
                for i in range(h):
                    row = [0.0] * (size * h + 1)
                    row[first * h + i], row[second * h + i] = 1.0, -math.exp(epsilon)
                    rows.append(row)
    sums = np.hstack([np.kron(np.eye(size), np.ones(h)), np.zeros((size, 1))])
    cost = np.zeros(size * h + 1)
    cost[-1] = -1
    return -linprog(cost, np.array(rows), np.zeros(len(rows)), sums, np.ones(size), method="highs").fun


@pytest.mark.parametrize("within", [0, 1])
def test_the_bound_is_that_of_the_databases_inside(within):
    goal, n = goal_of(thresholds(2), 0.3), 5
    databases = Databases(n, goal.cells)
    inside = distances(goal, databases) <= within
    assert 0 < inside.sum() < databases.size
    bound, certificate = relaxed_bound(goal, n, Privacy(1.0), within, tolerance=5e-4)
    least = program(goal, databases, list(certificate.cases), 1.0, inside)
    assert least - 1e-6 <= bound <= least + 1e-3
    for members, numbers in certificate.of_all_families():
        outside = ~inside[members].T[:, None] & np.ones_like(numbers, bool)
        assert np.all(numbers[outside] == 0)


def test_bounds_fall_to_that_of_all_databases():
    goal, n, privacy = goal_of(thresholds(2), 0.3), 6, Privacy(1.0)
    bounds = [float(relaxed_bound(goal, n, privacy, within)[0]) for within in (0, 1, n)]
    whole = float(optimum(goal, n, privacy, everywhere=False).value)
    assert bounds[0] > bounds[1] > bounds[2] - 1e-3 and bounds[2] == pytest.approx(whole, abs=1.5e-3)
    assert min(bounds) >= whole - 1e-6


def test_a_stencil_of_all_is_the_whole_one():
    goal = goal_of(thresholds(2), 0.3)
    databases, group = Databases(4, goal.cells), symmetries(goal)
    whole, same = (Stencil(databases, group, 4, inside) for inside in (None, np.ones(databases.size, bool)))
    assert whole.present is None and same.present.all()
    np.testing.assert_array_equal(whole.spread, same.spread)
    np.testing.assert_array_equal(whole.collect, same.collect)


def test_wrong_input():
    goal = goal_of(thresholds(2), 0.3)
    with pytest.raises(InputError, match="within"):
        relaxed_bound(goal, 3, Privacy(1.0), -1)
    with pytest.raises(InputError, match="epsilon"):
        relaxed_bound(goal, 3, Privacy(17.0, 0.1), 1)
