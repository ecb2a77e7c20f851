"""A test of p <= e^epsilon q + delta, given x of n successes for p and y of m for q, valid at every sample size.

For each q two exact binomial tails, of x at the largest allowed p and of y at q, are combined by Stouffer's method with
weights that depend on q alone: their fractions of the variance of p - e^epsilon q. The p-value is the maximum over q in
a Clopper-Pearson interval of level significance / 100, which is added to it (Berger and Boos 1994).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betaincinv, ndtr, ndtri, xlogy

from dpjax.core import checks
from dpjax.core.checks import InputError

Floats = NDArray[np.float64]
_CELLS = 128  # cells of the interval for q
_STEPS = 60  # maximum number of iterations for a bound
_RESOLUTION = 1e-6  # absolute resolution of a bound
_LARGEST = 60.0  # largest lower bound on epsilon that is reported
_CLIP = 40.0  # standard deviations
_UNDERFLOW = 1e-290


def p_value(
    x: ArrayLike,
    n: ArrayLike,
    y: ArrayLike,
    m: ArrayLike,
    epsilon: ArrayLike,
    delta: ArrayLike,
    *,
    significance: float = 0.05,
    cells: int = _CELLS,
) -> Floats:
    """P-value of H0: p <= e^epsilon q + delta, elementwise; at most ``significance`` with that probability under H0.

    It is never below ``significance`` / 100, a share that pays for not knowing q: it decides one test, and its size
    does not say how strong very strong evidence is. For that see the bounds, such as `epsilon_lower`.

    Args:
      x, n: successes and trials for p, whole numbers with 0 <= x <= n, n >= 1.
      y, m: the same for q; the two samples are independent.
      epsilon: >= 0. delta: in [0, 1).
      significance: in (0, 1); the level of the test that the p-value is used for.
      cells: static; a finer partition of q costs time and gives a slightly smaller p-value. All are valid.

    Reference: Berger and Boos 1994, Section 2; Stouffer et al. 1949.
    """
    x, n, y, m = counts_of(x, n, y, m)
    x, n, y, m, epsilon, delta = np.broadcast_arrays(x, n, y, m, np.asarray(epsilon, float), np.asarray(delta, float))
    border = Line(np.exp(np.minimum(epsilon, 700.0))[..., None], delta[..., None])  # no trials refute a larger epsilon
    return p_value_of_border(x, n, y, m, border, significance=significance, cells=cells)


class Border(Protocol):
    """The largest p that a hypothesis allows for q: increasing, with (1 - q) / (1 - p) and q / p nondecreasing."""

    def at(self, q: Floats) -> Floats:
        """p on the border; 1 or more if every p is allowed."""
        ...

    def inverse(self, p: Floats) -> Floats:
        """The q with ``at(q) == p``."""
        ...

    def slope(self, q: Floats) -> Floats:
        """The derivative of ``at``."""
        ...


@dataclass(frozen=True)
class Line:
    """p = scale q + delta."""

    scale: Floats
    delta: Floats

    def at(self, q: Floats) -> Floats:
        """See `Border`."""
        return self.scale * q + self.delta

    def inverse(self, p: Floats) -> Floats:
        """See `Border`."""
        return (p - self.delta) / self.scale

    def slope(self, q: Floats) -> Floats:
        """See `Border`."""
        return np.broadcast_to(self.scale, np.broadcast_shapes(np.shape(self.scale), np.shape(q)))


def p_value_of_border(
    x: Floats, n: Floats, y: Floats, m: Floats, border: Border, *, significance: float, cells: int = _CELLS
) -> Floats:
    """P-value of H0: p <= border.at(q), elementwise; the border's arrays have an extra trailing axis."""
    checks.probability("significance", significance)
    x, n, y, m = (part[..., None] for part in np.broadcast_arrays(x, n, y, m))
    spare = significance / 100
    low, high = _lower(y, m, spare / 2), _upper(y, m, spare / 2)
    # The borders do not depend on the data: for q < 1 / m, y carries almost no information and only x is used; for
    # p > 1 - 1 / n only y is used. Between them both are used.
    rare, sure = 1 / m, np.maximum(border.inverse(1 - 1 / n), 1 / m)
    begin, end = np.clip(rare, low, high), np.clip(sure, low, high)
    edges = _edges(begin, end, border, cells)
    left, right = edges[..., :-1], edges[..., 1:]
    z_x = _deviations(_at_least(x, n, border.at(right)), x, n, border.at(right))
    z_y = _deviations(_at_most(y, m, left), y, m, left)
    parts = [_combined(z_x, z_y, q, n, m, border) for q in (left, right)]
    worst = np.where(begin < end, np.max(ndtr(-np.minimum(*parts)), axis=-1, keepdims=True), 0.0)
    of_x = np.where(low < rare, _at_least(x, n, border.at(np.minimum(rare, high))), 0.0)
    of_y = np.where(high > sure, _at_most(y, m, np.maximum(sure, low)), 0.0)
    worst = np.maximum(worst, np.maximum(of_x, of_y))[..., 0]
    return np.minimum(worst + spare, 1.0)


def _edges(begin: Floats, end: Floats, border: Border, cells: int) -> Floats:
    """A partition of [begin, end]: half of the edges equally spaced in standard deviations of q, half in those of p."""
    steps = np.linspace(0, 1, cells // 2 + 1)

    def even(first: Floats, last: Floats) -> Floats:
        first, last = np.arcsin(np.sqrt(np.clip(first, 0, 1))), np.arcsin(np.sqrt(np.clip(last, 0, 1)))
        return np.sin(first + (last - first) * steps) ** 2

    of_q, of_p = even(begin, end), border.inverse(even(border.at(begin), border.at(end)))
    return np.sort(np.clip(np.concatenate([of_q, of_p], axis=-1), begin, end), axis=-1)


def epsilon_lower(
    x: ArrayLike,
    n: ArrayLike,
    y: ArrayLike,
    m: ArrayLike,
    delta: ArrayLike = 0.0,
    *,
    significance: float = 0.05,
    cells: int = _CELLS,
) -> Floats:
    """A lower bound on every epsilon for which p <= e^epsilon q + delta, at confidence 1 - significance.

    Arguments as in `p_value`. Returns ``float64[...]`` >= 0, at most 60; 0 if nothing is certified.
    """
    x, n, y, m = counts_of(x, n, y, m)
    x, n, y, m, delta = np.broadcast_arrays(x, n, y, m, np.asarray(delta, float))
    rejected = lambda epsilon: p_value(x, n, y, m, epsilon, delta, significance=significance, cells=cells)  # noqa: E731
    guess = np.log(np.maximum((x / n - delta), 1 / n) / np.maximum(y / m, 0.5 / m))
    return largest(rejected, np.clip(guess + 1, 1.0, _LARGEST), significance)


def delta_lower(
    x: ArrayLike,
    n: ArrayLike,
    y: ArrayLike,
    m: ArrayLike,
    epsilon: ArrayLike,
    *,
    significance: float = 0.05,
    cells: int = _CELLS,
) -> Floats:
    """A lower bound on every delta for which p <= e^epsilon q + delta, at confidence 1 - significance; >= 0."""
    x, n, y, m = counts_of(x, n, y, m)
    x, n, y, m, epsilon = np.broadcast_arrays(x, n, y, m, np.asarray(epsilon, float))
    rejected = lambda delta: p_value(x, n, y, m, epsilon, delta, significance=significance, cells=cells)  # noqa: E731
    return largest(rejected, np.minimum(x / n + 1e-12, 1.0), significance)


def largest(value: Callable[[Floats], Floats], high: Floats, significance: float) -> Floats:
    """The largest number in [0, high] up to which the p-value is at most ``significance``; 0 if there is none.

    By false position on normal quantiles (Illinois method), from below: the returned number was itself rejected.
    """
    aim = ndtri(significance)
    low, of_low = np.zeros(high.shape), ndtri(value(np.zeros(high.shape))) - aim
    nothing, of_high = of_low > 0, ndtri(np.minimum(value(high), 1 - 1e-12)) - aim
    low = np.where(of_high <= 0, high, low)
    for step in range(_STEPS):
        open_ = (high - low > _RESOLUTION) & ~nothing
        if not open_.any():
            break
        share = of_low / np.minimum(of_low - of_high, -1e-9)
        share = np.full(high.shape, 0.5) if step % 4 == 3 else np.clip(share, 0.02, 0.98)
        middle = low + share * (high - low)
        of_middle = ndtri(np.minimum(value(middle), 1 - 1e-12)) - aim
        fails = of_middle <= 0
        of_high = np.where(fails, of_high / 2, of_middle)
        of_low = np.where(fails, of_middle, of_low / 2)
        low, high = np.where(fails & open_, middle, low), np.where(~fails & open_, middle, high)
    return np.where(nothing, 0.0, low)


def counts_of(x: ArrayLike, n: ArrayLike, y: ArrayLike, m: ArrayLike) -> list[Floats]:
    """The four counts as float64; InputError if they are invalid."""
    counts = [np.asarray(part, np.float64) for part in (x, n, y, m)]
    for name, some, all_ in (("x", counts[0], counts[1]), ("y", counts[2], counts[3])):
        if np.any(all_ < 1) or np.any(some < 0) or np.any(some > all_) or np.any(some != np.floor(some)):
            raise InputError(name, "whole successes of at least one trial", f"{some} of {all_}", "count the event")
    return counts


def _at_least(x: Floats, n: Floats, p: Floats) -> Floats:
    """P(Bin(n, p) >= x); 1 for p >= 1."""
    inside = betainc(np.maximum(x, 1), n - x + 1, np.clip(p, 0, 1))
    return np.where((x <= 0) | (p >= 1), 1.0, inside)


def _at_most(y: Floats, m: Floats, q: Floats) -> Floats:
    """P(Bin(m, q) <= y)."""
    return np.where(y >= m, 1.0, betaincc(y + 1, np.maximum(m - y, 1), q))


def _lower(y: Floats, m: Floats, level: float) -> Floats:
    return np.where(y > 0, betaincinv(np.maximum(y, 1), m - y + 1, level), 0.0)


def _upper(y: Floats, m: Floats, level: float) -> Floats:
    return np.where(y < m, betaincinv(y + 1, np.maximum(m - y, 1), 1 - level), 1.0)


def _deviations(tail: Floats, count: Floats, trials: Floats, p: Floats) -> Floats:
    """A z with P(N(0, 1) >= z) >= tail: the quantile, or for tails that underflow sqrt(2 I) - 1 with I from Chernoff.

    P(N >= z) >= z phi(z) / (1 + z^2) exceeds exp(-I) there, because z^2 / 2 = I - z - 1/2.
    """
    p, share = np.clip(p, 1e-300, 1), count / trials
    information = trials * (xlogy(share, share / p) + xlogy(1 - share, (1 - share) / np.maximum(1 - p, 1e-300)))
    far = np.sqrt(2 * np.maximum(information, 0)) - 1
    return np.where(tail > _UNDERFLOW, np.maximum(-ndtri(tail), -_CLIP), far)


def _combined(z_x: Floats, z_y: Floats, q: Floats, n: Floats, m: Floats, border: Border) -> Floats:
    """At fixed tails the statistic is concave in the weights where it is positive, so the ends of a cell bound it."""
    p = np.minimum(border.at(q), 1)
    of_x, of_y = np.sqrt(p * (1 - p) / n), border.slope(q) * np.sqrt(q * (1 - q) / m)
    total = np.hypot(of_x, of_y)
    return np.where(total > 0, (of_x * z_x + of_y * z_y) / np.maximum(total, 1e-300), -_CLIP)
