"""Arithmetic on elements: limbs beside words of 64 bits and beside Python's integers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core import bit_strings as B
from dpjax.core.arithmetic import Limbs, Words, arithmetic, decode, encode

ENDS = (0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**63, 2**64 - 2, 2**64 - 1)
WIDE = (*ENDS, 2**64, 2**64 + 1, 2**95, 2**96 - 2**32, 2**96 - 2, 2**96 - 1)
BELOW = {2: 2**64, 3: 2**96}


@pytest.fixture(params=[(Words(2), ENDS), (Limbs(2), ENDS), (Limbs(3), WIDE)], ids=["words", "two", "three"])
def system(request):
    numbers, values = request.param
    with jax.enable_x64(True):
        yield numbers, values, numbers.read(jnp.asarray(encode(list(values), numbers.limbs)))


def plain(numbers, value):
    return np.vectorize(int, otypes=[object])(decode(numbers.element(value))).tolist()


def test_it_is_chosen_by_the_limbs():
    assert [type(arithmetic(limbs)) for limbs in (1, 2, 3, 64)] == [Words, Words, Limbs, Limbs]


@pytest.mark.grid(per=["system"])
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("less", lambda a, b: a < b),
        ("less_equal", lambda a, b: a <= b),
        ("above", lambda a, b: a > b),
        ("equal", lambda a, b: a == b),
        ("differ", lambda a, b: a != b),
    ],
)
def test_order(system, name, rule):
    numbers, values, read = system
    table = getattr(numbers, name)(read[:, None], read[None])
    assert np.asarray(table).tolist() == [[rule(a, b) for b in values] for a in values]


def test_sums_differences_and_choices(system):
    numbers, values, read = system
    below = BELOW[numbers.limbs]
    sums = plain(numbers, numbers.add(read[:, None], read[None]))
    assert sums == [[(a + b) % below for b in values] for a in values]
    assert plain(numbers, numbers.subtract(read[:, None], read[None])) == [
        [(a - b) % below for b in values] for a in values
    ]
    assert plain(numbers, numbers.greater(read[:, None], read[None])) == [[max(a, b) for b in values] for a in values]
    assert plain(numbers, numbers.lesser(read[:, None], read[None])) == [[min(a, b) for b in values] for a in values]
    assert plain(numbers, numbers.constant(values[-1])[None]) == [values[-1]]
    mask = jnp.arange(len(values)) % 3 == 1
    assert plain(numbers, numbers.count(mask)[None]) == [int(mask.sum())]
    assert [r for r, real in zip(plain(numbers, numbers.ranks(mask)), mask, strict=True) if real] == list(
        range(int(mask.sum()))
    )
    assert plain(numbers, numbers.shortened(read, numbers.constant(5)))[-1] == (values[-1] - 5) % below


@pytest.mark.grid(per=["system"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_the_largest_of_a_list(system, count):
    numbers, values, _read = system
    rows = np.array([values[::-1][:count], values[:count], [values[0], *values[::-1]][:count]], object)
    lists = numbers.read(jnp.asarray(encode(rows, numbers.limbs)))
    assert plain(numbers, numbers.largest(lists)) == [max(row, default=0) for row in rows.tolist()]


def test_sorting_puts_padding_last_and_breaks_ties_by_columns(system):
    numbers, values, _ = system
    rng = np.random.default_rng(0)
    rows = [*values, *values, values[-1], values[-1]]
    order = rng.permutation(len(rows))
    shuffled = [rows[i] for i in order]
    labels = rng.integers(0, 2, len(rows)).astype(np.uint32)
    real = rng.random(len(rows)) < 0.7
    real[-1] = False
    read = numbers.read(jnp.asarray(encode(shuffled, numbers.limbs)))
    result, column = numbers.sort(
        read, (jnp.asarray(labels),), real=jnp.asarray(real), below=BELOW[numbers.limbs], bits=(1,)
    )
    expected = sorted((v, int(b)) for v, b, r in zip(shuffled, labels, real, strict=True) if r)
    kept = len(expected)
    assert list(zip(plain(numbers, result)[:kept], np.asarray(column)[:kept].tolist(), strict=True)) == expected
    assert plain(numbers, numbers.ascending(read)) == sorted(shuffled)


def test_logarithms_of_counts(system):
    numbers, values, read = system
    alive = jnp.arange(len(values)) != 2
    logs = np.asarray(numbers.log_count(read, alive, jnp.float64))
    exact = [0.0 if i == 2 else float(np.log(np.longdouble(v) + 1)) for i, v in enumerate(values)]
    np.testing.assert_allclose(logs, exact, rtol=1e-14)


@pytest.mark.grid(per=["system"])
@pytest.mark.parametrize("span", [0, 1, 2**32 - 1, 2**32, 2**64 - 1])
def test_uniform_draws_reach_both_ends_and_never_leave(system, span):
    numbers, _, _ = system
    draw = jax.jit(jax.vmap(lambda key: numbers.uniform_up_to(key, numbers.constant(span))))
    values = np.array(plain(numbers, draw(jax.random.split(jax.random.key(3), 512))), object)
    assert all(0 <= v <= span for v in values)
    if span == 1:
        assert 180 < sum(values) < 332  # six standard deviations
    if span >= 2**32:  # outside of the quarters with probability below 1e-60
        assert min(values) < span // 4 and max(values) > span - span // 4


@pytest.mark.grid(keep=2)
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_shifts_of_limbs(width):
    with jax.enable_x64(True):
        for count in (0, 1, 31, 32, 33, 63, 64, 70, 32 * width - 1, 32 * width):
            if count > 32 * width:
                continue
            for value in (0, 1, 2**32 - 1, 2**33 + 5, 2**64 - 1):
                left = B.shifted_left(jnp.uint64(value), jnp.int32(count), width)
                assert int(B.decode(left)) == (value << count) % 2 ** (32 * width)
            x = int("a5c3" * 40, 16) % 2 ** (32 * width)
            right = B.shifted_right(jnp.asarray(B.encode(x, 32 * width)), jnp.int32(count))
            assert int(right) == (x >> count) % 2**64
            assert int(B.decode(B.ones(jnp.int32(count), width))) == 2**count - 1
