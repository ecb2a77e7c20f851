"""Pieces of equal empirical error against brute force, over small and huge domains."""

from functools import lru_cache

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpjax.concepts import Domain, Finite, Points, Thresholds
from dpjax.core import wide

SIZES = [1, 2, 3, 7, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
SLOW = [2, 3, 2**32 - 1, 2**63 - 1]  # of these, whose neighbors are there
CAPACITY = 12
SOME = [*range(CAPACITY + 1)] * 3  # rows of random databases
BATCH = len(SOME) + 3  # of databases, so that one program serves all tests of a class
MATRIX = np.random.default_rng(3).random((9, 7)) < 0.5


def classes():
    return [kind(Domain(size)) for size in SIZES for kind in (Points, Thresholds)] + [Finite.of(MATRIX)]


def name(concepts):
    return f"{type(concepts).__name__}-{concepts.domain.size}"


@lru_cache
def pieces_of(concepts):
    return jax.jit(jax.vmap(concepts.pieces))


def label(concepts, concept, x):
    if isinstance(concepts, Points):
        return x == concept
    if isinstance(concepts, Thresholds):
        return x <= concept
    return bool(concepts.matrix()[concept, x])


def empirical_error(concepts, concept, rows):
    return sum(label(concepts, concept, x) != y for x, y in rows)


def interesting(size):
    """Values where something can go wrong: the ends of the domain and of the machine's words."""
    marks = [0, 1, 2, 3, size // 2, size - 2, size - 1, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2]
    return sorted({m for m in marks if 0 <= m < size})


def random_rows(generator, size, n):
    pool = interesting(size)
    rows = []
    for _ in range(n):
        if generator.random() < 0.5:
            x = int(generator.choice(np.array(pool, object)))
        else:
            x = (
                int(generator.integers(0, size, dtype=np.uint64, endpoint=False))
                if size < 2**64
                else int(generator.integers(0, 2**64 - 1, dtype=np.uint64, endpoint=True))
            )
        rows.append((x, bool(generator.integers(2))))
    return rows


def buffer(concepts, rows, capacity, generator, shuffle=False):
    """(x, y, mask), the padding full of garbage: any words, any labels, and anywhere if ``shuffle``."""
    limbs = concepts.domain.limbs
    x = generator.integers(0, 2**32, (capacity, limbs)).astype(np.uint32)
    y = generator.random(capacity) < 0.5
    mask = np.zeros(capacity, bool)
    places = generator.permutation(capacity)[: len(rows)] if shuffle else np.arange(len(rows))
    for place, (value, positive) in zip(places, rows, strict=True):
        x[place], y[place], mask[place] = concepts.domain.encode([value])[0], positive, True
    return x, y, mask


def stack(buffers):
    return tuple(np.stack(part) for part in zip(*buffers, strict=True))


def alive_pieces(pieces, i):
    """The alive pieces of database i as a sorted list of (first, last, errors, holes)."""
    first, last = (wide.decode(np.asarray(part)[i]) for part in (pieces.first, pieces.last))
    holes = ()
    if pieces.holes is not None:
        real = np.asarray(pieces.hole)[i]
        holes = tuple(sorted(int(h) for h in wide.decode(np.asarray(pieces.holes)[i])[real]))
    out, alive = [], np.asarray(pieces.alive)[i]
    for j in np.flatnonzero(alive):
        own = holes if j == len(alive) - 1 else ()
        out.append((int(first[j]), int(last[j]), int(np.asarray(pieces.errors)[i, j]), own))
    return sorted(out)


def assert_pieces(found, concepts, rows):
    """They partition the class, and each says the empirical error of what it holds."""
    size = concepts.size
    assert all(0 <= first <= last < size for first, last, _, _ in found)
    assert sum(last - first + 1 - len(holes) for first, last, _, holes in found) == size
    values = [x for x, _ in rows]
    probes = {p for x in values for p in (x - 1, x, x + 1)} | set(interesting(size))
    probes |= {p for first, last, _, _ in found for p in (first, last, (first + last) // 2)}
    if size <= 16:
        probes = set(range(size))
    for probe in probes:
        if not 0 <= probe < size:
            continue
        own = [piece for piece in found if piece[0] <= probe <= piece[1] and probe not in piece[3]]
        assert len(own) == 1, (probe, own)
        assert own[0][2] == empirical_error(concepts, probe, rows), (probe, own[0])


@pytest.mark.grid(keep=7)
@pytest.mark.parametrize(
    "concepts",
    [
        pytest.param(concepts, id=name(concepts), marks=[pytest.mark.slow] * (concepts.domain.size in SLOW))
        for concepts in classes()
    ],
)
def test_pieces_against_brute_force(concepts):
    generator = np.random.default_rng(concepts.size % 1000)
    databases = [random_rows(generator, concepts.domain.size, n) for n in SOME]
    databases += [[(0, True)] * CAPACITY, [(concepts.domain.size - 1, False)] * CAPACITY]
    databases += [[(x, bool(i % 2)) for i, x in enumerate(interesting(concepts.domain.size))][:CAPACITY]]
    pieces = pieces_of(concepts)(*stack([buffer(concepts, rows, CAPACITY, generator) for rows in databases]))
    for i, rows in enumerate(databases):
        assert_pieces(alive_pieces(pieces, i), concepts, rows)


@pytest.mark.parametrize(
    "concepts",
    [
        Points(Domain(7)),
        Points(Domain(2**64)),
        Thresholds(Domain(7)),
        Thresholds(Domain(2**64)),
        Finite.of(MATRIX),
        *(pytest.param(kind(Domain(2**40)), marks=pytest.mark.slow) for kind in (Points, Thresholds)),
    ],
    ids=name,
)
def test_padding_capacity_and_row_order_do_not_matter(concepts):
    generator = np.random.default_rng(8)
    databases = [random_rows(generator, concepts.domain.size, n) for n in (*SOME, 1, 4, 9)]
    plain = pieces_of(concepts)(*stack([buffer(concepts, rows, CAPACITY, generator) for rows in databases]))
    shuffled = pieces_of(concepts)(*stack([buffer(concepts, rows, CAPACITY, generator, True) for rows in databases]))
    larger = pieces_of(concepts)(*stack([buffer(concepts, rows, 20, generator, True) for rows in databases]))
    for i in range(len(databases)):
        assert alive_pieces(plain, i) == alive_pieces(shuffled, i) == alive_pieces(larger, i)


small_size = st.sampled_from([1, 2, 7])
huge_size = st.sampled_from([2**32, 2**63, 2**64 - 1, 2**64])


@st.composite
def database(draw, sizes):
    size = draw(sizes)
    value = st.one_of(st.integers(0, size - 1), st.sampled_from(interesting(size)))
    return size, draw(st.lists(st.tuples(value, st.booleans()), max_size=CAPACITY))


@pytest.mark.parametrize("kind", [Points, Thresholds])
@pytest.mark.parametrize("sizes", [small_size, huge_size], ids=["small", "huge"])
def test_pieces_of_any_database(kind, sizes):
    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(database(sizes))
    def check(given_database):
        size, rows = given_database
        concepts = kind(Domain(size))
        one = stack([buffer(concepts, rows, CAPACITY, np.random.default_rng(len(rows)))] * BATCH)
        assert_pieces(alive_pieces(pieces_of(concepts)(*one), 0), concepts, rows)

    check()


@pytest.mark.parametrize("concepts", [Points(Domain(5)), Thresholds(Domain(5)), Finite.of(MATRIX)], ids=name)
def test_one_replaced_row_moves_an_error_by_one_at_most(concepts):
    """The sensitivity that the learners are calibrated to, over every pair."""
    width = concepts.domain.size
    rows = [(x, bool(y)) for x in range(width) for y in (0, 1)]
    for concept in range(concepts.size):
        errors = [empirical_error(concepts, concept, [row]) for row in rows]
        assert max(errors) - min(errors) <= 1
