"""Simultaneous bands for success rates, and the exponent of a measured sample complexity."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.intervals import Floats, clopper_pearson


def simultaneous_band(successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Clopper-Pearson intervals of all K points, each at level (1 - confidence) / K.

    Args and shapes as in clopper_pearson; K is the number of entries. With probability >= confidence all K
    intervals cover at once, if the points and the numbers of trials were fixed in advance; the points need not be
    independent. **If points are selected after looking at the results, K counts all candidates.**
    """
    checks.probability("confidence", confidence)
    points = max(np.size(successes), 1)
    return clopper_pearson(successes, trials, 1 - (1 - confidence) / points)


@dataclass(frozen=True)
class Exponent:
    """The fit log y = intercept + slope log x, and the range of slopes that the brackets allow.

    slope, intercept: least squares through the geometric means of the brackets.
    low, high: the extreme least-squares slopes when each y lies anywhere in its bracket. With probability
        >= ``confidence`` the least-squares slope of the true y lies in [low, high], whatever the curve.
    line: the slopes of the straight lines that pass through all brackets, (least, greatest); None if no line does,
        so that y is no power law of x over this range (again with probability >= ``confidence``).
    confidence: 1 minus the error probabilities of all brackets, at least 0.
    """

    slope: float
    intercept: float
    low: float
    high: float
    line: tuple[float, float] | None
    confidence: float


def fit_exponent(x: ArrayLike, low: ArrayLike, high: ArrayLike, error: ArrayLike = 0.0) -> Exponent:
    """The exponent b of y ~ x**b from brackets low <= y <= high, such as n* against k.

    Args:
      x: positive numbers, shape [K], at least two of them different.
      low, high: positive and finite, shape [K], low <= high: the brackets of y at x.
      error: the error probability of each bracket, in [0, 1], shape [K] or one number.

    The least-squares slope is linear in log y with weights w = (log x - mean) / sum (log x - mean)^2, so its
    extremes over the box of brackets take ``high`` where w > 0 and ``low`` where w < 0, or the reverse.
    """
    u, bottom, top, errors = brackets(x, low, high, error)
    weight = (u - u.mean()) / np.sum((u - u.mean()) ** 2)
    middle = (bottom + top) / 2
    slope = float(weight @ middle)
    ends = weight * bottom, weight * top
    return Exponent(
        slope=slope,
        intercept=float(middle.mean() - slope * u.mean()),
        low=float(np.minimum(*ends).sum()),
        high=float(np.maximum(*ends).sum()),
        line=_line_slopes(u, bottom, top),
        confidence=float(max(0.0, 1 - errors.sum())),
    )


def _line_slopes(u: Floats, bottom: Floats, top: Floats) -> tuple[float, float] | None:
    """The least and greatest b with bottom <= a + b u <= top for some a (to 1e-7), or None if there is none."""
    line = np.stack([np.ones_like(u), u], axis=1)
    above, limits = np.concatenate([line, -line]), np.concatenate([top, -bottom])
    least, most = (linprog([0.0, sign], above, limits, bounds=(None, None)) for sign in (1.0, -1.0))
    return (float(least.x[1]), float(most.x[1])) if least.success and most.success else None


def brackets(x: ArrayLike, low: ArrayLike, high: ArrayLike, error: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """log x, log low, log high and the errors, float64[K] each; InputError if they are invalid."""
    values = [np.asarray(a, np.float64) for a in (x, low, high)]
    errors = np.broadcast_to(np.asarray(error, np.float64), values[0].shape)
    actual = ", ".join(f"{name}={value.ravel()[:8]}" for name, value in zip(("x", "low", "high"), values, strict=True))
    one_shape = values[0].ndim == 1 and all(value.shape == values[0].shape for value in values)
    if not one_shape or not all(np.all((value > 0) & np.isfinite(value)) for value in values):
        advice = "leave out the points whose bracket has no lower or no upper end"
        raise InputError("brackets", "positive finite x, low and high, each of shape [K]", actual, advice)
    if np.any(values[1] > values[2]):
        raise InputError("brackets", "low <= high at each x", actual, "swap low and high")
    if np.unique(values[0]).size < 2:
        raise InputError("x", "at least two different numbers", actual, "measure at another x: one point has no slope")
    if not np.all((errors >= 0) & (errors <= 1)):
        raise InputError("error", "probabilities in [0, 1]", str(errors[:8]), "give the error of each bracket")
    u, bottom, top = (np.log(value) for value in values)
    return u, bottom, top, errors
