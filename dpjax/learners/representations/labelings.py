"""The exponential mechanism over all labelings of buckets in which each bit of a label is 1 on at most d buckets.

There are (sum_{i <= d} binomial(B, i))^L labelings of B buckets by L bits, but errors add up over buckets. So the total
weight of the labelings of the last buckets, given how often each bit may still be 1, is a recursion over buckets with
(d + 1)^L states, and a labeling is drawn bucket by bucket, from one labeled bucket to the next: d L + 1 choices.
"""

from functools import cache
from itertools import product
from math import log
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import keys
from dpjax.core.checks import InputError
from dpjax.core.draws import asked
from dpjax.laws import Categorical
from dpjax.mechanisms.exponential import LESS, rate

_ROWS = 1 << 22


class States(NamedTuple):
    """How often each bit has been 1: ``after`` a label, ``int32[S, 2^L]``, and whether that is ``allowed``. Start 0."""

    after: np.ndarray
    allowed: np.ndarray


@cache
def states(ones: int, bits: int) -> States:
    """The states for L bits, each 1 on at most ``ones`` buckets."""
    counts = np.array(list(product(range(ones + 1), repeat=bits)), np.int64)
    added = np.array([[label >> i & 1 for i in range(bits)] for label in range(1 << bits)])
    grown = counts[:, None] + added[None]
    allowed = np.all(grown <= ones, axis=-1)
    weights = (ones + 1) ** np.arange(bits)[::-1]
    return States(np.where(allowed, grown @ weights, 0).astype(np.int32), allowed)


def choose_labeling(
    key: Array, right: Array, ones: int, bits: int, epsilon: Array, capacity: int = _ROWS
) -> tuple[Array, Array]:
    """One function and labeling with probability proportional to exp(epsilon (rows that it labels correctly) / 2).

    Args:
      key: consumed.
      right: ``int32[tries, B, 2^L]``, rows of a bucket of a function by label; a replaced row moves one of them.
      ones, bits: static; d and L.
      epsilon: ``float[]``, > 0. capacity: static; an upper bound of the rows, at most 2^22. The rate depends on that
        bound of all capacities, not on this one, which may be private.

    Returns: the number of the function, ``int32[]``, and d L pairs of a bucket and its label, ``int32[d L, 2]``, in the
      order of buckets; unused pairs are 0.

    The rate is reduced to pay for rounding. Each of the m = d L + 1 choices is a draw whose log-weights have an error
    of at most E, which changes its privacy loss by at most 4 E: 2^-48 of the largest log-weight, at most rate x
    2^22, for the draw itself (`mechanisms.exponential.LESS`), and for each of the B steps of the recursion 2^-51 of
    what it adds up, at most the largest log-weight and l, the logarithm of the number of labelings. The loss is twice
    the rate, so the rate is reduced by the fraction (m + 1) (LESS + 2^-49 B 2^22) and by (m + 1) B (l + 8) 2^-49.
    """
    if capacity > _ROWS:
        raise InputError("capacity", f"at most {_ROWS} rows", str(capacity), "take a smaller buffer, or fewer rows")
    buckets = right.shape[1]
    right = asked(right, "choose_labeling", 1)
    factor = rate(epsilon)
    of_function, of_labels = keys.streams(key, "function", "labels")
    steps = ones * bits
    dtype, draws = factor.dtype, steps + 2
    fraction = draws * (LESS + 2.0**-49 * buckets * _ROWS)
    fixed = draws * buckets * 2.0**-49 * (steps * log(buckets + 1) + 8)
    factor = jnp.maximum(factor * dtype.type(max(0.0, 1 - fraction)) - dtype.type(fixed), 0)
    with jax.enable_x64(True):
        scaled = factor.astype(jnp.float64) * (right - right[..., :1]).astype(jnp.float64)  # of label 0: 0
        later = _later(scaled, ones, bits)
        unlabeled = jnp.sum(right[..., 0], axis=1, dtype=jnp.int32)
        behind = (unlabeled - jnp.max(unlabeled)).astype(jnp.float64) * factor.astype(jnp.float64)
        totals = behind + later[:, 0, 0]
        function = Categorical.of(totals - jnp.max(totals), dtype).sample(of_function)
        scaled, later = scaled[function], later[function]
        table = states(ones, bits)
        after, allowed = jnp.asarray(table.after), jnp.asarray(table.allowed)
        place = jnp.arange(buckets, dtype=jnp.int32)

        def step(carry: tuple[Array, Array], own: Array) -> tuple[tuple[Array, Array], Array]:
            """The next labeled bucket and its label; none has index 0."""
            first, state = carry
            weight = scaled + later[1:][:, after[state]]
            fits = allowed[state] & (place >= first)[:, None]
            weight = jnp.where(fits, weight, -jnp.inf)[:, 1:].reshape(-1)
            every = jnp.concatenate([jnp.zeros(1, jnp.float64), weight])
            index = jnp.maximum(Categorical.of(every - jnp.max(every), dtype).sample(own), 0)
            bucket, label = (index - 1) // (allowed.shape[1] - 1), (index - 1) % (allowed.shape[1] - 1) + 1
            none = index == 0
            pair = jnp.where(none, jnp.int32(0), jnp.stack([bucket, label]).astype(jnp.int32))
            following = jnp.where(none, jnp.int32(buckets), pair[0] + 1)
            return (following, jnp.where(none, state, after[state, pair[1]])), pair

        start = jnp.int32(0), jnp.int32(0)
        pairs = jax.lax.scan(step, start, keys.per_index(of_labels, steps))[1]
    return function, pairs


def _later(scaled: Array, ones: int, bits: int) -> Array:
    """The log of the total weight of all labelings of buckets b, ..., B - 1 from each state, ``float64[tries, B + 1,
    S]``, for log-weights ``float64[tries, B, 2^L]``."""
    table = states(ones, bits)
    after, allowed = jnp.asarray(table.after), jnp.asarray(table.allowed)

    def step(behind: Array, own: Array) -> tuple[Array, Array]:
        weights = jnp.where(allowed, own[:, None, :] + behind[:, after], -jnp.inf)
        totals = jax.scipy.special.logsumexp(weights, axis=-1)
        return totals, totals

    end = jnp.zeros((scaled.shape[0], after.shape[0]), jnp.float64)
    totals = jax.lax.scan(step, end, jnp.swapaxes(scaled, 0, 1), reverse=True)[1]
    return jnp.swapaxes(jnp.concatenate([totals, end[None]]), 0, 1)
