"""Worlds are complete, and neighbors are what the relation says."""

import itertools
from math import comb

import jax
import numpy as np
import pytest

from dpjax.audit import histograms, samples, vectors
from dpjax.concepts import Domain
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

REPLACE, ADD = Neighboring.REPLACE_ONE, Neighboring.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize(("votes", "cells"), [(1, 1), (3, 2), (5, 3), (4, 4)])
def test_histograms_by_brute_force(relation, votes, cells):
    world = histograms(votes, cells, relation)
    assert len(world.databases) == comb(votes + cells, cells) == len({tuple(row) for row in world.databases})
    found = {(tuple(world.databases[i]), tuple(world.databases[j])) for i, j in world.pairs}
    assert len(found) == len(world.pairs)
    expected = set()
    for one, other in itertools.permutations([tuple(row) for row in world.databases], 2):
        move = sorted(np.subtract(other, one))
        single = [0] * (cells - 1) + [1], [-1] + [0] * (cells - 1)
        swap = [-1] + [0] * (cells - 2) + [1] if cells > 1 else None
        if (relation is REPLACE and move == swap) or (relation is ADD and move in single):
            expected.add((one, other))
    assert found == expected


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_more_rows_than_a_whole_number_of_64_bits_can_tell_apart(relation):
    """60 rows of two kinds without regard to order: neighbors are one row of the other kind, or one row, apart."""
    world = samples(Domain(1), 1, 60, relation, ordered=False)
    counts = np.stack(
        [(np.asarray(world.databases.y)[..., 0] == kind) & np.asarray(world.databases.mask) for kind in (False, True)]
    ).sum(axis=2)
    apart = np.abs(counts[:, :, None] - counts[:, None]).sum(axis=0)
    np.testing.assert_array_equal(world.pairs, np.argwhere(apart == (2 if relation is REPLACE else 1)))


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("ordered", [True, False])
def test_samples_by_brute_force(relation, ordered):
    world = samples(Domain(2), 1, 3, relation, ordered=ordered)
    shown = [
        tuple(world.show(jax.tree.map(lambda part, i=i: np.asarray(part)[i], world.databases)))
        for i in range(len(world.databases.mask))
    ]
    assert len(shown) == len(set(shown))
    kinds = {row for database in shown for row in database}
    assert len(kinds) == 4
    if ordered:
        sizes = range(0 if relation is ADD else 1, 4)
        assert sorted(shown) == sorted(row for n in sizes for row in itertools.product(sorted(kinds), repeat=n))
    found = {(shown[i], shown[j]) for i, j in world.pairs}

    def same(one, other):
        return one == other if ordered else sorted(one) == sorted(other)

    def without(row):
        return [(*row[:i], *row[i + 1 :]) for i in range(len(row))]

    def replaced(row):
        return [(*row[:i], new, *row[i + 1 :]) for i in range(len(row)) for new in kinds if new != row[i]]

    def near(one, other):
        if relation is REPLACE:
            return any(same(changed, other) for changed in replaced(one))
        return any(same(part, other) for part in without(one)) or any(same(part, one) for part in without(other))

    assert found == {(one, other) for one, other in itertools.permutations(shown, 2) if near(one, other)}


def test_vectors_hold_every_neighbor_of_the_grid():
    moves = [(1, 0), (1, -1)]
    world = vectors((0, 5), 2, moves, REPLACE)
    rows = {tuple(row) for row in world.databases}
    assert {(0, 0), (1, 0), (1, -1), (6, 4)} <= rows
    found = {(tuple(world.databases[i]), tuple(world.databases[j])) for i, j in world.pairs}
    steps = {*moves, (-1, 0), (-1, 1)}
    assert found == {(a, b) for a in rows for b in rows if tuple(np.subtract(b, a)) in steps}


def test_worlds_beyond_memory_are_refused():
    with pytest.raises(InputError, match="fewer votes"):
        histograms(10_000, 4, REPLACE)
    for size in (100, 2**64):
        with pytest.raises(InputError, match=r"fewer rows .*--method statistical"):
            samples(Domain(size), 2, 6, REPLACE)


@pytest.mark.parametrize(("k", "words"), [(1, "2 elements and 1 label column"), (2, "2 elements and 2 label columns")])
def test_columns_of_labels_are_no_labels(k, words):
    assert samples(Domain(2), k, 1, Neighboring.REPLACE_ONE).what.endswith(words)
