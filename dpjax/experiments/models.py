"""Exponents in sample sizes that are a sum: what a sanitizer needs once, plus what each concept adds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from dpjax.experiments.bands import brackets

GRID = np.round(np.arange(-0.5, 2.0001, 0.005), 3)


@dataclass(frozen=True)
class SumExponent:
    """The fit y ~ constant + slope_factor * factor(x) * x**exponent.

    exponent: the one that the brackets have to be widened least for (their middle, if several need no widening).
    low, high: all exponents on a grid of 0.005 for which a constant and a factor >= 0 put the model into every bracket,
        widened where that is needed. If ``widened`` is 1, with probability >= ``confidence`` the true exponent of a
        true model lies in [low, high].
    constant: at ``exponent``.
    widened: the factor by which upper ends are multiplied so that some exponent fits; 1 if the brackets do as they are.
    confidence: 1 less the errors of all brackets, at least 0.
    """

    exponent: float
    low: float
    high: float
    constant: float
    widened: float
    confidence: float


def fit_sum(
    x: ArrayLike, low: ArrayLike, high: ArrayLike, factor: ArrayLike = 1.0, error: ArrayLike = 0.0, *,
    constant: bool = True,
) -> SumExponent:  # fmt: skip
    """The exponent b of y ~ c + a factor(x) x**b, with a, c >= 0, from brackets low <= y <= high.

    Args:
      x: positive numbers, shape [K], at least two of them different (three with a constant, to say anything).
      low, high: positive and finite, shape [K]. factor: the logarithms that the theorem knows, at each x.
      error: the error probability of each bracket. constant: whether there is a c.

    For each b on the grid a linear program finds the least S for which low <= c + a f(x) x**b <= S high.
    """
    u, bottom, top, errors = brackets(x, low, high, error)
    known = np.broadcast_to(np.asarray(factor, np.float64), u.shape)
    found = [_widening(known * np.exp(b * (u - u.max())), bottom, top, constant) for b in GRID]
    widths = np.array([width for width, _ in found])
    least = max(1.0, float(widths.min()))
    fits = np.flatnonzero(widths <= least * (1 + 1e-9))
    best = fits[len(fits) // 2]
    return SumExponent(
        exponent=float(GRID[best]), low=float(GRID[fits[0]]), high=float(GRID[fits[-1]]), constant=found[best][1],
        widened=least, confidence=float(max(0.0, 1 - errors.sum())),
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
