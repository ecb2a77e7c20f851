"""A learner of all functions on 4 points, which brackets every class on 4 points.

The class has 384 symmetries, so that the program is small, and its table is not. Its success over all distributions is
bounded by a longer search than that of `optimum`, which ends too early for these numbers of rows.
"""

import math

from dpjax.advice.collection import GRID, Collection, Program
from dpjax.attacks.optimum import goal_of, optimum
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
