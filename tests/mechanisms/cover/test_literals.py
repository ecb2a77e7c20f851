"""Literals: rows by coordinate, what each function hits, the law of one choice against brute force, and its draws."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Cube
from dpjax.core.checks import InputError
from dpjax.mechanisms.cover import Literals, Score
from dpjax.mechanisms.cover.literals import by_coordinate, pack, unpack

SIZES = [(1, 0), (1, 1), (32, 33), (33, 64), (100, 70)]  # coordinates, rows


def rows(generator, dimension, count):
    """(bits ``bool[n, d]``, the same as elements of the cube; for partial top limbs with garbage beyond d)."""
    bits = generator.random((count, dimension)) < 0.5
    limbs = Cube(dimension).limbs
    wide = np.concatenate([bits, generator.random((count, 32 * limbs - dimension)) < 0.5], axis=1)
    words = (wide.reshape(count, limbs, 32) * (1 << np.arange(32, dtype=np.uint64))).sum(axis=2)[:, ::-1]
    return bits, words.astype(np.uint32)


def hits(bits, label):
    """``bool[n, 2 d + 2]`` from the definition."""
    right = bits if label else ~bits
    ends = np.zeros((len(bits), 1), bool), np.ones((len(bits), 1), bool)
    return np.concatenate([right, ~right, *ends], axis=1)


def parts(generator, count):
    """Random disjoint targets and others, and rows under neither."""
    role = generator.integers(0, 3, count)
    return role == 0, role == 1


@pytest.mark.parametrize(
    ("dimension", "count", "label"),
    [
        *((*size, False) for size in SIZES),
        *(pytest.param(*size, True, marks=[pytest.mark.slow] * (size != (33, 64))) for size in SIZES),
    ],
)
def test_columns_counts_and_hits(dimension, count, label):
    generator, family = np.random.default_rng(dimension), Literals(dimension, label)
    bits, x = rows(generator, dimension, count)
    expected = hits(bits, label)
    chosen = generator.random(count) < 0.4

    @jax.jit
    def run(x, rows):
        columns, h = family.prepare(x), jnp.arange(family.size, dtype=jnp.int32)
        found = [(family.counts(data, rows), jax.vmap(family.hits, (0, None))(h, data)) for data in (x, columns)]
        back = jax.vmap(lambda words: unpack(words, count), 1, 1)(columns.words)
        return columns, back, unpack(pack(rows), count), found

    columns, back, again, both = run(x, chosen)
    assert columns.words.shape == (-(-count // 32), dimension) and columns.rows == count
    np.testing.assert_array_equal(back, bits)
    np.testing.assert_array_equal(again, chosen)
    for found, every in both:
        assert found.dtype == jnp.int32
        np.testing.assert_array_equal(found, expected[chosen].sum(axis=0))
        np.testing.assert_array_equal(every, expected.T)


def brute_force(bits, label, target, other, budget, k, coefficient):
    """Log-probabilities from exact qualities."""
    table = hits(bits, label)
    score = [
        min(int(table[target, h].sum()) - Fraction(budget) / k, Fraction(-int(table[other, h].sum())))
        for h in range(table.shape[1])
    ]
    best = max(score)
    weights = [math.exp(coefficient * float(s - best)) for s in score]
    total = math.fsum(weights)
    return np.array([coefficient * float(s - best) - math.log(total) for s in score])


@pytest.mark.parametrize("label", [False, True])
def test_the_law_is_the_exponential_of_the_quality(label):
    generator = np.random.default_rng(3)
    for dimension, count, k in ((1, 3, 1), (2, 0, 2), (3, 12, 3), (5, 40, 7), (40, 33, 4)):
        family = Literals(dimension, label)
        bits, x = rows(generator, dimension, count)
        law = jax.jit(
            lambda x, *rest, family=family, k=k: family.law(x, *rest[:2], Score.of(rest[2], k, rest[3])).log_probs()
        )
        for coefficient in (0.0, 0.05, 1.3, 40.0):
            target, other = parts(generator, count)
            for budget in (float(target.sum()), target.sum() - 3.25, -17.0, 1e6):
                with jax.enable_x64(True):
                    found = law(x, target, other, np.float64(budget), np.float64(coefficient))
                wanted = brute_force(bits, label, target, other, budget, k, coefficient)
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-9 if budget == 1e6 else 1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("label", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_draws_follow_the_law(label, key, stats):
    generator, family, count = np.random.default_rng(4), Literals(6, label), 40_000
    bits, x = rows(generator, 6, 25)
    target, other = parts(generator, 25)
    budget, k, coefficient = target.sum() + 1.5, 2, 0.4
    with jax.enable_x64(True):
        numbers = jnp.float64(budget), jnp.float64(coefficient)
    arrays = x, target, other
    select = lambda own, *data: family.select(own, *data, Score.of(numbers[0], k, numbers[1]))  # noqa: E731
    drawn = jax.jit(jax.vmap(select, (0, None, None, None)))(jax.random.split(key, count), *arrays)
    assert drawn.dtype == jnp.int32
    law = np.exp(brute_force(bits, label, target, other, budget, k, coefficient))
    stats.chi_square(np.bincount(drawn, minlength=family.size), law)


def test_an_or_is_an_and_of_the_complements(key):
    """The same draws, from the same keys, on complemented rows; roles stay, as flipped labels and another class do."""
    generator = np.random.default_rng(5)
    _, x = rows(generator, 33, 50)
    target, other = map(jnp.asarray, parts(generator, 50))
    with jax.enable_x64(True):
        score = Score.of(jnp.float64(12.5), 3, jnp.float64(0.3))

    def draws(family):
        one = lambda own, x: family.select(own, x, target, other, score)  # noqa: E731
        return jax.jit(jax.vmap(one, (0, None)))

    keys, dual = jax.random.split(key, 200), draws(Literals(33, True))
    found = np.asarray(draws(Literals(33, False))(keys, x))
    np.testing.assert_array_equal(found, dual(keys, ~x))
    assert len(np.unique(found)) > 3 and not np.array_equal(found, dual(keys, x))


def test_what_makes_no_family_is_refused():
    for dimension in (0, 4097, 2.0):
        with pytest.raises(InputError, match="dimension"):
            Literals(dimension, False)
    with pytest.raises(InputError, match="limbs"):
        by_coordinate(np.zeros((3, 2), np.uint32), 32)
    assert Literals(4, True) == Literals(4, True) != Literals(4, False)


def test_all_coordinates_that_are_allowed():
    """d = 4096, abstractly: nothing of size n d but the bits."""
    family = Literals(4096, False)
    arrays = np.zeros((1000, 128), np.uint32), np.zeros(1000, bool), np.zeros(1000, bool)
    with jax.enable_x64(True):
        score = Score.of(jnp.float64(1), 3, jnp.float64(1))
    found = jax.eval_shape(lambda key: family.select(key, *arrays, score), jax.random.key(0))
    assert (found.shape, found.dtype) == ((), jnp.int32)
