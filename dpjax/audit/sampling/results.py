"""The test of one event or of one rule that guesses, on fresh trials, at a significance level of its own."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.audit.sampling.guesses import delta_of_guesses, epsilon_of_guesses, p_value_of_guesses
from dpjax.audit.sampling.ratio_test import delta_lower, epsilon_lower, p_value

_NEVER = 1.0  # p-value of a test that was not made


@dataclass(frozen=True)
class Result:
    """One test, valid at significance ``level``.

    counts: successes on the database where the event is more likely and on the other one, or right and wrong guesses.
    epsilon, delta: lower bounds at the claim's delta and at its epsilon. p_value: of the claim. delta_at: epsilon -> a
    lower bound on delta; None if there is no curve.
    """

    counts: tuple[int, int]
    p_value: float
    epsilon: float
    delta: float
    level: float
    delta_at: Callable[[float], float] | None = field(default=None, compare=False, repr=False)

    @property
    def refutes(self) -> bool:
        """Whether the test refutes the claim at its level."""
        return self.p_value <= self.level

    @property
    def rank(self) -> tuple[bool, float]:
        """Sort key for selecting one of several tests: one that refutes its claim, else the largest bound."""
        return not self.refutes, -self.epsilon

    def curve(self, claim: Guarantee) -> list[tuple[float, float]]:
        """Lower bounds on delta over a grid of epsilons, each at confidence 1 - level."""
        if self.delta_at is None:
            return []
        return [(float(epsilon), self.delta_at(float(epsilon))) for epsilon in np.linspace(0, 2 * claim.epsilon, 9)]


def of_event(x: int, n: int, y: int, m: int, claim: Guarantee, level: float) -> Result:
    """The test of a claim by an event that occurred in x of n and in y of m trials, with n and m fixed in advance."""
    if not n or not m:
        return Result((x, y), _NEVER, 0.0, 0.0, level)
    value = p_value(x, n, y, m, claim.epsilon, claim.delta, significance=level)
    epsilon = epsilon_lower(x, n, y, m, claim.delta, significance=level)

    def delta_at(epsilon: float) -> float:
        return float(delta_lower(x, n, y, m, epsilon, significance=level))

    return Result((x, y), float(value), float(epsilon), delta_at(claim.epsilon), level, delta_at)


def of_guesses(right: int, wrong: int, trials: int, claim: Guarantee, level: float) -> Result:
    """The test of a claim by guesses in this number of trials, each with its own fair coin."""
    value = p_value_of_guesses(right, wrong, trials, claim.epsilon, claim.delta, significance=level)
    epsilon = epsilon_of_guesses(right, wrong, trials, claim.delta, significance=level)

    def delta_at(epsilon: float) -> float:
        return delta_of_guesses(right, wrong, trials, epsilon, significance=level)

    return Result((right, wrong), value, epsilon, delta_at(claim.epsilon), level, delta_at)


def of_bet(tiles: Iterable[tuple[np.ndarray, np.ndarray]], claim: Guarantee, level: float) -> tuple[Result, int]:
    """Tests by the bet prod(1 + lambda (X - e^epsilon Y - delta)), which grows only if the claim is wrong.

    tiles: X and Y of each trial, ``bool[t]``. lambda is computed from past tiles. Also returns the number of trials.
    """
    joint, log_wealth, highest = np.zeros(4, np.int64), 0.0, 0.0
    scale = math.exp(min(claim.epsilon, 700.0))  # no number of trials refutes a larger epsilon
    gains = np.array([-claim.delta, -scale - claim.delta, 1 - claim.delta, 1 - scale - claim.delta])
    for x, y in tiles:
        tile = np.bincount(2 * x.astype(np.int64) + y, minlength=4)
        share = _kelly(joint, gains, 0.99 / (scale + claim.delta))
        log_wealth += float(np.sum(tile * np.log1p(share * gains)))
        highest = max(highest, log_wealth)
        joint = joint + tile
        if log_wealth >= -math.log(level):
            break
    refuted = highest >= -math.log(level)
    # at a data-dependent stopping time only the verdict of the bet is valid
    epsilon, delta = (claim.epsilon, claim.delta) if refuted else (0.0, 0.0)
    counts = int(joint[2] + joint[3]), int(joint[1] + joint[3])
    return Result(counts, min(1.0, math.exp(-highest)), epsilon, delta, level), int(joint.sum())


def _kelly(joint: np.ndarray, gains: np.ndarray, most: float) -> float:
    """The stake with the largest growth on the past plus one pseudo-trial of each kind; 0 without past trials."""
    if not joint.sum():
        return 0.05 * most
    shares = most * np.linspace(0, 1, 101)[1:]
    growth = np.sum((joint + 0.25) * np.log1p(shares[:, None] * gains), axis=1)
    return float(shares[np.argmax(growth)]) if growth.max() > 0 else 0.05 * most
