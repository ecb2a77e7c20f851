"""Rows that suffice for three-way splits by private medians and noisy counts of the leaves, on the host.

The proof is docs/proofs/hierarchy.md; log_size = ln |X|.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dpjax.core import checks
from dpjax.core.host import host_functions
from dpjax.theory.search import smallest
from dpjax.theory.splits import excess

MOST_SUMMED = 6
"""Levels up to which `hierarchy_exact` sums the noise of the counts."""
_LEAST_SCALE = 0.01  # of rounded noise, which is then 0 up to e^-50
_GRID = np.linspace(5e-3, 0.995, 199)


def hierarchy(
    log_size: float, rates: Sequence[float], scale: float, alpha: float, beta: float, tiers: int = 1
) -> float:
    """Rows for three-way splits and noisy counts of the leaves; inf if no number is enough.

    The proof is docs/proofs/hierarchy.md. For 0 < u below the poles, L levels and T tiers of counts,

    ln P[error > alpha] <= u (n / 2^(L + 1) - alpha n + T + 1/2) + sum of ln E[e^{v D} + e^{v/2 - v D}] over the levels
      + ln of the sum of E e^{u b} over the corrected running sums b of the noise, and over -b,

    where D = ln |X| / rate + Exp(rate) is the excess of a part over half of the rows, and v = u / 2 for the last
    level, half as much for each level before. 1/100 of beta is for noise beyond n - 1.

    Args:
      rates: the inverse temperature of each level's medians, the root first. scale: of the noise of each count.
      tiers: of counts, see `fanouts`.
    """
    parts, room, scale = fanouts(len(rates), tiers), alpha - 0.5 / 2 ** len(rates), max(scale, _LEAST_SCALE)
    if room <= 0:
        return math.inf
    u, log_excess = _log_excess(log_size, rates, _pole(parts, scale))
    log_bound = (tiers + 0.5) * u + log_excess + _log_sum_of_noise(u, parts, scale) - math.log(0.99 * beta)
    return math.ceil(max(float(np.min(log_bound / u)) / room, _clipped(parts, scale, beta)))


def hierarchy_exact(
    log_size: float, rates: Sequence[float], scale: float, alpha: float, beta: float, tiers: int = 1
) -> float:
    """As `hierarchy`, with tails of sums in place of Chernoff's bound; those of the noise for one tier of up to
    ``MOST_SUMMED`` levels and a scale up to 64, after which its sums get long and the gain is a few percent.

    The excess of the largest part has the tail g of `splits.excess`, and the largest corrected sum the tail F; excess
    and noise are independent, so P[error > alpha] <= E g(room n - T - 1/2 - M) for M with tail F.
    """
    bound = hierarchy(log_size, rates, scale, alpha, beta, tiers)
    if bound == math.inf:
        return bound
    parts, room, scale = fanouts(len(rates), tiers), alpha - 0.5 / 2 ** len(rates), max(scale, _LEAST_SCALE)
    summed = tiers == 1 and len(rates) <= MOST_SUMMED and scale <= 64
    part = excess(log_size, tuple(rates))
    noise, mass = _largest_noise(parts[0], scale) if summed else _largest_by_moments(parts, scale)
    if 2 * float(part.number[-1] + mass[-1]) > 0.99 * beta:  # the sums end above such a beta
        return bound

    def enough(n: int) -> bool:
        return float(mass @ part.probability(room * n - tiers - 0.5 - noise)) <= 0.99 * beta

    rows = smallest(enough)
    return min(bound, max(rows, math.ceil(_clipped(parts, scale, beta))))


def windows(windows: Sequence[float], scale: float, alpha: float, beta: float, tiers: int = 1) -> float:
    """Rows for three-way splits at interior points of the middle ``windows[l]`` rows of each part of level l, and noisy
    counts of the leaves; inf if no number is enough.

    Each split leaves at most (c + w - 1) / 2 of c rows on either side. beta: for the counts alone, as in `hierarchy`.
    The proof is docs/proofs/hierarchy.md#windows.
    """
    levels = len(windows)
    parts, room, scale = fanouts(levels, tiers), alpha - 0.5 / 2**levels, max(scale, _LEAST_SCALE)
    if room <= 0:
        return math.inf
    excess = largest_part_of_windows(windows, 0) / 2
    u = _pole(parts, scale) * _GRID
    noise = float(np.min((_log_sum_of_noise(u, parts, scale) - math.log(0.99 * beta)) / u))
    return math.ceil(max((tiers + 0.5 + excess + noise) / room, _clipped(parts, scale, beta)))


@lru_cache
def fanouts(levels: int, tiers: int) -> tuple[int, ...]:
    """Into how many parts each of the ``tiers`` divides those of the tier before, so that the last one has all of the
    2^(levels + 1) - 1 leaves: these themselves for one tier, powers of two for more, and then one empty leaf behind.

    levels: in [1, 62]. tiers: in [1, levels + 1].
    """
    checks.integer("levels", levels, 1, 62)
    checks.integer("tiers", tiers, 1, levels + 1)
    if tiers == 1:
        return (2 ** (levels + 1) - 1,)
    return tuple(2 ** ((levels + 1 + tier) // tiers) for tier in range(tiers))


def largest_part_of_windows(windows: Sequence[float], n: int) -> float:
    """The most rows of an interval after such splits of n rows."""
    levels = len(windows)
    return n / 2**levels + math.fsum((w - 1) / 2.0 ** (levels - level) for level, w in enumerate(windows))


def largest_part(log_size: float, rates: Sequence[float], n: int, beta: float) -> float:
    """m: with probability 1 - beta no interval between splits of n rows has more than m, as in `hierarchy_exact`."""
    u, log_excess = _log_excess(log_size, rates, math.inf)
    largest = min(excess(log_size, tuple(rates)).quantile(beta), float(np.min((log_excess - math.log(beta)) / u)))
    return min(float(n), n / 2 ** len(rates) + 2 * largest)


def _clipped(fanouts: Sequence[int], scale: float, beta: float) -> float:
    """Rows from which a noise beyond n - 1 has probability at most beta / 100."""
    counts = sum(math.prod(fanouts[: tier + 1]) for tier in range(len(fanouts)))
    return 1 + scale * math.log(counts / (0.01 * beta))


def _pole(fanouts: Sequence[int], scale: float) -> float:
    """The u up to which the moments of `_log_sum_of_noise` exist."""
    most = max(fanouts)
    return most / (most - 1) / scale


def _log_excess(log_size: float, rates: Sequence[float], pole: float) -> tuple[np.ndarray, np.ndarray]:
    """(u, the sum of ln E[e^{v D} + e^{v/2 - v D}] over the levels), u up to ``pole`` and to the poles of the D."""
    weights = 2.0 ** -np.arange(len(rates), 0, -1)  # v = weight u
    u = min(float(np.min(np.asarray(rates) / weights)), pole) * _GRID[::4]
    logs = np.zeros_like(u)
    for rate, weight in zip(rates, weights, strict=True):
        v, part = weight * u, weight * u / rate
        width = max(log_size, rate / 2)  # at least half a row, from which on the sum of exponentials increases
        logs += np.logaddexp(part * width - np.log1p(-part), v / 2 - part * width - np.log1p(part))
    return u, logs


@lru_cache(maxsize=64)
def _largest_noise(leaves: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """A law that is stochastically above max |b_i|, see `_log_sum_of_noise`: values, the last one inf, and masses.

    Its tail at x is the sum of P[|b_i| > x], r b_i = (r - i) A - i B with A, B independent sums of i and r - i noises.
    """
    reach = math.ceil(scale * (12 * math.sqrt(2 * leaves) + 40))  # mass beyond it is below 1e-15
    step = np.exp(-np.abs(np.arange(-reach, reach + 1)) / scale) * math.sinh(0.5 / scale)
    step[reach] = -math.expm1(-0.5 / scale)
    length = 1 << (4 * reach).bit_length()
    moved = np.fft.rfft(np.roll(np.pad(step, (0, length - len(step))), -reach))
    sums = [np.roll(np.maximum(np.fft.irfft(moved**i, length), 0), reach)[: 2 * reach + 1] for i in range(leaves)]
    x = np.linspace(0, reach / 2, 1025)  # 12 deviations of the largest b_i
    tail, values = np.zeros_like(x), np.arange(-reach, reach + 1)
    for i in range(1, (leaves + 1) // 2):
        below = np.append(0.0, np.cumsum(sums[leaves - i]))
        near = sums[i] > 1e-15
        last = np.ceil(((leaves - i) * values[None, near] - leaves * x[:, None]) / i) - 1  # B <= last
        tail += 4 * (below[np.clip(last + reach + 1, 0, 2 * reach + 1).astype(np.int32)] @ sums[i][near])
        tail += 4 * np.sum(sums[i][~near])
    tail = np.minimum(1, tail + 1e-12)
    return np.append(x, math.inf), -np.diff(tail, prepend=1.0, append=0.0)


def _largest_by_moments(fanouts: Sequence[int], scale: float) -> tuple[np.ndarray, np.ndarray]:
    """As `_largest_noise`, for any tiers, by Chernoff's bound."""
    u = _pole(fanouts, scale) * _GRID
    logs = _log_sum_of_noise(u, fanouts, scale)
    x = np.linspace(0, float(np.min((logs + 36) / u)), 1025)
    tail = np.exp(np.minimum(np.min(logs - x[:, None] * u, axis=1), 0.0))
    return np.append(x, math.inf), -np.diff(tail, prepend=1.0, append=0.0)


def _log_sum_of_noise(u: np.ndarray, fanouts: Sequence[int], scale: float) -> np.ndarray:
    """ln of a bound on the sum of E e^{u b} + E e^{-u b} over all corrected running sums b of the noise but the ends.

    A tier of f parts has b_i = N_i - (i/f) N_f, 0 <= i < f, N_i a sum of i rounded Laplaces; b_i and -b_{f - i} have
    one law. The sum is at most 2 (prod over the tiers of sum_i E e^{u b_i} - 1), and that itself for one tier.
    """
    logs = np.zeros_like(u)
    for f in fanouts:
        i = np.arange(1, f // 2 + 1)[:, None]
        each = i * _log_moment(u * (1 - i / f), scale) + (f - i) * _log_moment(u * (i / f), scale)
        most = np.max(each, axis=0)
        inner = most + np.log((2 - (2 * i == f)).T.astype(float) @ np.exp(each - most))[0]
        logs = logs + np.logaddexp(0.0, inner)
    return math.log(2) + logs + np.log1p(-np.exp(-logs))


def _log_moment(u: np.ndarray, scale: float) -> np.ndarray:
    """ln E e^{u K}, K = rint(Laplace(scale)): P[K = k] = sinh(h) e^{-2 h |k|} for k != 0, h = 1 / (2 scale)."""
    half = min(0.5 / scale, 300.0)  # less noise has smaller moments, and sinh overflows
    tails = 1 / np.expm1(2 * half - u) + 1 / np.expm1(2 * half + u) - 2 / math.expm1(2 * half)  # minus that at u = 0
    return np.log1p(math.sinh(half) * tails)


host_functions(globals())
