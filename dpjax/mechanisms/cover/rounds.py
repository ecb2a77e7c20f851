"""Private set cover: round by round a function that hits many targets and few other rows; what is hit is gone."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import checks, keys
from dpjax.mechanisms.cover.counts import NoisyCount
from dpjax.mechanisms.cover.family import Family, Prepared

_MOST = 1e100


def set_cover(
    key: Array,
    family: Family,
    x: Array,
    target: Array,
    other: Array,
    rounds: int,
    k: int,
    coefficient: Array | float,
    scale: Array | float = 0.0,
    offset: Array | float = 0.0,
) -> tuple[Any, Array | None]:
    """``rounds`` members of a family that together hit (nearly) all targets and (nearly) none of the other rows.

    Each round counts the targets that are left, with noise of ``scale``; draws h with density proportional to
    mu(h) exp(coefficient q(h)), q(h) = min{targets hit - (noisy count - offset) / k, -others hit}; and removes the rows
    that h hits. If k members of the family hit all targets and nothing else, some h has q(h) >= 0 without noise.

    Args:
      key: consumed.
      family: static.
      x: the rows, leading with n >= 0, as the family takes them.
      target, other: ``bool[n]``, disjoint; rows under neither (padding) do not matter.
      rounds, k: static, >= 1.
      coefficient: ``float[]`` >= 0, of q in the exponent (half of the epsilon of an exponential mechanism under
        REPLACE_ONE).
      scale: ``float[]`` > 0, of the discrete Laplace noise; or, static, the plain number 0: no noise.
      offset: ``float[]``, taken off the noisy count.

    Returns: (the functions, in the order of the rounds, each leaf leading with ``rounds``; the noisy counts
      ``int32[rounds]``, or None without noise: exact counts must not be seen).

    Privacy: (2 rounds coefficient, 0) without noise, under REPLACE_ONE, for every database: q moves by at most 1, see
      `family.quality`. Better and with noise: `accounting`'s set cover, for the functions with the counts.
    Reference: Kaplan, Mansour, Matias, Stemmer, "Differentially private learning of geometric concepts",
      Section 3 (SetCoverLearner).
    """
    checks.integer("rounds", rounds, 1)
    checks.integer("k", k, 1)
    keys.require_typed(key)
    noise_free = isinstance(scale, int | float) and scale == 0
    with jax.enable_x64(True):
        numbers = coefficient, scale, offset
        coefficient, scale, offset = (jnp.asarray(number).astype(jnp.float64) for number in numbers)
        coefficient = jnp.where(coefficient > 0, jnp.minimum(coefficient, _MOST), 0.0)
        rows = family.prepare(x) if isinstance(family, Prepared) else x

        def one(alive: Array, own: Array) -> tuple[Array, tuple[Any, Array | None]]:
            of_count, of_choice = keys.streams(own, "count", "choice")
            left = jnp.sum(alive & target, dtype=jnp.int32)
            count = left if noise_free else NoisyCount(left, scale).sample(of_count)
            budget = count.astype(jnp.float64) - offset
            h = family.select(of_choice, rows, alive & target, alive & other, budget, k, coefficient)
            return alive & ~family.hits(h, rows), (h, None if noise_free else count)

        return jax.lax.scan(one, target | other, keys.per_index(key, rounds))[1]
