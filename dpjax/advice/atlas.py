"""A class's row of the atlas: its dimensions, the rows that its best learners need, and the lower bounds by name."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpjax.advice.collection import GRID, Program
from dpjax.advice.derived import Derived, derived
from dpjax.attacks.optimum.best import databases_of, goal_of, optimum
from dpjax.attacks.optimum.cases import Goal
from dpjax.attacks.optimum.databases import Databases
from dpjax.attacks.optimum.rows import Needed, Tried, rows_needed
from dpjax.attacks.optimum.tiny import Matrix, code_of, rows_of
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
_PER_SECOND = 1 << 14  # probabilities; a program with more than there is time for is not begun
_SLOWER = 4  # with delta > 0


@dataclass(frozen=True)
class Bracket:
    """The rows that the best learner of a class needs for a success.

    epsilon: None without privacy. needed: the bracket, with what proves its ends. source: "collection", "derived" if an
    end is proved by programs of other classes or budgets, "computed", and "formulas" if no program is known.
    below, enough: the programs that prove the ends, and how, if they were known. bounds: lower bounds for every
    epsilon-private learner by name. out_of_time: whether more seconds may make the bracket smaller.
    """

    epsilon: float | None
    needed: Needed
    source: str
    below: Derived | None
    enough: Derived | None
    bounds: tuple[LowerBound, ...] = ()
    out_of_time: bool = False

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
    """The different concepts of a class; its representative under the symmetries of the atlas is in the collection.

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
    return rows_of(rows)


def rows_of_class(
    matrix: Matrix,
    epsilons: Sequence[float | None],
    accuracy: Accuracy,
    seconds: float,
    programs: Iterable[Program],
    delta: float = 0.0,
) -> list[Bracket]:
    """The brackets of a class for each epsilon (None: without privacy), with delta, and success 1 - beta.

    From the programs of this and of other classes if they prove a bracket for the epsilon; otherwise programs are
    solved for at most about ``seconds`` in all, and what is proved by then is returned: at least the lower bounds by
    formulas.
    """
    if checks.number("seconds", seconds) <= 0:
        raise InputError("seconds", "a number > 0", repr(seconds), "give a time limit, for example 60")
    alpha, level, programs = float(accuracy.alpha), round(1 - float(accuracy.beta), 12), list(programs)
    goal, until = goal_of(matrix, alpha), time.monotonic() + seconds
    for epsilon in epsilons:
        if epsilon is not None:
            # refuses wrong numbers
            databases_of(goal, 1, Privacy(epsilon, delta), Neighboring.REPLACE_ONE, "first-order")
    known = {one.key[2:] for one in programs}
    found = []
    for left, epsilon in zip(range(len(epsilons), 0, -1), epsilons, strict=True):
        below, enough = derived(matrix, epsilon, alpha, level, programs, delta)
        privacy = None if epsilon is None else Privacy(epsilon, delta)
        goals = epsilon, alpha, level, delta if privacy else 0.0
        bounds = formulas(matrix, privacy, accuracy) if privacy else ()
        low = max([1 if below is None else below.n + 1, *(bound.n for bound in bounds)])
        proofs = below.tried(refutes=True) if below else None, enough.tried(refutes=False) if enough else None
        ends = Needed(low, enough.n if enough else None, *proofs, ())
        late = list[int]()
        source = "collection" if not any(end and end.step for end in (below, enough)) else "derived"
        if enough is None or (low < enough.n and goals not in known):
            end = (now := time.monotonic()) + (until - now) / left
            mine = {one.n: one for one in programs if one.key == (code_of(matrix), one.n, *goals)}
            solve = _known_or(mine, _private(goal, privacy, level, end, late) if privacy else _without(goal, end, late))
            start = max(low, 2)
            most = max(start, _MOST_ROWS if epsilon else _WITHOUT)
            needed = rows_needed(solve, level, start=start, most=most, known=(low, ends.high))
            if any(end and end.n not in mine for end in (needed.below, needed.enough)):
                source = "computed"
            elif not (below or enough):
                source = "formulas"
            below, enough = None if needed.below else below, None if needed.enough else enough
            ends = replace(needed, below=needed.below or ends.below, enough=needed.enough or ends.enough)
        found.append(Bracket(epsilon, ends, source, below, enough, bounds, bool(late) and not ends.exact))
    return found


def formulas(matrix: Matrix, privacy: Privacy, accuracy: Accuracy) -> tuple[LowerBound, ...]:
    """The lower bounds of `dpjax plan` for the class and uniform examples."""
    concepts = Finite.of(np.array(matrix))
    return tuple(lower_bounds(Task(concepts, distributions.uniform(concepts.domain)), 1, privacy, accuracy))


def _known_or(known: dict[int, Program], solve: Callable[[int], Tried | None]) -> Callable[[int], Tried | None]:
    return lambda n: known[n].tried() if n in known else solve(n)


def _private(
    goal: Goal, privacy: Privacy, level: float, until: float, late: list[int]
) -> Callable[[int], Tried | None]:
    """late: receives the numbers of rows whose programs there was too little time for."""
    masses: tuple[Any, ...] = ()

    def solve(n: int) -> Tried | None:
        nonlocal masses
        left = until - time.monotonic()
        if left <= 0 or _size(goal, n) * (_SLOWER if privacy.delta else 1) > _PER_SECOND * left:
            late.append(n)
            return None
        how: dict[str, Any] = {"grid": GRID, "rounds": ROUNDS, "tolerance": GAP, "distributions": masses}
        try:
            found = optimum(goal, n, privacy, method="first-order", level=level, seconds=left, **how)
        except InputError:  # more rows than fit
            return None
        if time.monotonic() > until:
            late.append(n)
        masses = tuple({case.elements for case in found.cases if sum(case.elements) > GRID})
        return Tried(n, found.everywhere or 0.0, float(found.value))

    return solve


def _without(goal: Goal, until: float, late: list[int]) -> Callable[[int], Tried | None]:
    def solve(n: int) -> Tried | None:
        if _size(goal, n) < _PER_SECOND * (until - time.monotonic()):
            return best_without_privacy(goal, n)
        late.append(n)
        return None

    return solve


def _size(goal: Goal, n: int) -> int:
    """Probabilities of a learner of n rows."""
    return Databases(n, goal.cells).size * goal.sizes[0]
