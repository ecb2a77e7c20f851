"""Learners of all functions on 4 points, which bracket every class on 4 points.

The class has 384 symmetries, so that the program is small, and its table is not. Its success over all distributions is
bounded by a longer search than that of `optimum`, which ends too early for these numbers of rows. For still more rows
there is a table that needs no solver: the exponential mechanism with the number of wrong labels as its score and half
of epsilon. It draws independent labels of the points, each with odds e^(epsilon / 2) for each row more of one label.
Replacing a row changes two numbers of rows by one, so the table is epsilon-private; it is checked as any other.
"""

import math

import numpy as np

from dpjax.advice.collection import GRID, Collection, Program, stencil_of
from dpjax.attacks.optimum import Databases, Goal, goal_of, optimum
from dpjax.attacks.optimum.private_table import private_table
from dpjax.attacks.optimum.symmetry import symmetries
from dpjax.attacks.optimum.tiny import code_of, tiny_classes
from dpjax.attacks.optimum.worst import worst_of_all
from dpjax.core.types import Privacy

POINTS = 4
_GAP, _ROUNDS, _SIMPLICES = 1e-2, 3, 8000


def all_functions(store: Collection, n: int, epsilon: float, alpha: float, level: float) -> Program:
    """Stores the table for n rows, with a bound on its success over all distributions."""
    matrix = tiny_classes(POINTS, POINTS)[-1]
    code, goal, privacy = code_of(matrix), goal_of(matrix, alpha), Privacy(epsilon)
    near = [one for one in store.programs() if one.concepts == code and one.distributions]
    known = min(near, key=lambda one: abs(one.n - n)).distributions if near else ()
    how = {"rounds": 1 if near else _ROUNDS, "distributions": known, "grid": GRID, "tolerance": _GAP}
    found = optimum(goal, n, privacy, everywhere=False, method="first-order", **how)
    searches = worst_of_all(found.table, goal, found.databases, symmetries(goal), 0.0, _SIMPLICES, level)
    least = max(0.0, math.floor(min(search.least for _, search in searches) * 1e6) / 1e6)
    print(f"n = {n}: at least {least:.4f}, at most {float(found.value):.4f} over {len(found.cases)} cases", flush=True)
    return store.add_table(code, n, epsilon, alpha, level, least, found.table)


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
