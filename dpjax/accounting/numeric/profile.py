"""Hockey-stick divergence of two exact laws: the curve delta(epsilon) and its inverse, used by exact audits."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from dpjax.core.checks import InputError

Floats = NDArray[np.float64]

_MASS_TOLERANCE = 1e-6


def hockey_stick(log_p: ArrayLike, log_q: ArrayLike, epsilon: ArrayLike) -> Floats:
    """delta(epsilon) = sum over outcomes of max(0, P - e^epsilon Q): the smallest delta that P against Q needs.

    Args:
      log_p: ``float64[..., m]`` log-probabilities of a law on m outcomes; -inf is probability 0.
      log_q: the same for the neighbor; leading axes broadcast.
      epsilon: ``float64[...]``, finite, broadcast against the leading axes.

    Returns:
      ``float64[...]`` in [0, 1]; every term is positive, so small deltas keep their relative accuracy.
      **One direction only: privacy requires the other one as well.**
    A random function of the outcome raises it at no epsilon.
    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 2.2, Lemmas 2.3 and 2.4.
    """
    log_p, log_q = two_laws(log_p, log_q)
    return loss_delta(log_p, log_ratio(log_p, log_q), epsilon)


def epsilon_at(log_p: ArrayLike, log_q: ArrayLike, delta: ArrayLike) -> Floats:
    """The smallest epsilon >= 0 with ``hockey_stick(log_p, log_q, epsilon) <= delta``; inf if there is none.

    Args:
      log_p: ``float64[..., m]``, as in ``hockey_stick``.
      log_q: ``float64[..., m]``, as in ``hockey_stick``.
      delta: ``float64[...]`` in [0, 1); at 0 this is the largest log-ratio of P to Q.

    Returns:
      ``float64[...]``. **One direction only.**
    """
    log_p, log_q = two_laws(log_p, log_q)
    return loss_epsilon(log_p, log_ratio(log_p, log_q), delta)


def loss_delta(log_mass: ArrayLike, loss: ArrayLike, epsilon: ArrayLike) -> Floats:
    """delta(epsilon) of a privacy-loss law: mass exp(log_mass) under P at loss ln(P/Q), over the last axis."""
    log_mass, loss = np.asarray(log_mass, np.float64), np.asarray(loss, np.float64)
    epsilon = _finite("epsilon", epsilon)[..., None]
    excess = np.minimum(epsilon - loss, 0.0)
    return np.minimum(np.sum(np.exp(log_mass) * -np.expm1(excess), axis=-1), 1.0)


def loss_epsilon(log_mass: ArrayLike, loss: ArrayLike, delta: ArrayLike) -> Floats:
    """The inverse of ``loss_delta``: the smallest epsilon >= 0 whose delta(epsilon) is at most delta.

    It is the largest ln((P(E) - delta) / Q(E)) over the events E = {loss > t}, by Neyman and Pearson.
    """
    log_mass, loss = np.broadcast_arrays(np.asarray(log_mass, np.float64), np.asarray(loss, np.float64))
    delta = _finite("delta", delta)
    if np.any((delta < 0) | (delta >= 1)):
        raise InputError("delta", "numbers in [0, 1)", str(delta), "choose for example 1e-6, or 0 for pure privacy")
    loss = np.where(np.isneginf(log_mass), -np.inf, loss)
    top = np.maximum(np.max(loss, axis=-1), 0.0)

    order = np.argsort(-loss, axis=-1)
    loss, log_mass = np.take_along_axis(loss, order, -1), np.take_along_axis(log_mass, order, -1)
    useful = loss > 0
    gain = np.cumsum(np.where(useful, np.exp(log_mass) * -np.expm1(-np.maximum(loss, 0.0)), 0.0), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_other = np.logaddexp.accumulate(np.where(useful, log_mass - loss, -np.inf), axis=-1)
        # (P(E) - delta) / Q(E) = 1 + (P(E) - Q(E) - delta) / Q(E): accurate for small epsilons too.
        over = np.log(np.maximum(gain - delta[..., None], 0.0)) - log_other
        best = np.max(np.where(np.isnan(over), 0.0, np.logaddexp(0.0, over)), axis=-1)
    return np.where(delta == 0, top, np.minimum(best, top))


def log_ratio(log_p: Floats, log_q: Floats) -> Floats:
    """The privacy loss ln(P/Q) of each outcome; -inf where P is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(log_p), -np.inf, log_p - log_q)


def two_laws(log_p: ArrayLike, log_q: ArrayLike) -> tuple[Floats, Floats]:
    """Both laws in float64, broadcast; InputError unless both are normalized and over the same outcomes."""
    laws = []
    for name, values in (("log_p", log_p), ("log_q", log_q)):
        law = np.asarray(values, np.float64)
        total = logsumexp(law, axis=-1) if law.ndim and law.shape[-1] else np.array(np.nan)
        if not np.all(np.abs(total) <= _MASS_TOLERANCE):
            actual = f"shape {law.shape} with log-masses {np.array2string(total, threshold=4)}"
            advice = "normalize them in float64 with scipy.special.log_softmax"
            raise InputError(name, "log-probabilities whose last axis has total mass 1", actual, advice)
        laws.append(law)
    try:
        log_p, log_q = np.broadcast_arrays(*laws)
    except ValueError:
        shapes = f"{laws[0].shape} and {laws[1].shape}"
        raise InputError("log_q", "the shape of log_p", shapes, "list the same outcomes for both laws") from None
    if laws[0].shape[-1] != laws[1].shape[-1]:
        shapes = f"{laws[0].shape[-1]} and {laws[1].shape[-1]} outcomes"
        raise InputError("log_q", "the outcomes of log_p", shapes, "list the same outcomes for both laws")
    return log_p, log_q


def _finite(name: str, value: ArrayLike) -> Floats:
    array = np.asarray(value, np.float64)
    if not np.all(np.isfinite(array)):
        raise InputError(name, "finite numbers", str(array), f"give {name} as plain numbers")
    return array
