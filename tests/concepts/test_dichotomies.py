"""One concept for each way in which a class cuts a set, against all concepts; the class of symmetric differences."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Finite, Hypothesis, Points, Thresholds
from dpjax.core import wide
from dpjax.core.checks import InputError

GENERATOR = np.random.default_rng(23)
MATRICES = [GENERATOR.random((9, 6)) < 0.5, GENERATOR.random((40, 4)) < 0.3, np.ones((1, 3), bool), np.eye(5) > 0]
SMALL = [kind(Domain(size)) for kind in (Points, Thresholds) for size in (1, 2, 3, 7)]
SMALL += [Finite.of(matrix) for matrix in MATRICES]
HUGE = [kind(Domain(size)) for kind in (Points, Thresholds) for size in (2**32, 2**32 + 1, 2**63, 2**64)]


def name(concepts):
    return f"{type(concepts).__name__}-{concepts.domain.size}-{concepts.size}"


@lru_cache
def program(concepts):
    def run(points, real):
        number, exists = concepts.dichotomies(points, real)
        return number, exists, concepts.predict(Hypothesis.of(number), points)

    return jax.jit(run)


def label(concepts, concept, x):
    if isinstance(concepts, Points):
        return x == concept
    if isinstance(concepts, Thresholds):
        return x <= concept
    return bool(concepts.matrix()[concept, x])


def found(concepts, values, slots, generator):
    """Representatives for ``values``, scattered over slots with garbage in the dead ones: (numbers, their cuts)."""
    real = np.zeros(slots, bool)
    points = generator.integers(0, 2**32, (slots, concepts.domain.limbs)).astype(np.uint32)
    places = generator.permutation(slots)[: len(values)]
    real[places] = True
    points[places] = concepts.domain.encode(values).reshape(len(values), concepts.domain.limbs)
    with jax.numpy_dtype_promotion("strict"):
        number, exists, says = (np.asarray(part) for part in program(concepts)(jnp.asarray(points), jnp.asarray(real)))
    assert number.dtype == np.uint32 and number.shape[1] == 2 and exists.dtype == bool
    chosen = [int(v) for v in wide.decode(number)[exists]]
    assert all(v < concepts.size for v in chosen)
    return chosen, [tuple(column) for column in says[places][:, exists].T.tolist()]


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("concepts", SMALL, ids=name)
def test_every_cut_of_a_small_domain_once(concepts):
    generator, size = np.random.default_rng(concepts.size), concepts.domain.size
    sets = [[], [0], [size - 1], [0] * 4, [size - 1] * 9, list(range(size)), [*reversed(range(size)), 0]]
    sets += [generator.integers(0, size, n).tolist() for n in (1, 2, 3, 5, 9) for _ in range(4)]
    for values in sets:
        values = values[:9]
        chosen, cuts = found(concepts, values, 9, generator)
        every = {tuple(label(concepts, c, x) for x in values) for c in range(concepts.size)}
        by_hand = [tuple(label(concepts, c, x) for x in values) for c in chosen]
        assert len(by_hand) == len(set(by_hand)) and set(by_hand) == every
        assert sorted(cuts) == sorted(by_hand if values else [()] * len(chosen))


@pytest.mark.parametrize("concepts", HUGE, ids=name)
def test_every_cut_of_a_huge_domain_once(concepts):
    """Points: each element alone, and none of them. Thresholds: each prefix, and the empty one unless 0 is there."""
    generator, size = np.random.default_rng(5), concepts.domain.size
    marks = [m for m in (0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, size - 2, size - 1) if m < size]
    sets = [[], [0], [size - 1], marks[:9], [0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 0, size - 1, size - 1]]
    sets += [[int(v) for v in generator.choice(np.array(marks, object), n)] for n in (2, 5, 9) for _ in range(4)]
    for values in sets:
        chosen, cuts = found(concepts, values, 9, generator)
        assert len(set(cuts)) == len(cuts)
        distinct = set(values)
        if isinstance(concepts, Points):
            expected = {tuple(x == b for x in values) for b in distinct} | {(False,) * len(values)}
        else:
            expected = {tuple(x <= b for x in values) for b in distinct}
            expected |= {(False,) * len(values)} if 0 not in distinct else set()
        assert set(cuts) == expected
        assert set(cuts) == {tuple(label(concepts, c, x) for x in values) for c in chosen}


@pytest.mark.parametrize("concepts", [Points(Domain(5)), Thresholds(Domain(5)), Finite.of(MATRICES[0])], ids=name)
def test_points_beyond_the_domain_count_as_its_last(concepts):
    last = concepts.domain.size - 1
    beyond = jnp.asarray([[1], [2**32 - 1], [last + 1]], jnp.uint32)
    inside = jnp.asarray([[1], [last], [last]], jnp.uint32)
    for real in ([True] * 3, [True, False, True], [False, True, False]):
        ours, theirs = (program(concepts)(points, jnp.asarray(real))[:2] for points in (beyond, inside))
        np.testing.assert_array_equal(ours[1], theirs[1])
        np.testing.assert_array_equal(ours[0][ours[1]], theirs[0][theirs[1]])


def test_symmetric_differences_each_once():
    for matrix in MATRICES:
        rows = [tuple(row) for row in Finite.of(matrix).xor().matrix().tolist()]
        every = {tuple((a ^ b).tolist()) for a in matrix for b in matrix}
        assert len(rows) == len(set(rows)) and set(rows) == every
    with pytest.raises(InputError):
        Finite.of(np.zeros((0, 3)))
