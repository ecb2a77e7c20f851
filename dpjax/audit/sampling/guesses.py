"""A test of (epsilon, delta) by guesses: which of two neighbors was the database, where the auditor dares to say.

A fair coin chooses one of the two for each trial. After the run the auditor guesses the database or abstains, by a rule
that is fixed in advance. An (epsilon, delta)-private algorithm has

    P[right] <= e^epsilon P[wrong] + delta:

it holds for the event "guess the first" on the first database against the second, and for "guess the second" on the
second against the first, and this is their average. So both events and all runs count in one test. Right guesses of
total probability delta are free. The others are right with probability at most e^epsilon / (1 + e^epsilon), given that
there is a guess: a binomial test, exact whatever the rate of guesses is. At most d guesses are free with probability
1 - level / 20, where d is a quantile of Binomial(trials, delta), and d right guesses are set aside.
"""

from math import exp, log

from scipy.special import betaincc, betainccinv, betaincinv
from scipy.stats import binom

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.theory.search import smallest

_FREE = 0.05  # share of the level for the number of free guesses
_LARGEST = 700.0


def epsilon_of_guesses(right: int, wrong: int, trials: int, delta: float, *, significance: float = 0.05) -> float:
    """A lower bound on epsilon for any algorithm that is (epsilon, delta)-private, at confidence 1 - significance.

    right + wrong <= trials: guesses and independent trials, each with its own fair coin. At least 0.
    """
    _require(right, wrong, trials, significance)
    free = _free(trials, checks.delta(delta), significance)
    level = (1 - _FREE) * significance if delta > 0 else significance
    if right <= free:
        return 0.0
    chance = float(betainccinv(wrong + 1, right - free, level))  # of a wrong guess: an upper bound
    return max(0.0, log(1 - chance) - log(chance)) if chance < 1 else 0.0


def delta_of_guesses(right: int, wrong: int, trials: int, epsilon: float, *, significance: float = 0.05) -> float:
    """A lower bound on delta for any algorithm that is (epsilon, delta)-private, at confidence 1 - significance."""
    _require(right, wrong, trials, significance)
    chance = 1 / (1 + exp(min(checks.number("epsilon", epsilon), _LARGEST)))

    def likely(free: int) -> bool:
        """Whether the other guesses do not refute epsilon."""
        return free >= right or float(betaincc(wrong + 1, right - free, chance)) > (1 - _FREE) * significance

    if likely(0):
        return 0.0
    return float(betaincinv(most := smallest(likely), trials - most + 1, _FREE * significance))


def p_value_of_guesses(
    right: int, wrong: int, trials: int, epsilon: float, delta: float, *, significance: float = 0.05
) -> float:
    """P-value of (epsilon, delta)-privacy for a test at level ``significance``: at most it iff the bound refutes.

    If delta > 0 it is never below ``significance`` / 20, the share for the number of free guesses.
    """
    _require(right, wrong, trials, significance)
    free = _free(trials, checks.delta(delta), significance)
    if right <= free:
        return 1.0
    chance = 1 / (1 + exp(min(checks.number("epsilon", epsilon), _LARGEST)))
    spare = _FREE * significance if delta > 0 else 0.0
    return min(1.0, float(betaincc(wrong + 1, right - free, chance)) + spare)


def _free(trials: int, delta: float, significance: float) -> int:
    """The number of right guesses to set aside."""
    return int(binom.isf(_FREE * significance, trials, delta)) if delta > 0 else 0


def _require(right: int, wrong: int, trials: int, significance: float) -> None:
    checks.integer("right", right, 0)
    checks.integer("wrong", wrong, 0)
    checks.integer("trials", trials, 1)
    checks.probability("significance", significance)
    if right + wrong > trials:
        raise InputError(
            "trials", "as many as there are guesses", f"{trials} for {right} + {wrong}", "count all trials"
        )
