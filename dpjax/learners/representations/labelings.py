"""The exponential mechanism over all labelings of buckets in which each bit of a label is 1 on at most d buckets.

There are (sum_{i <= d} binomial(B, i))^L labelings of B buckets by L bits, but errors add up over buckets. So the total
weight of the labelings of the last buckets, given how often each bit may still be 1, is a recursion over buckets with
(d + 1)^L states, and a labeling is drawn bucket by bucket, from one labeled bucket to the next: d L + 1 choices.
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import keys
from dpjax.core.draws import asked
from dpjax.laws import Categorical
from dpjax.mechanisms.exponential import LESS, rate


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


def choose_labeling(key: Array, right: Array, ones: int, bits: int, epsilon: Array) -> tuple[Array, Array]:
    """One function and labeling with probability proportional to exp(epsilon (rows that it labels correctly) / 2).

    Args:
      key: consumed.
      right: ``int32[tries, B, 2^L]``, rows of a bucket of a function by label; a replaced row moves one of them.
      ones, bits: static; d and L.
      epsilon: ``float[]``, > 0.

    Returns: the number of the function, ``int32[]``, and d L pairs of a bucket and its label, ``int32[d L, 2]``, in the
      order of buckets; unused pairs are 0.

    The rate is reduced for rounding, as in `mechanisms.exponential.scaled`, by a fraction that also covers the
    recursion in float64 for the largest total of rows.
    """
    buckets = right.shape[1]
    right = asked(right, "choose_labeling", 1)
    factor = rate(epsilon)
    of_function, of_labels = keys.streams(key, "function", "labels")
    steps = ones * bits
    # each of steps + 2 choices pays for its rounding; the recursion's error is below 2**-50 of its largest log-weight
    # for each bucket, at most 2**-50 x 2**22 x rate for every 2**22 rows
    factor = factor * factor.dtype.type(1 - LESS * (steps + 2 + buckets * 2.0**-10))
    dtype = factor.dtype
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
        found = jax.scipy.special.logsumexp(weights, axis=-1)
        return found, found

    end = jnp.zeros((scaled.shape[0], after.shape[0]), jnp.float64)
    found = jax.lax.scan(step, end, jnp.swapaxes(scaled, 0, 1), reverse=True)[1]
    return jnp.swapaxes(jnp.concatenate([found, end[None]]), 0, 1)
