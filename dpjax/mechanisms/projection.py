"""Bregman projection of exponential weights: the distributions of lazy boosting, in which no row is likely."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import wide
from dpjax.core.checks import InputError

MOST_ROWS, MOST_ROUNDS = 1 << 26, 1 << 12
ROUNDING = 2.0**-32
"""Bound of what rounding adds to the mass, for up to `MOST_ROWS` rows and `MOST_ROUNDS` rounds: see `capped_mass`."""
_ONE = 1 << 62


def capped_mass(least: int) -> float:
    """The probability a with which one draw from `projected` tells neighbors apart, at most 1 / least + 2**-32.

    Proof. Neighbors differ in row i0, and by induction over the rounds all other rows have the same counts. Let p and
    p' be the exact projections, min(cap, C w_i) and min(cap, C' w_i), with C <= C' (else exchange them). Then p' >= p
    outside of i0, so 1 - sum over i != i0 of min(p_i, p'_i) = p_{i0} <= cap = 1 / least. In the program each p_i has a
    relative error below 2**-49 (T + 4), of T additions and products of positive float64 numbers, and an absolute one
    below 2**-61, of the whole number that it is rounded to; both also enter through the total. For T <= 2**12 and
    n <= 2**26 they sum to less than 2**-36 + 2**-34 on each side, and 2**-32 bounds both.

    Reference: Bun, Carmosino, Sorrell 2020; Bun, Gaboardi, Sivakumar 2021, Claim A.2.
    """
    return min(1.0, 1.0 / max(1, least) + ROUNDING)


def projected(correct: Array, mask: Array, shrink: Array, least: Array, rounds: int) -> Array:
    """The closest distribution, in relative entropy, to weights shrink^correct in which no row exceeds 1 / least.

    It is min(1 / least, C shrink^correct_i), with C such that it sums to 1: the rows with the fewest correct labels
    are at the cap. C follows from the histogram of ``correct``, without a search.

    Args:
      correct: ``int32[n]`` in 0..rounds, the rounds in which a row's own label was predicted.
      mask: ``bool[n]``, the real rows.
      shrink: in (0, 1), traced. least: ``int32[]`` >= 1.
      rounds: static, at most 4096.

    Returns: probabilities in units of 2**-62, ``uint32[n, 2]``, for `resample.WeightedResample`; all 0 for fewer real
      rows than ``least``, which have no such distribution.
    """
    if mask.shape[0] > MOST_ROWS or rounds > MOST_ROUNDS:
        actual = f"{mask.shape[0]} rows, {rounds} rounds"
        advice = "boost on fewer rows, or with a larger gamma"
        raise InputError("boosting", f"at most {MOST_ROWS} rows and {MOST_ROUNDS} rounds", actual, advice)
    with jax.enable_x64(True):
        least = jnp.maximum(least, 1)
        counts = jnp.zeros(rounds + 1, jnp.int32).at[correct].add(mask.astype(jnp.int32))
        before = jnp.cumsum(counts, dtype=jnp.int32) - counts
        enough = before[-1] + counts[-1] >= least
        ratio = jnp.asarray(shrink, jnp.float64)

        def backward(tail: Array, count: Array) -> tuple[Array, Array]:
            tail = count.astype(jnp.float64) + ratio * tail
            return tail, tail

        def forward(power: Array, _: None) -> tuple[Array, Array]:
            return power * ratio, power

        _, tails = jax.lax.scan(backward, jnp.float64(0), counts, reverse=True)  # sum over c >= b of N_c shrink^(c - b)
        _, powers = jax.lax.scan(forward, jnp.float64(1), None, length=rounds + 1)
        uncapped = (least - before).astype(jnp.float64) <= tails
        level_of = jnp.arange(rounds + 1, dtype=jnp.int32)
        first = jnp.min(jnp.where(uncapped, level_of, rounds))  # exists if there are enough rows
        top = (least - before[first]).astype(jnp.float64) / (least.astype(jnp.float64) * tails[first])
        place = level_of - first
        level = (top * powers[jnp.maximum(place, 0)] * float(_ONE)).astype(jnp.uint64)
        cap = jnp.uint64(_ONE) // least.astype(jnp.uint64)
        weight = jnp.where(place < 0, cap, jnp.minimum(level, cap))[correct]
        return wide.split(jnp.where(mask & enough, weight, jnp.uint64(0)))
