"""Conjunctions and disjunctions against Python's whole numbers: predictions, numbers, exact errors, product laws."""

from fractions import Fraction
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Cube, Domain, Hypothesis, UniformCube, distributions
from dpjax.concepts.literals import Conjunctions, Disjunctions
from dpjax.concepts.masks import join, product, split
from dpjax.concepts.product import ProductCube
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.mechanisms.cover import Literals

DIMENSIONS = (1, 32, 33, 100)
CLASSES = (Conjunctions, Disjunctions)


@pytest.fixture(autouse=True)
def strict():
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def numbers(dimension, count=6):
    """Numbers of concepts: the ends, single literals, and random ones, sparse and dense."""
    generator = np.random.default_rng(dimension)
    fresh = lambda: int.from_bytes(generator.bytes(26), "big") % 4**dimension  # noqa: E731
    marks = [0, 4**dimension - 1, 1, 1 << dimension, 4**dimension // 2, 2**dimension - 1]
    return marks + [fresh() & fresh() & fresh() & (fresh() | 2**dimension - 1) for _ in range(count)] + [fresh()]


def elements(dimension, count=20):
    generator = np.random.default_rng(dimension + 1)
    return [0, 2**dimension - 1, 2**dimension // 3] + [
        int.from_bytes(generator.bytes(13), "big") % 2**dimension for _ in range(count)
    ]


def value(concepts, number, x):
    """What a concept says, literal by literal."""
    d = concepts.dimension
    wanted = [(i, bit) for bit in (0, 1) for i in range(d) if number >> bit * d + i & 1]
    said = [x >> i & 1 == bit for i, bit in wanted]
    return all(said) if isinstance(concepts, Conjunctions) else any(said)


def hypothesis(concepts, chosen, zero=None):
    zero = np.zeros(len(chosen), bool) if zero is None else np.asarray(zero)
    return Hypothesis(wide.pack(chosen, concepts.limbs), zero, np.zeros(len(chosen), np.int32))


@cache
def predict(concepts):
    return jax.jit(concepts.predict)


# --- the class ---------------------------------------------------------------------------------------------------


@pytest.mark.grid(keep=2, per=["kind"])
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_predictions(kind, dimension):
    concepts = kind(dimension)
    chosen, values = numbers(dimension), elements(dimension)
    x = concepts.domain.encode(values)
    run = jax.jit(lambda one, x: [concepts.predict(one, rows) for rows in (x, x[:20].reshape(4, 5, -1))])
    got, stacked = run(hypothesis(concepts, chosen), x)
    assert got.dtype == jnp.bool_
    got = np.asarray(got)
    np.testing.assert_array_equal(got, [[value(concepts, a, v) for a in chosen] for v in values])
    np.testing.assert_array_equal(stacked, got[:20].reshape(4, 5, -1))
    zeros, _ = run(hypothesis(concepts, chosen, [True] * len(chosen)), x)
    assert not np.any(zeros)
    x[:, 0] |= np.uint32(0xFFFFFFFF << (dimension - 1) % 32 + 1 & 0xFFFFFFFF)  # spare bits
    np.testing.assert_array_equal(run(hypothesis(concepts, chosen), x)[0], got)
    assert concepts == kind(dimension) and concepts.size == 4**dimension


@pytest.mark.parametrize("dimension", [*DIMENSIONS, 4096])
def test_numbers_are_masks(dimension):
    concepts, chosen = Conjunctions(dimension), numbers(dimension)
    packed = wide.pack(chosen, concepts.limbs)
    masks = jax.jit(split, static_argnums=1)(packed, dimension)
    low = 2**dimension - 1
    assert concepts.domain.decode(masks.positive).tolist() == [a >> dimension for a in chosen]
    assert concepts.domain.decode(masks.negative).tolist() == [a & low for a in chosen]
    np.testing.assert_array_equal(jax.jit(join, static_argnums=1)(masks, dimension), packed)


@pytest.mark.parametrize("kind", CLASSES)
def test_the_concept_of_some_literals(kind):
    """Prediction = label of the family wherever one of them hits."""
    for d in (2, 33):
        concepts, family = kind(d), Literals(d, kind is Disjunctions)
        x = concepts.domain.encode(elements(d))
        of_literals = jax.jit(concepts.of_literals)
        hits = np.asarray(jax.jit(jax.vmap(family.hits, (0, None)))(np.arange(2 * d + 2, dtype=np.int32), x))
        none, every = 2 * d, 2 * d + 1
        for chosen in ([0, d, none], [d - 1] * 3, [none] * 3, [1, d + d - 1, 1], [every, 0, none], [d + 1, 0, none]):
            number = int(wide.unpack(of_literals(np.array(chosen, np.int32))))
            assert number < concepts.size
            got = np.asarray(predict(concepts)(hypothesis(concepts, [number]), x))[:, 0]
            np.testing.assert_array_equal(got, hits[chosen].any(axis=0) == concepts.label)
    everything = of_literals(np.array([2 * d + 1, 0, 1], np.int32))
    assert everything.shape == (concepts.limbs,) and int(wide.unpack(everything)) == concepts.size - 1


@pytest.mark.parametrize("kind", CLASSES)
def test_pieces_are_empirical_errors(kind):
    generator, concepts = np.random.default_rng(5), kind(2)
    values, labels, mask = generator.integers(0, 4, 9), generator.random(9) < 0.5, np.arange(9) < 7
    x = values.astype(np.uint32)[:, None]
    pieces = jax.jit(concepts.pieces)(x, labels, mask)
    assert wide.decode(pieces.first).tolist() == wide.decode(pieces.last).tolist() == list(range(16))
    said = [[value(concepts, a, int(v)) for v in values] for a in range(16)]
    assert pieces.errors.tolist() == [sum(s != y for s, y in zip(row[:7], labels[:7], strict=True)) for row in said]
    listed = np.flatnonzero(pieces.alive)
    functions = {tuple(value(concepts, int(a), v) for v in range(4)) for a in listed}
    assert len(listed) == len(functions) == 3**2 + 1
    with pytest.raises(InputError, match="ConjunctionLearner"):
        jax.eval_shape(kind(7).pieces, x, labels, mask)


def test_targets():
    for d, literals in ((7, 3), (100, 100)):
        concepts = Conjunctions(d)
        found = wide.unpack(concepts.targets(40, literals, 3))
        both = [(int(a) >> d, int(a) & 2**d - 1) for a in found]
        assert all((p | q).bit_count() == literals and p & q == 0 for p, q in both)
        plain = wide.unpack(concepts.targets(40, literals, 3, signs=False))
        assert [int(a) >> d for a in plain] == [p | q for p, q in both] and not any(int(a) & 2**d - 1 for a in plain)
        np.testing.assert_array_equal(wide.unpack(concepts.targets(40, literals, 3)), found)
    negated = sum((int(a) & 2**7 - 1).bit_count() for a in wide.unpack(Conjunctions(7).targets(400, 3)))
    assert 500 < negated < 700
    assert len(set(map(int, wide.unpack(Conjunctions(7).targets(400, 1))))) == 14


# --- errors ------------------------------------------------------------------------------------------------------


def probability(concepts, number, ones):
    """Of the label that needs all literals, as a fraction."""
    d = concepts.dimension
    positive, negative = number >> d, number & 2**d - 1
    if isinstance(concepts, Disjunctions):
        positive, negative = negative, positive
    found = Fraction(int(positive & negative == 0))
    for i in range(d):
        share = Fraction(ones[i], 2**32)
        found *= (share if positive >> i & 1 else 1) * (1 - share if negative >> i & 1 else 1)
    return found


@pytest.mark.grid
@pytest.mark.parametrize(
    ("kind", "dimension"),
    [
        *((Conjunctions, dimension) for dimension in DIMENSIONS),
        *(
            pytest.param(Disjunctions, dimension, marks=[pytest.mark.slow] * (dimension != 33))
            for dimension in DIMENSIONS
        ),
    ],
)
def test_errors_are_those_of_fractions(kind, dimension):
    concepts, chosen = kind(dimension), numbers(dimension, 4)
    generator = np.random.default_rng(7)
    ones = generator.integers(0, 2**32, dimension).tolist()
    ones[0] = 0  # a coordinate that is never 1
    laws = UniformCube(dimension), ProductCube(np.array(ones, np.uint32))
    pairs = [(a, b) for a in chosen for b in chosen]
    ours, theirs = (hypothesis(concepts, [pair[i] for pair in pairs]) for i in (0, 1))
    with jax.enable_x64(True):
        found = jax.jit(lambda *pair: [concepts.error(law, *pair) for law in laws])(ours, theirs)
    found = [np.asarray(errors).tolist() for errors in found]
    for law, weights, errors in zip(laws, ([2**31] * dimension, ones), found, strict=True):
        slack = 4 * (dimension - 1)
        for (a, b), error in zip(pairs, errors, strict=True):
            p, q, both = (probability(concepts, number, weights) for number in (a, b, a | b))
            exact = min((p + q - 2 * both) * 2**64, Fraction(2**64 - 1))
            if isinstance(law, UniformCube):
                assert error == exact if (a | b).bit_count() <= 64 else abs(error - exact) < 2
            else:
                assert abs(error - exact) <= slack or error == exact
            assert a != b or error == 0


def test_zero_hypotheses_have_the_error_of_the_constant():
    for kind in CLASSES:
        concepts = kind(6)
        constant = concepts.size - 1 if kind is Conjunctions else 0
        chosen = numbers(6)
        ours, other = hypothesis(concepts, chosen, [True] * len(chosen)), hypothesis(concepts, [constant] * len(chosen))
        with jax.enable_x64(True):
            error = jax.jit(concepts.error)
            found = error(UniformCube(6), ours, hypothesis(concepts, chosen))
            np.testing.assert_array_equal(found, error(UniformCube(6), other, hypothesis(concepts, chosen)))


@pytest.mark.statistical
def test_errors_are_what_examples_show(key, stats):
    trials, d = 20_000, 40
    law = ProductCube.of(np.linspace(0.02, 0.98, d))
    x = jax.jit(law.draw, static_argnums=1)(key, trials)
    for kind in (Disjunctions,):
        concepts = kind(d)
        ours, theirs = (Hypothesis.of(concepts.targets(8, literals, seed)) for literals, seed in ((2, 1), (3, 2)))
        with jax.enable_x64(True):
            share = np.asarray(jax.jit(concepts.error)(law, ours, theirs)).astype(float) / 2**64
        differs = np.asarray(predict(concepts)(ours, x) != predict(concepts)(theirs, x)).sum(axis=0)
        for hits, probability in zip(differs, share, strict=True):
            stats.frequency(int(hits), trials, probability)


def test_errors_need_a_closed_form():
    one = hypothesis(Conjunctions(5), [3])
    for law in (UniformCube(6), ProductCube.of([0.5] * 4), distributions.uniform(Domain(32))):
        with pytest.raises(InputError, match="distribution"):
            Conjunctions(5).error(law, one, one)


def test_products_round_down():
    with jax.enable_x64(True):
        for count in (1, 5, 64):
            values = [2**63 - 3**i % 2**62 for i in range(count)]
            found = int(jax.jit(product)(np.array([values], np.uint64)).item())
            exact = Fraction(1)
            for v in values:
                exact *= Fraction(v, 2**63)
            assert 0 <= exact * 2**63 - found <= count - 1


# --- product distributions ---------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("dimension", [1, 33, pytest.param(64, marks=pytest.mark.slow)])
def test_coordinates_are_independent(dimension, key, stats):
    shares = np.linspace(0.0, 0.999, dimension)
    law, count = ProductCube.of(shares), 4000
    drawn, *others = map(np.asarray, jax.jit(lambda key: [law.draw(key, n) for n in (count, 0, 1, 1999)])(key))
    assert drawn.dtype == np.uint32 and drawn.shape == (count, Cube(dimension).limbs) and law.total == 2**64
    for fewer in others:
        np.testing.assert_array_equal(fewer, drawn[: len(fewer)])
    assert [len(fewer) for fewer in others] == [0, 1, 1999]
    values = Cube(dimension).decode(drawn)
    assert max(values) < 2**dimension
    bits = np.array([[v >> i & 1 for i in range(dimension)] for v in values])
    for column, share in zip(bits.T, np.asarray(law.ones) / 2**32, strict=True):
        stats.frequency(column.sum(), count, share)
    for i in range(1, dimension):
        stats.frequency((bits[:, i] & bits[:, i - 1]).sum(), count, shares[i] * shares[i - 1])


def test_balanced_laws():
    for literals in (4,):
        for label, kind in ((True, Conjunctions), (False, Disjunctions)):
            concepts, law = kind(20), ProductCube.balanced(20, literals, label)
            targets = Hypothesis.of(concepts.targets(5, literals, signs=False))
            with jax.enable_x64(True):
                error = jax.jit(concepts.error)(law, targets, hypothesis(concepts, [0] * 5))
            np.testing.assert_allclose(np.asarray(error).astype(float) / 2**64, 0.5, rtol=1e-7)


def test_probabilities_compile_nothing():
    traced = []

    @jax.jit
    def draw(law, key):
        traced.append(1)
        return law.draw(key, 3)

    for share in (0.1, 0.9):
        draw(ProductCube.of([share] * 9), jax.random.key(0))
    assert len(traced) == 1


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: ProductCube.of([0.5, 1.0]),
        lambda: ProductCube.of([-0.1]),
        lambda: ProductCube.of([]),
        lambda: ProductCube.balanced(4, 0),
        lambda: Conjunctions(0),
        lambda: Disjunctions(4097),
        lambda: Conjunctions(4).targets(3, 5),
    ],
)
def test_what_makes_no_sense_is_refused(attempt):
    with pytest.raises(InputError):
        attempt()
