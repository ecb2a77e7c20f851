"""A learner of all functions on 4 points whose table needs no solver, which brackets every class on 4 points.

The exponential mechanism with the number of wrong labels as its score and half of epsilon: independent labels of the
points, each with odds e^(epsilon / 2) for each row more of one label. Replacing a row changes two numbers of rows by
one, so the table is epsilon-private; it is checked as any other.
"""

import math

import numpy as np

from dpjax.advice.collection import Collection, Program, stencil_of
from dpjax.attacks.optimum import Databases, Goal, goal_of
from dpjax.attacks.optimum.private_table import private_table
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.attacks.optimum.tiny import code_of, tiny_classes
from dpjax.attacks.optimum.worst import worst_of_all

POINTS = 4


def laws(goal: Goal, counts: np.ndarray, epsilon: float) -> np.ndarray:
    """``float64[databases, h]`` of counts of cells, ``int64[databases, cells]``."""
    more = counts[:, 1::2] - counts[:, ::2]  # rows with label 1, less those with 0
    one = 1 / (1 + np.exp(-epsilon / 2 * more))[:, None]
    return np.prod(np.where(goal.functions == 1, one, 1 - one), axis=2)


def exponential_mechanism(store: Collection, n: int, epsilon: float, alpha: float, level: float) -> Program:
    """Stores the table for n rows, with a bound on its success over all distributions."""
    matrix = tiny_classes(POINTS, POINTS)[-1]
    goal = goal_of(matrix, alpha)
    databases, group = Databases(n, goal.cells), symmetries(goal)
    stencil = stencil_of(goal, databases)
    kept = laws(goal, databases.counts[stencil.of_databases.kept], epsilon)
    common = np.full(goal.sizes[0], 1 / goal.sizes[0])
    table = private_table(kept, databases, epsilon, 0.0, common, stencil.expanded)
    least = min(search.least for _, search in worst_of_all(table, goal, databases, group))
    return store.add_table(code_of(matrix), n, epsilon, alpha, level, math.floor(least * 1e6) / 1e6, table)
