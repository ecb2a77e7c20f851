"""Rows that suffice for a sanitizer, with constants and proofs: plain numbers on the host.

Everywhere log_size = ln |X|, ``rate`` is the inverse temperature of the rank score, and an exponential median of c
rows has quality ceil(c / 2) - D or less with probability at most |X| e^{-rate D}.
"""

import math
from functools import lru_cache

import numpy as np

from dpjax.core.checks import InputError
from dpjax.theory.search import smallest

_GRID = np.linspace(5e-3, 0.995, 199)


def interior(log_size: float, rate: float, beta: float) -> int:
    """Rows from which an exponential median is an interior point with probability 1 - beta: (2/rate) ln(|X|/beta).

    The best quality is ceil(c / 2); an answer that is not an interior point has quality at most 0.
    """
    return math.ceil(2 / rate * (log_size - math.log(beta)))


def deviation(log_size: float, rate: float, count: int, beta: float) -> float:
    """D: with probability 1 - beta, ``count`` exponential medians all have quality above their best one minus D."""
    return (log_size + math.log(count / beta)) / rate


def _share(rows: float, room: float) -> float:
    """The n of which ``rows`` are at most the fraction ``room``; inf if there is none."""
    return math.ceil(rows / room) if room > 0 else math.inf


def quantiles(log_size: float, rate: float, count: int, alpha: float, beta: float) -> float:
    """Rows for ``count`` independent quantiles at ranks i n / (count + 1), domain ends of half weight; inf if none do.

    Let z_i have quality above 1 - D at rank b_i: #{x <= z_i} >= b_i - D and #{x < z_i} <= b_i + D. If K of them are
    <= t, one with index >= K is, so #{x <= t} >= b_K - D, and one with index <= K + 1 is not, so #{x <= t} <=
    b_{K+1} + D. The estimate (K + 1/2) / (count + 1) is the midpoint, up to one row: b_i = floor(i n / (count + 1)).
    """
    return _share(deviation(log_size, rate, count, beta) + 1, alpha - 0.5 / (count + 1))


def joint(log_size: float, rate: float, count: int, alpha: float, beta: float) -> float:
    """Rows for ``count`` quantiles drawn jointly at ranks b_i, of distinct rows; b_i and ends as in `quantiles`.

    With count < n the b_i are distinct and at least 1, so that the places with b_i rows at or below are not empty. One
    quantile in each has loss 0, which at least count! of the |X|^count tuples have; so the loss, an integer,
    reaches D with probability at most |X|^count e^{-rate D} / count! = beta at the D used here. Below D, the
    sum of c_j - t_j over the first K cells, #{x <= z_K} - b_K, is less than D on either side; then as in `quantiles`.
    """
    off = (count * log_size - math.lgamma(count + 1) - math.log(beta)) / rate
    return max(count + 1, _share(off + 1, alpha - 0.5 / (count + 1)))


def recursive(log_size: float, rate: float, levels: int, alpha: float, beta: float) -> float:
    """Rows for recursive medians down ``levels`` levels, of distinct rows; inf if no number is enough.

    A median between two earlier ones with rank errors A and A' has an error of at most (A + A') / 2 + D + 2; the
    ends of a part are the median of the level above and an older one (or an end of the domain, without error).
    """
    off = deviation(log_size, rate, 2**levels - 1, beta) + 2
    older, newer = 0.0, 0.0
    for _ in range(levels):
        older, newer = newer, (older + newer) / 2 + off
    return _share(newer + 1, alpha - 0.5 / 2**levels)


def hierarchy(log_size: float, rate: float, levels: int, scale: float, alpha: float, beta: float) -> float:
    """Rows for three-way splits down ``levels`` levels and noisy counts of the leaves; inf if no number is enough.

    A part of c rows has c - q rows below or above a median of quality q > ceil(c / 2) - D, less than c / 2 + D; so a
    leaf that is an interval has less than n / 2^levels + 2 D. Half of its weight is at each of its ends, so inside
    it the error is half its rows, plus the error E of the counts (`counts_deviation`), plus 1 for integer weights. A
    leaf that is a single value adds E only. The medians use half of beta, and 1/100 of beta is for noise beyond n - 1;
    without such noise no noisy count is clipped to [-n, 2 n].

    scale: of the noise of the counts.
    """
    off = deviation(log_size, rate, 2**levels - 1, beta / 2)
    leaves = 2 ** (levels + 1) - 1
    counted = counts_deviation(leaves, scale, 0.49 * beta)
    clipped = 1 + scale * math.log(leaves / (0.01 * beta))
    return max(_share(off + counted + 1.5, alpha - 0.5 / 2**levels), math.ceil(clipped))


def counts_deviation(leaves: int, scale: float, beta: float) -> float:
    """E: with probability 1 - beta every running sum of the noise, corrected for the total noise, is within E of 0.

    With N_i the sum of the first i of r Laplace variables, N_i - (i / r) N_r = (1 - i/r) N_i - (i/r) (N_r - N_i), whose
    moment generating function is (1 - (u (1 - i/r))^2)^{-i} (1 - (u i/r)^2)^{-(r - i)} at u / scale. Chernoff's bound
    for each i and sign; rounding each count to an integer adds at most 1 / 2 per leaf, in total ``leaves`` / 4.
    """
    return scale * _bridge(leaves, beta) + leaves / 4


@lru_cache(maxsize=256)
def _bridge(leaves: int, beta: float) -> float:
    i = np.arange(1, leaves)[:, None]
    part = i / leaves
    top = 1 / np.maximum(part, 1 - part)
    u = top * _GRID[None, :]
    log_moment = -i * np.log1p(-((u * (1 - part)) ** 2)) - (leaves - i) * np.log1p(-((u * part) ** 2))
    each = np.min((log_moment + math.log(2 * (leaves - 1) / beta)) / u, axis=1)
    return float(np.max(each))


def slices(log_size: float, rate: float, length_epsilon: float, count: int, alpha: float, beta: float) -> float:
    """Rows for ``count`` slices of geometric length, the last one with all remaining rows; inf if no number is enough.

    Slice i ends at B_i, its weights at A_i = i n / count, and |B_i - A_i| <= D (`lengths_deviation`) for all i. If the
    point of slice j is in its hull, a threshold t <= it has A_{j-1} of the weight and between B_{j-1} and B_j rows, so
    the error is at most (n / count + D) / n, and likewise above it. Each slice needs `interior` rows, which the public
    part of its length provides, and for the last one n / count - D. The medians use half of beta.
    """
    needed = interior(log_size, rate, beta / 2 / count)
    walk = lengths_deviation(length_epsilon, count - 1, beta / 2)
    mean = 1 / math.expm1(length_epsilon)
    return max(count * (needed + math.ceil(max(mean, walk)) + 2), _share(walk + 2, alpha - 1 / count))


def laplace_quantile(delta: float) -> float:
    """The x with P(standard Laplace >= x) = delta, delta in (0, 1)."""
    return -math.log(2 * delta) if delta <= 0.5 else math.log(2) + math.log1p(-delta)


def points(epsilon: float, delta: float, kept: int, fillers: int, alpha: float, beta: float) -> int:
    """Rows of `sanitizers.PointCounts`: with probability 1 - beta every value's frequency is within alpha.

    With probability 1 - beta the noise of all values that occur, at most n, is at most E = (2/epsilon) ln(n/beta).
    A value that is not listed has at most M = max(T + E, n/kept + 2 E + 1) rows: it was below the threshold T, or
    below ``kept`` others, rounded. A listed count has an error of E + 1/2, and E + 1/2 plus less than 1 may be
    subtracted from it (`at_most`; then less than one row per value is missing). If all values share the missing rows,
    each gets at most max(M, E + 1/2) + 1. A filler has at most n/fillers + 1. In total E + 2 + max(M, n/fillers).
    """
    if 1 / min(kept, fillers) >= alpha:
        raise InputError(
            "alpha", f"more than {1 / min(kept, fillers):.3g}, for {kept} values kept and {fillers} more",
            repr(alpha), "plan the sanitizer for this alpha",
        )  # fmt: skip
    threshold = 1 + 2 / epsilon * laplace_quantile(delta)

    def enough(n: int) -> bool:
        noise = 2 / epsilon * math.log(n / beta)
        missed = max(threshold + noise, n / kept + 2 * noise + 1)
        return noise + 2 + max(missed, n / fillers) <= alpha * n

    return smallest(enough)


def blr_points(queries: int, alpha: float) -> int:
    """The smallest m for which `blr` is proved to reach alpha."""
    return math.floor(math.log(2 * queries) / (2 * alpha**2)) + 1


def blr(databases: int, queries: int, points: int, epsilon: float, alpha: float, beta: float) -> int:
    """Rows of `sanitizers.BLR`: (2/epsilon) ln(databases/beta) / (alpha - eta), eta = sqrt(ln(2 queries) / (2 m)).

    For m rows drawn at random all queries' frequencies are within eta with positive probability (Hoeffding), so a
    multiset with error eta exists; the mechanism loses more than (2 / (epsilon n)) ln(databases/beta) with
    probability beta.
    """
    room = alpha - math.sqrt(math.log(2 * queries) / (2 * points))
    if room <= 0:
        least = f"at least {blr_points(queries, alpha)} for alpha = {alpha:g}"
        raise InputError("points", least, str(points), "take more points, or MWEM")
    return math.ceil(2 / epsilon * math.log(databases / beta) / room)


def mwem_rounds(values: int, alpha: float) -> int:
    """The smallest T for which `mwem` is proved to reach alpha; 0 if there is none."""
    fixed = alpha - values / 2**21
    return math.floor(4 * math.log(values) / fixed**2) if fixed > 0 else 0


def mwem(values: int, queries: int, rounds: int, part: float, alpha: float, beta: float) -> int:
    """Rows of `sanitizers.MWEM` at epsilon ``part`` per round.

    The relative entropy of the rows to the synthetic distribution is at most ln |X| initially; a round decreases it
    by (e_i^2 - z_i^2) / (2 n)^2, with e_i the error of the query asked and z_i its noise. Consider an additional last
    round with the query of largest error, without noise; so the mean of e_i is at most
    2 n sqrt(ln |X| / (T + 1)) + max |z_i|. With probability 1 - beta no query's error exceeds that of the one asked by
    more than (3 / part) ln(2 T |Q| / beta), and no noise exceeds (3 / part) ln(2 T / beta). Integer estimates and
    counts add 1/2 each to z_i, estimates 1/2 twice to the choice. Integer units change a frequency by |X| / 2^24 in the
    synthetic distribution, which counts three times, and by three times that in the average: below |X| / 2^21.
    Reference: Hardt, Ligett, McSherry 2012, Theorem 2.2; constants are our own.
    """
    fixed = alpha - values / 2**21
    room = fixed - 2 * math.sqrt(math.log(values) / (rounds + 1))
    if room <= 0:
        least = f"at least {mwem_rounds(values, alpha)}" if fixed > 0 else "a smaller domain"
        wanted = f"{least} for alpha = {alpha:g} on {values} values"
        raise InputError("rounds", wanted, str(rounds), "take more rounds, or increase alpha")
    noise = 3 / part * (math.log(2 * rounds * queries / beta) + math.log(2 * rounds / beta))
    return math.ceil((noise + 2) / room)


def lengths_deviation(length_epsilon: float, steps: int, beta: float) -> float:
    """D: sums of up to ``steps`` geometric variables, P[g >= k] = e^{-e k}, all stay within D of their means.

    Doob's inequality for e^{u (S_i - i mean)}, u > 0 and u < 0, at half of beta each; plus 1 for integers.
    """
    if steps == 0:
        return 0.0
    q, stop, mean = math.exp(-length_epsilon), -math.expm1(-length_epsilon), 1 / math.expm1(length_epsilon)

    def bound(u: np.ndarray, sign: int) -> float:
        log_moment = math.log(stop) - np.log1p(-q * np.exp(sign * u)) - sign * u * mean
        return float(np.min((steps * log_moment + math.log(2 / beta)) / u))

    return 1 + max(bound(length_epsilon * _GRID, 1), bound(length_epsilon * 10 * _GRID, -1))
