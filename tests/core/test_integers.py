"""Signed integers of several words against Python's."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import integers
from dpjax.core.integers import Whole


def hard(words, count, seed, bits=None):
    """Random integers of all sizes, and those next to where words carry."""
    draw, top = random.Random(seed), 64 * words - 1 if bits is None else bits
    edges = [s * (1 << b) + e for b in range(0, top, 32) for s in (1, -1) for e in (-1, 0, 1)]
    sizes = [draw.getrandbits(draw.randint(1, top)) * draw.choice((1, -1)) for _ in range(count)]
    return draw.sample(edges + [0] * 9 + sizes, count)


def wrapped(values, words):
    half = 1 << (64 * words - 1)
    return [(int(v) + half) % (2 * half) - half for v in values]


def host(value):
    return integers.on_host(np.asarray(integers.encoded(value))).tolist()


@pytest.mark.parametrize("words", [1, 4, pytest.param(2, marks=pytest.mark.slow)])
def test_operations_are_those_of_python(words):
    left, right = hard(words, 400, 1), hard(words, 400, 2)
    unsigned = [abs(v) % 2**63 if words == 1 else v % 2**64 for v in hard(2, 400, 3)]
    big = 3 << 67 if words > 1 else 12345
    shifts = (0, 1, 63, 64, 70)[: 1 + words], (0, 1, 63, 64, 130)[: 1 + words]
    with jax.enable_x64(True):

        @jax.jit
        def run(a, b, u):
            factor = u.astype(jnp.int64) if words == 1 else u
            numbers = a + b, a - b, -a, a * factor, a * big, a + 7, 7 - a
            shifted = [a << k for k in shifts[0]] + [a >> k for k in shifts[1]]
            return (*numbers, *shifted, integers.clip(a, b, b + 5)), (a < b, a <= b, a > b, a >= b, a == b, a < 5)

        one, other = (integers.integers(values, words) for values in (left, right))
        assert isinstance(one, Whole) == (words > 1) and integers.words_of(one) == words and one.shape == (400,)
        found, truth = run(one, other, jnp.asarray(np.array(unsigned, np.uint64)))
        assert host(one) == left and host(one[3]) == left[3] and host(integers.integers(left[5], words)) == left[5]
        found = [host(part) for part in found]

    def expected(rule):
        return wrapped([rule(*given) for given in zip(left, right, unsigned, strict=True)], words)

    rules = [
        lambda a, b, u: a + b,
        lambda a, b, u: a - b,
        lambda a, b, u: -a,
        lambda a, b, u: a * u,
        lambda a, b, u: a * big,
        lambda a, b, u: a + 7,
        lambda a, b, u: 7 - a,
    ]
    rules += [lambda a, b, u, k=k: a << k for k in shifts[0]] + [lambda a, b, u, k=k: a >> k for k in shifts[1]]
    for rule, own in zip(rules, found[:-1], strict=True):
        assert own == expected(rule)
    pairs = list(zip(left, right, strict=True))
    comparisons = [
        [a < b for a, b in pairs],
        [a <= b for a, b in pairs],
        [a > b for a, b in pairs],
        [a >= b for a, b in pairs],
        [a == b for a, b in pairs],
        [a < 5 for a in left],
    ]
    assert [part.tolist() for part in truth] == comparisons


@pytest.mark.parametrize("words", [2, 3])
def test_order_floats_and_words(words):
    values, code = hard(words, 300, 4), np.arange(300, dtype=np.int32)
    with jax.enable_x64(True):
        whole = integers.integers(np.array(values, object).reshape(300), words)
        ordered, place = jax.jit(integers.sort)(whole, code)
        assert host(ordered) == sorted(values) and [values[i] for i in np.asarray(place)] == sorted(values)
        floats = np.asarray(jax.jit(lambda w: w.astype(jnp.float64))(whole))
        np.testing.assert_allclose(floats, np.array([float(v) for v in values]), rtol=2.0**-50)
        assert host(integers.decoded(integers.encoded(whole))) == values
        parts = integers.concatenate([whole[:7], whole[7:]]), integers.stack([whole[0], whole[1]])
        assert host(parts[0]) == values and host(parts[1]) == values[:2]
        small = integers.widened(jnp.asarray([0, 5, 2**64 - 1], jnp.uint64), words)
        assert host(small) == [0, 5, 2**64 - 1] and host(integers.constant(-3, whole)) == -3
        assert host(integers.maximum(whole, -whole)) == [abs(v) for v in values]
