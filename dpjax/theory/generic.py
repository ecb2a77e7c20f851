"""Rows of `learners.GenericLearner`: plain numbers on the host. The proof is docs/proofs/generic.md."""

from collections.abc import Callable, Iterable, Sequence
from math import inf, log
from typing import Any

import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.host import host_functions
from dpjax.theory.search import smallest

_STEPS = np.unique(np.concatenate([np.geomspace(1e-4, 1, 128), np.linspace(1 / 64, 1, 64)]))
_CHECKED = 256
STEEPEST = 40.0
"""The most of t: e^-t is nothing beyond, and cosh t overflows."""


def rows(
    covers: Iterable[Sequence[Any]],
    choices: int,
    k: int,
    part: float,
    unseen: Callable[[int], float],
    alpha: float,
    beta: float,
    agnostic: bool = False,
) -> int:
    """Rows from which all of k choices have an error of at most alpha (agnostic: beyond the best concept's).

    The bound rises where ``unseen`` gains a row, for a large epsilon above what it was for fewer rows: up to twice the
    rows, but not beyond 256, every number is checked.

    With n rows and m = unseen(n), for every t in [0, part/2]: a concept to choose from, the representative, makes at
    most m errors more than the best, so the probability of a choice with more than alpha is at most

    sum over a cover's groups of number choices^[shared] r(alpha - loss)^n e^{t m differs}, with
    r(a) = 1 - a (1 - e^-t) if realizable, and cosh t - a sinh t otherwise; for a hidden group,
    P[Binomial(n, alpha - loss) <= m differs] in place of r(alpha - loss)^n.

    Args:
      covers: alternatives; each covers all bad concepts by groups, see `concepts.base.ConceptClass.covers`.
      choices: upper bound of the number of concepts to choose from. part: epsilon of a choice.
      unseen: rows on which a concept and its representative differ; the failure probability of this bound is not in
        ``beta``.
    """
    from scipy.stats import binom  # a slow import, deferred

    checks.integer("choices", choices, 1)
    checks.integer("k", k, 1)
    checks.epsilon(part, "part")
    checks.accuracy(alpha, beta)
    t = min(part / 2, STEEPEST) * _STEPS
    every = [list(cover) for cover in covers]
    if not all(every) or not every:
        raise InputError("covers", "alternatives of one or more groups", repr(every), "see ConceptClass.covers")
    table = [group for cover in every for group in cover]
    starts = np.cumsum([0, *map(len, every)])[:-1]
    log_count, left, differs = (
        np.array(column, float)[:, None]
        for column in (
            [log(max(g.number, 1e-300)) + g.shared * log(choices) for g in table],
            [alpha - g.loss for g in table],
            [g.differs for g in table],
        )
    )
    moment = np.log(np.cosh(t) - left * np.sinh(t) if agnostic else 1 + np.maximum(left, 0) * np.expm1(-t))
    hidden = np.array([g.hidden for g in table])
    best = 0  # place of the t that was enough for another n

    def enough(n: int) -> bool:
        nonlocal best
        m = unseen(n)
        few = np.full(len(table), -inf)
        if hidden.any():
            few[hidden] = binom.logcdf(differs[hidden, 0] * m, n, np.clip(left[hidden, 0], 0, 1))
        for some in (slice(best, best + 1), slice(None)):
            each = log_count + t[some] * m * differs + np.where(hidden[:, None], few[:, None], n * moment[:, some])
            bound = np.min(np.logaddexp.reduceat(each, starts, axis=0), axis=0)
            if float(np.min(bound)) <= log(beta / k):
                best = range(len(t))[some][int(np.argmin(bound))]
                return True
        return False

    n = smallest(enough)
    return next((more + 1 for more in range(min(2 * n, _CHECKED), n, -1) if not enough(more)), n)


host_functions(globals())
