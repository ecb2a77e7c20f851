"""Bit strings of any width against Python's integers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.core.checks import InputError

WIDTHS = [1, 2, 31, 32, 33, 64, 65, 1024]
COUNT = 120


def numbers(bits, count=COUNT, seed=0):
    """Corners, uniform ones, ones with long runs of ones or zeros, and near copies of one another."""
    generator = np.random.default_rng([bits, seed])
    top = (1 << bits) - 1
    uniform = [int.from_bytes(generator.bytes(bits // 8 + 1), "big") & top for _ in range(count)]
    shifts = generator.integers(0, bits + 1, count)
    runs = [top >> int(s) if i % 2 else (1 << bits) - (1 << int(s)) & top for i, s in enumerate(shifts)]
    near = [u ^ (1 << int(s) >> 1) & top for u, s in zip(uniform, shifts, strict=True)]
    corners = [0, top, top >> 1, (top >> 1) + 1 & top, top - (top > 0), min(1, top)]
    both = corners + [int(v) for v in generator.permutation(np.array(uniform + runs + near, object))]
    return both[:count]


def pairs(bits):
    a, b = numbers(bits), numbers(bits, seed=1)
    b = [x if i % 7 == 0 else (x ^ 1 if i % 7 == 1 else y) for i, (x, y) in enumerate(zip(a, b, strict=True))]
    return a, b


def device(values, bits):
    return B.encode(values, bits)


def common(a, b, bits):
    return bits - (a ^ b).bit_length()


def test_encode_is_a_plain_number_and_inverts():
    for bits in WIDTHS:
        values = numbers(bits)
        coded = B.encode(values, bits)
        assert coded.shape == (COUNT, B.limbs(bits)) and coded.dtype == np.uint32
        assert B.decode(coded).tolist() == values
    np.testing.assert_array_equal(B.encode(2**32 + 7, 40), [1, 7])
    assert B.encode([], 40).shape == (0, 2)
    with pytest.raises(InputError, match="whole number"):
        B.encode([4], 2)
    with pytest.raises(InputError, match="bits"):
        B.limbs(0)


@pytest.mark.grid(keep=4)
@pytest.mark.parametrize("bits", WIDTHS)
def test_order_prefixes_and_arithmetic(bits):
    a, b = pairs(bits)
    length = np.random.default_rng(bits).integers(0, bits + 1, COUNT).astype(np.int32)
    length[:4] = [0, bits, 1, bits - 1]
    x, y = device(a, bits), device(b, bits)

    @jax.jit
    def everything(x, y, length):
        return (
            B.less(x, y),
            B.less_equal(x, y),
            B.equal(x, y),
            B.lcp(x, y, bits),
            B.prefix(x, length, bits),
            B.middle(x, length, bits),
            B.rightmost(x, length, bits),
            B.add_one(x),
            B.subtract_one(x),
            B.add(x, y),
            B.subtract(x, y),
        )

    got = [np.asarray(part) for part in everything(x, y, length)]
    pairs_ = list(zip(a, b, strict=True))
    for part, wanted in zip(
        got[:4],
        [
            [p < q for p, q in pairs_],
            [p <= q for p, q in pairs_],
            [p == q for p, q in pairs_],
            [common(p, q, bits) for p, q in pairs_],
        ],
        strict=True,
    ):
        assert part.tolist() == wanted
    left, middle, right = [], [], []
    for value, kept in zip(a, length.tolist(), strict=True):
        rest = bits - kept
        left.append(value >> rest << rest)
        middle.append(left[-1] + (2 ** (rest - 1) - 1 if rest else 0))
        right.append(left[-1] + 2**rest - 1)
    whole = 1 << 32 * B.limbs(bits)
    wanted = [
        left,
        middle,
        right,
        [(p + 1) % whole for p in a],
        [(p - 1) % whole for p in a],
        [(p + q) % whole for p, q in pairs_],
        [(p - q) % whole for p, q in pairs_],
    ]
    for part, expected in zip(got[4:], wanted, strict=True):
        assert part.dtype == np.uint32 and B.decode(part).tolist() == expected


@pytest.mark.parametrize(("bits", "gathered"), [(10, False), (32, False), (128, False), (160, True)])
def test_few_limbs_are_chosen_without_a_gather(bits, gathered):
    x = jnp.zeros((5, B.limbs(bits)), jnp.uint32)
    program = jax.jit(lambda x: (B.less(x, x), B.lcp(x, x, bits), B.log_count(x))).lower(x).as_text()
    assert ("stablehlo.gather" in program) is gathered


def test_leading_axes_broadcast():
    @jax.jit
    def compared(rows, one, lengths):
        return B.less(rows, one), B.lcp(one, rows, 40), B.prefix(one, lengths, 40), B.less(rows[:, None], rows[None])

    smaller, shared, prefixes, table = compared(device([1, 5, 9], 40), device(5, 40), np.array([38, 39, 40], np.int32))
    assert smaller.tolist() == [True, False, False]
    assert shared.tolist() == [37, 40, 36]
    assert B.decode(prefixes).tolist() == [4, 4, 5]
    np.testing.assert_array_equal(table, np.triu(np.ones((3, 3), bool), 1))


@pytest.mark.parametrize("bits", WIDTHS)
def test_sort_puts_real_rows_first_in_order(bits):
    generator = np.random.default_rng(bits)
    values = numbers(bits)
    values[60:] = [values[int(i)] for i in generator.integers(0, 60, COUNT - 60)]  # ties
    real = generator.random(COUNT) < 0.7
    x = device(values, bits)
    got = np.asarray(jax.jit(B.sort_rows)(x, real))
    n = int(real.sum())
    assert B.decode(got[:n]).tolist() == sorted(v for v, r in zip(values, real, strict=True) if r)
    assert np.all(got[n:] == 0xFFFFFFFF)
    # what lies in the padding, and how much of it there is, never matters
    rubbish = np.where(real[:, None], x, np.uint32(77))
    more = np.concatenate([rubbish, rubbish]), np.concatenate([real, np.zeros(COUNT, bool)])
    np.testing.assert_array_equal(np.asarray(jax.jit(B.sort_rows)(*more))[:n], got[:n])


@pytest.mark.parametrize("bits", [8, 40, 96])
@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows_are_sorted(bits, rows):
    x = device(list(range(rows)), bits).reshape(rows, B.limbs(bits))
    np.testing.assert_array_equal(jax.jit(B.sort_rows)(x, np.ones(rows, bool)), x)


@pytest.mark.parametrize("bits", WIDTHS)
def test_log_count(bits):
    values = numbers(bits)
    wanted = np.array([np.log(v + 1) if v < 2**53 else float(_big_log(v + 1)) for v in values])
    x = device(values, bits)
    small = np.asarray(jax.jit(B.log_count)(x))
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, wanted, rtol=4e-7)
    assert small[0] == 0
    with jax.enable_x64(True):
        exact = jax.jit(B.log_count, static_argnums=1)(x, jnp.float64)
        np.testing.assert_allclose(exact, wanted, rtol=1e-15)


def _big_log(value):
    shift = max(value.bit_length() - 60, 0)
    return np.log(float(value >> shift)) + shift * np.log(2)


@pytest.mark.statistical
@pytest.mark.grid
@pytest.mark.parametrize(("bits", "last"), [(3, 4), (1, 0), (32, 2**32 - 1), (65, 5 << 62), (1024, 1023)])
def test_uniform_up_to_is_uniform(bits, last, stats):
    """Exactly uniform for small bounds; in 8 equal parts of the range for large ones."""
    draws = 20000
    keys = jax.random.split(jax.random.key(bits), draws)
    limit = device(last, bits)
    got = B.decode(jax.jit(jax.vmap(B.uniform_up_to, (0, None)))(keys, limit))
    assert max(got) <= last
    if last < 100:
        stats.chi_square(np.bincount(got.astype(int), minlength=last + 1), np.full(last + 1, 1 / (last + 1)))
    else:
        edges = [(last + 1) * i // 8 for i in range(9)]
        counts = [sum(edges[i] <= int(v) < edges[i + 1] for v in got) for i in range(8)]
        stats.chi_square(counts, np.diff(np.array(edges, float)) / float(last + 1))
        parity = [int(v) % 2 for v in got]
        stats.frequency(sum(parity), draws, float(len(range(1, last + 1, 2)) / (last + 1)) if last < 2**53 else 0.5)


@pytest.mark.optimized
@pytest.mark.parametrize("bits", [31, 65, 1024])
def test_uniform_draws_do_not_depend_on_the_batch(bits, key):
    keys = jax.random.split(key, 40)
    limits = device(numbers(bits)[:40], bits)
    together = jax.jit(jax.vmap(B.uniform_up_to))(keys, limits)
    with jax.enable_x64(True):
        one = jax.jit(B.uniform_up_to)
        alone = [one(keys[i], limits[i]) for i in range(40)]
    np.testing.assert_array_equal(together, jax.device_get(alone))
