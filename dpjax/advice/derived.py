"""Bounds on the rows that a class needs, from solved programs of other classes and budgets.

What is used, each proved in docs/proofs/best-learner.md: a class needs at most the rows of one that it reduces to
(`attacks.optimum.reductions`: subclasses, restrictions to some points, points with always equal or always different
labels); a learner with a smaller epsilon, delta or alpha or a larger success serves; a private learner serves without
privacy; and a learner of n rows with a larger epsilon or delta serves on a random subset of n of more rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dpjax.accounting.subsampling import without_replacement_pair
from dpjax.advice.collection import Program
from dpjax.attacks.optimum.reductions import Reduction, reduction
from dpjax.attacks.optimum.rows import Tried
from dpjax.attacks.optimum.tiny import Matrix, code_of, matrix_of_code, name_of

_ROUNDING = 1 - 1e-12
Budget = tuple[float, float] | None
"""(epsilon, delta), or None without privacy."""
_MOST_ROWS = 1 << 12  # of a bound by a subset


@dataclass(frozen=True)
class Derived:
    """Bounds on the success with n rows, and where they are from.

    program: what was solved. step: what leads from it to the class and the budget, in words; "" for the program's own.
    """

    n: int
    program: Program
    step: str

    def tried(self, *, refutes: bool) -> Tried:
        """Bounds for this class and n, of which a step from another program leaves one only: ``upper`` if it refutes a
        learner, else ``lower``."""
        if not self.step:
            return Tried(self.n, self.program.lower, self.program.upper)
        return Tried(self.n, 0.0, self.program.upper) if refutes else Tried(self.n, self.program.lower, 1.0)


def derived(
    matrix: Matrix, epsilon: float | None, alpha: float, level: float, programs: Iterable[Program], delta: float = 0.0
) -> tuple[Derived | None, Derived | None]:
    """(The largest n with which there is no learner, the smallest one with which there is), by the programs.

    ``upper`` holds for the first, ``lower`` for the second. epsilon: None without privacy.
    """
    code, budget = code_of(matrix), None if epsilon is None else (epsilon, delta)
    below: Derived | None = None
    enough: Derived | None = None
    known: dict[tuple[str, bool], Reduction | None] = {}

    def reduced(one: Program, into: bool) -> Reduction | None:
        """Of the program's class to this one, or of this one to the program's."""
        if (one.concepts, into) not in known:
            other = matrix_of_code(one.concepts)
            known[one.concepts, into] = reduction(other, matrix) if into else reduction(matrix, other)
        return known[one.concepts, into]

    for one in sorted(programs, key=lambda one: (one.concepts != code, _budget(one) != budget)):
        if one.upper < one.level <= level and one.alpha >= alpha:
            n = _refuted(one, budget)
            if n and (below is None or n > below.n) and (how := reduced(one, True)):
                below = Derived(n, one, _step(one, code, budget, how, lower=True))
        if one.lower >= one.level >= level and one.alpha <= alpha:
            n = _served(one, budget)
            if n and (enough is None or n < enough.n) and (how := reduced(one, False)):
                enough = Derived(n, one, _step(one, code, budget, how, lower=False))
    return below, enough


def _budget(one: Program) -> Budget:
    """(epsilon, delta) of a program, None without privacy."""
    return None if one.epsilon is None else (one.epsilon, one.delta)


def _refuted(one: Program, budget: Budget) -> int | None:
    """The largest n for which a learner with this budget would be one that the program refutes."""
    if _within(budget, other := _budget(one)):
        return one.n
    if budget is None or other is None:
        return None
    return next((n for n in range(one.n, 0, -1) if _amplified(budget, n, one.n, other)), None)


def _served(one: Program, budget: Budget) -> int | None:
    """The smallest n for which the program's learner is one with this budget."""
    if _within(other := _budget(one), budget):
        return one.n
    if budget is None or other is None or (other[1] and not budget[1]):
        return None
    return next((n for n in range(one.n, _MOST_ROWS) if _amplified(other, one.n, n, budget)), None)


def _within(one: Budget, other: Budget) -> bool:
    """Whether every learner with the first budget has the second one."""
    return other is None or (one is not None and one[0] <= other[0] and one[1] <= other[1])


def _amplified(base: tuple[float, float], draws: int, rows: int, budget: tuple[float, float]) -> bool:
    """Whether a learner of ``draws`` rows with the budget ``base`` has ``budget`` on a random subset of ``rows``."""
    epsilon, delta = without_replacement_pair(*base, draws, rows)
    return epsilon <= budget[0] * _ROUNDING and delta <= budget[1] * _ROUNDING


def _step(one: Program, code: str, budget: Budget, how: Reduction, *, lower: bool) -> str:
    words = []
    if one.concepts != code:
        kind = "restriction" if lower else "superclass on more points"
        if how.whole:
            kind = "subclass" if lower else "superclass"
        kind = "points merged" if how.merges else kind
        words.append(f"{kind} {name_of(matrix_of_code(one.concepts))}")
    if (other := _budget(one)) != budget:
        if other is None:
            words.append("without privacy")
        elif budget is None:
            words.append(f"epsilon {other[0]:g}" + f", delta {other[1]:g}" * (other[1] > 0))
        else:
            pairs = zip(("epsilon", "delta"), other, budget, strict=True)
            words += [f"{name} {value:g}" for name, value, wanted in pairs if value != wanted]
            if not (_within(budget, other) if lower else _within(other, budget)):
                words.append("a subset of the rows")
    return ", ".join(words)
