"""The best learner of n rows without privacy: what a class needs anyway.

Every database of the program may have any law, so its value is that of the game in which the other player chooses
weights of cases: sum over S of max over h of the weighted probability that S is drawn and h is good. The certificate is
one without flows, which bounds all learners.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.attacks.optimum.certificate import Certificate
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.program import case_weights
from dpjax.attacks.optimum.rows import Tried
from dpjax.attacks.optimum.worst import worst_distribution
from dpjax.core.checks import InputError
from dpjax.core.types import Neighboring

_SCALE = 1 << 52
_ROUNDS = 20


def best_without_privacy(goal: Goal, n: int, *, grid: int = 4, tolerance: float = 1e-3) -> Tried:
    """Bounds on the best success of any learner of n rows, over all targets and distributions.

    The upper one is verified in whole numbers, the lower one by subdivision in floating point. Worst distributions are
    added until the bounds differ by at most ``tolerance``, 20 times at most.
    """
    databases, targets = Databases(n, goal.cells), [tuple(map(int, row)) for row in goal.targets]
    cases = list(dict.fromkeys(goal.on_grid(grid)))
    lower, upper = 0.0, 1.0
    for _ in range(_ROUNDS):
        learner, weights = _solved(goal, databases, cases)
        head = goal, n, Neighboring.REPLACE_ONE, 1.0, 0.0, tuple(cases)
        whole = tuple(int(weight * _SCALE) for weight in weights)
        none = np.zeros((0, 3), np.int64), np.zeros(0, np.int64), _SCALE
        upper = min(upper, float(Certificate(*head, whole, databases.counts, *none).bound()))
        searches = [worst_distribution(learner, goal, databases, target, tolerance / 4) for target in targets]
        lower = max(lower, min(search.least for search in searches))
        new = [
            goal.case(target, one.masses) for target, one in zip(targets, searches, strict=True) if one.value < upper
        ]
        wider = list(dict.fromkeys([*cases, *new]))
        if upper - lower <= tolerance or len(wider) == len(cases):
            break
        cases = wider
    return Tried(n, lower, upper)


def _solved(goal: Goal, databases: Databases, cases: list[Case]) -> tuple[np.ndarray, np.ndarray]:
    """(The best learner ``float64[databases, h]``, the weights of the cases), by HiGHS."""
    h, size = goal.sizes[0], databases.size
    rows, columns, values = [], [], []
    for number, case in enumerate(cases):
        weight = case_weights(case, databases)
        at, good = np.flatnonzero(weight), np.flatnonzero(case.good)
        columns.append((at[:, None] * h + good).ravel())
        values.append(np.repeat(-weight[at], len(good)))
        rows.append(np.full(len(columns[-1]), number))
    count, success = len(cases), size * h
    rows.append(np.arange(count))
    columns.append(np.full(count, success))
    values.append(np.ones(count))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    sums = coo_matrix((np.ones(success), (np.repeat(np.arange(size), h), np.arange(success))), (size, success + 1))
    cost = np.zeros(success + 1)
    cost[success] = -1
    matrix = coo_matrix(entries, (count, success + 1)).tocsr()
    solution = linprog(cost, matrix, np.zeros(count), sums.tocsr(), np.ones(size), method="highs")
    if solution.status != 0:
        raise InputError("program", "one that the solver finishes", solution.message.splitlines()[0], "take fewer rows")
    laws = np.maximum(solution.x[:success].reshape(size, h), 0)
    return laws / laws.sum(axis=1, keepdims=True), np.maximum(-solution.ineqlin.marginals, 0)
