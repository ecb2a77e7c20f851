"""The exponential mechanism: choose a candidate with probability proportional to exp(rate x score)."""

import jax.numpy as jnp
from jax import Array

from dpjax.accounting.zcdp import exponential_guarantee as exponential_guarantee
from dpjax.core.checks import InputError
from dpjax.core.draws import asked
from dpjax.core.types import Neighboring
from dpjax.laws import Categorical, fold_max
from dpjax.mechanisms._inputs import epsilon_of, lag, positive, vector


def rate(
    epsilon: Array | float,
    sensitivity: float = 1,
    *,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Array:
    """The factor of the score in the exponent: epsilon / (2 sensitivity), or epsilon / sensitivity if monotonic.

    monotonic: static; all scores move the same way when a row is added. Refused under REPLACE_ONE, where a
        replaced row moves some up and others down and the doubled rate would cost 2 epsilon.
    """
    if monotonic and neighboring is Neighboring.REPLACE_ONE:
        raise InputError(
            "monotonic", "False under REPLACE_ONE", "True",
            "use neighboring=ADD_OR_REMOVE_ONE, or leave monotonic out",
        )  # fmt: skip
    return epsilon_of(epsilon) / (positive("sensitivity", sensitivity) * (1 if monotonic else 2))


def exponential(
    scores: Array,
    epsilon: Array | float,
    *,
    sensitivity: float = 1,
    where: Array | None = None,
    log_base: Array | None = None,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Categorical:
    """The exponential mechanism over m candidates.

    Args:
      scores: ``int32[m]`` (or float); larger is better. The maximum is subtracted before scaling; differences of whole
        numbers saturate at the largest number of their type.
      epsilon: traced scalar > 0.
      sensitivity: static; the most that one neighbour moves any score.
      where: ``bool[m]``, candidates that exist; must not depend on the data.
      log_base: ``float[m]``, log of a base measure that does not depend on the data.
      monotonic: static; see `rate`.

    Returns: Categorical on {0..m-1}; an empty ``where`` samples -1.

    Privacy: (epsilon, 0) under ``neighboring``, and epsilon-bounded range.
    Utility: the score is at least max - (ln m + s) / rate with probability 1 - exp(-s).
    Reference: McSherry and Talwar 2007, Theorem 6.
    """
    factor = rate(epsilon, sensitivity, monotonic=monotonic, neighboring=neighboring)
    scores = vector("scores", scores, integers=False, unsigned=True)
    return scaled(asked(scores, "exponential", sensitivity), factor, where, log_base)


def scaled(scores: Array, factor: Array, where: Array | None = None, log_base: Array | None = None) -> Categorical:
    """The law proportional to exp(factor x score), for those who vouch for the sensitivity themselves."""
    lowest = jnp.iinfo(scores.dtype).min if jnp.issubdtype(scores.dtype, jnp.integer) else -jnp.inf
    existing = scores if where is None else jnp.where(where, scores, jnp.asarray(lowest, scores.dtype))
    best = fold_max(existing)
    weights = factor * lag(existing, best, factor.dtype)
    largest: Array | None = factor * (best - best).astype(factor.dtype)
    if log_base is not None:
        weights, largest = weights + log_base.astype(factor.dtype), None
    if where is not None:
        weights = jnp.where(where, weights, -jnp.inf)
        largest = None if largest is None else jnp.where(jnp.any(where), largest, -jnp.inf)
    return Categorical(weights, largest=largest)
