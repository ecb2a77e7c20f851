"""Exponents of sample sizes with two terms: the sanitizer's fixed cost, and the cost per concept."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.intervals import Floats
from dpjax.experiments.statistics.bands import brackets

GRID = np.round(np.arange(-0.5, 2.0001, 0.005), 3)
_THIRDS = 120


@dataclass(frozen=True)
class Curve:
    """Two terms, c fixed(x) and a factor(x) x**exponent, as close to brackets as this exponent allows.

    form: "sum" of the terms or "larger" (their maximum), whichever is closer. constant: c. values: at each x.
    miss: the least F with low / F <= value <= F high at all x; at most 1 if the curve is in all brackets.
    """

    exponent: float
    form: str
    constant: float
    values: tuple[float, ...]
    miss: float


@dataclass(frozen=True)
class SumExponent:
    """The exponents whose curves are near all brackets, see `fit_sum`.

    best: the curve with the least ``miss`` (of the middle exponent, if several have it). exponent: that of ``best``.
    low, high: the least and the greatest exponent, on a grid of 0.005, with a miss of at most ``allowance``; None if
        there is none. If n* divided by a curve of an exponent b on the grid is in [1 / allowance, allowance] at every
        x, then low <= b <= high with probability >= ``confidence``.
    confidence: 1 minus the error probabilities of all brackets, at least 0. If brackets were left out because of their
        trials, give the others their errors, too.
    """

    best: Curve
    low: float | None
    high: float | None
    allowance: float
    confidence: float

    @property
    def exponent(self) -> float:
        """The estimate."""
        return self.best.exponent


def fit_sum(
    x: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    factor: ArrayLike = 1.0,
    error: ArrayLike = 0.0,
    *,
    fixed: ArrayLike = 1.0,
    constant: bool = True,
    allowance: float = 1.0,
) -> SumExponent:
    """The exponents b for which c fixed(x) + a factor(x) x**b, or the maximum of the two terms, is near all brackets.

    A theorem of the form O(A + B) does not distinguish the two. A learner whose parts fail independently is closer to
    the sum, one whose parts must all succeed closer to the maximum.

    Args:
      x: positive numbers, shape [K], at least two of them different (three with a constant, for an informative fit).
      low, high: positive and finite, shape [K]. factor: the known factors of the power at each x, such as a theorem's
        logarithm. fixed: those of the other term. All are positive.
      error: the error probability of each bracket. constant: whether to include c; c and a are at least 0.
      allowance: >= 1, the factor by which a curve may miss a bracket. It stands for what O(.) hides; choose it before
        looking at the brackets.
    """
    if checks.number("allowance", allowance) < 1:
        raise InputError("allowance", "a number >= 1", repr(allowance), "choose 1 for curves inside of all brackets")
    curves = _nearest(GRID, x, low, high, factor, fixed if constant else None)
    misses = np.array([curve.miss for curve in curves])
    best = np.flatnonzero(misses <= misses.min() * (1 + 1e-9))
    near = GRID[misses <= allowance * (1 + 1e-9)]
    errors = brackets(x, low, high, error)[3]
    return SumExponent(
        best=curves[best[len(best) // 2]],
        low=float(near[0]) if near.size else None,
        high=float(near[-1]) if near.size else None,
        allowance=allowance,
        confidence=float(max(0.0, 1 - errors.sum())),
    )


def nearest(
    exponent: float,
    x: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    factor: ArrayLike = 1.0,
    *,
    fixed: ArrayLike = 1.0,
    constant: bool = True,
) -> Curve:
    """The curve of this exponent with the least miss; arguments as in `fit_sum`."""
    exponents = np.array([exponent], np.float64)
    return _nearest(exponents, x, low, high, factor, fixed if constant else None)[0]


def _nearest(
    exponents: Floats, x: ArrayLike, low: ArrayLike, high: ArrayLike, factor: ArrayLike, fixed: ArrayLike | None
) -> list[Curve]:
    """One curve for each exponent; fixed: None for no such term."""
    u, bottom, top, _ = brackets(x, low, high, 0.0)
    powers = _logs("factor", factor, u) + exponents[:, None] * (u - u.max())
    powers -= powers.max(axis=1, keepdims=True)
    if fixed is None:
        pairs = zip(exponents, powers, strict=True)
        return [_scaled("sum", b, 0.0, power, bottom, top) for b, power in pairs]
    constants = _logs("fixed", fixed, u)
    largest = float(constants.max())
    curves = []
    for b, power, share in zip(exponents, powers, _shares(constants - largest, powers, bottom, top), strict=True):
        with np.errstate(divide="ignore"):
            parts = np.log(share) + constants - largest, np.log1p(-share) + power
        both = _scaled("sum", b, share * np.exp(-largest), np.logaddexp(*parts), bottom, top)
        # for the maximum, c and a are as large as some widening permits; both grow in proportion to it
        c, a = np.min(top - constants), np.min(top - power)
        either = _scaled("larger", b, np.exp(c), np.maximum(c + constants, a + power), bottom, top)
        curves.append(min(both, either, key=lambda curve: curve.miss * (1 + 1e-9 * (curve.form == "larger"))))
    return curves


def _logs(name: str, factor: ArrayLike, u: Floats) -> Floats:
    values = np.broadcast_to(np.asarray(factor, np.float64), u.shape)
    if not np.all((values > 0) & np.isfinite(values)):
        raise InputError(name, "positive finite numbers, one at each x", str(values[:8]), "give 1 for no factor")
    return np.log(values)


def _scaled(form: str, exponent: float, constant: float, logs: Floats, bottom: Floats, top: Floats) -> Curve:
    """A curve given by its logarithms [K], at the scale for which the miss is the same at both ends."""
    below, above = np.max(bottom - logs), np.max(logs - top)
    scale = (below - above) / 2
    values = tuple(map(float, np.exp(logs + scale)))
    return Curve(float(exponent), form, float(constant * np.exp(scale)), values, float(np.exp((below + above) / 2)))


def _shares(constants: Floats, powers: Floats, bottom: Floats, top: Floats) -> Floats:
    """The share s for which s exp(constants) + (1 - s) exp(powers) misses least, [B] for powers [B, K].

    The miss is a maximum of functions that are monotone in s (ratios of two linear ones), so it has no local minimum
    but the global one, and thirds of the range can be dropped.
    """

    def miss(share: Floats) -> Floats:
        logs = np.log(share[:, None] * np.exp(constants) + (1 - share[:, None]) * np.exp(powers))
        return np.max(bottom - logs, axis=1) + np.max(logs - top, axis=1)

    left, right = np.zeros(len(powers)), np.ones(len(powers))
    for _ in range(_THIRDS):
        first, second = (2 * left + right) / 3, (left + 2 * right) / 3
        falling = miss(first) > miss(second)
        left, right = np.where(falling, first, left), np.where(falling, right, second)
    ends = np.stack([np.zeros_like(left), left, np.ones_like(left)])
    return ends[np.argmin([miss(end) for end in ends], axis=0), np.arange(len(left))]
