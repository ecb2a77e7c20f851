"""Unsigned 64-bit integers: uint32 limbs at every interface, uint64 internally.

Arrays of domain elements are ``uint32[..., limbs]``, most significant limb first, so that programs behave the
same with 64-bit types on or off. Call `join` and `split` under ``jax.enable_x64(True)``.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.checks import InputError

LIMBS = 2


def join(limbs: Array | np.ndarray) -> Array:
    """``uint32[..., 1 or 2]`` -> ``uint64[...]``."""
    limbs = jnp.asarray(limbs)
    _narrow(limbs)
    low = limbs[..., -1].astype(jnp.uint64)
    if limbs.shape[-1] == 1:
        return low
    return (limbs[..., 0].astype(jnp.uint64) << jnp.uint64(32)) | low


def split(value: Array, limbs: int = LIMBS) -> Array:
    """``uint64[...]`` -> ``uint32[..., limbs]``; with one limb the upper half is dropped."""
    low = value.astype(jnp.uint32)
    if limbs == 1:
        return low[..., None]
    return jnp.stack([(value >> jnp.uint64(32)).astype(jnp.uint32), low], axis=-1)


def word(high: Array, low: Array) -> Array:
    """Two 32-bit words as one ``uint64``."""
    return (high.astype(jnp.uint64) << jnp.uint64(32)) | low.astype(jnp.uint64)


def encode(values, limbs: int = LIMBS) -> np.ndarray:
    """Host: Python integers or a uint64 array -> ``uint32[..., limbs]``."""
    wide = np.asarray(values, np.uint64)
    parts = [(wide >> np.uint64(32)).astype(np.uint32), (wide & np.uint64(0xFFFFFFFF)).astype(np.uint32)]
    return np.stack(parts[-limbs:], axis=-1)


def decode(limbs) -> np.ndarray:
    """Host: ``uint32[..., 1 or 2]`` -> ``uint64[...]``."""
    array = np.asarray(limbs).astype(np.uint64)
    _narrow(array)
    if array.shape[-1] == 1:
        return array[..., 0]
    return (array[..., 0] << np.uint64(32)) | array[..., 1]


def pack(values, limbs: int) -> np.ndarray:
    """Host: integers in [0, 2**(32 limbs)) of any size, in any nesting -> ``uint32[..., limbs]``."""
    whole = np.asarray(values, dtype=object)
    data = b"".join(int(value).to_bytes(4 * limbs, "big") for value in whole.reshape(-1))
    return np.frombuffer(data, ">u4").astype(np.uint32).reshape(*whole.shape, limbs)


def unpack(limbs) -> np.ndarray:
    """Host: ``uint32[..., limbs]`` with any number of limbs -> Python integers, ``object[...]``."""
    array = np.asarray(limbs, np.uint32)
    flat = array.reshape(-1, array.shape[-1]).astype(">u4")
    out = np.empty(len(flat), object)
    out[:] = [int.from_bytes(row.tobytes(), "big") for row in flat]
    return out.reshape(array.shape[:-1])


def _narrow(limbs: Array | np.ndarray) -> None:
    if limbs.shape[-1] > LIMBS:
        actual = f"elements of {limbs.shape[-1]} limbs"
        advice = "larger domains are for Points and Thresholds"
        raise InputError("domain", "at most 2**64 elements for this class, learner or sanitizer", actual, advice)


def sort(
    values: Array, carried: tuple[Array, ...] = (), *, real: Array, below: int, bits: tuple[int, ...] = ()
) -> tuple[Array, ...]:
    """Sorts real ``uint64[n]`` values in ascending order, padding last; ``uint32[n]`` columns are further sort keys.

    below: static; an exclusive upper bound of the values. bits: static; the columns are below 2**bits, 32 by default.
    One operand sorts several times faster than two, so all keys are in one word if they fit, and padding is the largest
    value if there is room for it. What is returned for padding is unspecified.
    """
    bits = bits or (32,) * len(carried)
    left = 64 - sum(bits)
    if below < 2**left:
        key = jnp.where(real, values, jnp.uint64(2**left - 1))
        for column, size in zip(carried, bits, strict=True):
            key = (key << jnp.uint64(size)) | column.astype(jnp.uint64)
        return _unpacked(jnp.sort(key), bits)
    if below < 2**64:
        key = jnp.where(real, values, jnp.uint64(2**64 - 1))
        return tuple(jax.lax.sort((key, *carried), num_keys=1 + len(carried)))
    order = (~real).astype(jnp.uint32)
    return tuple(jax.lax.sort((order, values, *carried), num_keys=2 + len(carried))[1:])


def _unpacked(key: Array, bits: tuple[int, ...]) -> tuple[Array, ...]:
    """The value and the columns of words in which they lie side by side."""
    columns = []
    for size in reversed(bits):
        columns.append((key & jnp.uint64(2**size - 1)).astype(jnp.uint32))
        key = key >> jnp.uint64(size)
    return key, *reversed(columns)
