"""The best threshold of a score, selected on training trials; and audits of existing scores."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import binom

from dpjax.audit.sampling.ratio_test import epsilon_lower
from dpjax.core import checks
from dpjax.core.checks import InputError

_TRAINING = 0.2
_FREE = 0.05 * 0.05  # level of the quantile of free guesses, in estimates
_CALLBACK_CELLS = 32  # of the ratio test inside a program, which computes many bounds at once


class Aim(NamedTuple):
    """What a selection is for: the claim, the fresh trials a side, and the quantile of the level; all ``float32[]``.

    free: the fraction of right guesses that delta allows in this number of trials.
    """

    epsilon: Array
    delta: Array
    fresh: Array
    deviations: Array
    free: Array

    @staticmethod
    def of(epsilon: float, delta: float, fresh: int, confidence: float) -> "Aim":
        """Of plain numbers."""
        free = float(binom.isf(_FREE, 2 * fresh, delta)) / (2 * fresh) if delta > 0 else 0.0
        numbers: Any = [np.float32(x) for x in (epsilon, delta, fresh, ndtri(confidence), free)]
        return Aim(*numbers)


class Threshold(NamedTuple):
    """The event score >= value or its complement, more likely on the second side if ``swapped``; all of shape ``[]``.

    merit: the selection criterion; -inf if no threshold is informative.
    """

    value: Array
    complement: Array
    swapped: Array
    merit: Array


def best_threshold(
    first: Array, second: Array, merit: Callable[[Array, Array, int], Array], swaps: tuple[bool, ...] = (False, True)
) -> Threshold:
    """The threshold, tail and direction of largest merit for scores ``float32[t]`` of t training trials per database.

    merit(p, q, t): of an event with these estimated probabilities on the more likely and on the other database. swaps:
    the allowed directions: False if the first database is the more likely one. Scores must not be NaN.
    """
    trained = first.shape[0]
    with jax.enable_x64(True):
        bit = jnp.uint64(1)
        packed = jnp.concatenate([_sortable(first) << bit | bit, _sortable(second) << bit])  # one operand sorts fastest
        packed = jnp.sort(packed)[::-1]
        from_first = (packed & bit).astype(jnp.int32)
        ends = packed[:-1] >> bit != packed[1:] >> bit  # ties stay on one side
        value = _score(packed >> bit)[:-1]
    x = jnp.cumsum(from_first, dtype=jnp.int32)[:-1]
    y = jnp.arange(1, 2 * trained, dtype=jnp.int32) - x
    cases = [(c, s) for c in (False, True) for s in swaps]
    options = []
    for complement, swapped in cases:
        pair = (trained - y, trained - x) if complement else (y, x)
        p, q = ((part.astype(jnp.float32) + 0.5) / (trained + 1) for part in (pair if swapped else pair[::-1]))
        options.append(jnp.where(ends, merit(p, q, trained), -jnp.inf))
    table = jnp.stack(options)
    best = jnp.argmax(table)
    case, at = best // (2 * trained - 1), best % (2 * trained - 1)
    of_case = jnp.asarray(np.array(cases))[case]
    return Threshold(value[at], of_case[0], of_case[1], table.reshape(-1)[best])


def promise(p: Array, q: Array, trained: int, aim: Aim) -> Array:
    """The bound on epsilon expected from fresh trials: the estimate minus ``aim.deviations`` standard errors.

    Also minus sqrt(ln t) standard errors over the t training trials, since the best of many thresholds is biased
    upward.
    """
    gain = jnp.maximum(p - aim.delta, jnp.float32(1e-30))
    spread = jnp.sqrt(p * (1 - p) / (gain * gain) + (1 - q) / q)
    return jnp.where(p > aim.delta, jnp.log(gain / q) - _margin(trained, aim) * spread, -jnp.inf)


def excess(p: Array, q: Array, trained: int, aim: Aim) -> Array:
    """The excess of p over e^epsilon q + delta in standard errors of one trial."""
    scale = jnp.exp(aim.epsilon)
    return (p - aim.delta - scale * q) / jnp.sqrt(p * (1 - p) + scale * scale * q * (1 - q))


def promise_of_guesses(right: Array, wrong: Array, trained: int, aim: Aim) -> Array:
    """As `promise`, of a rule that guesses; right, wrong: probabilities of its guesses in a trial with a fair coin.

    A test of guesses has 2 ``aim.fresh`` such trials. For one event and probabilities p and q: the promise of the rule
    whose other guess is its mirror.
    """
    gain = jnp.maximum(right - aim.free, jnp.float32(1e-30))
    spread = jnp.sqrt((1 / gain + 1 / wrong) / 2)
    return jnp.where(right > aim.free, jnp.log(gain / wrong) - _margin(trained, aim) * spread, -jnp.inf)


def excess_of_guesses(right: Array, wrong: Array, trained: int, aim: Aim) -> Array:
    """As `excess`, of a rule that guesses: in standard errors of two trials, one for each database."""
    scale = jnp.exp(aim.epsilon)
    return (right - aim.delta - scale * wrong) * jnp.sqrt(jnp.float32(2)) / jnp.sqrt(right + scale * scale * wrong)


def _margin(trained: int, aim: Aim) -> Array:
    return aim.deviations / jnp.sqrt(aim.fresh) + jnp.float32(np.sqrt(np.log(trained + 1) / trained))


def _sortable(score: Array) -> Array:
    """Order-preserving map from float32 to uint64."""
    bits = jax.lax.bitcast_convert_type(score + jnp.float32(0), jnp.uint32)  # maps -0 to 0
    return jnp.where(_negative(bits), ~bits, bits | jnp.uint32(1 << 31)).astype(jnp.uint64)


def _score(key: Array) -> Array:
    bits = key.astype(jnp.uint32)
    bits = jnp.where(_negative(bits), bits ^ jnp.uint32(1 << 31), ~bits)
    return jax.lax.bitcast_convert_type(bits, jnp.float32)


def _negative(bits: Array) -> Array:
    return bits >= jnp.uint32(1 << 31)


def epsilon_of_scores(first: ArrayLike, second: ArrayLike, *, delta: float = 0.0, confidence: float = 0.95) -> Array:
    """A lower bound on epsilon, at the stated confidence, from scores of independent runs on two neighbors.

    A fifth of the scores selects threshold, tail and direction; the others test this one event.

    Args:
      first, second: n >= 50 numbers each, without NaN; in an order independent of the scores. Only their order counts:
        lists and NumPy arrays of any dtype are not rounded.
      delta: static, in [0, 1). confidence: static.

    Returns: ``float64[]`` (float32 without 64-bit types) >= 0. Jittable; vmap or map it over many audits: the test
      itself runs on the host.
    """
    checks.delta(delta)
    level = 1 - checks.probability("confidence", confidence)
    first, second = _comparable(first, second)
    n = first.shape[-1] if first.ndim == 1 else 0
    if first.shape != second.shape or n < 50:
        raise InputError("scores", "equally many, at least 50", f"{first.shape} and {second.shape}", "run more trials")
    training = int(_TRAINING * n)
    merit = functools.partial(promise, aim=Aim.of(0.0, delta, n - training, confidence))
    chosen = best_threshold(first[:training], second[:training], merit)
    x, y = (jnp.sum((part[training:] >= chosen.value) ^ chosen.complement, dtype=jnp.int32) for part in (first, second))
    x, y = jnp.where(chosen.swapped, y, x), jnp.where(chosen.swapped, x, y)

    def host(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total = n - training
        return epsilon_lower(x, total, y, total, delta, significance=level, cells=_CALLBACK_CELLS).astype(kind)

    kind = jax.dtypes.canonicalize_dtype(np.float64)
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), kind), x, y, vmap_method="broadcast_all")


def _comparable(first: Any, second: Any) -> tuple[Array, Array]:
    """Scores as ``float32[n]``: JAX's as they are, others by their place among all of them."""
    if isinstance(first, Array) and isinstance(second, Array):
        host = () if isinstance(first, jax.core.Tracer) or isinstance(second, jax.core.Tracer) else (first, second)
    else:
        host = first, second
    numbers = []
    for part in host:
        try:
            numbers.append(np.asarray(part))
        except (TypeError, ValueError) as error:
            raise InputError("scores", "numbers", type(part).__name__, "give one number for each run") from error
        if numbers[-1].dtype.kind not in "biuf" or np.isnan(numbers[-1]).any():
            kind = "NaN" if numbers[-1].dtype.kind == "f" else str(numbers[-1].dtype)
            raise InputError("scores", "numbers without NaN", kind, "give one number for each run")
    if isinstance(first, Array) and isinstance(second, Array):
        return first, second
    place = np.unique(np.concatenate([part.reshape(-1) for part in numbers]), return_inverse=True)[1]
    parts = np.split(place.astype(np.float32), [numbers[0].size])
    return tuple(jnp.asarray(part.reshape(array.shape)) for part, array in zip(parts, numbers, strict=True))  # type: ignore[return-value]
