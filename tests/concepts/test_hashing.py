"""Buckets of hash functions: how often elements collide, and what a bucket weighs, exactly."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Domain, Hypothesis, Points
from dpjax.concepts import distributions as make
from dpjax.concepts.hashing import Buckets, Hash, bucket_error
from dpjax.core import wide

TOP = 2**64 - 1

bucket_of = jax.jit(lambda functions, x: functions(x))
predictions = jax.jit(lambda concepts, hypothesis, x: concepts.predict(hypothesis, x), static_argnums=0)
_errors = jax.jit(bucket_error)


def whole(values):
    assert values.dtype == jnp.uint64
    return [int(v) for v in np.asarray(values)]


def masses(hypothesis, distribution):
    """Of the positives, as the errors against the all-zero function, in Python's whole numbers."""
    nothing = Hypothesis(np.zeros_like(hypothesis.concept), np.ones_like(hypothesis.zero), hypothesis.outcome)
    return errors(distribution, hypothesis, nothing)


def errors(distribution, hypothesis, target):
    """Repeated up to 32 hypotheses and 3 functions: distributions of one shape share a program."""
    many = lambda count, tree: jax.tree.map(lambda part: np.resize(part, (count, *part.shape[1:])), tree)  # noqa: E731
    ours = replace(many(32, hypothesis), hashes=many(3, hypothesis.hashes))
    with jax.enable_x64(True):
        return whole(_errors(distribution, ours, many(32, target)))[: len(hypothesis.zero)]


def by_hand(columns, offset, x):
    """h(x) with Python's whole numbers."""
    bucket = int(offset)
    for i in range(64):
        if x >> i & 1:
            bucket ^= int(columns[i])
    return bucket


def hashes(generator, count, bits, rank=None):
    """Random functions; with ``rank`` their columns span that few dimensions."""
    columns = generator.integers(0, 2**bits, (count, 64))
    if rank is not None:
        few = generator.integers(0, 2**bits, (count, max(rank, 1)))
        mix = generator.random((count, 64, max(rank, 1))) < (0.5 if rank else 0)
        columns = np.bitwise_xor.reduce(np.where(mix, few[:, None, :], 0), axis=2)
    offset = generator.integers(0, 2**bits, count)
    return Hash(columns.astype(np.uint32), offset.astype(np.uint32))


def buckets(functions, chosen, zero=None):
    concept = np.array(chosen, np.uint32).reshape(-1, 2)
    zero = np.zeros(len(concept), bool) if zero is None else np.asarray(zero)
    return Buckets(concept, zero, np.zeros(len(concept), np.int32), functions)


@cache
def drawn(bits):
    return jax.tree.map(np.asarray, jax.jit(lambda key: Hash.draw(key, 3, bits))(jax.random.key(bits)))


@pytest.mark.grid(keep=5)
@pytest.mark.parametrize("size", [2**10, 2**32, 2**32 + 1, 2**64])
@pytest.mark.parametrize("bits", [0, 1, 5, 31])
def test_values_and_predictions(size, bits):
    generator, domain = np.random.default_rng(bits), Domain(size)
    functions = drawn(bits)
    values = [v for v in (0, 1, 2**31, 2**32 - 1, 2**32, 2**63, size - 2, size - 1) if v < size]
    values += [int(v) for v in generator.integers(0, size - 1, 8, np.uint64)]
    with jax.numpy_dtype_promotion("strict"):
        got = bucket_of(functions, domain.encode(values))
    table = [[by_hand(functions.columns[f], functions.offset[f], v) for f in range(3)] for v in values]
    assert got.dtype == jnp.uint32 and np.asarray(got).tolist() == table
    assert np.asarray(got).max() < 2**bits
    chosen = [(f, table[row][f]) for f in range(3) for row in (0, 2)]
    one = buckets(functions, chosen, [False] * 5 + [True])
    expected = [[row[f] == b for f, b in chosen] for row in table]
    says = np.asarray(predictions(Points(domain), one, domain.encode(values)))
    assert (says[:, :5] == np.array(expected)[:, :5]).all() and not says[:, 5].any()


def test_collisions_over_all_hash_functions():
    """All functions of 3-bit elements into 2 and 4 buckets: every pair of distinct elements is uniform on pairs."""
    for bits in (1, 2):
        every = np.stack(np.meshgrid(*[np.arange(2**bits)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
        columns = np.zeros((len(every), 64), np.uint32)
        columns[:, :3] = every[:, :3]
        functions = Hash(columns, every[:, 3].astype(np.uint32))
        value = np.asarray(bucket_of(functions, np.arange(8, dtype=np.uint32)[:, None]))
        for x in range(8):
            for y in range(x):
                counts = np.bincount(value[x].astype(int) << bits | value[y], minlength=4**bits)
                assert len(set(counts.tolist())) == 1
        # three are not independent, and need not be
        assert (value[0] ^ value[1] ^ value[2] ^ value[3] == 0).all()


@pytest.mark.statistical
def test_drawn_functions_are_pairwise_independent(key, stats):
    bits, count = 3, 20_000
    functions, few = jax.jit(lambda k: (Hash.draw(k, count, bits), Hash.draw(k, 5, bits)))(key)
    np.testing.assert_array_equal(few.columns, np.asarray(functions.columns)[:5])
    values = [0, 1, 2**32, 3, TOP, 2**63 + 12345]
    found = np.asarray(bucket_of(functions, wide.encode(values)))
    for x in range(len(values)):
        for y in range(x):
            pairs = np.bincount(found[x].astype(int) << bits | found[y], minlength=4**bits)
            stats.chi_square(pairs, np.full(4**bits, 4.0**-bits))
            stats.frequency(np.sum(found[x] == found[y]), count, 2.0**-bits)


# --- masses ------------------------------------------------------------------------------------------------------


def random_distribution(generator, size, kind):
    domain = Domain(size)
    if kind == "uniform":
        return make.uniform(domain)
    if kind == "atoms":
        chosen = generator.choice(size, 12, replace=False)
        return make.from_weights(domain, [0, size - 1, *(c for c in chosen if 0 < c < size - 1)][:9], [3] * 8 + [2**60])
    ends = np.sort(generator.choice(np.arange(1, size - 1), 8, replace=False)).tolist()
    ends = [0, *ends, size - 1]
    return make.from_segments(
        domain, [(ends[i], ends[i + 1] - (i < 8), int(generator.integers(1, 99))) for i in range(0, 10, 2)]
    )


@pytest.mark.parametrize("kind", ["atoms", "segments", pytest.param("uniform", marks=pytest.mark.slow)])
def test_masses_and_errors_against_brute_force(kind):
    generator, size = np.random.default_rng(7), 2**10
    x = np.arange(size, dtype=np.uint32)[:, None]
    masses_at = jax.jit(lambda law: law.mass_at(jnp.arange(size, dtype=jnp.uint64)))
    for case in range(6):
        bits = int(generator.integers(1, 6))
        functions = hashes(generator, 3, bits, rank=[None, 0, 1, 2][case % 4])
        table = np.asarray(bucket_of(functions, x))
        distribution = random_distribution(generator, size, kind)
        with jax.enable_x64(True):
            weight = np.asarray(masses_at(distribution)).astype(object)
        chosen = [(f, int(generator.integers(2**bits))) for f in range(3)]
        chosen += [(f, int(table[int(generator.integers(size))][f])) for f in range(3)] + [(0, 0)]
        zero = [False] * 6 + [True]
        one = buckets(functions, chosen, zero)
        points = [0, size - 1, *generator.integers(0, size, 5).tolist()]
        no_target = [False] * 5 + [True, False]
        target = Hypothesis(wide.encode(points), np.array(no_target), np.zeros(7, np.int32))
        says, truth = (np.asarray(predictions(Points(Domain(size)), part, x)) for part in (one, target))
        assert masses(one, distribution) == [sum(weight[says[:, j]]) for j in range(7)]
        assert errors(distribution, one, target) == [sum(weight[says[:, j] != truth[:, j]]) for j in range(7)]


def test_masses_at_the_ends_of_64_bits():
    """Short segments by listing them; a long one as the whole less the two ends; complements add up."""
    generator = np.random.default_rng(9)
    for rank in (None, 0, 3):
        functions = hashes(generator, 2, 4, rank)
        segments = [(0, 37, 5), (2**32 - 9, 2**32 + 20, 1), (2**63 - 3, 2**63 + 3, 2**40), (TOP - 40, TOP - 1, 11)]
        segments.append((TOP, TOP, 11))  # as many as above
        some = make.from_segments(Domain(2**64), segments)
        chosen = [(f, b) for f in range(2) for b in range(16)]
        one = buckets(functions, chosen)
        expected = []
        for f, b in chosen:
            own = functions.columns[f], functions.offset[f]
            expected.append(sum(w * sum(by_hand(*own, x) == b for x in range(s, e + 1)) for s, e, w in segments))
        assert masses(one, some) == expected
        for start, end in ((0, 2**63 + 5), (1, TOP), (0, TOP - 1), (12345, TOP)):
            found = masses(one, make.from_segments(Domain(2**64), [(start, end, 1)]))
            for f in range(2):
                assert sum(found[16 * f : 16 * f + 16]) == end - start + 1
            if rank is None:  # close to a sixteenth each
                share = [Fraction(m, end - start + 1) for m in found]
                assert all(abs(s - Fraction(1, 16)) < Fraction(1, 2**40) for s in share)


def test_a_mass_of_everything_does_not_wrap_to_zero():
    constant = Hash(np.zeros((1, 64), np.uint32), np.zeros(1, np.uint32))
    both, neither = buckets(constant, [(0, 0)]), buckets(constant, [(0, 1)])
    parity = Hash(np.eye(1, 64, dtype=np.uint32), np.zeros(1, np.uint32))
    even = buckets(parity, [(0, 0)])
    halves = make.from_weights(Domain(4), [0, 1], [2**63, 2**63])

    def error(distribution, one, target, zero=False):
        aim = Hypothesis(wide.encode([target]), np.array([zero]), np.zeros(1, np.int32))
        return errors(distribution, one, aim)[0]

    everything = make.uniform(Domain(2**64))
    assert masses(both, everything) == [TOP] and masses(neither, everything) == [0]
    assert masses(both, halves) == [TOP] and masses(even, halves) == [2**63]
    assert error(everything, both, 5) == TOP  # 2**64 - 1 elements
    assert error(everything, both, 5, zero=True) == TOP
    assert error(everything, neither, 5) == 1
    assert error(halves, even, 1) == TOP  # both halves wrong
    assert error(halves, even, 0) == 0
    assert error(halves, both, 2) == TOP
