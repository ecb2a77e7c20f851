"""Theorem 8.8 by computation: paths of shattered trees, families that walk along them, and bounds on their sizes."""

from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from papers.bgs_dimensions import random_class
from papers.bgs_representations import least_members, paths, random_families, walk
from scipy.optimize import linprog

from dpjax.concepts import Domain, Finite, Multiclass, Points, PointSets
from dpjax.core.checks import InputError
from dpjax.dimensions import families, littlestone_dimension
from dpjax.learners.representations import PointBuckets, PointSetBuckets, Whole
from dpjax.theory import representations as theory


@pytest.mark.parametrize(
    "matrix",
    [
        families.thresholds(15),
        families.points(6, 2),
        families.independent_bits(2, 1, 3),
        families.points(3),
        np.array([[0, 1, 2]]),
    ],
)
def test_paths_are_realized_and_every_node_has_two_labels(matrix):
    points, labels = paths(matrix)
    depth = littlestone_dimension(matrix).value
    assert points.shape == labels.shape == (2**depth, depth)
    for path, marks in zip(points, labels, strict=True):
        assert np.any(np.all(matrix[:, path] == marks, axis=1))
    assert len({(*path, *marks) for path, marks in zip(points.tolist(), labels.tolist(), strict=True)}) == 2**depth
    # whatever a function predicts, it errs on half of the children of each node or more
    generator = np.random.default_rng(0)
    for _ in range(20):
        guess = generator.integers(0, matrix.max() + 1, matrix.shape[1])
        assert np.mean(np.sum(guess[points] != labels, axis=1)) >= depth / 2


def test_families_on_paths_keep_both_bounds():
    labels = families.independent_bits(2, 1, 3)
    cases = [
        (families.thresholds(15), Whole(Finite.of(families.thresholds(15)))),
        (families.points(9), PointBuckets(Points(Domain(9)), 3, 3)),
        (families.points(6, 2), PointSetBuckets(PointSets(Domain(6), 2), 1, 2)),
        (labels, Whole(Multiclass.of(labels))),
        (labels, PointSetBuckets(PointSets(Domain(3), 1, 2), 1, 2)),
        (families.points(6, 6, False), PointBuckets(Points(Domain(6)), 2, 1)),  # of another class: it is not good
    ]
    for matrix, representation in cases:
        found = walk(matrix, representation, 4)
        assert found.depth == littlestone_dimension(matrix).value and found.size == log(representation.count)
        assert found.depth / 2 - 1e-5 <= found.follower <= found.regret + 1e-5
        assert found.size >= found.least_size - 1e-9 and found.good <= found.most_good + 1e-9
        if found.good >= 7 / 8:
            assert found.size >= theory.size_by_littlestone_dimension(found.depth) >= found.depth / 32
    assert found.good < 7 / 8  # a family of 5 functions and a tree of depth 6


@pytest.mark.parametrize("classes", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_no_class_is_smaller_than_its_bound(classes):
    generator = np.random.default_rng(5)
    for _ in range(classes):
        matrix = random_class(generator)
        d = littlestone_dimension(matrix).value
        assert log(len(matrix)) >= theory.size_by_littlestone_dimension(d) - 1e-12 >= theory.size_by_experts(d) - 1e-12


def least_fixed_family(matrix):
    """The fewest functions, the same for every draw, that are a (1/4, 1/8)-representation: by listing all families.

    For a concept the worst distribution is a linear program: the largest z such that every function errs z or more.
    """
    width = matrix.shape[1]
    functions = (np.arange(1 << width)[:, None] >> np.arange(width)) & 1

    def value(wrong):
        count = len(wrong)
        found = linprog(
            np.append(np.zeros(width), -1),
            np.hstack([-wrong, np.ones((count, 1))]),
            np.zeros(count),
            np.append(np.ones(width), 0)[None],
            [1],
            bounds=[(0, 1)] * (width + 1),
        )
        return -found.fun

    for size in range(1, len(matrix) + 1):
        for chosen in combinations(range(len(functions)), size):
            if all(value((functions[list(chosen)] != row).astype(float)) <= 0.25 + 1e-9 for row in matrix):
                return size
    return len(matrix)


@pytest.mark.parametrize(
    ("matrix", "least"),
    [
        (families.points(1, 1, False), 2),
        (families.points(2, 2, False), 4),
        (families.points(3), 3),
        (families.thresholds(3), 4),
        (np.array([[0, 1, 1]]), 1),
    ],
)
def test_the_bound_against_the_smallest_fixed_family(matrix, least):
    """It is attained by all functions on one and on two points."""
    found = least_fixed_family(matrix)
    assert found == least
    d = littlestone_dimension(matrix).value
    assert found >= least_members(d)
    if matrix.shape[1] == d:
        assert found == least_members(d)


def test_random_families_need_as_many_functions_as_the_bound_says():
    for d, members in ((8, 1), (8, 4), (16, 8), (32, 31)):
        fraction, most = (
            random_families(d, members, 2000),
            members * 7 / 8 / exp(theory.size_by_littlestone_dimension(d)),
        )
        assert fraction <= most + 3 * np.sqrt(most / 2000) and fraction < 7 / 8
        assert members < least_members(d)
    with pytest.raises(InputError, match="paths"):
        paths(families.points(13, 13, False))
