"""A class's row of the atlas: its dimensions, the rows that its best learners need, and the lower bounds by name."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.advice.collection import GRID, Program, bracket
from dpjax.attacks.optimum.best import databases_of, goal_of, optimum
from dpjax.attacks.optimum.cases import Goal
from dpjax.attacks.optimum.rows import Needed, Tried, rows_needed
from dpjax.attacks.optimum.tiny import Matrix, code_of, representative, rows_of
from dpjax.attacks.optimum.without_privacy import best_without_privacy
from dpjax.concepts import Finite, distributions
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import first_rows, zero_one_matrix
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.sweep.lower_bounds import LowerBound, lower_bounds
from dpjax.experiments.sweep.task import Task

MOST_POINTS = 4
ROUNDS, GAP = 20, 2e-3
_MOST_ROWS = 40
_WITHOUT = 12  # rows without privacy


@dataclass(frozen=True)
class Bracket:
    """The rows that the best learner of a class needs for a success.

    epsilon: None without privacy. needed: the bracket. source: "collection" or "computed", and "formulas" if no program
    was solved. below, enough: the programs that prove its ends, if they are known. bounds: lower bounds for every
    epsilon-private learner by name.
    """

    epsilon: float | None
    needed: Needed
    source: str
    below: Program | None
    enough: Program | None
    bounds: tuple[LowerBound, ...] = ()

    @property
    def low(self) -> int:
        """No learner with fewer rows."""
        return max([self.needed.low, *(bound.n for bound in self.bounds)])

    def __str__(self) -> str:
        high = self.needed.high
        if high is None:
            return f"at least {self.low}"
        return str(high) if self.low == high else f"{self.low} to {high}"


def tiny_class(matrix: Any) -> Matrix:
    """The representative of a class under the symmetries of the atlas.

    InputError for a class with one concept, on more than 4 points, or with labels other than 0 and 1.
    """
    table = zero_one_matrix(matrix)
    rows = table[first_rows(table)]
    if len(rows) < 2:
        given = f"{len(table)} rows, all equal" if len(table) > 1 else "one concept"
        raise InputError("class", "at least two different concepts", given, "one concept is learned without a row")
    points = table.shape[1]
    if points > MOST_POINTS:
        given = f"{points} points: {2**points} hypotheses" if points < 64 else f"{points} points"
        raise InputError("class", f"at most {MOST_POINTS} points", given, "see dpjax dimension and dpjax plan")
    return representative(rows_of(rows))


def rows_of_class(
    matrix: Matrix, epsilons: Sequence[float | None], accuracy: Accuracy, seconds: float, programs: Iterable[Program]
) -> list[Bracket]:
    """The brackets of a class for each epsilon (None: without privacy) and success 1 - beta, with pure privacy.

    From the programs if they prove a bracket; otherwise programs are solved for at most about ``seconds`` in all, and
    what is proved by then is returned: at least the lower bounds by formulas.
    """
    if checks.number("seconds", seconds) <= 0:
        raise InputError("seconds", "a number > 0", repr(seconds), "give a time limit, for example 60")
    alpha, level, code = float(accuracy.alpha), round(1 - float(accuracy.beta), 12), code_of(matrix)
    goal, until = goal_of(matrix, alpha), time.monotonic() + seconds
    for epsilon in epsilons:
        if epsilon is not None:
            databases_of(goal, 1, Privacy(epsilon), Neighboring.REPLACE_ONE, "first-order")  # refuses wrong numbers
    about = (code, alpha, level)
    known = [one for one in programs if (one.concepts, one.alpha, one.level) == about]
    found = []
    for left, epsilon in zip(range(len(epsilons), 0, -1), epsilons, strict=True):
        mine = {one.n: one for one in known if one.epsilon == epsilon}
        below, enough = bracket(mine.values())
        bounds = () if epsilon is None else formulas(matrix, Privacy(epsilon), accuracy)
        if enough is None or (below is None and enough.n > 1):
            now = time.monotonic()
            end = now + (until - now) / left
            solve = _without(goal, end) if epsilon is None else _private(goal, epsilon, level, end)
            first = below or enough
            start = first.n if first else max([2, *(bound.n for bound in bounds)])
            most = max(start, _MOST_ROWS if epsilon else _WITHOUT)
            needed = rows_needed(_known_or(mine, solve), level, start=start, most=most)
            solved = [one for one in needed.tried if one.n not in mine]
            source = "computed" if solved else "collection" if mine else "formulas"
        else:
            proofs = below.tried() if below else None, enough.tried()
            needed, source = Needed(below.n + 1 if below else 1, enough.n, *proofs, ()), "collection"
        ends = [mine.get(one.n) if one else None for one in (needed.below, needed.enough)]
        found.append(Bracket(epsilon, needed, source, ends[0], ends[1], bounds))
    return found


def formulas(matrix: Matrix, privacy: Privacy, accuracy: Accuracy) -> tuple[LowerBound, ...]:
    """The lower bounds of `dpjax plan` for the class and uniform examples."""
    concepts = Finite.of(np.array(matrix))
    return tuple(lower_bounds(Task(concepts, distributions.uniform(concepts.domain)), 1, privacy, accuracy))


def _known_or(known: dict[int, Program], solve: Callable[[int], Tried | None]) -> Callable[[int], Tried | None]:
    return lambda n: known[n].tried() if n in known else solve(n)


def _private(goal: Goal, epsilon: float, level: float, until: float) -> Callable[[int], Tried | None]:
    masses: tuple[Any, ...] = ()

    def solve(n: int) -> Tried | None:
        nonlocal masses
        left = until - time.monotonic()
        if left <= 0:
            return None
        how: dict[str, Any] = {"grid": GRID, "rounds": ROUNDS, "tolerance": GAP, "distributions": masses}
        try:
            found = optimum(goal, n, Privacy(epsilon), method="first-order", level=level, seconds=left, **how)
        except InputError:  # more rows than fit
            return None
        masses = tuple({case.elements for case in found.cases if sum(case.elements) > GRID})
        return Tried(n, found.everywhere or 0.0, float(found.value))

    return solve


def _without(goal: Goal, until: float) -> Callable[[int], Tried | None]:
    return lambda n: best_without_privacy(goal, n) if time.monotonic() < until else None
