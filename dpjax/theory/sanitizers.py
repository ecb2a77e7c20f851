"""Rows that suffice for a sanitizer, with constants and proofs: plain numbers on the host.

Everywhere log_size = ln |X|, ``rate`` is the inverse temperature of the rank score, and an exponential median of c
rows has quality ceil(c / 2) - D or less with probability at most |X| e^{-rate D}.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import NoTheoremError
from dpjax.core.host import host_functions
from dpjax.theory.search import least, log_over, smallest

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
    checks.integer("levels", levels, 1, 1 << 10)
    off = deviation(log_size, rate, 2**levels - 1, beta) + 2
    older, newer = 0.0, 0.0
    for _ in range(levels):
        older, newer = newer, (older + newer) / 2 + off
    return _share(newer + 1, alpha - 0.5 / 2**levels)


def slices(log_size: float, rate: float, length_epsilon: float, count: int, alpha: float, beta: float) -> float:
    """Rows for ``count`` slices of geometric length, the last one with all remaining rows; inf if no number is enough.

    Slice i ends at B_i, its weights at A_i = i n / count, and |B_i - A_i| <= D (`lengths_deviation`) for all i. If the
    point of slice j is in its hull, a threshold t <= it has A_{j-1} of the weight and between B_{j-1} and B_j rows, so
    the error is at most (n / count + D) / n, and likewise above it. Each slice needs `interior` rows, which the public
    part of its length provides, and for the last one n / count - D. The medians use half of beta.
    """
    needed = interior(log_size, rate, beta / 2 / count)
    walk = lengths_deviation(length_epsilon, count - 1, beta / 2)
    mean = 1 / math.expm1(min(length_epsilon, 700.0))
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
        expected = f"more than {1 / min(kept, fillers):.3g}, for {kept} values kept and {fillers} more"
        raise NoTheoremError("alpha", expected, repr(alpha), "plan the sanitizer for this alpha")
    threshold = 1 + 2 / epsilon * laplace_quantile(delta)

    def enough(n: int) -> bool:
        noise = 2 / epsilon * math.log(n / beta)
        missed = max(threshold + noise, n / kept + 2 * noise + 1)
        return noise + 2 + max(missed, n / fillers) <= alpha * n

    return smallest(enough)


def unseen_points(rate: float, margin: float, kept: int, n: int, beta: float) -> float:
    """m: with probability 1 - beta `sanitizers.PointCounts` lists every value of more than m of n rows; at most n.

    Let T be the threshold, and L >= T, not always whole, so that m has no jumps in n. A value is listed if its
    noisy count reaches L and at most ``kept`` values have a rounded count as large, so a noisy count of at least
    max(T, L - 1). The number of these is a sum of independent indicators of mean at most M = n max_c P[c + noise >=
    max(T, L - 1)] / c, so it exceeds ``kept`` with probability at most e^-M (e M / (kept + 1))^(kept + 1): the
    least L for which this is beta / 2. At most n / m values have more than m rows each, and each stays below L with
    probability at most P[m + noise < L], which decreases with m.
    """
    threshold = 1 + margin / rate

    def displaced(level: float) -> float:
        mean = n * _most_per_row(rate, max(threshold, threshold + level - 1))
        if mean >= kept + 1:
            return 1.0
        return math.exp(kept + 1 - mean + (kept + 1) * math.log(mean / (kept + 1))) if mean > 0 else 0.0

    level = least(lambda level: displaced(level) <= beta / 2, 0.0, float(n))
    reached = max(threshold + level, 1.0)  # a noisy count that rounds to 0 is not listed
    return least(lambda c: c >= n or n / c * _reaches(rate * (c - reached)) <= beta / 2, 1.0, max(1.0, n))


def _most_per_row(rate: float, reached: float) -> float:
    """The supremum over c >= 1 of P[c + noise >= reached] / c, for noise of a standard Laplace over ``rate``.

    Below ``reached`` it is at an end. Above, with y = rate c, the derivative is 0 where e^(y - rate reached) =
    (y + 1)/2, and the value there is rate / (y + 1). The largest float y below that is found by Newton's method.
    """
    ends = [_reaches(rate * (reached - c)) / c for c in {1.0, max(1.0, reached)}]
    rises = lambda y: y - rate * reached < math.log((y + 1) / 2)  # noqa: E731
    y = rate * max(1.0, reached)
    if not rises(y):
        return max(ends)  # it falls from there on
    for _ in range(8):  # y > 1: an error e becomes at most e^2 / 4
        y -= (y - rate * reached - math.log((y + 1) / 2)) * (1 + 1 / y)
    while rises(above := math.nextafter(y, math.inf)):
        y = above
    while not rises(y):
        y = math.nextafter(y, 0)
    return max(*ends, rate / (y + 1))


def _reaches(x: float) -> float:
    """P(standard Laplace >= x)."""
    tail = 0.5 * float(np.exp(-abs(x)))
    return tail if x > 0 else 1 - tail


def sampled_error(queries: int, points: int) -> float:
    """sqrt(ln(2 queries) / (2 points)), at least the error of the best multiset of so many points for any queries: that
    many rows drawn at random have all frequencies within it with positive probability (Hoeffding)."""
    return math.sqrt(math.log(2 * queries) / (2 * points))


def rounded_error(points: int, singles: bool) -> float:
    """At least the error of the best multiset for the counts up to each value, 1 / (2 points), and with ``singles`` for
    the counts of each value, too, 1 / points: round the partial sums, which moves each by at most 1/2."""
    return (1.0 if singles else 0.5) / points


def blr_points(least_error: Callable[[int], float], alpha: float) -> int:
    """The smallest m for which `blr` is proved to reach alpha."""
    return smallest(lambda points: least_error(points) < alpha)


def blr(databases: int, least_error: float, epsilon: float, alpha: float, beta: float) -> int:
    """Rows of `sanitizers.BLR`: (2/epsilon) ln(databases/beta) / (alpha - least_error).

    Some multiset has at most ``least_error``, below alpha, and the mechanism loses more than (2 / (epsilon n))
    ln(databases/beta) with probability beta.
    """
    return math.ceil(2 / epsilon * log_over(databases, beta) / (alpha - least_error))


def mwem_rounds(values: int, alpha: float) -> int:
    """The smallest T for which `mwem` is proved to reach alpha; 0 if there is none."""
    fixed = alpha - values / 2**21
    return math.floor(4 * math.log(values) / fixed**2) if fixed > 0 else 0


def mwem(values: int, queries: int, rounds: int, part: float, alpha: float, beta: float) -> int:
    """Rows of `sanitizers.MWEM` at epsilon ``part`` per round.

    The relative entropy of the rows to the synthetic distribution is at most ln |X| initially; a round decreases it
    by (e_i^2 - z_i^2) / (2 n)^2, with e_i the error of the query asked and z_i its noise. With an additional last
    round, with the query of largest error and without noise, the mean of e_i is at most the root of the mean of e_i^2,
    and that is at most (4 n^2 ln |X| + the sum of z_i^2) / (T + 1). The error of the average distribution is at most
    this root plus the mean of the gaps, by which the errors of the queries asked are below the largest ones. With
    h = 3 / part the sum of the gaps is at most h times T ln |Q| plus a sum of T exponential variables, and the noises
    are h times such variables: each sum stays below its bound here except with probability beta / 2, see
    `_sum_of_squares`.

    Integer estimates and counts add 1/2 each to z_i, estimates 1/2 twice to the gap. Integer units change a frequency
    by |X| / 2^24 in the synthetic distribution, which counts three times, and by three times that in the average: below
    |X| / 2^21.
    Reference: Hardt, Ligett, McSherry 2012, Theorem 2.2, which has the largest gap and noise in place of their means.
    """
    from scipy.stats import gamma  # a slow import, deferred

    fixed, steps = alpha - values / 2**21, rounds + 1
    squared = fixed**2 - 4 * math.log(values) / steps
    if fixed <= 0 or squared <= 0:
        least = f"at least {mwem_rounds(values, alpha)}" if fixed > 0 else "a smaller domain"
        wanted = f"{least} for alpha = {alpha:g} on {values} values"
        raise NoTheoremError("rounds", wanted, str(rounds), "take more rounds, or increase alpha")
    gaps = rounds * math.log(queries) + min(float(gamma.isf(beta / 2, rounds)), rounds * math.log(2 * rounds / beta))
    gap, noise = 3 / part * gaps / steps + 2, (3 / part) ** 2 * _sum_of_squares(rounds, beta / 2) / steps
    # fixed n - gap is at least the root of 4 n^2 ln |X| / (T + 1) + noise from the larger root on
    return math.ceil((fixed * gap + math.sqrt((fixed * gap) ** 2 - squared * (gap**2 - noise))) / squared)


@lru_cache(maxsize=4096)
def _sum_of_squares(count: int, beta: float) -> float:
    """s: the sum of the squares of ``count`` independent standard exponential variables is at most s with probability
    1 - beta.

    With probability 1 - beta / 8 none is above t = ln(8 count / beta); of the squares cut there Chernoff's bound, with
    moments e^(u t^2 - t) + the integral of e^(u x^2 - x) over [0, t], of a convex function, so at most its trapezoids.
    """
    t = math.log(8 * count / beta)
    x, u = np.linspace(0, t, 1025), (np.geomspace(1e-4, 1, 96) / t)[:, None]
    values = np.exp(u * x**2 - x)
    moments = np.sum(values[:, 1:] + values[:, :-1], axis=1) * (t / 2048) + np.exp(u[:, 0] * t**2 - t)
    chernoff = float(np.min((count * np.log(moments) - math.log(7 / 8 * beta)) / u[:, 0]))
    return min(chernoff, count * math.log(count / beta) ** 2)


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


host_functions(globals())
