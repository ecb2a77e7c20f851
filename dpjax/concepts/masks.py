"""ANDs of literals as pairs of masks: packing into one number, and probabilities."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.concepts.cube import UniformCube
from dpjax.concepts.packing import unpack
from dpjax.concepts.product import ProductCube
from dpjax.core.checks import InputError


class Masks(NamedTuple):
    """The coordinates that must be 1 and those that must be 0, ``uint32[k, limbs]`` each, as elements of the cube."""

    positive: Array
    negative: Array

    def holds(self, x: Array) -> Array:
        """``bool[..., k]`` for elements ``uint32[..., limbs]``."""
        wrong = jnp.zeros((), bool)
        for limb in range(x.shape[-1]):  # limb by limb, which avoids an array [..., k, limbs]
            value = x[..., None, limb]
            ones, zeros = (part[:, limb].reshape((1,) * (x.ndim - 1) + (-1,)) for part in self)
            wrong = wrong | ((ones & ~value) | (zeros & value) != jnp.uint32(0))
        return ~wrong

    def both(self, other: "Masks") -> "Masks":
        """The elementwise ANDs of two lists."""
        return Masks(self.positive | other.positive, self.negative | other.negative)


def disagreement(dimension: int, distribution: Any, one: Masks, other: Masks) -> Array:
    """P(a) + P(b) - 2 P(a and b) >= 0 in units of 2**-64, ``uint64[k]``; 2**64 - 1 represents 1.

    Uniform distribution: exact up to 64 literals in (a and b), else an error below 2 units. Product of
    d coordinates: an error of at most 4 (d - 1) units. 64-bit types enabled.

    Raises: InputError unless the distribution is a `UniformCube` or `ProductCube` of the dimension.
    """
    if not isinstance(distribution, UniformCube | ProductCube) or distribution.dimension != dimension:
        expected = f"UniformCube or ProductCube of {dimension} coordinates"
        advice = "errors have a closed form for these distributions only"
        raise InputError("distribution", expected, repr(distribution), advice)
    both = one.both(other)
    if isinstance(distribution, UniformCube):
        (p, p_whole), (q, q_whole), (joint, _) = (_uniform(masks) for masks in (one, other, both))
        mass = (p - joint) + (q - joint)
        wrapped = (mass < p - joint) | ((mass == 0) & (p_whole != q_whole))
        return jnp.where(wrapped, jnp.uint64(2**64 - 1), mass)
    p, q, joint = (_product(distribution, masks) for masks in (one, other, both))
    halves = (p - jnp.minimum(p, joint)) + (q - jnp.minimum(q, joint))  # rounded down, p may be below joint
    return jnp.where(halves >= jnp.uint64(2**63), jnp.uint64(2**64 - 1), halves << jnp.uint64(1))


def _uniform(masks: Masks) -> tuple[Array, Array]:
    """(probability in units of 2**-64 modulo 2**64, rounded down to 0 below a unit; whether it is 1)."""
    empty = jnp.any(masks.positive & masks.negative != 0, axis=-1)
    ones = jax.lax.population_count(masks.positive) + jax.lax.population_count(masks.negative)
    count = jnp.sum(ones, axis=-1, dtype=jnp.uint64)
    some = jnp.uint64(1) << (jnp.uint64(64) - jnp.clip(count, 1, 64))
    return jnp.where(empty | (count == 0) | (count > 64), jnp.uint64(0), some), ~empty & (count == 0)


def _product(distribution: ProductCube, masks: Masks) -> Array:
    """Probability in units of 2**-63, exact or at most d - 1 units too small."""
    ones, whole = distribution.ones.astype(jnp.uint64)[None], jnp.uint64(1 << 32)
    positive, negative = (unpack(part[:, ::-1], distribution.dimension) for part in masks)
    factors = jnp.where(positive, ones, jnp.where(negative, whole - ones, whole)) << jnp.uint64(31)
    return product(jnp.where(positive & negative, jnp.uint64(0), factors))


def split(number: Array, dimension: int) -> Masks:
    """`Masks` of numbers ``uint32[k, W]``: bit i for coordinate i negated, bit d + i for coordinate i."""
    limbs = -(-dimension // 32)
    words = jnp.pad(number[:, ::-1], ((0, 0), (0, 2 * limbs + 1)))  # least significant first
    last = jnp.uint32((1 << (dimension - 1) % 32 + 1) - 1)
    parts = []
    for start in (dimension, 0):
        low, high = words[:, start // 32 :][:, :limbs], words[:, start // 32 + 1 :][:, :limbs]
        by = start % 32
        part = (low >> jnp.uint32(by)) | (high << jnp.uint32(32 - by)) if by else low
        parts.append(part.at[:, -1].set(part[:, -1] & last)[:, ::-1])
    return Masks(*parts)


def join(masks: Masks, dimension: int) -> Array:
    """The inverse of `split`: ``uint32[k, W]`` with W = max(2, ceil(2 d / 32))."""
    wanted, by, limbs = max(2, -(-2 * dimension // 32)), dimension % 32, masks.positive.shape[1]
    positive, negative = (part[:, ::-1] for part in masks)
    moved = jnp.pad(positive << jnp.uint32(by), ((0, 0), (0, 1)))
    if by:
        moved = moved | jnp.pad(positive >> jnp.uint32(32 - by), ((0, 0), (1, 0)))
    wide = jnp.pad(moved, ((0, 0), (dimension // 32, wanted)))[:, :wanted]
    return (wide | jnp.pad(negative, ((0, 0), (0, wanted - limbs))))[:, ::-1]


def product(factors: Array) -> Array:
    """Products along the last axis of numbers in [0, 1] in units of 2**-63, ``uint64``; at most count - 1 units low.

    Multiplies pairs, then pairs of pairs, rounding down: the errors of two factors add, plus one unit.
    """
    while factors.shape[-1] > 1:
        odd = factors.shape[-1] % 2
        factors = jnp.pad(factors, ((0, 0), (0, odd)), constant_values=np.uint64(1 << 63)) if odd else factors
        left, right = factors[:, 0::2], factors[:, 1::2]
        factors = (jax.lax.mulhi(left, right) << jnp.uint64(1)) | (left * right >> jnp.uint64(63))
    return factors[:, 0]
