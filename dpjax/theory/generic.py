"""Rows of `learners.GenericLearner` in addition to those of its sanitizer: plain numbers on the host.

The sanitizer answers all symmetric differences of two concepts to alpha/4 with probability 1 - beta/3. So for every
column, one of the concepts to choose from makes at most alpha n/4 errors more than the class's best.
"""

from math import ceil, log

from dpjax.core import checks
from dpjax.theory import generalization
from dpjax.theory.generalization import Restrictions


def realizable(restrictions: Restrictions, choices: int, k: int, part: float, alpha: float, beta: float) -> int:
    """Rows for k realizable columns.

    Each choice at epsilon ``part`` loses at most alpha n/4, all of them with probability 1 - beta/3:
    (2/part) ln(3 k choices / beta). Then all errors are at most alpha n/2, and `generalization.realizable` uses the
    remaining beta/3.

    Args:
      restrictions: n -> ln of the restrictions of the class to 2 n elements.
      choices: upper bound of the number of concepts to choose from.
    """
    chosen = _chosen(choices, k, part, alpha, beta)
    return max(chosen, generalization.realizable(restrictions, k, alpha, beta / 3))


def agnostic(restrictions: Restrictions, choices: int, k: int, part: float, alpha: float, beta: float) -> int:
    """Rows for k columns with any labels: excess error at most alpha.

    A quarter of alpha for the sanitizer, one for the choices, and two for the deviation of errors from empirical
    errors, by `generalization.agnostic`.
    """
    chosen = _chosen(choices, k, part, alpha, beta)
    return max(chosen, generalization.agnostic(restrictions, k, alpha / 4, beta / 3))


def _chosen(choices: int, k: int, part: float, alpha: float, beta: float) -> int:
    checks.integer("choices", choices, 1)
    checks.integer("k", k, 1)
    checks.epsilon(part, "part")
    checks.accuracy(alpha, beta)
    return ceil(2 / part * log(3 * k * choices / beta) / (alpha / 4))
