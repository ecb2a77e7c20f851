"""Random numbers from 64 random bits per draw, so that rare events occur at their rate; one threefry hash per draw.

Every draw is prefix-stable in its leading axis, states its dtype, and does not depend on whether
64-bit types are enabled. The float32 samplers of jax.random never exceed 17 scales. Here the float32 survival
function is accurate to 1e-3 up to 36 scales (the limit of 64 bits: one outcome of 2**-64 is already 1.3% of
exp(-40)), and the float64 one, from 128 bits, to 1e-9 up to 60 scales.

This is a research simulator. Do not use floating-point noise to release sensitive data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import partial, wraps
from math import ceil, isfinite, log2, prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import register_dataclass

from dpjax.core.checks import InputError
from dpjax.core.keys import require_typed

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def words(key: Array, shape: tuple[int, ...] = ()) -> tuple[Array, Array]:
    """64 random bits per element, as (high, low) ``uint32[shape]``; ``key`` is consumed.

    The bits are those of ``jax.random.bits(key, shape, "uint64")``. The hash is written out so that XLA fuses it
    with its consumer, which is two to three times faster on a CPU.
    """
    return words_from(stream_of(key), shape)


def stream_of(key: Array) -> Array:
    """The raw stream of a key, ``uint32[2]``, for loops that draw a variable number of words; ``key`` is consumed."""
    require_typed(key)
    if jax.config.jax_debug_key_reuse:  # makes the draw visible to the key-reuse checker; XLA removes it
        jax.random.bits(key, dtype=jnp.uint32)  # a dtype that exists in both 64-bit modes
    return jax.random.key_data(key)


def words_from(stream: Array, shape: tuple[int, ...] = (), start: Array | int = 0) -> tuple[Array, Array]:
    """`words` of a stream from element number ``start`` (uint32) on; read each element at most once."""
    size = prod(shape)
    if size >= 2**32:
        raise InputError("shape", "fewer than 2**32 draws from one key", str(shape), "split the key")
    return _hashed(stream, tuple(shape), jnp.asarray(start, jnp.uint32))


@partial(jax.jit, static_argnames="shape", inline=True)  # one program outside of jit; no effect inside
def _hashed(stream: Array, shape: tuple[int, ...], start: Array) -> tuple[Array, Array]:
    k0, k1 = stream[0], stream[1]
    schedule = (k0, k1, k0 ^ k1 ^ jnp.uint32(0x1BD11BDA))
    x0 = jnp.broadcast_to(k0, shape)
    x1 = jax.lax.iota(jnp.uint32, prod(shape)).reshape(shape) + (start + k1)
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << jnp.uint32(rotation)) | (x1 >> jnp.uint32(32 - rotation))) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + jnp.uint32(group + 1)
    return x0, x1


def _sign_and_unit(key: Array, shape: tuple[int, ...], dtype) -> tuple[Array, Array]:
    """A fair bit and an independent uniform in (0, 1] with full relative precision near 0."""
    if jnp.dtype(dtype) == jnp.float32:
        return _sign_and_unit32(*words(key, shape))
    if jnp.dtype(dtype) != jnp.float64:
        raise InputError("dtype", "float32 or float64", str(dtype), "use one of the two")
    return _sign_and_unit_of(*words(key, (*shape, 2)))


@partial(jax.jit, inline=True)
def _sign_and_unit32(high: Array, low: Array) -> tuple[Array, Array]:
    bit = (low & jnp.uint32(1)).astype(bool)
    rest = (low & jnp.uint32(0xFFFFFFFE)).astype(jnp.float32) + jnp.float32(0.5)
    return bit, high.astype(jnp.float32) * jnp.float32(2.0**-32) + rest * jnp.float32(2.0**-64)  # exact products


def _sign_and_unit_of(high: Array, low: Array) -> tuple[Array, Array]:
    """As `_sign_and_unit` in float64, from two 64-bit words per element, ``uint32[..., 2]`` each."""
    bit = (low[..., 1] & jnp.uint32(1)).astype(bool)
    parts = (high[..., 0], low[..., 0], high[..., 1], low[..., 1] >> jnp.uint32(1))
    exponents = (-32, -64, -96, -127)
    total = (parts[3].astype(jnp.float64) + 0.5) * 2.0 ** exponents[3]
    for part, exponent in zip(parts[2::-1], exponents[2::-1], strict=True):
        total = part.astype(jnp.float64) * 2.0**exponent + total
    return bit, total


_ROWS_ROUND_ALIKE = jax.__version_info__ < (0, 12)


def _in_one_row(sampler: Callable[..., Array]) -> Callable[..., Array]:
    """The sampler, whose logarithms are taken in one row, whatever the shape.

    From JAX 0.12 on, XLA's compiler for CPUs may write out a short last axis, such as 3, and combine some of these
    elements into vectors with a product and a sum in place of one multiply-add. The last bit of their float32
    logarithms then depends on how many rows there are. A single axis becomes a loop, whose vectors and remainder
    have the same operations. With an older JAX the program stays as it is, so that stored results are found.
    """

    @wraps(sampler)
    def draw(key: Array, shape: tuple[int, ...] = (), dtype=jnp.float32) -> Array:
        if _ROWS_ROUND_ALIKE or len(shape) < 2:
            return sampler(key, shape, dtype)
        row = jax.lax.optimization_barrier(sampler(key, (prod(shape),), dtype))  # without it XLA moves the reshape in
        return row.reshape(shape)

    return draw


def uniform(key: Array, shape: tuple[int, ...] = (), dtype=jnp.float32) -> Array:
    """Uniform on (0, 1] with full relative precision near 0 (the smallest value is about 2**-64)."""
    return _sign_and_unit(key, shape, dtype)[1]


@_in_one_row
def exponential(key: Array, shape: tuple[int, ...] = (), dtype=jnp.float32) -> Array:
    """Standard exponential with both tails exact: values from about 2**-64 to 44 in float32."""
    upper, u = _sign_and_unit(key, shape, dtype)
    half = u * jnp.asarray(0.5, dtype)
    # log1p(-half) = log(rest) half / (1 - rest); the quotient corrects the rounding of rest = 1 - half
    rest = jnp.asarray(1, dtype) - half
    lost = jnp.asarray(1, dtype) - rest
    value = -jnp.log(jnp.where(upper, half, rest))
    return jnp.where(upper, value, jnp.where(lost > 0, value * (half / lost), half))


@_in_one_row
def laplace(key: Array, shape: tuple[int, ...] = (), dtype=jnp.float32) -> Array:
    """Standard Laplace (scale 1), |x| up to 44; the absolute spacing near 0 is 2**-24 in float32."""
    negative, u = _sign_and_unit(key, shape, dtype)
    magnitude = -jnp.log(u)
    return jnp.where(negative, -magnitude, magnitude)


def normal(key: Array, shape: tuple[int, ...] = (), dtype=jnp.float32) -> Array:
    """Standard normal: the quantile of a 64-bit uniform in float64; |x| up to 9.1, and up to 13 in float64."""
    wide = jnp.dtype(dtype) == jnp.float64
    high, low = words(key, (*shape, 2) if wide else shape)
    with jax.enable_x64(True):
        if wide:
            negative, u = _sign_and_unit_of(high, low)
        else:
            negative = (low & jnp.uint32(1)).astype(bool)
            rest = (low >> jnp.uint32(1)).astype(jnp.float64) + 0.5
            u = high.astype(jnp.float64) * 2.0**-32 + rest * 2.0**-63
        lower = jax.scipy.special.ndtri(0.5 * u)
        return jnp.where(negative, lower, -lower).astype(dtype)


@register_dataclass
@dataclass(frozen=True)
class GeometricTable:
    """Integer table for sampling a geometric variable.

    The binary digits of a geometric variable with ratio q are independent, and digit i is 1 with
    probability q**(2**i) / (1 + q**(2**i)), so one 64-bit threshold per digit determines the law.

    digits: ``uint32[levels, 2]``, floor(2**64 P(digit i = 1)) as (high, low).
    nonzero: ``uint32[2]``, floor(2**64 P(two-sided variable != 0)), which is 2 q / (1 + q).
    """

    digits: Array
    nonzero: Array


MOST_LEVELS = 31
"""Digits of a draw, which is an int32."""


def geometric_table(scale: float, levels: int | None = None) -> GeometricTable:
    """The table for ratio q = exp(-1/scale), computed on the host to 60 digits.

    scale: > 0, the scale of the discrete Laplace law (sensitivity / epsilon).
    The survival function is accurate to 1e-3 up to 36 scales, as for the other samplers.

    levels: number of digits, at most `MOST_LEVELS`; by default all with a nonzero threshold, so that nothing is
        truncated. Static: set it to sweep scales without recompiling. Fewer digits truncate the tail.
    """
    if not (isfinite(scale) and scale > 0):
        raise InputError("scale", "a finite number > 0", repr(scale), "use sensitivity / epsilon")
    needed = max(1, ceil(log2(45.0 * scale)) + 1)
    levels = needed if levels is None else levels
    if max(levels, needed) > MOST_LEVELS:
        raise InputError("scale", "at most 2e7, so that draws fit in int32", repr(scale), "use a larger epsilon")
    with localcontext() as context:
        context.prec = 60
        inverse = Decimal(1) / Decimal(scale)

        def threshold(probability: Decimal) -> list[int]:
            value = min(int(probability * 2**64), 2**64 - 1)
            return [value >> 32, value & 0xFFFFFFFF]

        q = (-inverse).exp()
        digits = [threshold(1 / (1 + (inverse * 2**i).exp())) for i in range(min(levels, needed))]
        digits += [[0, 0]] * (levels - needed)
        nonzero = threshold(2 * q / (1 + q))
    return GeometricTable(jnp.asarray(np.array(digits, np.uint32)), jnp.asarray(np.array(nonzero, np.uint32)))


def _below(high: Array, low: Array, threshold: Array) -> Array:
    top, rest = (jnp.broadcast_to(threshold[..., i], high.shape) for i in range(2))
    return (high < top) | ((high == top) & (low < rest))


def _digits_value(high: Array, low: Array, table: GeometricTable) -> Array:
    ones = _below(high, low, table.digits).astype(jnp.int32)
    places = jax.lax.broadcasted_iota(jnp.int32, ones.shape, ones.ndim - 1)
    return jnp.sum(ones << places, axis=-1, dtype=jnp.int32)


def geometric(key: Array, table: GeometricTable, shape: tuple[int, ...] = ()) -> Array:
    """P(G = g) = (1 - q) q**g on g >= 0, ``int32[shape]``; integers only, so equal on every backend."""
    return _digits_value(*words(key, (*shape, table.digits.shape[0])), table)


def discrete_laplace(key: Array, table: GeometricTable, shape: tuple[int, ...] = ()) -> Array:
    """P(Z = z) = (1 - q)/(1 + q) q**|z|, ``int32[shape]``; integers only, so equal on every backend.

    q = exp(-1/scale) with the scale of `geometric_table`: sensitivity / epsilon for a private release.
    """
    levels = table.digits.shape[0]
    high, low = words(key, (*shape, levels + 2))
    magnitude = 1 + _digits_value(high[..., :levels], low[..., :levels], table)
    nonzero = _below(high[..., levels], low[..., levels], table.nonzero)
    signed = jnp.where((high[..., levels + 1] & jnp.uint32(1)).astype(bool), -magnitude, magnitude)
    return jnp.where(nonzero, signed, 0)


def randint_below(key: Array, bound: Array, shape: tuple[int, ...] = ()) -> Array:
    """Uniform integers in [0, bound), ``uint32[*shape, limbs]``, for any bound from 1 to 2**(32 limbs) - 1.

    bound: ``uint32[limbs]`` or ``uint32[*shape, limbs]``, most significant limb first, at most 8 limbs.
    Computes the top limbs of (random integer of limbs + 2 limbs) x bound: no rejection, integers only; each
    outcome's probability is within a factor 1 +- 2**-64 of 1 / bound.
    """
    limbs = bound.shape[-1]
    if limbs > 8:
        raise InputError("bound", "at most 8 limbs (256 bits)", f"{limbs} limbs", "draw the limbs separately")
    pairs = (limbs + 3) // 2
    high, low = words(key, (*shape, pairs))
    digits = [half for pair in range(pairs) for half in (high[..., pair], low[..., pair])][: limbs + 2]
    bound = jnp.broadcast_to(bound, (*shape, limbs))
    return jnp.stack(_multiply(digits, [bound[..., i] for i in range(limbs)])[:limbs], axis=-1)


def _multiply(left: list[Array], right: list[Array]) -> list[Array]:
    """The full product of two big-endian numbers of 32-bit limbs, len(left) + len(right) limbs."""
    zero = jnp.zeros_like(left[0])
    out = [zero] * (len(left) + len(right))
    for i in reversed(range(len(left))):
        carry = zero
        for j in reversed(range(len(right))):
            place = i + j + 1
            product_low = left[i] * right[j]
            product_high = jax.lax.mulhi(left[i], right[j])
            partial = out[place] + product_low
            product_high = product_high + (partial < product_low).astype(jnp.uint32)
            total = partial + carry
            carry = product_high + (total < carry).astype(jnp.uint32)
            out[place] = total
        out[i] = carry
    return out
