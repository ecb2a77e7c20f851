"""Sample sizes of threshold learners."""

from math import ceil

from dpjax.core import checks
from dpjax.core.host import host_functions
from dpjax.theory.search import log_over, smallest


def median_records(size: int, epsilon: float, beta: float) -> int:
    """m = (4/epsilon) ln(2 |X|/beta): the exponential mechanism on depths of sensitivity 2 finds an interior point.

    The best depth is m, so depth <= 0 has probability at most |X| exp(-epsilon m / 4) <= beta/2.
    """
    checks.integer("domain size", size, 1, 2**2048)
    checks.epsilon(epsilon)
    return ceil((4 / epsilon) * log_over(2 * size, checks.probability("beta", beta)))


def median(size: int, epsilon: float, alpha: float, beta: float) -> int:
    """Rows n of `learners.ThresholdMedian`, realizable: 2 P[Bin(n, alpha) <= m - 1] <= beta/2, m of `median_records`.

    The answer misclassifies at most m - 1 sample rows, all on one side of the target; the interval of mass alpha on
    that side, next to the target, would have to hold at most m - 1 rows.

    Reference: Bun, Nissim, Stemmer, Vadhan 2015 (reduction); constants are our own.
    """
    return interior(median_records(size, epsilon, beta), alpha, beta)


def interior(records: int, alpha: float, beta: float) -> int:
    """Rows n of a threshold between the m largest positive and the m smallest negative examples: as `median`, any m."""
    from scipy.stats import binom  # a slow import, deferred

    checks.integer("records", records, 1)
    checks.probability("alpha", alpha)
    return smallest(lambda n: 2 * binom.cdf(records - 1, n, alpha) <= beta / 2)


host_functions(globals())
