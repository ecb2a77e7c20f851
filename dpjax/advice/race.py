"""Learners of one class beside each other: their theorems and guarantees, and n* as far as it may be the smallest."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from dpjax.accounting.guarantee import Guarantee
from dpjax.advice.candidates import Candidate
from dpjax.core import checks, keys
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, Sample, host_numbers
from dpjax.experiments.run.cells import Cells
from dpjax.experiments.run.n_star import bracket, proved
from dpjax.experiments.statistics.sequential_search import geometric_grid
from dpjax.experiments.store.capacity import CAPACITY_LIMIT
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.task import Task

_RATIO = 2 ** (1 / 8)
_ROWS = 1 << 10  # of the plan and of the buffer by which a learner without a theorem is tried
_ROUNDING = 1 + 1e-9
_MOST_READ = 1 << 27  # rows of a trial, over all passes: about a second


@dataclass(frozen=True)
class Star:
    """The bracket (n_low, n_high] of n* on the task that needs the most rows, ``task``.

    n_low None: no n was found to be too small. n_high: the theorem's sample size if no smaller one was found to be
    enough; None: nor does a theorem say so of ``most``, the largest one tried. It is wrong with probability at most 1 -
    confidence. trials: those of all tasks. ended: as of `sequential_search.Bracket` or
    `n_star.proved`, on ``task``.
    """

    task: str
    n_low: int | None
    n_high: int | None
    most: int
    trials: int
    confidence: float
    ended: str

    def __str__(self) -> str:
        low = 0 if self.n_low is None else self.n_low
        return f"> {low}" if self.n_high is None else f"({low}, {self.n_high}]"


@dataclass(frozen=True)
class Entry:
    """A learner that competes.

    theorem: its sample size for all k concepts, or None and in ``no_theorem`` why. star: its n*, or None and in
    ``not_measured`` why. runs: False if only its theorem is known, since this form cannot run.
    """

    name: str
    learner: Any = field(repr=False)
    family: Any = field(repr=False)
    guarantee: Guarantee
    theorem: int | None
    no_theorem: str | None = None
    star: Star | None = None
    not_measured: str | None = None
    runs: bool = True
    failed: bool = False

    @property
    def pure(self) -> bool:
        """Whether the guarantee has delta = 0."""
        return self.guarantee.delta == 0

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "learner": self.name,
            "theorem": self.theorem,
            "no_theorem": self.no_theorem,
            "pure": self.pure,
            "guarantee": self.guarantee.to_dict(),
            "n_star": None if self.star is None else vars(self.star),
            "not_measured": self.not_measured,
            "runs": self.runs,
        }


@checks.named_arguments
@dataclass(frozen=True)
class Measure:
    """How n* is measured.

    trials: the most of a search, so for each learner and task. confidence: of a bracket, as in
    `sequential_search.search`. n_max: the largest n. within: learners are searched up to this multiple of the best
    upper end so far, >= 1; what is not enough there has a lower end only. seed: root of all keys. store: a folder, from
    which the same question takes its trials when it is asked again; None for a temporary one.
    """

    trials: int = 5000
    confidence: float = 0.95
    n_max: int = 2**17
    within: float = 2.0
    seed: int = 0
    store: Path | None = None

    def __post_init__(self):
        checks.integer("trials", self.trials, 64)
        checks.probability("confidence", self.confidence)
        checks.integer("n_max", self.n_max, 1, CAPACITY_LIMIT)
        checks.integer("seed", self.seed, 0, 2**32 - 1)
        if checks.number("within", self.within) < 1:
            raise InputError("within", "a number >= 1", repr(self.within), "take 2, or more to measure all learners")


@dataclass(frozen=True)
class Goal:
    """k concepts, the budget and the accuracy."""

    k: int
    privacy: Privacy
    accuracy: Accuracy


def entry_of(one: Candidate, goal: Goal, neighboring: Neighboring) -> Entry:
    """The theorem and the guarantee of a candidate; InputError if it does not compete, with the reason."""
    budget = goal.privacy, goal.accuracy
    try:
        theorem, why = one.learner.sample_size(*budget), None
    except InputError as error:
        theorem, why = None, str(error)
    try:
        plan = one.learner.plan(*budget)
    except InputError:
        if theorem is not None:
            raise
        plan = one.learner.plan(*budget, _ROWS)
    guarantee = one.learner.guarantee(plan)
    if guarantee is None:
        raise InputError("learner", "a private one", f"{one.name}, without a guarantee", "measure it with dpjax curve")
    epsilon, delta, _, _ = host_numbers(*budget)
    within = guarantee.epsilon <= epsilon * _ROUNDING and guarantee.delta <= delta * _ROUNDING
    if guarantee.neighboring is not neighboring or not within:
        actual = f"({guarantee.epsilon:g}, {guarantee.delta:g}), {guarantee.neighboring.value}"
        expected = f"a guarantee of ({epsilon:g}, {delta:g}), {neighboring.value}"
        raise InputError("learner", expected, actual, "correct its plan")
    return Entry(one.name, one.learner, one.family, guarantee, theorem, why)


def tried(entry: Entry, goal: Goal) -> Entry:
    """The entry, with ``runs`` False and the reason if `learn` refuses samples of this shape. Nothing is computed."""
    concepts = entry.learner.concepts
    x, mask = ((_ROWS, concepts.domain.limbs), jnp.uint32), ((_ROWS,), jnp.bool_)
    shapes = x, ((_ROWS, goal.k * concepts.columns), jnp.bool_), mask
    parts: tuple[Any, ...] = tuple(jax.ShapeDtypeStruct(*spec) for spec in shapes)
    try:
        plan = entry.learner.plan(goal.privacy, goal.accuracy, _ROWS)
        jax.eval_shape(lambda key, sample: entry.learner.learn(key, sample, plan), keys.root(0), Sample(*parts))
    except InputError as error:
        return replace(entry, runs=False, not_measured=str(error))
    except checks.RAISED as error:
        return replace(entry, runs=False, failed=True, not_measured=f"{type(error).__name__}: {error}")
    return entry


def prove(entries: Iterable[Entry], goal: Goal) -> list[Entry]:
    """The entries without measurements; tried until the first one with a theorem runs, which is the best."""
    checked, known = [], False
    for entry in entries:
        checked.append(entry if known else tried(entry, goal))
        known = known or (checked[-1].runs and entry.theorem is not None)
    return checked


@dataclass
class Race:
    """Measures the n* of learners one after the other, each as far as it may matter for the comparison.

    tasks: by name. below: a lower bound of n*. tell: receives a line for each learner.
    """

    goal: Goal
    tasks: Mapping[str, Task]
    below: int
    how: Measure
    cells: Cells
    tell: Callable[[str], None]
    best: int | None = None

    def run(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries with their n*, or why they have none. Of one family the first one that runs is measured."""
        result, families = [], set()
        for entry in entries:
            if entry.family in families:
                why = "the same learner with another composition has a smaller theorem"
                result.append(replace(entry, not_measured=why))
                continue
            result.append(self._measured(tried(entry, self.goal)))
            if result[-1].runs:
                families.add(entry.family)
            self.tell(f"{entry.name}: n* {result[-1].star or 'not measured'}")
        return result

    def _measured(self, entry: Entry) -> Entry:
        if not entry.runs:
            return entry
        try:
            star = self._star(entry)
        except InputError as error:
            return replace(entry, not_measured=str(error))
        except checks.RAISED as error:
            return replace(entry, failed=True, not_measured=f"{type(error).__name__}: {error}")
        if star.n_high is not None:
            self.best = star.n_high if self.best is None else min(self.best, star.n_high)
        return replace(entry, star=star)

    def _star(self, entry: Entry) -> Star:
        limits = [self.how.n_max]
        if entry.theorem is not None:
            limits.append(entry.theorem)
        if self.best is not None:
            limits.append(int(self.how.within * self.best))
        most = max(1, min(limits))
        start = most if self.best is not None else 8 * self.below
        start = min(most, start if entry.theorem is None else -(-entry.theorem // 2))
        if start * entry.learner.passes > _MOST_READ:
            actual = f"{entry.learner.passes} passes over {start}, where a search would begin"
            raise InputError("n", f"at most {_MOST_READ} rows of a trial, over all passes", actual, "use dpjax curve")
        grid, error = geometric_grid(1, most, _RATIO), (1 - self.how.confidence) / len(self.tasks)
        epsilon, delta, alpha, beta = host_numbers(self.goal.privacy, self.goal.accuracy)
        low, high, worst, ended, trials = 0, 0, "", "", 0
        for name, task in self.tasks.items():
            setting = Setting(entry.learner, task, self.goal.k, most, epsilon, delta, alpha, beta, "search")
            star = bracket(setting, self.cells, grid, start=start, trials=self.how.trials, error=error, stride=4)
            star = proved(star, most if entry.theorem == most and not entry.learner.assumes else None)
            low, trials = max(low, star.n_low or 0), trials + star.trials_total
            if star.n_high is None:
                return Star(name, low or None, None, most, trials, self.how.confidence, star.ended)
            if star.n_high > high:
                high, worst, ended = star.n_high, name, star.ended
        return Star(worst, low or None, high, most, trials, self.how.confidence, ended)
