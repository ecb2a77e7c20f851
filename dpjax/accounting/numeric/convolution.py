"""Composition of privacy-loss laws by Fourier transform, accurate in the far tail that determines delta.

A plain transform has an absolute error near 1e-16 times the number of runs, too large for a delta of 1e-12 and
equally often on the unsafe side. Here the laws are first tilted by e^{theta loss}, which moves the mass to the
relevant tail; the error is then relative, for any delta.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import fft

from dpjax.accounting.numeric import profile
from dpjax.accounting.numeric.bisection import MARGIN
from dpjax.accounting.numeric.loss_grid import LossGrid

_OUTSIDE = 45.0
"""The window omits at most e^-45 of the tilted law on each side."""


def composed_epsilon(laws: Sequence[tuple[LossGrid, int]], delta: float) -> float:
    """The smallest epsilon >= 0 with delta(epsilon) <= delta after all runs; inf if infinite losses exceed delta.

    Args:
      laws: pairs (law, number of runs), all with the same step.
      delta: in (0, 1).
    """
    finite = math.fsum(count * math.log1p(-law.infinite) for law, count in laws)
    target = (delta * (1 - MARGIN) + math.expm1(finite)) / math.exp(finite)
    if target <= 0:
        return math.inf
    runs = sum(count for _, count in laws)
    whole = _Tilted(laws)

    def bound(theta: float) -> float:
        """epsilon from the Renyi divergence of order 1 + theta, see ``zcdp_delta``."""
        return (whole.cumulant(theta) - math.log(target) - math.log1p(theta)) / theta - math.log1p(1 / theta)

    theta, best = _minimiser(bound), whole.step * whole.last
    for _ in range(20):
        log_mass, loss, level = whole.law(theta)
        epsilon = float(profile.loss_epsilon(log_mass, loss, target))
        noise = np.finfo(np.float64).eps * runs * math.exp(min(level - theta * epsilon, 700.0))
        if noise < 0.5 * target:
            best = min(best, float(profile.loss_epsilon(log_mass, loss, target - noise)))
        if noise < 1e-3 * target:
            break
        theta /= 2  # tilted too far: the mass near epsilon is below the rounding error
    return max(best, 0.0)


class _Tilted:
    """The composed law, computed where a tilt by e^{theta loss} concentrates it."""

    def __init__(self, laws: Sequence[tuple[LossGrid, int]]):
        self.step = laws[0][0].step
        self.counts = [count for _, count in laws]
        self.indices = [law.first + np.arange(law.mass.size) for law, _ in laws]
        with np.errstate(divide="ignore"):
            self.logs = [np.log(law.mass / law.mass.sum()) for law, _ in laws]
        self.first = sum(count * int(index[0]) for index, count in zip(self.indices, self.counts, strict=True))
        self.last = sum(count * int(index[-1]) for index, count in zip(self.indices, self.counts, strict=True))

    def cumulant(self, theta: float) -> float:
        """ln E e^{theta loss} of all runs."""
        each = (_logsumexp(log + theta * self.step * index) for log, index in zip(self.logs, self.indices, strict=True))
        return math.fsum(count * value for count, value in zip(self.counts, each, strict=True))

    def law(self, theta: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Log-masses and losses of the composed law around the tilted mean, and the cumulant at theta."""
        level = self.cumulant(theta)

        def above(t: float) -> float:
            return (self.cumulant(theta + t) - level + _OUTSIDE) / t

        def below(t: float) -> float:
            return (self.cumulant(theta - t) - level + _OUTSIDE) / t

        high = min(self.last, math.ceil(above(_minimiser(above)) / self.step))
        low = max(self.first, math.floor(-below(_minimiser(below)) / self.step))
        size = fft.next_fast_len(high - low + 1, real=True)
        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        for log, index, count in zip(self.logs, self.indices, self.counts, strict=True):
            weight = log + theta * self.step * index
            tilted = np.exp(weight - _logsumexp(weight))
            spectrum *= fft.rfft(np.bincount(index % size, weights=tilted, minlength=size)) ** count
        window = np.arange(low, high + 1)
        composed = np.maximum(fft.irfft(spectrum, size)[window % size], 0.0)
        loss = self.step * window
        with np.errstate(divide="ignore"):
            return np.minimum(np.log(composed) + level - theta * loss, 0.0), loss, level


def _logsumexp(values: np.ndarray) -> float:
    top = float(np.max(values))
    return top + math.log(float(np.sum(np.exp(values - top))))


def _minimiser(bound: Callable[[float], float]) -> float:
    """About the theta in [1e-6, 1e13] that minimizes ``bound``; every theta is valid, the best is the tightest."""
    from scipy.optimize import minimize_scalar  # a slow import, deferred

    grid = np.linspace(math.log(1e-6), math.log(1e13), 45)
    start = int(np.argmin([bound(math.exp(u)) for u in grid]))
    bracket = (grid[max(start - 1, 0)], grid[min(start + 1, grid.size - 1)])
    minimum = minimize_scalar(lambda u: bound(math.exp(u)), bounds=bracket, method="bounded", options={"xatol": 0.02})
    return math.exp(minimum.x)
