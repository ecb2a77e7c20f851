"""What this machine can do at most, measured, by XLA and by NumPy: random words, the least of a row of them, exp, log,
sort and copy."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from benchmarks import peers, selection
from benchmarks.clock import Work
from benchmarks.roofline.demand import SORTED
from benchmarks.roofline.device import Sizes
from dpjax.core import keys, random


@dataclass(frozen=True)
class Ceiling:
    """One resource: XLA programs by name, of which the fastest counts, and what NumPy does.

    limits: the amount that it limits, of `demand.RESOURCES`; None for the one of its own name.
    """

    unit: str
    peer: str
    ours: Mapping[str, Callable[[Sizes], Work]]
    numpy: Callable[[], Work]
    limits: str | None = None


def called(program: Callable[[Array], Any], units: int) -> Work:
    """A call of a jitted function of a counter, which it waits for."""
    turn = itertools.count()

    def work() -> int:
        jax.block_until_ready(program(jnp.uint32(next(turn))))
        return units

    return work


def _in_blocks(sizes: Sizes, block: Callable[[Array], Array], units: float = 1.0) -> Work:
    """Blocks that stay in a core's cache, each reduced to a few numbers; ``block`` takes its index."""

    @jax.jit
    def program(first: Array) -> Array:
        return jax.lax.map(block, first * jnp.uint32(sizes.blocks) + jnp.arange(sizes.blocks, dtype=jnp.uint32))

    return called(program, int(sizes.block * sizes.blocks * units))


def _words(sizes: Sizes, draw: Callable[[Array, int], Array]) -> Work:
    return _in_blocks(sizes, lambda index: draw(keys.of_trial(keys.root(0), index), sizes.block))


def _stock(key: Array, size: int) -> Array:
    return _summed(jax.random.bits(key, (size,), jnp.uint32))  # half of the hash is given


def _fused(key: Array, size: int) -> Array:
    high, low = random.words(key, (size,))
    return _summed(high ^ low)


def _in_columns(key: Array, size: int) -> Array:
    high, low = random.words(key, (size // _COLUMNS, _COLUMNS))
    return _summed((high ^ low).reshape(-1))


def _least(values: Array) -> Array:
    """The place of the least value of each row, in two passes: XLA computes ``argmin`` one by one."""
    first = jnp.min(values, axis=1, keepdims=True)
    place = jax.lax.broadcasted_iota(jnp.int32, values.shape, 1)
    return jnp.min(jnp.where(values == first, place, jnp.int32(values.shape[1])), axis=1)


def _least_of_words(key: Array, size: int) -> Array:
    high, low = random.words(key, (size // selection.SMALL, selection.SMALL))
    return _least(high ^ low)


def _least_in_trials(sizes: Sizes) -> Work:
    """As the kernel of the race: trials with scores of their own, each word over a score."""

    def draw(key: Array, scores: Array) -> Array:
        high, low = random.words(key, scores.shape)
        ones = jax.lax.bitcast_convert_type(((high ^ low) >> 9) | jnp.uint32(0x3F800000), jnp.float32)  # in [1, 2)
        return _least((ones / (scores.astype(jnp.float32) + 1))[None])[0]

    trials = max(1, sizes.candidates // selection.SMALL)
    return called(selection.choices(draw, selection.SMALL, trials, min(64, trials)), trials * selection.SMALL)


def _summed(values: Array) -> Array:
    """Sums of columns, the cheapest reduction on a CPU."""
    return jnp.sum(values.reshape(-1, _COLUMNS), axis=0, dtype=values.dtype)


def _elementwise(sizes: Sizes, apply: Callable[[Array], Array], times: int, bits: int = 32) -> Work:
    """``apply`` to (0, 1], ``times`` in a row, with the sum of the bits."""

    def block(index: Array) -> Array:
        place = jax.lax.iota(jnp.uint32, sizes.block) ^ index
        value = (place.astype(f"float{bits}") + 1) * 2.0**-32
        for _ in range(times):
            value = apply(value)
        return _summed(jax.lax.bitcast_convert_type(value, f"uint{bits}"))

    return _in_blocks(sizes, block, times)


def _sort(sizes: Sizes, bits: int = 32) -> Work:
    odd = jnp.array(0x9E3779B97F4A7C15 >> (64 - bits), f"uint{bits}")

    def block(index: Array) -> Array:
        rows = (jax.lax.iota(f"uint{bits}", sizes.block) + index) * odd  # distinct, in no order
        return jnp.sort(rows.reshape(-1, SORTED), axis=1)[:, 0]

    return _in_blocks(sizes, block)


def _wide(build: Callable[..., Work], *given: Any, **options: Any) -> Work:
    """The work of ``build`` with 64-bit types on."""
    with jax.enable_x64(True):
        work = build(*given, **options, bits=64)

    def wide() -> int:
        with jax.enable_x64(True):
            return work()

    return wide


def _copy(sizes: Sizes) -> Work:
    """Reads and writes an array beyond every cache, in place of its previous value."""
    step = jax.jit(lambda values: values + jnp.uint32(1), donate_argnums=0)
    held = [jnp.zeros(sizes.beyond_cache // 4, jnp.uint32)]

    def work() -> int:
        held.append(jax.block_until_ready(step(held.pop())))
        return 2 * sizes.beyond_cache

    return work


_COLUMNS = 128
_HOST = 1 << 16  # elements that NumPy code works on at once
_HOST_BYTES = 1 << 27


def _numpy_words() -> Work:
    draws = peers.generator()

    def work() -> int:
        draws.bit_generator.random_raw(_HOST)
        return _HOST

    return work


def _numpy_least() -> Work:
    draws = peers.generator()

    def work() -> int:
        draws.bit_generator.random_raw(_HOST).reshape(-1, selection.SMALL).argmin(axis=1)
        return _HOST

    return work


def _numpy_apply(apply: Callable[..., np.ndarray], bits: int = 32) -> Work:
    values = peers.generator().random(_HOST).astype(f"float{bits}")
    out = np.empty_like(values)

    def work() -> int:
        apply(values, out=out)
        return _HOST

    return work


def _numpy_sort(bits: int = 32) -> Work:
    rows = peers.generator().integers(0, 2**bits, (_HOST // SORTED, SORTED), f"uint{bits}")

    def work() -> int:
        np.sort(rows, axis=1)
        return _HOST

    return work


def _numpy_copy() -> Work:
    source, target = np.ones(_HOST_BYTES, np.uint8), np.zeros(_HOST_BYTES, np.uint8)

    def work() -> int:
        np.copyto(target, source)
        return 2 * _HOST_BYTES

    return work


def _chains(apply: Callable[[Array], Array], build: Callable[..., Work] = _elementwise) -> dict[str, Any]:
    return {f"{times} in a row": partial(build, apply=apply, times=times) for times in (1, 4)}


_elementwise_64 = partial(_wide, _elementwise)


def _exp(value: Array) -> Array:
    return jnp.exp(-value)


def _log(value: Array) -> Array:
    return jnp.log(value + 1)


CEILINGS: Mapping[str, Ceiling] = {
    "words": Ceiling(
        "words/s",
        "NumPy SFC64, 64 bits each",
        {
            "jax.random.bits": partial(_words, draw=_stock),
            "random.words": partial(_words, draw=_fused),
            "random.words in columns": partial(_words, draw=_in_columns),
        },
        _numpy_words,
    ),
    "least": Ceiling(
        "words/s",
        f"NumPy SFC64 and argmin of {selection.SMALL}",
        {"random.words": partial(_words, draw=_least_of_words), "in trials": _least_in_trials},
        _numpy_least,
        "words",
    ),
    "exp": Ceiling("exp/s", "NumPy exp, float32", _chains(_exp), partial(_numpy_apply, np.exp)),
    "exp-64": Ceiling(
        "exp/s", "NumPy exp, float64", _chains(_exp, _elementwise_64), partial(_numpy_apply, np.exp, 64), "exp"
    ),
    "log": Ceiling("log/s", "NumPy log, float32", _chains(_log), partial(_numpy_apply, np.log)),
    "log-64": Ceiling(
        "log/s", "NumPy log, float64", _chains(_log, _elementwise_64), partial(_numpy_apply, np.log, 64), "log"
    ),
    "sort": Ceiling("keys/s", f"NumPy sort of rows of {SORTED} uint32", {"jnp.sort": _sort}, _numpy_sort),
    "sort-64": Ceiling(
        "keys/s",
        f"NumPy sort of rows of {SORTED} uint64",
        {"jnp.sort": partial(_wide, _sort)},
        partial(_numpy_sort, 64),
        "sort",
    ),
    "copy": Ceiling("bytes/s", "NumPy copyto", {"in place": _copy}, _numpy_copy),
}
