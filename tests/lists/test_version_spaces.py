"""Version spaces by tables against sequences that are processed item by item from the definition."""

from functools import partial

import jax
import numpy as np
import pytest

from dpjax.concepts import Domain, Finite, Multiclass, Points
from dpjax.core.checks import InputError
from dpjax.dimensions import families, littlestone_dimension
from dpjax.lists import GloballyStable
from dpjax.lists.version_spaces import State, after, block_bits, dimension_of, prediction, tables_of
from tests.oracles.irreducible import Stable

CLASSES = [families.thresholds(5), families.points(5), families.points(5, 2), families.intervals(4)]


def naive(rows, items):
    """(rows that agree, overrides) after a sequence of (element, label)."""
    space, overrides = set(range(len(rows))), {}
    for x, y in items:
        kept = {i for i in space if rows[i][x] == y}
        if kept:
            space = kept
        else:
            overrides[x] = y
    return frozenset(space), overrides


@pytest.mark.parametrize("matrix", CLASSES, ids=len)
def test_any_two_blocks_of_items(matrix):
    rows = [tuple(map(int, row)) for row in np.asarray(matrix)]
    concepts, oracle, width = Finite.of(matrix), Stable(rows), len(rows[0])
    generator = np.random.default_rng(3)
    step, predicted = jax.jit(partial(after, concepts)), jax.jit(partial(prediction, concepts))
    for _ in range(40):
        seen, labels = generator.integers(0, 2**width, 3), generator.integers(0, 2**width, 3)
        labels &= seen
        items = [(x, int(labels[b] >> x & 1)) for b in (0, 1) for x in range(width) if seen[b] >> x & 1]
        state = State.whole(concepts, ())
        for b in (0, 1):
            state = step(state, np.uint32(seen[b]), np.uint32(labels[b]))
        space, overrides = naive(rows, items)
        assert int(state.space) == sum(1 << i for i in space)
        expected = oracle.prediction(space)
        for x, y in [*overrides.items(), *((x, labels[2] >> x & 1) for x in range(width) if seen[2] >> x & 1)]:
            expected = (expected & ~(1 << x)) | (int(y) << x)
        assert int(predicted(state, np.uint32(seen[2]), np.uint32(labels[2]))) == expected


def test_a_block_has_one_label_for_each_element():
    counts = np.array([[[0, 0], [2, 0], [1, 2], [1, 1]]], np.int32)
    seen, labels = block_bits(counts)
    assert (int(seen[0]), int(labels[0])) == (0b1110, 0b0100)


def test_tables_know_the_dimension():
    for matrix in CLASSES:
        assert dimension_of(Finite.of(matrix)) == littlestone_dimension(matrix).value
        assert tables_of(Finite.of(matrix)) is tables_of(Finite.of(matrix))


def test_classes_that_have_no_tables():
    with pytest.raises(InputError, match="at most 20 concepts over 32 elements"):
        GloballyStable(Finite.of(families.thresholds(20)))
    with pytest.raises(InputError, match="distinct"):
        GloballyStable(Finite.of([[0, 1], [0, 1]]))
    for concepts in (Points(Domain(4)), Multiclass.of([[0, 1], [2, 0]]), [[0, 1]]):
        with pytest.raises(InputError, match=r"Finite\.of|expected a concept class"):
            GloballyStable(concepts)
