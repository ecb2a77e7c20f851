"""The response of a learner to the labels at one element: where it is steepest, and log-likelihood ratios of answers.

Plain numbers on the host. Nothing here needs to be right for an audit to be valid.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainccinv

BINS = 33
"""Of the numbers of ones whose response is estimated at once."""
_LEVEL = 0.05
_BITS = 23  # of the largest score: float32 holds it


@dataclass(frozen=True)
class Response:
    """trials and answers 1, by bins of the number of ones among all rows, ``int64[bins]`` each.

    Bin i has ``width`` numbers, from low + i width on.
    """

    trials: np.ndarray
    answers: np.ndarray
    low: int
    width: int

    @property
    def rates(self) -> np.ndarray:
        """The estimated probability of answer 1, ``float64[bins]``, strictly within (0, 1)."""
        return (self.answers + 0.5) / (self.trials + 1)

    def steepest(self, tie: float) -> int:
        """The first of the two neighboring bins that differ most, in standard deviations of an answer.

        Of those within two standard errors of the largest difference, the ones next to a ``tie``.
        """
        seen = np.flatnonzero(self.trials)
        bins = np.arange(seen[0], max(seen[-1], seen[0] + 1))
        middle = (self.rates[bins + 1] + self.rates[bins]) / 2
        gain = np.abs(self.rates[bins + 1] - self.rates[bins]) / np.sqrt(middle * (1 - middle))
        error = np.sqrt(1 / (self.trials[bins + 1] + 1) + 1 / (self.trials[bins] + 1))
        good = bins[gain + 2 * error >= np.max(gain - 2 * error)]
        return int(good[np.argmin(np.abs(self.low + (good + 1) * self.width - 0.5 - tie))])


def width_of(count: Any) -> Any:
    """Numbers in a bin, if ``count`` + 1 numbers are in `BINS` bins."""
    return count // BINS + 1


def looks_at(rows: int) -> int:
    """How often `sensitive` calls ``respond``, at most."""
    looks, count = 1, rows
    while width_of(count) > 1:
        looks, count = looks + 1, 2 * width_of(count)
    return looks


def sensitive(respond: Callable[[int, int], Response], rows: int) -> tuple[int, list[Response]]:
    """The number of ones among ``rows`` - 1 rows at which one more changes the answer most, and what was seen.

    respond(low, count): the response where the others' ones are one of ``count`` numbers from ``low`` on. The two
    bins that differ most are looked at again, until bins are single numbers.
    """
    low, count, seen = 0, rows, list[Response]()
    while True:
        seen.append(response := respond(low, count))
        first = response.low + response.steepest(rows / 2) * response.width
        if response.width == 1:
            return min(first, rows - 1), seen
        low, count = first, min(2 * response.width, rows - first)


def weights(first: np.ndarray, second: np.ndarray, victim: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """What an answer 1 and an answer 0 adds to the score in each column, ``int32[k]`` each, and the unit.

    first, second ``bool[t, k]``: training answers on the two databases. Columns in which the victim has the same label
    share their estimates as far as their rates do not differ by more than chance.
    """
    least = 0.5 / (min(len(first), len(second)) + 1)  # the same on both sides: constant answers say nothing
    p, q = (np.clip(_rates(answers, victim), least, 1 - least) for answers in (first, second))
    ratios = np.log(p / q), np.log((1 - p) / (1 - q))
    largest = float(np.sum(np.maximum(*map(np.abs, ratios))))
    unit = 2.0 ** np.floor(_BITS - np.log2(max(largest, 2.0**-20)))
    return *(np.round(unit * ratio).astype(np.int32) for ratio in ratios), unit


def boldness(scores: np.ndarray, coins: np.ndarray, unit: float, trials: int) -> float:
    """The size of a score from which on its sign is a guess, for the largest bound that ``trials`` trials promise.

    scores, coins: of training trials. Wrong guesses are rare, so they are counted by right ones, each of which stands
    for e^-score wrong ones if scores are log-likelihood ratios, and in no case as fewer than one standard error below
    those that were seen.
    """
    size = np.abs(scores)
    order = np.argsort(-size, kind="stable")
    correct = ((scores > 0) == coins)[order]
    sizes = size[order]
    last = np.append(sizes[1:] < sizes[:-1], True) & (sizes > 0)  # equal sizes stay together
    right, seen = np.cumsum(correct), np.cumsum(~correct)
    implied = np.cumsum(np.where(correct, np.exp(-sizes / unit), 0.0))
    wrong = np.maximum(implied, seen - np.sqrt(seen))
    scale = trials / len(scores)
    chance = betainccinv(scale * wrong + 1, np.maximum(scale * right, 1e-9), _LEVEL)  # of a wrong guess
    promised = np.where(last, -chance, -np.inf)
    return float(sizes[np.argmax(promised)]) if last.any() else 1.0


def _rates(answers: np.ndarray, victim: np.ndarray) -> np.ndarray:
    """The probability of answer 1 in each column, by the method of moments for beta-binomial counts of each group."""
    trials, sums = len(answers), answers.sum(axis=0).astype(float)
    rates = np.empty(len(sums))
    for group in (victim, ~victim):
        group_sums = sums[group]
        if not group_sums.size:
            continue
        mean = group_sums.sum() / (trials * group_sums.size)
        binomial = mean * (1 - mean) / trials
        between = max(0.0, float(np.var(group_sums / trials)) - binomial)
        share = between / (between + binomial) if between else 0.0  # of the column's own rate
        rates[group] = share * group_sums / trials + (1 - share) * mean
    return rates
