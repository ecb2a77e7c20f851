"""Sparse vector: which queries of a long list are above a threshold, paying only for those that are."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.composition import basic
from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks, random
from dpjax.core.types import Neighboring, as_float
from dpjax.mechanisms.above_threshold import above_threshold_guarantee, inputs


def sparse_vector(
    key: Array,
    queries: Array,
    threshold: Array | float,
    epsilon: Array | float,
    *,
    count: int,
    sensitivity: float = 1,
    where: Array | None = None,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Array:
    """AboveThreshold with epsilon / count, restarted after each answer "above" until there were ``count``.

    Each restart draws a fresh threshold noise, and no gap is released.

    Args:
      key: consumed.
      queries: ``int32[m]`` (or float), in the order in which they are asked.
      threshold: traced scalar that does not depend on the data.
      epsilon: traced scalar > 0, the total.
      count: static, c >= 1.
      sensitivity, where, monotonic: as in `above_threshold`.

    Returns: ``bool[m]``, True for above; all False behind the c-th one.

    Privacy: (epsilon, 0) under ``neighboring``.
    Utility: as `above_threshold` at epsilon / count.
    Reference: Dwork and Roth 2014, Algorithm 2 and Theorem 3.25.
    """
    share = as_float(epsilon) / checks.integer("count", count, 1)
    lead, factor, ratio = inputs(queries, threshold, share, sensitivity, monotonic, neighboring)
    asked = jnp.ones(lead.shape, bool) if where is None else where
    of_threshold, of_queries = jax.random.split(key)
    fresh = random.laplace(of_threshold, (count,), factor.dtype)
    noisy = factor * lead.astype(factor.dtype) + ratio * random.laplace(of_queries, lead.shape, factor.dtype)
    return _ask(noisy, asked, fresh)


@jax.jit
def _ask(noisy: Array, asked: Array, fresh: Array) -> Array:
    """Compares each answer with the threshold noise of its round; the round is the number of answers above so far."""
    count = fresh.shape[0]

    def step(found: Array, query: tuple[Array, Array]) -> tuple[Array, Array]:
        value, real = query
        above = real & (found < count) & (value >= fresh[jnp.minimum(found, count - 1)])
        return found + above.astype(jnp.int32), above

    return jax.lax.scan(step, jnp.int32(0), (noisy, asked))[1]


def sparse_vector_guarantee(
    epsilon: float,
    *,
    count: int,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    what: str = "sparse vector",
) -> Guarantee:
    """``count`` adaptive runs of AboveThreshold at epsilon / count."""
    share = checks.epsilon(epsilon) / checks.integer("count", count, 1)
    part = above_threshold_guarantee(share, monotonic=monotonic, neighboring=neighboring)
    return basic([part], what, rounds=count)
