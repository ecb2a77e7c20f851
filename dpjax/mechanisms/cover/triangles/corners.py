"""Row counts in corners and ranges of tables of strips, and sums of weights that do not depend on the order."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.checks import InputError
from dpjax.core.products import exact_einsum

MOST_ROWS = 2**26
_UNITS = 2.0**32
_OTHERS = 2.0**26  # a target counts 1, another row 2**26, so that one float64 sum counts both exactly


def packed(target: Array, other: Array) -> Array:
    """Targets and others of each row in one ``float64[n]``, from disjoint ``bool[n]``; n <= 2**26."""
    if target.shape[0] > MOST_ROWS:
        raise InputError("rows", f"at most 2**26 = {MOST_ROWS}", str(target.shape[0]), "use HalfPlanes for more")
    return target.astype(jnp.float64) + _OTHERS * other.astype(jnp.float64)


def corner_counts(first: Array, second: Array, third: Array, weight: Array, bins: int) -> tuple[Array, Array]:
    """Targets and others in {x : its three bins are on the sides i, j, k}, ``float64[2 B, 2 B, 2 B]`` each, exact.

    Side i < B is bins 0, ..., i and side B + i is bins i, ..., B - 1, so that B - 1 and B are all bins.
    One table of all triples of bins is built in n steps and then summed along its axes in O(B^4), independent of n.

    Args:
      first, second, third: ``int32[n]`` in {0, ..., B - 1}. weight: of `packed`. bins: B, static.
    """
    place = (first * jnp.int32(bins) + second) * jnp.int32(bins) + third
    table = jnp.zeros(bins**3, jnp.float64).at[place].add(weight, mode="promise_in_bounds")
    ones = np.ones((bins, bins))
    sides = jnp.asarray(np.concatenate([np.tril(ones), np.triu(ones)]))  # float64[2 B, B]
    table = table.reshape(bins, bins, bins)
    both = exact_einsum("ia,jb,kc,abc->ijk", sides, sides, sides, table)
    others = jnp.floor(both / _OTHERS)
    return both - _OTHERS * others, others


def range_counts(
    first: Array, second: Array, weight: Array, bins: int, low: np.ndarray, high: np.ndarray
) -> tuple[Array, Array]:
    """Targets and others in {x : its two bins are in ranges i and j}, ``float64[ranges, ranges]`` each, exact.

    Args:
      first, second: ``int32[n]`` in {0, ..., bins - 1}. weight: of `packed`. bins: static.
      low, high: the ends of the ranges, included, ``int32[ranges]`` on the host.
    """
    place = first * jnp.int32(bins) + second
    table = jnp.zeros(bins**2, jnp.float64).at[place].add(weight, mode="promise_in_bounds").reshape(bins, bins)
    below = jnp.pad(jnp.cumsum(jnp.cumsum(table, axis=0), axis=1), ((1, 0), (1, 0)))
    rows = below[high + 1] - below[low]
    both = rows[:, high + 1] - rows[:, low]
    others = jnp.floor(both / _OTHERS)
    return both - _OTHERS * others, others


def log_sum(logs: Array) -> Array:
    """log of the sum of exp over all axes, ``float64[]``, through integer sums: the same bits in any order.

    At least one entry is finite. The relative error of the sum is 2**-64 times the number of entries, plus rounding.
    """
    top = jnp.max(logs)
    return top + jnp.log(unit_sum(jnp.exp(logs - top)))


def unit_sum(parts: Array) -> Array:
    """The sum over all axes, ``float64[]``, of numbers in [0, 1], as in `log_sum`."""
    exact = parts * _UNITS
    units = jnp.floor(exact)
    rest = jnp.floor((exact - units) * _UNITS)
    whole, part = (jnp.sum(one.astype(jnp.int64)).astype(jnp.float64) for one in (units, rest))
    return (whole + part / _UNITS) / _UNITS
