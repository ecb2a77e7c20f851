"""Errors by listing the elements of a small domain."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax.concepts.example_distribution import ExampleDistribution
from dpjax.core import wide
from dpjax.core.checks import InputError
from dpjax.core.members import implements

MOST_ELEMENTS = 1 << 16


def elements(domain: Any, distribution: Any) -> tuple[Array, Array]:
    """All elements that can occur, ``uint32[e, limbs]``, and their masses, ``uint64[e]``; 64-bit types enabled.

    InputError unless the distribution is one of single elements, or the domain has at most 2**16 elements and the
    distribution has ``mass_at``.
    """
    if distribution.atoms:
        return distribution.start[:, -domain.limbs :], wide.join(distribution.weight)
    if not implements(distribution, ExampleDistribution.mass_at) or domain.size > MOST_ELEMENTS:
        expected = "one of single elements, or a domain of at most 2**16 elements with masses (mass_at)"
        advice = "the error is a sum over elements here: take distributions.from_weights or a smaller domain"
        raise InputError("distribution", expected, f"{type(distribution).__name__} over {domain}", advice)
    number = jnp.arange(domain.size, dtype=jnp.uint32)
    return number[:, None], distribution.mass_at(number.astype(jnp.uint64))


def mass_of(wrong: Array, mass: Array) -> Array:
    """The mass of the elements ``bool[e, k]``, ``uint64[k]``; 2**64 - 1 for all of it if that is 2**64."""
    parts = jnp.where(wrong, mass[:, None], jnp.uint64(0))
    total = jnp.sum(parts, axis=0)
    return jnp.where((total == 0) & jnp.any(parts > 0, axis=0), jnp.uint64(2**64 - 1), total)  # 2**64 wraps to 0
