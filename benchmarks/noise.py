"""Laplace noise with exact tails against JAX's own, which ends below 17 scales."""

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks import peers
from benchmarks.clock import Work, race
from benchmarks.row import Measured, Row
from dpjax.core import keys, random

_BLOCK = 1 << 16  # samples of a block: 256 KiB, within a core's cache
_BLOCKS = 32


def _laplace(draw: Callable[..., Array]) -> Work:
    @jax.jit
    def tile(first: Array) -> Array:
        def block(number: Array) -> Array:
            return draw(keys.of_trial(keys.root(0), number), (_BLOCK,), jnp.float32)

        return jax.lax.map(block, first + jnp.arange(_BLOCKS, dtype=jnp.uint32))

    turn = itertools.count()

    def work() -> int:
        tile(jnp.uint32(next(turn) * _BLOCKS)).block_until_ready()
        return _BLOCK * _BLOCKS

    return work


def _measure(seconds: float) -> Measured:
    return race(_laplace(random.laplace), _laplace(peers.jax_laplace), seconds)


ROWS = (Row("laplace-jax", "jax.random.laplace, float32", "samples/s", 1.0, _measure),)
