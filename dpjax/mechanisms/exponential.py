"""The exponential mechanism: choose a candidate with probability proportional to exp(rate x score)."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.accounting.numeric.ranges import positive
from dpjax.core.checks import InputError
from dpjax.core.draws import asked
from dpjax.core.types import Neighboring, require_relation
from dpjax.laws import Categorical, fold_max
from dpjax.laws.table import NEVER
from dpjax.mechanisms._inputs import epsilon_of, lag, vector

_RESOLUTION = 2.0**-31
LESS = 2.0**-14  # the fraction by which `scaled` reduces a float32 inverse temperature
RAN = (1 - LESS) * (1 - 2.0**-22)  # what it leaves, at the least, of one that is first rounded down


def rate(
    epsilon: Array | float,
    sensitivity: float = 1,
    *,
    monotonic: bool = False,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
) -> Array:
    """The inverse temperature: epsilon / (2 sensitivity), or epsilon / sensitivity if monotonic.

    monotonic: static; adding a row changes all scores in the same direction. InputError under REPLACE_ONE: a
        replaced row increases some scores and decreases others, so the doubled rate would cost 2 epsilon.
    """
    require_relation(neighboring)
    if monotonic and neighboring is Neighboring.REPLACE_ONE:
        raise InputError(
            "monotonic", "False under REPLACE_ONE", "True", "use neighboring=ADD_OR_REMOVE_ONE, or leave monotonic out"
        )
    return epsilon_of(epsilon) / (positive("sensitivity", sensitivity) * (1 if monotonic else 2))


def resolved(factor: Array, nats: Array | float) -> Array:
    """The inverse temperature, or 0 if rounding of log-bases of up to ``nats`` would cost more privacy than it gives,
    see `scaled`: below 4e-8 for 64 bits."""
    return jnp.where(factor >= _RESOLUTION * nats, factor, jnp.zeros_like(factor))


def effective_epsilon(epsilon: float) -> float:
    """The epsilon, at the least, at which `exponential` runs if a plan has ``epsilon``, rounded down to float32.

    Theorems about utility are at this one, guarantees at the plan's; host.
    """
    return float(epsilon) * RAN


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
      scores: ``int32[m]`` (or float); larger is better. The maximum is subtracted before scaling; integer differences
        saturate at the range of their dtype. Finite: NaN and infinity are an InputError, but for traced scores, whose
        law then has no guarantee (with a NaN it samples -1).
      epsilon: traced scalar > 0.
      sensitivity: static; the largest change of any score between neighbors.
      where: ``bool[m]``, candidates that exist; must not depend on the data.
      log_base: ``float[m]``, log of a base measure that does not depend on the data.
      monotonic: static; see `rate`.

    Returns: Categorical on {0..m-1}; an empty ``where`` samples -1.

    Privacy: (epsilon, 0) under ``neighboring``, and epsilon-bounded range.
    Utility: the score is at least max - (ln m + s) / rate with probability 1 - exp(-s).
    Reference: McSherry and Talwar 2007, Theorem 6; Bun, Nissim, Stemmer 2016, Proposition 3.8; Kaplan, Mansour, Matias,
      Stemmer 2019, Definition 2.14 and Proposition 2.15; Yan 2025, Theorem 8.
    """
    factor = rate(epsilon, sensitivity, monotonic=monotonic, neighboring=neighboring)
    scores = vector("scores", scores, integers=False, unsigned=True, spread=sensitivity)
    if log_base is not None:
        factor = resolved(factor, jnp.max(jnp.where(jnp.isfinite(log_base), jnp.abs(log_base), 0), initial=0))
    return scaled(asked(scores, "exponential", sensitivity), factor, where, log_base)


def scaled(scores: Array, factor: Array, where: Array | None = None, log_base: Array | None = None) -> Categorical:
    """The law proportional to exp(factor x score); the caller is responsible for the sensitivity.

    A float32 factor is reduced by the fraction `LESS` to pay for rounding: an error of at most E in the log-weights
    changes the privacy loss by at most 4 E. Here E = (2**-48 + 2**-52) factor x lag, and 32-bit integers lag by less
    than 2**31, so 4 E < 0.54 LESS factor. A base of r nats adds 2**-46 r, which fits in the rest if factor >= 2**-31 r
    (`resolved`).
    """
    lowest = jnp.iinfo(scores.dtype).min if jnp.issubdtype(scores.dtype, jnp.integer) else -jnp.inf
    existing = scores if where is None else jnp.where(where, scores, jnp.asarray(lowest, scores.dtype))
    best = fold_max(existing)
    if factor.dtype == jnp.float32:
        factor = factor * jnp.float32(1 - LESS)
        if log_base is None and scores.dtype == jnp.int32:  # many candidates: a draw scales only what it reads
            lags, largest = lag(existing, best, jnp.int32), factor * jnp.float32(0)
            weights = factor * lags.astype(jnp.float32)
            if where is not None:
                lags, largest = jnp.where(where, lags, NEVER), jnp.where(jnp.any(where), largest, -jnp.inf)
                weights = jnp.where(where, weights, -jnp.inf)
            return Categorical(weights, False, largest, lags, factor)
    with jax.enable_x64(True):
        base = 0.0 if log_base is None else log_base.astype(jnp.float64)
        weights = factor.astype(jnp.float64) * lag(existing, best, jnp.float64) + base
        weights = weights if where is None else jnp.where(where, weights, -jnp.inf)
        most = fold_max(weights)  # the distance from the maximum is rounded
        return Categorical.of(weights - jnp.where(jnp.isfinite(most), most, 0), factor.dtype)
