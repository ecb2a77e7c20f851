"""What a study measures: learners on a task, over k, epsilon and n."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from math import log2, prod
from typing import Any, Literal

import numpy as np

from dpjax.accounting.guarantee import Guarantee
from dpjax.core import checks, html
from dpjax.core.checks import InputError, NoTheoremError
from dpjax.core.forking import require_not_forked
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.statistics.sequential_search import TRIALS, geometric_grid
from dpjax.experiments.store.capacity import CAPACITY_LIMIT, capacity
from dpjax.experiments.sweep.lower_bounds import LowerBound
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task
from dpjax.learners.base import Learner, require_learner
from dpjax.learners.columns import for_concepts

LEAST_EPSILON = 1.2e-38
"""float32 has no smaller normal number."""
_ACCURACY = Accuracy(0.1, 0.1)


@checks.named_arguments
@dataclass(frozen=True)
class Search:
    """Settings of the search for n*.

    n_min, n_max: the sample sizes considered. confidence: of each bracket, and of each curve's simultaneous band.
    steps_per_doubling: grid points between n and 2 n. most_trials: of the search of one curve, which ends earlier if
    the ends of its bracket are neighbors on the grid.
    gamma: 0 for n*. With gamma > 0, for quick looks, the result has n within gamma in the place of n*: success is below
    1 - beta at its lower end and above 1 - beta - gamma at its upper end, and n* may be above both.

    Reference: Bun, Gaboardi, Sivakumar 2021, Definition 2.7.
    """

    n_min: int = 16
    n_max: int = 2**17
    gamma: float = 0.0
    confidence: float = 0.95
    steps_per_doubling: int = 8
    most_trials: int = TRIALS

    def __post_init__(self):
        checks.integer("search.n_min", self.n_min, 1)
        checks.integer("search.n_max", self.n_max, self.n_min)
        capacity(self.n_max)
        checks.integer("search.steps_per_doubling", self.steps_per_doubling, 1, 64)
        checks.integer("search.most_trials", self.most_trials, 64, 2**32)
        if not 0 <= checks.number("search.gamma", self.gamma) < 1:
            raise InputError("search.gamma", "a number in [0, 1)", repr(self.gamma), "choose 0 for n*")
        checks.probability("search.confidence", self.confidence)

    def grid(self) -> tuple[int, ...]:
        """The candidate values of n."""
        return geometric_grid(self.n_min, self.n_max, 2 ** (1 / self.steps_per_doubling))


@dataclass(frozen=True)
class Curve:
    """One curve of a study: a learner by name, with everything but n fixed."""

    name: str
    setting: Setting
    largest: int

    def theorem(self) -> int | None:
        """The theorem's sample size, for all k concepts at once; None if no theorem covers the learner's numbers.

        For a task with noise it is that of the agnostic theorem, None for a learner without one.
        """
        return self._theorem[0]

    def why_no_theorem(self) -> str:
        """Why `theorem` is None: what the learner says; empty if there is one."""
        return self._theorem[1]

    def provable(self) -> int | None:
        """`theorem`, or None if its code raises, which a run records."""
        with suppress(Exception):
            return self.theorem()
        return None

    @property
    def _theorem(self) -> tuple[int | None, str]:
        learner, noisy = self.setting.learner, self.setting.task.flips is not None
        of_k = learner.agnostic_sample_size_of if noisy else learner.sample_size_of
        size = partial(of_k, self.setting.k)
        try:
            return size(*self._goal), ""
        except NoTheoremError as error:
            return None, str(error)

    def guarantee(self) -> Guarantee | None:
        """The guarantee of the learner's plan, for the theorem's n if it depends on n, else for the study's largest."""
        learner = self.setting.learner
        try:
            plan = learner.plan(*self._goal)
        except NoTheoremError:
            plan = learner.plan(*self._goal, self.largest)
        return learner.guarantee(plan)

    def below(self) -> LowerBound | None:
        """`Setting.below` for the learner's guarantee."""
        return self._below

    @cached_property
    def _below(self) -> LowerBound | None:
        return self.setting.below(self.guarantee())

    def expected(self) -> float | None:
        """Where a search for n* begins: the geometric mean of the theorem's n and of the lower bound, as far as there
        are any; None without a theorem. No data decides it, so it does not affect the search's error."""
        with suppress(Exception):  # code that raises: the row with the theorem's n says so
            theorem, below = self.theorem(), self.below()
            known = [float(n) for n in (theorem, None if below is None else below.n) if n]
            return None if theorem is None else prod(known) ** (1 / len(known))
        return None

    @property
    def _goal(self) -> tuple[Privacy, Accuracy]:
        setting = self.setting
        return Privacy(setting.epsilon, setting.delta), Accuracy(setting.alpha, setting.beta)

    def labels(self) -> dict[str, Any]:
        """The fields that identify the curve in a result."""
        names = ("k", "epsilon", "delta", "alpha", "beta")
        return {"learner": self.name} | {name: getattr(self.setting, name) for name in names}

    def __str__(self) -> str:
        return f"{self.name}, k = {self.setting.k}, epsilon = {self.setting.epsilon:g}"


Learners = Mapping[str, Learner | Callable[[int], Learner]] | Sequence[Learner] | Learner
"""Learners by name, or functions k -> learner by name; or without names, which are then those of their classes."""
_Reals = float | Sequence[float] | np.ndarray
_Wholes = int | Sequence[int] | np.ndarray


@checks.named_arguments
@dataclass(frozen=True, eq=False, init=False)
class Sweep:
    """Learners on a task, over k, epsilon and n: the values of a `Study`, which see."""

    task: Task
    learners: dict[str, Any]
    k: tuple[int, ...] = (1,)
    epsilon: tuple[float, ...] = (1.0,)
    delta: float = 1e-6
    accuracy: Accuracy = _ACCURACY
    n: tuple[int, ...] | Literal["search"] = "search"
    search: Search | None = None
    trials: int = 1000
    points: int = 7
    fit_from: int = 1
    seed: int = 0
    title: str | None = None

    def __init__(
        self,
        task: Task,
        learners: Learners,
        k: _Wholes = 1,
        epsilon: _Reals = 1.0,
        delta: float = delta,
        accuracy: Accuracy = _ACCURACY,
        n: _Wholes | Literal["search"] = "search",
        search: Search | None = None,
        trials: int = trials,
        points: int = points,
        fit_from: int = fit_from,
        seed: int = seed,
        title: str | None = None,
    ):
        for name, value in [*locals().items()][1:]:  # without self
            object.__setattr__(self, name, value)
        self._check(learners, k, epsilon, n)

    def _check(self, learners: Any, k: Any, epsilon: Any, n: Any) -> None:
        """Raises InputError, or sets the fields that may be given in several ways."""
        require_not_forked()
        checks.instance("task", self.task, Task, "write Task(concepts, distribution)")
        checks.instance("accuracy", self.accuracy, Accuracy, "write Accuracy(alpha, beta)")
        checks.accuracy(self.accuracy.alpha, self.accuracy.beta)
        checks.delta(self.delta)
        ranges = ("seed", 0, 2**32 - 1), ("trials", 1, 2**32), ("points", 1, 1000), ("fit_from", 1, 2**16)
        for name, low, high in ranges:
            checks.integer(name, getattr(self, name), low, high)
        if self.search is not None:
            checks.instance("search", self.search, Search, "write Search(n_max=...)")
        fixed: dict[str, Any] = {"learners": _named(learners), "k": _several("k", k, _count)}
        fixed["epsilon"] = _several("epsilon", epsilon, _epsilon)
        if not isinstance(n, str):
            fixed["n"] = tuple(sorted(_several("n", n, _rows)))
        elif n != "search":
            raise InputError("n", '"search" or sample sizes', repr(n), 'write n="search" or n=[100, 200]')
        elif self.search is None:
            fixed["search"] = Search()
        for name, value in fixed.items():
            object.__setattr__(self, name, value)
        if self.search is not None and (room := 1 - self.accuracy.beta) <= (gamma := self.search.gamma):
            raise InputError("search.gamma", f"below 1 - beta = {room:g}", repr(gamma), "choose a smaller gamma")
        for curve in self.curves:
            try:
                curve.guarantee()
                curve.theorem()
            except InputError as error:
                raise InputError(f"{curve}: {error.name}", error.expected, error.given, error.advice) from error
            except checks.RAISED:  # code that raises: the run records it for this curve, and measures the others
                continue

    @cached_property
    def curves(self) -> list[Curve]:
        """Every curve of the study."""
        alpha, beta = float(self.accuracy.alpha), float(self.accuracy.beta)
        largest = max(self.n) if self.n != "search" else (self.search or Search()).n_max
        curves = []
        for name, k, epsilon in product(self.learners, self.k, self.epsilon):
            numbers = k, 1, epsilon, float(self.delta), alpha, beta
            curves.append(Curve(name, Setting(self.learner(name, k), self.task, *numbers), largest))
        return curves

    def curve(self, learner: str, k: int, epsilon: float) -> Curve:
        """The curve with this name, k and epsilon; InputError if there is none."""
        checks.choice("learner", learner, self.learners)
        for name, value, known in (("k", k, self.k), ("epsilon", epsilon, self.epsilon)):
            if value not in known:
                raise InputError(name, f"one of {', '.join(map(str, known))}", repr(value), "see the study's curves")
        names, chosen = ("learner", "k", "epsilon"), [learner, k, epsilon]
        return next(curve for curve in self.curves if [curve.labels()[name] for name in names] == chosen)

    def sizes(self, n_star: int | None = None) -> tuple[int, ...]:
        """The sample sizes of one curve: those given, or the powers of sqrt(2) around n*.

        Powers of one number, so that curves of different learners have sizes in common and can be compared in pairs.
        """
        if self.n != "search":
            return self.n
        assert self.search is not None
        first = round(2 * log2(n_star or self.search.n_min)) - (self.points - 1) // 2
        chosen = {round(2 ** (i / 2)) for i in range(first, first + self.points)}
        return tuple(sorted(n for n in chosen if 1 <= n <= CAPACITY_LIMIT))

    def _repr_html_(self) -> str:
        """The curves for a notebook, with the theorems' sample sizes."""
        kinds = [html.Column("learner", "text"), *map(html.Column, ("k", "epsilon", "theorem's n"))]
        rows = [(curve.name, curve.setting.k, curve.setting.epsilon, curve.provable()) for curve in self.curves]
        sizes = "n is searched" if self.n == "search" else f"n in {', '.join(map(str, self.n))}"
        return html.table(kinds, rows, f"{self.title or 'Study'}: {self.task.concepts}, {sizes}, {self.trials} trials")

    def learner(self, name: str, k: int) -> Any:
        """The learner of a name for k concepts; InputError if it is none."""
        entry = self.learners[name]
        made = _made(name, entry, k) if callable(entry) and not isinstance(entry, Learner) else for_concepts(entry, k)
        require_learner(made, f"learners.{name}")
        return made


def _made(name: str, function: Callable[[int], Any], k: int) -> Any:
    try:
        return function(k)
    except InputError:
        raise
    except checks.RAISED as error:
        message = f"{type(error).__name__} from it at k = {k}: {error}"
        raise InputError(f"learners.{name}", "a function k -> Learner", message, "correct the function") from error


def _named(learners: Any) -> dict[str, Any]:
    """Learners by name."""
    if not isinstance(learners, Mapping):
        several = list(learners) if isinstance(learners, list | tuple) else [learners]
        names = [type(learner).__name__ for learner in several]
        if len(set(names)) < len(names):
            raise InputError("learners", "a name for each", ", ".join(names), 'write {"name": learner, ...}')
        learners = dict(zip(names, several, strict=True))
    for name, learner in learners.items():
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            advice = "name it by its method, for example kln"
            raise InputError("learners", "names of characters that can be printed", repr(name), advice)
        if isinstance(learner, type):
            actual, advice = f"the class {learner.__name__}", f"call it: {learner.__name__}(...)"
            raise InputError(f"learners.{name}", "an instance", actual, advice)
        if not callable(learner):
            require_learner(learner, f"learners.{name}")
    if not learners:
        raise InputError("learners", "at least one", "none", "add one")
    return dict(learners)


def _several(name: str, values: Any, check: Callable[[Any], Any]) -> tuple:
    items = tuple(values) if isinstance(values, Sequence) and not isinstance(values, str | bytes) else (values,)
    if hasattr(values, "tolist"):
        listed = values.tolist()
        items = tuple(listed) if isinstance(listed, list) else (listed,)
    if not items:
        raise InputError(name, "at least one", "none", "add one")
    items = tuple(check(value.item() if getattr(value, "shape", None) == () else value) for value in items)
    if len(set(items)) < len(items):
        raise InputError(name, "each value once", repr(values), "remove what is there twice")
    return items


def _epsilon(value: Any) -> float:
    if checks.epsilon(value) < LEAST_EPSILON:
        raise InputError("epsilon", f"at least {LEAST_EPSILON}", repr(value), "float32 has no less: choose more")
    return float(value)


def _count(value: Any) -> int:
    return checks.integer("k", value, 1, 2**16)


def _rows(value: Any) -> int:
    capacity(checks.integer("n", value, 1))
    return value
