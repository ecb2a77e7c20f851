"""The best success of any private learner of a tiny class: a certified upper bound, and a learner that attains it."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dpjax.attacks.optimum.cases import Case, Goal
from dpjax.attacks.optimum.certificate import LARGEST_EPSILON, Certificate, chances
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.families import FamilyCertificate
from dpjax.attacks.optimum.first_order import FirstOrder
from dpjax.attacks.optimum.private_table import TOTAL
from dpjax.attacks.optimum.program import orbits_of_cases, solve, support
from dpjax.attacks.optimum.symmetry import Symmetry, symmetries
from dpjax.attacks.optimum.worst import worst_of_all
from dpjax.audit.watch import Watch, unwatched
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import first_rows, zero_one_matrix
from dpjax.core.types import Neighboring, Privacy

Method = Literal["highs", "first-order"]
"""HiGHS, or `first_order` under REPLACE_ONE."""
MOST_CONSTRAINTS: dict[Method, int] = {"highs": 1 << 17, "first-order": 1 << 25}
"""Privacy constraints: up to a minute by HiGHS, before symmetry; up to an hour by the first-order method, after it."""
_MOST_BEFORE = 1 << 31  # constraints before symmetry
_ROUNDING = 1e-9  # more than the rounding error of a success in floating point


@dataclass(frozen=True)
class Optimum:
    """What `optimum` found.

    value: no private learner has a larger worst success, over `cases` or any larger set of distributions.
    certificate: the proof of value: ``certificate.bound() == value``.
    achieved: the worst success of ``table`` over the cases, exactly. worst: a case where it is attained.
    everywhere: a lower bound on the success of ``table`` for all targets and all distributions, by subdivision in
        floating point; None if it was not computed.
    table: ``uint32[databases, hypotheses]``, in units of 2^-31: an exactly private learner, in the order of
        ``databases.counts`` and ``goal.hypotheses``.
    variables, constraints: of the last program, after symmetry. symmetries: the order of the group. seconds: in all.
    """

    goal: Goal
    databases: Databases
    privacy: Privacy
    value: Fraction
    achieved: Fraction
    everywhere: float | None
    worst: Case
    cases: tuple[Case, ...] = field(repr=False)
    certificate: Certificate | FamilyCertificate = field(repr=False)
    table: np.ndarray = field(repr=False)
    variables: int
    constraints: int
    symmetries: int
    seconds: float


def goal_of(concepts: Any, alpha: float, **how: Any) -> Goal:
    """The goal of learning a class given by a matrix of 0 and 1, ``[concepts, elements]``; equal rows count once."""
    matrix = zero_one_matrix(concepts)
    table = matrix[first_rows(matrix)].astype(int)
    return Goal(tuple(map(tuple, table.tolist())), alpha=alpha, **how)


def optimum(
    goal: Goal,
    n: int,
    privacy: Privacy,
    *,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    grid: int = 4,
    distributions: Sequence[Sequence[int]] = (),
    rounds: int = 0,
    tolerance: float = 1e-3,
    everywhere: bool = True,
    method: Method = "highs",
    level: float | None = None,
    seconds: float | None = None,
    watch: Watch = unwatched,
) -> Optimum:
    """The best worst-case success of an (epsilon, delta)-private learner of ``n`` rows.

    Proved: ``value`` bounds the worst success of every learner that is private for all databases of n rows (of at most
    n rows under ADD_OR_REMOVE_ONE), for any learner over the tested distributions and so over all of them. ``table`` is
    private and has worst success ``achieved`` over the tested ones and at least ``everywhere`` over all, so the best
    worst success over all distributions is between ``everywhere`` and ``value``.

    Args:
      goal: the class and what counts as success; see `goal_of`.
      n: rows, at least 1. privacy: plain numbers, epsilon at most 16; the floats themselves are meant.
      grid: tested are all distributions of multiples of 1 / grid (of elements, or of labeled elements if agnostic).
      distributions: further ones, by whole masses in units of their sum.
      rounds: how often the learner's worst distributions are added and the program is solved again, until value and
        everywhere differ by at most ``tolerance``.
      everywhere: whether to bound the learner's success over all distributions.
      method: "highs" solves each program exactly but for rounding; "first-order" until the bounds over its cases differ
        by less than ``tolerance``, for programs that are a hundred times as large, under REPLACE_ONE.
      level: a success that ends the search as soon as value is below it or everywhere at least it.
      seconds: no round begins later, and the first-order method ends soon after; None for no limit.
      watch: receives the number of finished rounds and the most that there can be.

    Raises InputError for a program with too many constraints, with the largest n that fits.
    """
    begin = time.perf_counter()
    databases = databases_of(goal, n, privacy, neighboring, method)
    epsilon, delta = float(privacy.epsilon), float(privacy.delta)
    checks.integer("rounds", rounds, 0)
    group = symmetries(goal)
    further = [goal.case(target, masses) for target in goal.each_target for masses in distributions]
    cases = closed_cases(goal, [*goal.on_grid(grid), *further], group)
    solver = _solver(method, databases, goal, group, epsilon, delta, seconds)
    least, new, rough = None, list[Case](), 1.0
    for left in range(rounds, -1, -1):
        watch(rounds - left, rounds + 1, "rounds")
        solution = solver(cases, max(tolerance / 2, rough / 8 if left else 0), level)
        upper, table = solution.upper, solution.table(databases, epsilon, delta)
        if everywhere or left:
            searches = worst_of_all(table, goal, databases, group, tolerance / 4)
            least = max(0.0, min(search.least for _, search in searches))
            new = [
                goal.case(target, search.masses) for target, search in searches if search.value < upper - tolerance / 2
            ]
        wider = closed_cases(goal, [*cases, *new], group)
        decided = level is not None and (upper < level or (least or 0) >= level)
        late = seconds is not None and time.perf_counter() - begin > seconds
        known, close = len(wider) == len(cases), upper - solution.lower <= tolerance / 2
        if not left or decided or late or (known and close):
            break
        cases, rough = wider, 0.0 if known else upper - (least or 0.0)
    certificate = solution.proof(goal, databases, epsilon, delta, tuple(cases))
    value = certificate.bound()
    watch(rounds + 1, rounds + 1, "rounds")
    successes = [table_success(table, databases, case) for case in cases]
    near = [i for i, success in enumerate(successes) if success <= min(successes) + _ROUNDING]
    achieved, worst = min((success_of(table, databases, cases[i]), i) for i in near)
    head = goal, databases, privacy, value, achieved, least, cases[worst], tuple(cases), certificate
    return Optimum(*head, table, solution.variables, solution.constraints, len(group), time.perf_counter() - begin)


def _solver(
    method: Method,
    databases: Databases,
    goal: Goal,
    group: list[Symmetry],
    epsilon: float,
    delta: float,
    seconds: float | None,
) -> Callable[[list[Case], float, float | None], Any]:
    """A function of cases, the largest distance of the bounds and the level."""
    if method == "first-order":
        return FirstOrder(databases, goal, group, math.exp(epsilon), delta, seconds=seconds).solve
    return lambda cases, *_: solve(databases, goal, cases, group, math.exp(epsilon), delta)


def databases_of(goal: Goal, n: int, privacy: Privacy, neighboring: Neighboring, method: Method = "highs") -> Databases:
    """The databases of the program of `optimum`; InputError for arguments that it refuses. Nothing is solved."""
    checks.instance("goal", goal, Goal, "make it with goal_of(matrix, alpha)")
    checks.instance("privacy", privacy, Privacy, "write Privacy(epsilon, delta)")
    epsilon, delta = checks.epsilon(privacy.epsilon), checks.delta(privacy.delta)
    if epsilon > LARGEST_EPSILON:
        raise InputError(
            "epsilon", f"at most {LARGEST_EPSILON:g}", f"{epsilon:g}", "a larger one hardly limits a learner"
        )
    checks.integer("n", n, 1)
    databases = Databases(n, goal.cells, neighboring)
    checks.choice("method", method, MOST_CONSTRAINTS)
    if method == "first-order" and neighboring is not Neighboring.REPLACE_ONE:
        raise InputError("neighboring", "replace-one for first-order", neighboring.value, 'take method="highs"')
    images = len(symmetries(goal)) if method == "first-order" else 1
    _require_fit(goal, databases, delta, min(MOST_CONSTRAINTS[method] * images, _MOST_BEFORE))
    return databases


def table_success(table: np.ndarray, databases: Databases, case: Case) -> float:
    """The same as `success_of` in floating point."""
    places, probabilities = support(case, databases)
    return float(probabilities @ table[places][:, np.array(case.good)].sum(axis=1)) / TOTAL


def success_of(table: np.ndarray, databases: Databases, case: Case) -> Fraction:
    """The probability that the table's hypothesis is good, exactly."""
    good = np.array(case.good)
    sums = np.asarray(table, np.int64)[:, good].sum(axis=1)
    weighted = list(chances(case.masses, databases.rows))
    counts = np.array([database for database, _ in weighted], np.int64).reshape(len(weighted), databases.cells)
    places = databases.index(np.pad(counts, ((0, 0), (0, databases.kinds - databases.cells))))
    total = sum(chance * int(sums[place]) for (_, chance), place in zip(weighted, places, strict=True))
    return Fraction(total, TOTAL * sum(case.masses) ** databases.rows)


def constraints_of(goal: Goal, databases: Databases, delta: float) -> int:
    """Privacy constraints of the program before symmetry."""
    h = goal.sizes[0]
    smaller = databases.without_a_row.size
    if delta == 0 and databases.neighboring is Neighboring.REPLACE_ONE:
        return 2 * smaller * databases.kinds * h
    return smaller * len(databases.moves) * h


def _require_fit(goal: Goal, databases: Databases, delta: float, most: int) -> None:
    count = constraints_of(goal, databases, delta)
    if count <= most:
        return
    rows = 0
    while constraints_of(goal, Databases(rows + 1, databases.cells, databases.neighboring), delta) <= most:
        rows += 1
    fewer = "take a smaller domain" + ", fewer columns" * (goal.k > 1) + ", or a proper learner" * (not goal.proper)
    advice = f"take n = {rows} or less" if rows else fewer
    actual = (
        f"{databases.rows}: {databases.size * goal.sizes[0]} variables ({databases.size} databases of {goal.elements} "
        f"elements, {goal.sizes[0]} hypotheses) and {count} constraints"
    )
    raise InputError("n", f"a program of at most {most} privacy constraints", actual, advice)


def closed_cases(goal: Goal, cases: list[Case], group: list[Symmetry]) -> list[Case]:
    """The distinct cases and their images under the group."""
    return [case for some in orbits_of_cases(goal, list(dict.fromkeys(cases)), group) for case in some]
