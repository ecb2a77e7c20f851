"""Upper bounds on every private learner from the databases that are close to realizable ones.

A learner that is private for all databases is so for those of which at most ``within`` rows have to be replaced before
some target can draw them: a bound for these is one for all, and ``within = n`` is the whole program. Its certificate
has no flows elsewhere, and is verified as any other. Far databases are many, and hardly help.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpjax.attacks.optimum.best import closed_cases, databases_of
from dpjax.attacks.optimum.cases import Goal
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.families import FamilyCertificate
from dpjax.attacks.optimum.first_order import FirstOrder
from dpjax.attacks.optimum.stencil import Stencil
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.core import checks
from dpjax.core.types import Neighboring, Privacy


def distances(goal: Goal, databases: Databases) -> np.ndarray:
    """``int64[size]``: how many rows of each database have to be replaced before some target can draw it."""
    if goal.agnostic:  # any is drawn
        return np.zeros(databases.size, np.int64)
    targets = [tuple(map(int, row)) for row in goal.targets]
    drawn = [[bool(share) for x in range(goal.elements) for share in goal.shares(one, x)] for one in targets]
    return (databases.counts @ (1 - np.array(drawn, np.int64).T)).min(axis=1)


def relaxed_bound(
    goal: Goal,
    n: int,
    privacy: Privacy,
    within: int,
    *,
    grid: int = 4,
    distributions: Sequence[Sequence[int]] = (),
    tolerance: float = 1e-3,
    level: float | None = None,
    seconds: float | None = None,
) -> tuple[Fraction, FamilyCertificate]:
    """(A success that no private learner of ``n`` rows exceeds in the worst case, its certificate).

    Args:
      goal, n, privacy: under REPLACE_ONE. within: rows, at least 0.
      grid, distributions, tolerance, level, seconds: as those of `best.optimum`; no distributions are added.
    """
    databases = databases_of(goal, n, privacy, Neighboring.REPLACE_ONE, "first-order")
    checks.integer("within", within, 0)
    group = symmetries(goal)
    stencil = Stencil(databases, group, goal.sizes[0], distances(goal, databases) <= within)
    further = [goal.case(target, masses) for target in goal.each_target for masses in distributions]
    cases = closed_cases(goal, [*goal.on_grid(grid), *further], group)
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    solver = FirstOrder(databases, goal, group, math.exp(epsilon), delta, seconds=seconds, stencil=stencil)
    certificate = solver.solve(cases, tolerance, level).proof(goal, databases, epsilon, delta, tuple(cases))
    return certificate.bound(), certificate
