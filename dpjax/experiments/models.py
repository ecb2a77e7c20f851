"""Exponents of sample sizes with two terms: the sanitizer's fixed cost, and the cost per concept."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from dpjax.experiments.bands import brackets

GRID = np.round(np.arange(-0.5, 2.0001, 0.005), 3)


@dataclass(frozen=True)
class SumExponent:
    """The fit of y by two terms, a constant and slope * factor(x) * x**exponent: their sum or their maximum.

    A theorem of the form O(A + B) does not distinguish the two. A learner whose parts fail independently is closer to
    the sum, one whose parts must all succeed closer to the maximum.

    exponent: the exponent for which the brackets are widened least (the middle, if several need no widening).
    low, high: range of exponents on a grid of 0.005 for which a constant and a slope >= 0 put the sum or the maximum
        into every bracket, widened if necessary. If ``widened`` is 1, with probability >= ``confidence`` the true
        exponent of a true model lies in [low, high].
    constant: at ``exponent``. form: "sum" or "larger" (maximum), whichever fits there.
    widened: the factor by which upper ends are multiplied so that some exponent fits; 1 without widening.
    confidence: 1 minus the error probabilities of all brackets, at least 0.
    """

    exponent: float
    low: float
    high: float
    constant: float
    form: str
    widened: float
    confidence: float


def fit_sum(
    x: ArrayLike, low: ArrayLike, high: ArrayLike, factor: ArrayLike = 1.0, error: ArrayLike = 0.0, *,
    constant: bool = True,
) -> SumExponent:  # fmt: skip
    """The exponent b of c + a factor(x) x**b, or of the maximum of the two terms, from brackets low <= y <= high.

    Args:
      x: positive numbers, shape [K], at least two of them different (three with a constant, for an informative fit).
      low, high: positive and finite, shape [K]. factor: the logarithmic factors of the theorem at each x.
      error: the error probability of each bracket. constant: whether to include c.

    For each b on the grid a linear program finds the least S with low <= c + a f(x) x**b <= S high; for the maximum the
    best c and a are the largest that S allows.
    """
    u, bottom, top, errors = brackets(x, low, high, error)
    known = np.broadcast_to(np.asarray(factor, np.float64), u.shape)
    shapes = [known * np.exp(b * (u - u.max())) for b in GRID]
    found = [(*_widening(shape, bottom, top, constant), "sum") for shape in shapes]
    if constant:
        larger = [(*_widening_of_larger(shape, bottom, top), "larger") for shape in shapes]
        found = [
            min(pair, key=lambda one: one[0] * (1 + 1e-9 * (one[2] == "larger")))
            for pair in zip(found, larger, strict=True)
        ]
    widths = np.array([width for width, *_ in found])
    least = max(1.0, float(widths.min()))
    fits = np.flatnonzero(widths <= least * (1 + 1e-9))
    best = fits[len(fits) // 2]
    return SumExponent(
        exponent=float(GRID[best]), low=float(GRID[fits[0]]), high=float(GRID[fits[-1]]), constant=found[best][1],
        form=found[best][2], widened=least, confidence=float(max(0.0, 1 - errors.sum())),
    )  # fmt: skip


def _widening(shape: np.ndarray, bottom: np.ndarray, top: np.ndarray, constant: bool) -> tuple[float, float]:
    """(least S, the constant c) for low <= c + a shape <= S high; arguments ``bottom`` and ``top`` are logarithms."""
    scale = np.exp(bottom.max())
    low, high = np.exp(bottom) / scale, np.exp(top) / scale
    ones = np.ones_like(shape)
    above = np.stack([-ones, -shape, np.zeros_like(shape)], axis=1)  # -(c + a f) <= -low
    below = np.stack([ones, shape, -high], axis=1)  # c + a f - S high <= 0
    limits = np.concatenate([-low, np.zeros_like(high)])
    bounds = [(0, None if constant else 0), (0, None), (0, None)]
    found = linprog([0, 0, 1], np.concatenate([above, below]), limits, bounds=bounds)
    return (float(found.x[2]), float(found.x[0] * scale)) if found.success else (np.inf, 0.0)


def _widening_of_larger(shape: np.ndarray, bottom: np.ndarray, top: np.ndarray) -> tuple[float, float]:
    """(least S, the constant c) for low <= max(c, a shape) <= S high."""
    c, a = np.min(top), np.min(top - np.log(shape))  # at S = 1; both grow in proportion to S
    least = float(np.exp(np.max(bottom - np.maximum(c, a + np.log(shape)))))
    return least, float(np.exp(c) * max(least, 1.0))
