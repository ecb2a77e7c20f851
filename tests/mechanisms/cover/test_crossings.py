"""Exact helpers against Python's integers and fractions."""

import itertools
import random
from fractions import Fraction
from math import gcd

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.oracles.crossings import Signed, determinant, fraction_keys

LARGEST = 2**64 - 1


def near_parallel(count, seed):
    """Vectors with signed coordinates of 64 bits; two in three pairs nearly parallel, some parallel, some extreme."""
    draw = random.Random(seed)
    for i in range(count):
        ux, uy = draw.randint(1, LARGEST), draw.randint(0, LARGEST)
        if i % 3 == 0:
            vx, vy = draw.randint(0, LARGEST), draw.choice((0, 1, LARGEST, draw.randint(0, LARGEST)))
        else:
            vx = max(1, int(ux * draw.random()))
            vy = min(LARGEST, max(0, uy * vx // ux + draw.randint(-1, 1)))
        if i % 1000 == 1:
            scale = draw.randint(2, 2**30)
            vx, vy, ux, uy = ux >> 32, uy >> 32, (ux >> 32) * scale, (uy >> 32) * scale
        if i % 1000 == 2:
            ux = uy = vx = vy = LARGEST
        signs = draw.getrandbits(4)
        yield [-value if signs >> bit & 1 else value for bit, value in enumerate((ux, uy, vx, vy))]


def signed(values):
    return Signed(jnp.asarray([v < 0 for v in values]), jnp.asarray([abs(v) for v in values], jnp.uint64))


@pytest.mark.parametrize("quadruples", [8_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_determinants_of_64_bit_numbers(quadruples):
    rows = list(near_parallel(quadruples, 1))
    with jax.enable_x64(True):
        found = jax.jit(determinant)(*(signed(column) for column in zip(*rows, strict=True)))
        floats, signs = np.asarray(found.as_float()), np.asarray(found.sign())
        top, high, low = (np.asarray(part).tolist() for part in (found.top, found.high, found.low))
    exact = [ux * vy - uy * vx for ux, uy, vx, vy in rows]
    assert [abs(value) for value in exact] == [
        (t << 128) | (h << 64) | w for t, h, w in zip(top, high, low, strict=True)
    ]
    np.testing.assert_array_equal(signs, [(value > 0) - (value < 0) for value in exact])
    assert (signs == 0).sum() > quadruples / 2000 and max(top) == 1
    assert all(abs(int(f) - value) << 52 <= abs(value) for f, value in zip(floats.tolist(), exact, strict=True))
    assert not np.any(floats[signs == 0]) and np.all(floats[signs != 0] != 0)


@pytest.mark.parametrize(("dtype", "least"), [(np.uint64, 0), (np.int64, -(2**63))])
def test_differences(dtype, least):
    left, right = np.random.default_rng(2).integers(least, least + LARGEST, (2, 1000), dtype, endpoint=True)
    left[:3], right[:3] = (least, least + LARGEST, 5), (least + LARGEST, least, 5)
    with jax.enable_x64(True):
        gap = Signed.difference(jnp.asarray(left), jnp.asarray(right))
        negative, size, floats = (np.asarray(part).tolist() for part in (gap.negative, gap.size, gap.as_float()))
    exact = (left.astype(object) - right.astype(object)).tolist()
    assert [-s if n else s for n, s in zip(negative, size, strict=True)] == exact
    assert floats == [float(value) for value in exact]


@pytest.mark.parametrize("bits", [30, 31, 61, 64])
def test_keys_order_fractions_and_know_equal_ones(bits):
    """Neighbors in a Farey sequence of order 2**bits are the closest fractions there are."""
    draw, size = random.Random(bits), min(2**bits, LARGEST)
    pairs = [(draw.randint(-size, size), draw.randint(1, size)) for _ in range(300)]
    for _ in range(300):
        q = draw.randint(size // 2, size)
        p = draw.randint(-q, q - 1000)
        while gcd(p, q) != 1:
            p += 1
        below = pow(p, -1, q) or 1  # p below = 1 (mod q): ((p below - 1) / q) / below is just under p / q
        pairs += [(p, q), ((p * below - 1) // q, below)]
        if 2 * below <= size:
            pairs.append((2 * ((p * below - 1) // q), 2 * below))
    with jax.enable_x64(True):
        dy, dx = zip(*pairs, strict=True)
        keys = jax.jit(fraction_keys, static_argnums=2)(signed(dy), jnp.asarray(dx, jnp.uint64), bits)
        keys = list(zip(*(np.asarray(part).tolist() for part in keys), strict=True))
    exact = [Fraction(p, q) for p, q in pairs]
    order = sorted(range(len(pairs)), key=exact.__getitem__)
    for one, two in itertools.pairwise(order):
        assert (exact[one] < exact[two]) == (keys[one] < keys[two])
        assert (exact[one] == exact[two]) == (keys[one] == keys[two])
