"""Parities against Python's whole numbers: elements, predictions, errors, pieces, the nearest one of a function."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.concepts import Cube, Domain, Hypothesis, Parities, UniformCube, distributions
from dpjax.concepts.parities import odd, walsh_hadamard
from dpjax.core import wide
from dpjax.core.checks import InputError

DIMENSIONS = (1, 5, 31, 32, 33, 64, 65, 100)


def numbers(generator, dimension, count):
    """Random elements and the ends of the cube and of the machine's words."""
    marks = {0, 1, 2**dimension - 1, 2 ** (dimension - 1), 2**31, 2**32 - 1, 2**32, 2**63}
    found = [m for m in sorted(marks) if m < 2**dimension]
    return found + [int.from_bytes(generator.bytes(13), "big") % 2**dimension for _ in range(count)]


def nearest(concepts, labels):
    """The parity that agrees best with a function on the whole cube, ``uint32[2]`` for ``bool[2**d]``."""
    number = jnp.arange(concepts.size, dtype=jnp.uint32)
    errors = concepts.pieces(number[:, None], labels, jnp.ones(concepts.size, bool)).errors
    return jnp.stack([jnp.uint32(0), jnp.argmin(errors).astype(jnp.uint32)])


def hypothesis(concepts, chosen, zero=None):
    zero = np.zeros(len(chosen), bool) if zero is None else np.asarray(zero)
    return Hypothesis(wide.pack(chosen, concepts.limbs), zero, np.zeros(len(chosen), np.int32))


def inner(a, x):
    return (a & x).bit_count() % 2 == 1


# --- the cube ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [*DIMENSIONS, 4096])
def test_elements_round_trip(dimension):
    cube = Cube(dimension)
    values = numbers(np.random.default_rng(1), dimension, 3)
    encoded = cube.encode(values)
    assert encoded.shape == (len(values), cube.limbs) and encoded.dtype == np.uint32
    assert cube.decode(encoded).tolist() == values
    assert cube.encode([]).shape == (0, cube.limbs) and cube.decode(cube.encode([])).shape == (0,)
    nested = np.array(values[:2] * 3, object).reshape(3, 2)
    assert (cube.decode(cube.encode(nested)) == nested).all()
    assert cube.size == 2**dimension and cube == Cube(dimension)


@pytest.mark.parametrize("value", [-1, 32, 0.5, float("inf"), float("nan")])
def test_what_is_no_element_is_refused(value):
    with pytest.raises(InputError, match="element"):
        Cube(5).encode([3, value])


@pytest.mark.parametrize("dimension", [0, 4097, 2.0, True])
def test_dimensions_that_are_none(dimension):
    for kind in (Cube, Parities):
        with pytest.raises(InputError, match="dimension"):
            kind(dimension)


@pytest.mark.statistical
@pytest.mark.grid
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_uniform_elements(dimension, key, stats):
    cube, count = UniformCube(dimension), 4000
    draw = jax.jit(lambda key: [cube.draw(key, n) for n in (count, 0, 1, 1999)])
    drawn, *others = map(np.asarray, draw(key))
    assert drawn.dtype == np.uint32 and drawn.shape == (count, Cube(dimension).limbs)
    for fewer in others:
        np.testing.assert_array_equal(fewer, drawn[: len(fewer)])
    assert [len(fewer) for fewer in others] == [0, 1, 1999]
    with jax.enable_x64(True):
        np.testing.assert_array_equal(draw(key)[0], drawn)
    values = Cube(dimension).decode(drawn)
    assert max(values) < 2**dimension and cube.total == 2**64
    bits = np.array([[v >> i & 1 for i in range(dimension)] for v in values])
    for column in bits.T:
        stats.frequency(column.sum(), count, 0.5)
    for i in range(1, dimension):  # neighboring bits say nothing of each other
        stats.frequency((bits[:, i] ^ bits[:, i - 1]).sum(), count, 0.5)
    if dimension > 32:
        stats.frequency((bits[:, 32] ^ bits[:, 0]).sum(), count, 0.5)


# --- the class ---------------------------------------------------------------------------------------------------


@pytest.mark.grid
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_predictions(dimension):
    generator, concepts = np.random.default_rng(dimension), Parities(dimension)
    values, chosen = numbers(generator, dimension, 20), numbers(generator, dimension, 10)
    x = concepts.domain.encode(values)
    compiled = jax.jit(lambda one, x: [concepts.predict(one, rows) for rows in (x, x[:20].reshape(4, 5, -1))])
    with jax.numpy_dtype_promotion("strict"):
        got, stacked = compiled(hypothesis(concepts, chosen), x)
        zeros, _ = compiled(hypothesis(concepts, chosen, [True] * len(chosen)), x)
    assert got.dtype == jnp.bool_
    got = np.asarray(got)
    np.testing.assert_array_equal(got, [[inner(a, v) for a in chosen] for v in values])
    np.testing.assert_array_equal(stacked, got[:20].reshape(4, 5, -1))
    assert not np.any(zeros)
    few, many = jax.jit(lambda: [concepts.targets(4, 3), concepts.targets(50)])()
    assert few.shape == (4, concepts.limbs) and max(concepts.domain.decode(many)) < concepts.size


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_two_parities_agree_on_half_of_the_cube(dimension):
    concepts = Parities(dimension)
    values = numbers(np.random.default_rng(2), dimension, 3)
    pairs = [(a, za, b, zb) for a in values for za in (False, True) for b in values for zb in (False, True)]
    ours = hypothesis(concepts, [p[0] for p in pairs], [p[1] for p in pairs])
    theirs = hypothesis(concepts, [p[2] for p in pairs], [p[3] for p in pairs])
    with jax.enable_x64(True):
        got = jax.jit(concepts.error)(UniformCube(dimension), ours, theirs)
    assert got.dtype == jnp.uint64
    effective = [(0 if za else a, 0 if zb else b) for a, za, b, zb in pairs]
    assert got.tolist() == [0 if a == b else 2**63 for a, b in effective]
    with pytest.raises(InputError, match=f"UniformCube\\({dimension}\\)"):
        concepts.error(distributions.uniform(Domain(8)), ours, theirs)
    with pytest.raises(InputError, match="UniformCube"):
        concepts.error(UniformCube(dimension + 1), ours, theirs)


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_pieces_are_empirical_errors(dimension):
    generator, concepts, capacity = np.random.default_rng(5), Parities(dimension), 12
    compiled = jax.jit(concepts.pieces)
    for n in (0, 1, 5, 12):
        values = generator.integers(0, 2**32, capacity)
        values[:n] %= concepts.size
        labels, mask = generator.random(capacity) < 0.5, np.arange(capacity) < n
        with jax.numpy_dtype_promotion("strict"):
            pieces = compiled(values.astype(np.uint32)[:, None], labels, mask)
        assert wide.decode(pieces.first).tolist() == wide.decode(pieces.last).tolist() == list(range(concepts.size))
        assert np.all(pieces.alive) and pieces.errors.dtype == jnp.int32
        wrong = [sum(inner(a, int(values[i])) != labels[i] for i in range(n)) for a in range(concepts.size)]
        assert pieces.errors.tolist() == wrong


def test_pieces_read_rows_beyond_the_cube_as_predict_does():
    concepts = Parities(3)
    x = np.array([[8 + 5], [2**32 - 1]], np.uint32)
    every = hypothesis(concepts, range(8))
    said, pieces_of = np.asarray(jax.jit(concepts.predict)(every, x)), jax.jit(concepts.pieces)
    for labels in ([True, False], [False, False], [True, True]):
        wrong = (said != np.array(labels)[:, None]).sum(axis=0)
        pieces = pieces_of(x, np.array(labels), np.ones(2, bool))
        assert pieces.errors.tolist() == wrong.tolist()


def test_many_dimensions_are_not_listed():
    rows = np.zeros((1, 1), np.uint32), np.ones(1, bool), np.ones(1, bool)
    with pytest.raises(InputError, match="ParityLearner"):
        jax.eval_shape(Parities(17).pieces, *rows)
    jax.eval_shape(Parities(16).pieces, *rows)


def test_parity_of_words_and_the_transform():
    words = np.random.default_rng(3).integers(0, 2**32, 300).astype(np.uint32)
    assert jax.jit(odd)(words).tolist() == [int(w).bit_count() % 2 == 1 for w in words]
    values = np.random.default_rng(4).integers(-9, 9, 32)
    signs = np.array([[(-1) ** inner(a, x) for x in range(32)] for a in range(32)])
    assert jax.jit(walsh_hadamard)(values.astype(np.int32)).tolist() == (signs @ values).tolist()


@pytest.mark.parametrize("dimension", [2, 4, 6])
def test_a_function_within_a_quarter_rounds_to_its_parity(dimension):
    """Lemma 5.3, for random functions and, at d = 2 and 4, in the worst case; at a quarter there are two parities."""
    generator, concepts = np.random.default_rng(6), Parities(dimension)
    size = concepts.size
    table = np.array([[inner(a, x) for x in range(size)] for a in range(size)])
    nearest_of = jax.jit(jax.vmap(partial(nearest, concepts)))
    most = size // 4 - 1
    functions, expected = [], []
    for a in range(size):
        other = (a + 1 + int(generator.integers(size - 1))) % size
        differ = generator.permutation(np.flatnonzero(table[a] != table[other]))  # the worst: towards another parity
        for places in (differ[:most], generator.permutation(size)[:most]):
            flipped = table[a].copy()
            flipped[places] ^= True
            functions.append(flipped)
            expected.append(a)
    found = nearest_of(np.array(functions))
    assert found.dtype == jnp.uint32 and wide.decode(found).tolist() == expected
    halfway = table[3 % size].copy()
    halfway[np.flatnonzero(table[3 % size] != table[0])[: size // 4]] ^= True  # as near to 0
    found = nearest_of(np.broadcast_to(halfway, (len(functions), size)))
    assert wide.decode(found)[0] == 0 != 3 % size
