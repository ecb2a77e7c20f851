"""Linear equations over GF(2) against an elimination on Python's whole numbers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts.packing import pack, unpack
from dpjax.core import wide
from dpjax.learners.gf2 import solve
from dpjax.theory.parities import full_rank


@functools.partial(jax.jit, static_argnums=2)
def program(left, right, d):
    """`solve` of systems that lead: ``[S, r, limbs]``, ``[S, r, words]``."""
    solution, consistent, rank = solve(left.transpose(2, 1, 0), right.transpose(2, 1, 0), d)
    return solution.transpose(2, 0, 1), consistent, rank


unpacked = jax.jit(unpack, static_argnums=1)


def lowest_first(rows, right, d):
    """Gauss-Jordan from the lowest unknown on: (unknown -> its row, right sides, rows used)."""
    rows, right, used = list(rows), list(right), set()
    pivots = {}
    for unknown in range(d):
        pivot = next((i for i in range(len(rows)) if i not in used and rows[i] >> unknown & 1), None)
        if pivot is None:
            continue
        used.add(pivot)
        pivots[unknown] = pivot
        for i in range(len(rows)):
            if i != pivot and rows[i] >> unknown & 1:
                rows[i], right[i] = rows[i] ^ rows[pivot], right[i] ^ right[pivot]
    return pivots, right, used


def systems(generator, d, r, k, count):
    """Random ones, of low rank, with zero and equal rows, consistent and not."""
    out = []
    for case in range(count):
        rows = [int.from_bytes(generator.bytes(16), "big") % 2**d for _ in range(r)]
        if case % 3 == 1 and r:  # few dimensions
            few = [int.from_bytes(generator.bytes(16), "big") % 2**d for _ in range(max(1, min(d, r) // 3))]
            mix = generator.random((r, len(few))) < 0.5
            rows = [
                int(np.bitwise_xor.reduce(np.array([0, *(f for f, m in zip(few, row, strict=True) if m)], object)))
                for row in mix
            ]
        if case % 4 == 3:
            rows = [row if generator.random() < 0.7 else 0 for row in rows]
        target = [int.from_bytes(generator.bytes(16), "big") % 2**d for _ in range(k)]
        right = [sum(((row & t).bit_count() & 1) << j for j, t in enumerate(target)) for row in rows]
        if case % 2 and r:  # one wrong label: inconsistent if its row depends on others
            right[int(generator.integers(r))] ^= 1 << int(generator.integers(k))
        out.append((rows, right))
    return out


def columns(systems, k):
    """Whole numbers with side j in bit j -> packed words, ``uint32[S, n, ceil(k / 32)]``."""
    bits = np.array([[[v >> j & 1 for j in range(k)] for v in values] for values in systems], bool)
    return jax.jit(jax.vmap(pack))(bits.reshape(len(systems), -1, k))


@pytest.mark.parametrize(
    ("d", "r", "k"),
    [
        (1, 1, 1),
        (2, 0, 3),
        (70, 80, 70),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                (3, 2, 70),
                (33, 36, 33),
                (32, 20, 32),
                (70, 12, 1),
                (1, 4, 2),
                (5, 9, 1),
                (8, 8, 8),
                (31, 34, 5),
                (64, 64, 2),
                (65, 70, 40),
                (10, 60, 3),
            )
        ),
    ],
)
def test_against_whole_numbers(d, r, k):
    generator, limbs = np.random.default_rng(d * r + k), -(-d // 32)
    cases = systems(generator, d, r, k, 40)
    left = jnp.asarray(np.stack([wide.pack(rows, limbs) for rows, _ in cases]).reshape(40, r, limbs))
    right = columns([sides for _, sides in cases], k)
    with jax.numpy_dtype_promotion("strict"):
        solution, consistent, rank = program(left, right, d)
    assert (solution.dtype, consistent.dtype, rank.dtype) == (jnp.uint32, jnp.bool_, jnp.int32)
    assert solution.shape == (40, d, -(-k // 32))
    every = np.asarray(unpacked(solution.reshape(40 * d, -1), k)).reshape(40, d, k)
    consistent, rank = np.asarray(consistent), np.asarray(rank)
    ranks = set()
    for i, (rows, sides) in enumerate(cases):
        pivots, moved, used = lowest_first(rows, sides, d)
        ranks.add(len(pivots))
        assert int(rank[i]) == len(pivots) == elimination_rank(rows, d)
        solvable = all(moved[j] == 0 for j in range(r) if j not in used)
        assert bool(consistent[i]) == solvable
        bits = every[i]
        for unknown in range(d):
            expected = moved[pivots[unknown]] if unknown in pivots else 0
            assert [int(b) for b in bits[unknown]] == [expected >> j & 1 for j in range(k)]
        if solvable:  # and it solves what it says it solves
            for j in range(k):
                x = sum(1 << u for u in range(d) if bits[u, j])
                assert all((row & x).bit_count() & 1 == side >> j & 1 for row, side in zip(rows, sides, strict=True))
    assert r < 8 or len(ranks) > 1, "low rank among them"


def elimination_rank(rows, d):
    """By another road: numpy on bits, columns from the highest."""
    table = np.array([[row >> i & 1 for i in reversed(range(d))] for row in rows], np.uint8).reshape(len(rows), d)
    rank = 0
    for column in range(d):
        found = np.flatnonzero(table[rank:, column])
        if not len(found):
            continue
        at = rank + found[0]
        table[[rank, at]] = table[[at, rank]]
        below = rank + 1 + np.flatnonzero(table[rank + 1 :, column])
        table[below] ^= table[rank]
        rank += 1
    return rank


@pytest.mark.parametrize(
    ("d", "r"), [(2, 2), (2, 3), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 1), (3, 2)))]
)
def test_every_tiny_system(d, r):
    """All rows and all labels of one side, against all candidates."""
    every = [(rows, sides) for rows in np.ndindex(*[2**d] * r) for sides in np.ndindex(*[2] * r)]
    left = jnp.asarray(np.array([rows for rows, _ in every], np.uint32)[:, :, None])
    right = jnp.asarray(np.array([sides for _, sides in every], np.uint32)[:, :, None])
    solution, consistent, _ = (np.asarray(part) for part in program(left, right, d))
    solution = solution[:, :, 0]
    for i, (rows, sides) in enumerate(every):
        good = [
            x
            for x in range(2**d)
            if all((row & x).bit_count() & 1 == side for row, side in zip(rows, sides, strict=True))
        ]
        assert bool(consistent[i]) == bool(good)
        if good:
            assert sum(1 << u for u in range(d) if solution[i, u]) in good


def test_the_order_of_equations_does_not_matter():
    """The solution is a function of what the rows span: subsamples that know the same vote for the same."""
    generator, d, k = np.random.default_rng(2), 40, 3
    (rows, sides), *_ = systems(generator, d, 25, k, 1)
    orders = [generator.permutation(25) for _ in range(8)]
    mixed = []
    for order in orders:
        system = [(rows[i], sides[i]) for i in order]
        system[0] = (system[0][0] ^ system[1][0], system[0][1] ^ system[1][1])
        mixed.append(system)
    left = jnp.asarray(np.stack([wide.pack([row for row, _ in system], 2) for system in mixed]))
    right = columns([[side for _, side in system] for system in mixed], k)
    solution, consistent, rank = (np.asarray(part) for part in program(left, right, d))
    assert consistent.all() and len(set(rank.tolist())) == 1
    assert (solution == solution[0]).all()


@pytest.mark.parametrize("k", [1, 31, 32, 33, 70])
def test_packed_bits(k):
    bits = np.random.default_rng(k).random((9, k)) < 0.5
    words = np.asarray(jax.jit(pack)(jnp.asarray(bits)))
    assert words.shape == (9, -(-k // 32)) and words.dtype == np.uint32
    assert wide.unpack(words[:, ::-1]).tolist() == [sum(1 << j for j in range(k) if row[j]) for row in bits]
    np.testing.assert_array_equal(unpacked(words, k), bits)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("d", "r"), [(1, 1), (6, 9), (33, 33), *(pytest.param(*row, marks=pytest.mark.slow) for row in ((6, 6), (40, 42)))]
)
def test_the_probability_of_full_rank(d, r, stats, key):
    trials, limbs = 4000, -(-d // 32)

    @jax.jit
    def solved(key):
        words = jax.random.bits(key, (trials, r, limbs), "uint32")
        words = words.at[..., 0].set(words[..., 0] >> np.uint32(32 * limbs - d))
        return program(words, jnp.zeros((trials, r, 1), jnp.uint32), d)[1:]

    consistent, rank = (np.asarray(part) for part in solved(key))
    assert consistent.all()
    exact = np.prod([1 - 2.0 ** -(r - i) for i in range(d)])
    np.testing.assert_allclose(full_rank(d, r), exact, rtol=1e-12)
    stats.frequency(int(np.sum(rank == d)), trials, exact)
