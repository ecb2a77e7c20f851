"""The response of a learner to the labels at one element: where it is steepest, and log-likelihood ratios of answers.

Plain numbers on the host. Nothing here needs to be right for an audit to be valid.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainccinv

_LEVEL = 0.05
_BITS = 23  # of the largest score: float32 holds it


@dataclass(frozen=True)
class Response:
    """trials and answers 1 for each number m of ones among the rows, ``int64[rows + 1]`` each."""

    trials: np.ndarray
    answers: np.ndarray

    @property
    def rates(self) -> np.ndarray:
        """The estimated probability of answer 1, ``float64[rows + 1]``, strictly within (0, 1)."""
        return (self.answers + 0.5) / (self.trials + 1)


def steepest(response: Response, rows: int) -> int:
    """The number of ones among the other rows at which one more changes the answer most.

    Differences are counted in standard deviations of an answer. Of those within two standard errors of the largest, the
    one next to a tie.
    """
    rates = response.rates
    middle = (rates[1:] + rates[:-1]) / 2
    variance = middle * (1 - middle)
    gain = np.abs(np.diff(rates)) / np.sqrt(variance)
    error = np.sqrt(1 / (response.trials[1:] + 1) + 1 / (response.trials[:-1] + 1))
    good = np.flatnonzero(gain + 2 * error >= np.max(gain - 2 * error))
    return int(good[np.argmin(np.abs(good - (rows - 1) / 2))])


def weights(first: np.ndarray, second: np.ndarray, victim: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """What an answer 1 and an answer 0 adds to the score in each column, ``int32[k]`` each, and the unit.

    first, second ``bool[t, k]``: training answers on the two databases. Columns in which the victim has the same label
    share their estimates as far as their rates do not differ by more than chance.
    """
    p, q = (_rates(answers, victim) for answers in (first, second))
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
    found = np.empty(len(sums))
    for group in (victim, ~victim):
        own = sums[group]
        if not own.size:
            continue
        mean = (own.sum() + 0.5) / (trials * own.size + 1)
        binomial = mean * (1 - mean) / trials
        between = float(np.var(own / trials)) - binomial
        share = max(0.0, between / (between + binomial)) if between > 0 else 0.0  # of the column's own rate
        rate = share * own / trials + (1 - share) * mean
        least = 0.5 / (trials * own.size + 1) if share == 0 else 0.5 / (trials + 1)
        found[group] = np.clip(rate, least, 1 - least)
    return found
