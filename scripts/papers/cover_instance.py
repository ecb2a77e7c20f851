"""Two hard neighboring databases for set cover: their exact laws, which give lower bounds for every claim."""

import math

import numpy as np
from scipy.special import gammaln, log_expit

from dpjax.accounting.numeric.profile import Floats, epsilon_at, hockey_stick, two_laws
from dpjax.accounting.numeric.ranges import non_negative
from dpjax.core import checks

_CHANCES = np.geomspace(1e-3, 0.9, 400)


def instance_laws(coefficient: float, rounds: int, chance: float, scale: float = 0.0) -> tuple[Floats, Floats]:
    """Log-laws without and with one more target, over the round that hits it and the earlier noisy counts.

    At one point are n targets and 3 n other rows, so that no function that is ever chosen hits them: they only keep
    b / k far above the number of targets hit. At another point the second database has one more target, which functions
    of total mass ``chance`` among the remaining ones hit. Their quality is larger by 1 than that of the others, for any
    k, and the laws are exact as n grows. Each noisy count is a randomized response about which database it is.

    Args:
      coefficient: > 0. rounds: m >= 1. chance: in (0, 1). scale: >= 0, of the counts' noise; 0: counts not published.

    Returns:
      ``float64[outcomes]`` twice, of neighbors under ADD_OR_REMOVE_ONE.
    """
    checks.epsilon(coefficient, "coefficient")
    checks.probability("chance", chance)
    checks.integer("rounds", rounds, 1)
    rate = 1 / scale if non_negative("scale", scale) else 0.0
    normal = math.log1p(chance * math.expm1(coefficient))
    first, second = [], []
    for turn in range(1, rounds + 2):  # hit in this round; rounds + 1: never
        hit = turn <= rounds
        spoken = min(turn, rounds) if rate else 0
        without = np.arange(spoken + 1)  # counts that are more likely without the target
        with_it = spoken - without
        ways = gammaln(spoken + 1) - gammaln(without + 1) - gammaln(with_it + 1)
        chosen = ways + (turn - 1) * math.log1p(-chance) + (math.log(chance) if hit else 0.0)
        gain = (coefficient if hit else 0.0) - min(turn, rounds) * normal
        first.append(chosen + without * log_expit(rate) + with_it * log_expit(-rate))
        second.append(chosen + gain + with_it * log_expit(rate) + without * log_expit(-rate))
    return two_laws(np.concatenate(first), np.concatenate(second))


def instance_delta(epsilon: float, coefficient: float, rounds: int, scale: float = 0.0) -> float:
    """The largest delta(epsilon) of `instance_laws` over a grid of chances: no claim on set cover is below it."""
    non_negative("epsilon", epsilon)
    laws = [instance_laws(coefficient, rounds, float(chance), scale) for chance in _CHANCES]
    return max(float(hockey_stick(*pair, epsilon)) for both in laws for pair in (both, both[::-1]))


def instance_epsilon(delta: float, coefficient: float, rounds: int, scale: float = 0.0) -> float:
    """The largest epsilon(delta) of `instance_laws` over a grid of chances: no claim on set cover is below it."""
    checks.delta(delta)
    laws = [instance_laws(coefficient, rounds, float(chance), scale) for chance in _CHANCES]
    return max(float(epsilon_at(*pair, delta)) for both in laws for pair in (both, both[::-1]))
