"""The difference of two success rates, from trials that were run with the same keys: an exact interval.

Of m pairs of trials, ``first`` ended in success under the first alone and ``second`` under the second alone. Both are
counts of a trinomial with probabilities p and q, and the difference of the rates is p - q, whatever the pairs have in
common.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import bdtr, gammaln, ndtri, xlog1py, xlogy

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.intervals import Floats, clopper_pearson

_SET_ASIDE = 0.01  # of the error: that q lies outside of its own interval
_TOLERANCE = 0.02  # of the half width, by which an end may be further out than it need be
_POINTS, _STEP, _STEPS = 33, 1e-7, 200
_MOST_TRIALS = 10**7


@dataclass(frozen=True)
class Difference:
    """p - q of the first trials' rate and the second's: estimate, and an interval with probability ``confidence``.

    counts: (first alone, second alone, both, trials).
    """

    estimate: float
    lower: float
    upper: float
    confidence: float
    counts: tuple[int, int, int, int]

    @property
    def ratio(self) -> float:
        """Interval width relative to that of the same method for independent trials with the same two rates.

        Below 1 if pairing helps.
        """
        first, second, both, trials = self.counts
        left, right = (first + both) / trials, (second + both) / trials
        alone = round(left * (1 - right) * trials), round(right * (1 - left) * trials)
        lower, upper = _interval(*alone, trials, self.confidence)
        return (self.upper - self.lower) / (upper - lower)


def difference(first: int, second: int, both: int, trials: int, confidence: float = 0.95) -> Difference:
    """The difference of two rates from ``trials`` pairs, fixed in advance: success of both, of one alone, or of none.

    Raises InputError for counts that do not add up.
    """
    checks.integer("trials", trials, 1, _MOST_TRIALS)
    for name, count in (("first", first), ("second", second), ("both", both)):
        checks.integer(name, count, 0, trials)
    checks.probability("confidence", confidence)
    if first + second + both > trials:
        counts = f"{first} + {second} + {both}"
        raise InputError("counts", f"at most {trials} in all", counts, "count each pair of trials once")
    lower, upper = _interval(first, second, trials, confidence)
    return Difference((first - second) / trials, lower, upper, confidence, (first, second, both, trials))


def _interval(first: int, second: int, trials: int, confidence: float) -> tuple[float, float]:
    error = (1 - confidence) / 2
    return -_upper(second, first, trials, error), _upper(first, second, trials, error)


@lru_cache(maxsize=4096)
def _upper(first: int, second: int, trials: int, error: float) -> float:
    """An upper end for p - q: too low with probability at most ``error``, for all p and q.

    Outcomes are ordered by an approximate upper limit u. Outcomes whose u is at most the observed one form a region,
    and all (p, q) that give it a probability above ``error`` are kept; the end is the largest p - q among them. For a
    hundredth of the error, q is limited to its own exact interval. Where the approximation is good the end is close
    to it, since the region is then about as likely for all (p, q) of one difference.

    The region is grown until its probability falls in p and rises in q, so the largest p for each q rises with q, up to
    1 - q, and over q in [a, b] the largest p - q is at most that p at b less a, or 1 - 2 a. Intervals of q are halved
    until that bound is within a fiftieth of the half width, and the end is the bound.

    Reference: Buehler 1957, "Confidence intervals for the product of two binomial parameters", JASA (the ordering);
    Berger and Boos 1994, "P values maximized over a confidence set for the nuisance parameter", JASA.
    """
    kept = error * (1 - _SET_ASIDE)
    z = abs(float(ndtri(error))) + 0.1
    low, high = (float(end) for end in clopper_pearson(second, trials, 1 - 2 * error * _SET_ASIDE / 2))
    probability = _Probability(_region(first, second, trials, z), trials, kept)
    enough = _TOLERANCE * z * math.sqrt((first + second + z * z / 4) / trials / (trials + z * z))
    edges = np.linspace(low, high, _POINTS)
    zeros, limits = np.zeros_like(edges), 1 - edges
    tops = _largest(probability, edges, zeros, limits, kept)
    while True:
        all_p = tops[1:] >= 1 - edges[1:] - _STEP  # then nothing but p + q <= 1 limits p
        bounds = np.where(all_p, 1 - edges[:-1], tops[1:]) - edges[:-1]
        attained = float(np.max(tops - edges)) - _STEP
        wide = (bounds > max(attained, -1.0) + enough) & (np.diff(edges) > _STEP)
        if not wide.any():
            end = float(np.max(bounds, initial=tops[-1] - edges[-1]))
            return max((first - second) / trials, min(1 - low, end))
        left, right = np.flatnonzero(wide), np.flatnonzero(wide) + 1
        middles = (edges[left] + edges[right]) / 2
        most = np.where(all_p[left], 1 - middles, np.clip(tops[right], 0, 1 - middles))
        largest = _largest(probability, middles, np.clip(tops[left], 0, 1 - middles), most, kept)
        edges, tops = np.insert(edges, right, middles), np.insert(tops, right, largest)


def _region(first: int, second: int, trials: int, z: float) -> Floats:
    """``float64[trials + 1]``: for each count of the second alone, the largest count of the first in the region."""
    grown = trials + z * z / 2

    def limit(one: Any, other: Any) -> Any:
        """Rises in ``one``: of its square root's argument, grown times it is at least z^2 / 4."""
        d = (one - other) / grown
        return d + z * np.sqrt((one + other + z * z / 4) / grown - d * d) / math.sqrt(grown)

    counts = np.arange(trials + 1.0)
    seen = limit(first, second) + 1e-12
    low, high = np.full(trials + 1, -1.0), trials - counts + 1
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        inside = (limit(np.maximum(middle, 0), counts) <= seen) & (middle >= 0)
        inside |= middle < 0
        open_ = high - low > 1
        low, high = np.where(open_ & inside, middle, low), np.where(open_ & ~inside, middle, high)
    return np.maximum.accumulate(low)


class _Probability:
    """Of the region, for each (p, q), rounded up: summed over the counts of the second alone that are not too rare."""

    def __init__(self, most: Floats, trials: int, level: float):
        self.most, self.trials, self.missed = most, trials, 1e-4 * level
        self.far = math.sqrt(2 * math.log(2 / self.missed))

    def __call__(self, p: Floats, q: Floats) -> Floats:
        trials = self.trials
        mean = trials * q
        far = self.far * np.sqrt(trials * q * (1 - q)) + self.far**2 / 3  # Bernstein
        start = np.maximum(0, np.floor(mean - far))
        steps = np.arange(int((np.minimum(trials, mean + far) - start).max()) + 1)
        count = np.minimum(start[:, None] + steps, trials)
        used = start[:, None] + steps <= trials
        q, p = q[:, None], p[:, None]
        choose = gammaln(trials + 1) - gammaln(count + 1) - gammaln(trials - count + 1)
        weight = np.where(used, np.exp(choose + xlogy(count, q) + xlog1py(trials - count, -q)), 0.0)
        share = np.clip(p / np.maximum(1 - q, 1e-300), 0.0, 1.0)
        top = np.minimum(self.most[count.astype(np.int64)], trials - count)
        inside = bdtr(np.maximum(top, 0), (trials - count).astype(np.int64), share)
        return np.minimum(1.0, np.sum(weight * np.where(top >= 0, inside, 0.0), axis=1) + self.missed)


def _largest(
    probability: Callable[[Floats, Floats], Floats], q: Floats, low: Floats, high: Floats, level: float
) -> Floats:
    """For each q the largest p with at least this probability, to `_STEP` above; -inf where no p has it.

    low, high: where it lies, if anywhere. The probability falls in p: bisection, at points that a secant of its normal
    quantile proposes.
    """
    goal = ndtri(level)
    low, high = np.maximum(low - _STEP, 0.0), np.minimum(high + _STEP, 1 - q)
    below, above = (ndtri(probability(p, q)) for p in (low, high))
    never, always = below < goal, above >= goal
    for step in range(_STEPS):
        open_ = (high - low > _STEP) & ~never & ~always
        if not open_.any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.nan_to_num((below - goal) / (below - above), nan=0.5)
        share = np.full_like(q, 0.5) if step % 3 == 2 else np.clip(share, 1e-3, 1 - 1e-3)
        middle = (low + (high - low) * share)[open_]
        quantiles = ndtri(probability(middle, q[open_]))
        good = quantiles >= goal
        for ends, seen, moved in ((low, below, good), (high, above, ~good)):
            at = np.flatnonzero(open_)[moved]
            ends[at], seen[at] = middle[moved], quantiles[moved]
    return np.where(never, -np.inf, high)
