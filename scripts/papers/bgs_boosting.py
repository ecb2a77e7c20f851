"""Steps of Appendix A as printed whose constants do not give what they claim, as numbers; used by no learner

Reference: Bun, Gaboardi, Sivakumar 2021, Appendix A.
"""

from math import expm1

from dpjax.accounting.subsampling import secrecy_pair, with_replacement_pair
from dpjax.core import checks


def last_step_factor(epsilon: float, turns: int) -> float:
    """By how much the last step, subsampling of the whole run, misses: (e^{2 T epsilon} - 1) / (2 T epsilon).

    The run of T rounds is (2 T epsilon)-private, and the step takes subsampling to be linear in that, which holds up to
    1 only. Learners draw fewer rows in each round instead.
    """
    total = 2 * checks.integer("rounds", turns, 1) * checks.epsilon(epsilon)
    return expm1(total) / total


def last_step_delta(epsilon: float, rate_divisor: int = 12) -> float:
    """The delta of the last step relative to its target, at rate 1 / (divisor x T) and 2 T epsilon <= 1.

    Of (2 T epsilon, 3 T delta) by Lemma 4.12 of Bun, Nissim, Stemmer, Vadhan 2015, 4 (3 T delta) rate
    e^{6 (2 T epsilon) rate}: the printed rate 1 / (12 T) gives e^epsilon delta, more than delta; 1 / (16 T) gives
    (3/4) e^{(3/4) epsilon} delta.
    """
    checks.integer("rate_divisor", rate_divisor, 2)
    return secrecy_pair(2 * checks.epsilon(epsilon), 3e-9, 1, rate_divisor)[1] / 1e-9  # T = 1


def density_factor(alpha: float, n: int, draws: int, epsilon: float) -> float:
    """The epsilon of a round at the density alpha/2 that training error alpha/2 needs, relative to the printed alpha.

    Weights are then (2 / (alpha n))-smooth, not (1 / (alpha n))-smooth: the ratio is close to 2.
    """
    checks.probability("alpha", alpha)
    of_round = lambda share: with_replacement_pair(epsilon, 0.0, draws, min(1.0, 1 / (share * n)))[0]  # noqa: E731
    return of_round(alpha / 2) / of_round(alpha)
