"""Sample sizes of learners that choose by the number of errors on the rows."""

from collections.abc import Iterable, Sequence
from math import atanh
from typing import Any

from dpjax.core import checks
from dpjax.core.host import host_functions
from dpjax.theory import generic


def rows(
    covers: Iterable[Sequence[Any]], k: int, alpha: float, beta: float, agnostic: bool = False, more: float = 0.0
) -> int:
    """Rows from which, with probability 1 - beta, no concept of error above alpha (agnostic: beyond the best concept's)
    errs on at most ``more`` n rows more than the best one, in each of k columns.

    The one concept that a learner returns is what `theory.generic.rows` chooses from, and every t > 0 is allowed. For
    groups of one concept that is (1 - alpha)^n, and sqrt(1 - alpha^2)^n if agnostic, a concept.

    Args:
      covers: `concepts.base.ConceptClass.covers`; realizable ones at ``more`` = 0 only, where they are for every rule.
      more: in [0, alpha).
    """
    checks.accuracy(alpha, beta)
    steepest = atanh(alpha) if agnostic else generic.STEEPEST
    return generic.rows(covers, 1, k, 2 * steepest, lambda n: more * n, alpha, beta, agnostic)


host_functions(globals())
