"""Elements of {0, ..., 2**bits - 1} for any ``bits``: order, common prefixes, arithmetic and uniform draws.

An element is ``uint32[..., W]`` with W = limbs(bits), most significant limb first: a plain number, as in
`concepts.Domain`, whose unused top bits are 0. ``bits`` is static. The prefix of length y is the first y bits,
the most significant ones. 64-bit types are used internally only, to speed up sorting.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import checks, random, wide

WORD = 0xFFFFFFFF
_ATTEMPTS = 256  # each fails with probability below 1/2
_MOST_CHOSEN = 4  # limbs


def limbs(bits: int) -> int:
    """W, the number of 32-bit limbs of an element; InputError unless 1 <= bits <= 2**30."""
    return -(-checks.integer("bits", bits, 1, 2**30) // 32)


def encode(values, bits: int) -> np.ndarray:
    """Host: integers in [0, 2**bits), in any nesting -> ``uint32[..., W]``. InputError for a value outside."""
    whole = np.asarray(values, dtype=object)
    for value in whole.reshape(-1):
        if not checks.is_element(value, 1 << bits):
            raise checks.InputError("element", f"a whole number in [0, 2**{bits})", repr(value), "use more bits")
    return wide.pack(whole, limbs(bits))


def decode(elements) -> np.ndarray:
    """Host: ``uint32[..., W]`` -> Python integers, ``object[...]``."""
    return wide.unpack(elements)


def equal(a: Array, b: Array) -> Array:
    """a == b, ``bool[...]``; leading axes broadcast."""
    return ~jnp.any(_differ(a, b)[2], axis=-1)


def less(a: Array, b: Array) -> Array:
    """a < b, ``bool[...]``; leading axes broadcast."""
    a, b, differ = _differ(a, b)
    place = _first(differ)
    return jnp.squeeze(_take(a, place) < _take(b, place), axis=-1)


def less_equal(a: Array, b: Array) -> Array:
    """a <= b, ``bool[...]``; leading axes broadcast."""
    return ~less(b, a)


def sort_rows(x: Array, real: Array) -> Array:
    """``uint32[capacity, W]``: the real rows first, ascending; the others become all ones, so the result ascends.

    x: ``uint32[capacity, W]``. real: ``bool[capacity]``, in any position; rows where it is False are ignored.
    """
    x = jnp.where(real[:, None], x, jnp.uint32(WORD))
    width = x.shape[1]
    if width == 1:
        return jnp.sort(x, axis=0)
    with jax.enable_x64(True):
        if width == 2:
            return wide.split(jnp.sort(wide.join(x)))
        order = _in_order(_digits(x))
    return x[order]


def sort_order(x: Array, real: Array, columns: tuple[Array, ...] = ()) -> Array:
    """The numbers of the rows in ascending order, ``int32[capacity]``; rows that are not real are last.

    x: ``uint32[capacity, W]``. real: ``bool[capacity]``. columns: ``uint32[capacity]``, further sort keys. 64-bit types
    enabled.
    """
    further = [column.astype(jnp.uint64)[None] for column in columns]
    return _in_order(jnp.concatenate([(~real).astype(jnp.uint64)[None], _digits(x), *further]))


def lcp(a: Array, b: Array, bits: int) -> Array:
    """The length of the longest common prefix, ``int32[...]`` in [0, bits]; leading axes broadcast."""
    a, b, differ = _differ(a, b)
    place = _first(differ)
    zeros = jax.lax.clz(_take(a, place) ^ _take(b, place)).astype(jnp.int32)
    length = jnp.squeeze(32 * place.astype(jnp.int32) + zeros, axis=-1) - jnp.int32(_unused(bits))
    return jnp.where(jnp.any(differ, axis=-1), jnp.clip(length, 0, bits), jnp.int32(bits))


def prefix(x: Array, length: Array, bits: int) -> Array:
    """The first ``length`` bits (``int32[...]``, clipped to [0, bits]), then zeros, v000...; leading axes broadcast."""
    keep = _head(length, bits)
    x, keep = jnp.broadcast_arrays(x, keep)
    return x & keep


def middle(v: Array, length: Array, bits: int) -> Array:
    """v0111..., the greatest element below v's child 1; v itself for length = bits."""
    length = jnp.asarray(length, jnp.int32)
    start = prefix(v, length, bits)
    return start | jnp.broadcast_to(_tail(length + jnp.int32(1), bits), start.shape)


def rightmost(v: Array, length: Array, bits: int) -> Array:
    """v111..., the greatest element with the first ``length`` bits of v."""
    start = prefix(v, length, bits)
    return start | jnp.broadcast_to(_tail(length, bits), start.shape)


def add(a: Array, b: Array) -> Array:
    """a + b modulo 2**(32 W); leading axes broadcast."""
    a, b, _ = _differ(a, b)
    total = a + b
    return total + _carried(total < a, total != jnp.uint32(WORD))


def subtract(a: Array, b: Array) -> Array:
    """a - b modulo 2**(32 W); leading axes broadcast."""
    a, b, differ = _differ(a, b)
    return a - b - _carried(a < b, differ)


def add_one(x: Array) -> Array:
    """x + 1 modulo 2**(32 W)."""
    return add(x, jnp.zeros(x.shape[-1], jnp.uint32).at[-1].set(1))


def subtract_one(x: Array) -> Array:
    """x - 1 modulo 2**(32 W)."""
    return subtract(x, jnp.zeros(x.shape[-1], jnp.uint32).at[-1].set(1))


def log_count(last: Array, dtype=jnp.float32) -> Array:
    """ln(last + 1), the log of the number of elements of {0, ..., last}, ``dtype[...]``; exactly 0 for one element.

    The relative error is a few units in the last place, in float32 and in float64 (64-bit types enabled).
    """
    short = max(3 - last.shape[-1], 0)
    last = jnp.concatenate([jnp.zeros((*last.shape[:-1], short), jnp.uint32), last], axis=-1)
    latest = last.shape[-1] - 3
    nonzero = last != jnp.uint32(0)
    first = jnp.where(jnp.any(nonzero, axis=-1), jnp.squeeze(_first(nonzero), axis=-1), latest)
    first = jnp.minimum(first, latest)
    behind = latest - first  # limbs below the precision of the result
    high, mid, low = (jnp.squeeze(_take(last, (first + i)[..., None]), axis=-1).astype(dtype) for i in range(3))
    unit = jnp.where(behind == 0, jnp.asarray(1, dtype), jnp.asarray(0, dtype))
    value = high * jnp.asarray(2.0**64, dtype) + mid * jnp.asarray(2.0**32, dtype) + (low + unit)
    return jnp.log(value) + (32 * behind).astype(dtype) * jnp.asarray(np.log(2), dtype)


def uniform_up_to(key: Array, last: Array) -> Array:
    """A uniform element of {0, ..., last}, ``uint32[W]`` for ``uint32[W]``, exactly: by rejection, integers only.

    An attempt draws as many bits as ``last`` has and succeeds with probability above 1/2. After 256 failed attempts the
    result is 0.
    """
    stream, width = random.stream_of(key), last.shape[-1]
    pairs = (width + 1) // 2
    mask = _tail(lcp(last, jnp.zeros_like(last), 32 * width), 32 * width)

    def attempt(state):
        tries, _, _ = state
        high, low = random.words_from(stream, (pairs,), tries * jnp.uint32(pairs))
        drawn = jnp.stack([high, low], axis=-1).reshape(2 * pairs)[:width] & mask
        return tries + jnp.uint32(1), drawn, less_equal(drawn, last)

    start = (jnp.uint32(0), jnp.zeros_like(last), jnp.bool_(False))
    _, drawn, done = jax.lax.while_loop(lambda state: ~state[2] & (state[0] < _ATTEMPTS), attempt, start)
    return jnp.where(done, drawn, jnp.uint32(0))


def ones(count: Array, width: int) -> Array:
    """2**count - 1 in ``width`` limbs, ``uint32[..., width]``, for counts ``int32[...]`` in [0, 32 width]."""
    return _tail(32 * width - jnp.asarray(count, jnp.int32), 32 * width)


def shifted_left(value: Array, count: Array, width: int) -> Array:
    """value 2**count modulo 2**(32 width), ``uint32[..., width]``, for ``uint64[...]``; 64-bit types enabled."""
    drop = _below(width) - jnp.asarray(count, jnp.int32)[..., None]  # of the value's bits, by limb
    value = value[..., None]
    right = value >> jnp.clip(drop, 0, 63).astype(jnp.uint64)
    left = value << jnp.clip(-drop, 0, 63).astype(jnp.uint64)
    part = jnp.where(drop >= 0, right, left).astype(jnp.uint32)
    return jnp.where((drop > -32) & (drop < 64), part, jnp.uint32(0))


def shifted_right(x: Array, count: Array) -> Array:
    """floor(x / 2**count) modulo 2**64, ``uint64[...]``; 64-bit types enabled."""
    lift = _below(x.shape[-1]) - jnp.asarray(count, jnp.int32)[..., None]
    value = x.astype(jnp.uint64)
    left = value << jnp.clip(lift, 0, 63).astype(jnp.uint64)
    right = value >> jnp.clip(-lift, 0, 63).astype(jnp.uint64)
    part = jnp.where(lift >= 0, left, right)
    return jnp.sum(jnp.where((lift > -32) & (lift < 64), part, jnp.uint64(0)), axis=-1, dtype=jnp.uint64)


def _below(width: int) -> Array:
    """Bits below each limb, ``int32[width]``."""
    return 32 * jnp.arange(width - 1, -1, -1, dtype=jnp.int32)


def _digits(x: Array) -> Array:
    """Pairs of limbs, ``uint64[ceil(W / 2), capacity]``, most significant first."""
    padded = jnp.concatenate([jnp.zeros((x.shape[0], x.shape[1] % 2), jnp.uint32), x], axis=1)
    return wide.join(padded.reshape(x.shape[0], padded.shape[1] // 2, 2)).T


def _in_order(digits: Array) -> Array:
    """Radix sort: stable sorts by 64 bits, most significant first, of rows that are equal so far. Digits in which such
    rows do not differ take no time: random rows are sorted once. The program's size does not grow with W."""
    count, capacity = digits.shape
    order = jnp.arange(capacity, dtype=jnp.int32)
    if capacity < 2:
        return order

    def first(differ: Array) -> Array:
        found = jnp.any(differ, axis=1)
        return jnp.where(jnp.any(found), jax.lax.argmax(found, 0, jnp.int32), jnp.int32(count))

    def by_digit(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        place, order, tied = state
        group = jnp.cumsum(jnp.append(False, ~tied), dtype=jnp.int32)  # keeps its places
        order = jax.lax.sort((group, digits[place][order], order), num_keys=2, is_stable=True)[2]
        differ = digits[:, order[1:]] != digits[:, order[:-1]]
        tied = tied & ~differ[place]
        return first(differ & tied[None]), order, tied

    start = first(digits[:, 1:] != digits[:, :-1]), order, jnp.ones(capacity - 1, bool)
    return jax.lax.while_loop(lambda state: state[0] < count, by_digit, start)[1]


def _unused(bits: int) -> int:
    return 32 * limbs(bits) - bits


def _differ(a: Array, b: Array) -> tuple[Array, Array, Array]:
    a, b = jnp.broadcast_arrays(a, b)
    return a, b, a != b


def _first(found: Array) -> Array:
    """The first True along the last axis, ``int32[..., 1]``; 0 if there is none."""
    return jax.lax.argmax(found, found.ndim - 1, jnp.int32)[..., None]


def _take(x: Array, place: Array) -> Array:
    """The limb at ``place``, ``uint32[..., 1]``: of few limbs it is chosen, which is faster than to gather it.

    At a place that is known when a program is compiled, such as that of the only limb, XLA computes what is gathered
    there and then: on the host, for up to 9 seconds in programs for a GPU.
    """
    if x.shape[-1] > _MOST_CHOSEN:
        return jnp.take_along_axis(x, place, axis=-1)
    here = jax.lax.broadcasted_iota(place.dtype, x.shape, x.ndim - 1) == place
    return jnp.sum(jnp.where(here, x, jnp.zeros((), x.dtype)), axis=-1, keepdims=True, dtype=x.dtype)


def _head(length: Array, bits: int) -> Array:
    """Ones in the first ``length`` bits (and in the unused ones above), ``uint32[..., W]``."""
    length = jnp.clip(jnp.asarray(length, jnp.int32), 0, bits) + jnp.int32(_unused(bits))
    ends = 32 * jnp.arange(limbs(bits), dtype=jnp.int32)
    length, ends = jnp.broadcast_arrays(length[..., None], ends)
    kept = jnp.clip(length - ends, 0, 32)
    ones = jnp.uint32(WORD) << jnp.clip(32 - kept, 0, 31).astype(jnp.uint32)
    return jnp.where(kept == 0, jnp.uint32(0), ones)


def _tail(length: Array, bits: int) -> Array:
    """Ones in all but the first ``length`` bits, ``uint32[..., W]``."""
    return ~_head(length, bits)


def _carried(made: Array, settled: Array) -> Array:
    """The carry into each limb, ``uint32``: ``made`` of the nearest less significant limb that is settled."""
    width = made.shape[-1]
    if 2 < width <= 64:
        return _looked_ahead(made, settled)
    code = jax.lax.broadcasted_iota(jnp.int32, made.shape, made.ndim - 1) * 2 + (~made).astype(jnp.int32)
    code = jnp.where(settled, code, jnp.int32(2 * width + 1))
    nearest = jax.lax.cummin(code, axis=code.ndim - 1, reverse=True)[..., 1:]
    received = (nearest % 2 == 0).astype(jnp.uint32)
    return jnp.concatenate([received, jnp.zeros((*made.shape[:-1], 1), jnp.uint32)], axis=-1)


def _looked_ahead(made: Array, settled: Array) -> Array:
    """`_carried` of up to 64 limbs, a bit each: their carries are those of a sum of two words. No program of a scan
    is merged with what follows it, which takes several times as long."""
    with jax.enable_x64(True):
        last = made.shape[-1] - 1
        place = jnp.uint64(last) - jax.lax.broadcasted_iota(jnp.uint64, made.shape, made.ndim - 1)

        def word(limbs: Array) -> Array:
            return jnp.sum(limbs.astype(jnp.uint64) << place, axis=-1, dtype=jnp.uint64)

        one, other = word(made | ~settled), word(made & settled)
        carries = (one + other) ^ one ^ other
        return ((carries[..., None] >> place) & jnp.uint64(1)).astype(jnp.uint32)
