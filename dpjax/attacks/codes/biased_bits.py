"""Independent bits of given probabilities, 32 users in a word."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random


def biased_words(key: Array, bias: Array, digits: int = 24) -> Array:
    """Words of 32 independent bits that are 1 with probability ``bias`` / 2**digits, exactly: ``uint32[k]``.

    bias: ``uint32[k]``, below 2**digits. digits: even, static. ``key`` is consumed.

    Compares 32 uniform numbers with the bias at once, from the last binary digit to the first: a random digit below
    the bias's makes the bit 1, one above makes it 0, an equal one keeps it. As many random bits for each bit.
    """
    count = bias.shape[0]
    stream = random.stream_of(key)

    def two_digits(step: Array, bits: Array) -> Array:
        drawn = random.words_from(stream, (count,), step.astype(jnp.uint32) * jnp.uint32(count))
        for offset, word in enumerate(drawn):
            digit = (bias >> (2 * step + offset).astype(jnp.uint32)) & jnp.uint32(1)
            bits = jnp.where(digit == 1, bits | ~word, bits & ~word)
        return bits

    # a loop, not unrolled: its result is stored once, whereas unrolled words are recomputed by each of their uses
    return jax.lax.fori_loop(0, digits // 2, two_digits, jnp.zeros(count, jnp.uint32))
