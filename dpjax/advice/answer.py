"""Which learner? The ones of a class with the smallest provable n and with the smallest measured n*, and the bound."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpjax.advice.candidates import candidates
from dpjax.advice.race import Entry, Goal, Measure, Race, entry_of, prove
from dpjax.advice.text import as_html, text
from dpjax.advice.workloads import Workloads, workloads
from dpjax.concepts.base import require_class
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy, Neighboring, Privacy, host_numbers, require_relation
from dpjax.experiments.run.n_star import cells_in
from dpjax.experiments.study.study import Study
from dpjax.experiments.sweep.lower_bounds import LowerBound, lower_bound
from dpjax.experiments.sweep.task import Task

_PRIVACY = Privacy(1.0, Study.delta)


@dataclass(frozen=True)
class Advice:
    """The answer of `ask`; ``print`` writes it as `dpjax ask` does.

    entries: the learners that compete, by theorem, those without one last. refused: other learners by name, with the
    reason; failed: those of them whose code raised. below: with fewer rows no private learner succeeds on every
    distribution. tasks: names of those on which n* is the largest. goal: what was asked for. measure: how n* was
    measured; None if it was not. caution: a sentence if nothing says that the tasks are hard.
    """

    entries: tuple[Entry, ...]
    refused: dict[str, str]
    failed: tuple[str, ...]
    below: LowerBound
    tasks: tuple[str, ...]
    goal: Goal
    measure: Measure | None = None
    caution: str | None = None

    @property
    def by_theorem(self) -> Entry | None:
        """The learner that runs and has the smallest provable n; None without a theorem."""
        proved = [entry for entry in self.entries if entry.theorem is not None and entry.runs]
        return min(proved, key=lambda entry: entry.theorem or 0, default=None)

    @property
    def by_measurement(self) -> Entry | None:
        """The learner with the smallest upper end of n*; None if no learner has one."""
        pairs = [(entry.star.n_high, entry) for entry in self.entries if entry.star and entry.star.n_high is not None]
        return min(pairs, key=lambda pair: pair[0])[1] if pairs else None

    @property
    def as_good(self) -> tuple[str, ...]:
        """Learners whose n* may be the smallest: their bracket begins below the smallest upper end."""
        best = self.by_measurement
        most = 0 if best is None or best.star is None else best.star.n_high or 0
        return tuple(entry.name for entry in self.entries if entry.star and (entry.star.n_low or 0) < most)

    def __str__(self) -> str:
        """Both learners, the bound, and a table of the learners that compete, without `refused`."""
        return text(self)

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return as_html(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        theorem, measured = self.by_theorem, self.by_measurement
        return {
            "by_theorem": None if theorem is None else theorem.name,
            "by_measurement": None if measured is None else measured.name,
            "as_good": list(self.as_good),
            "below": self.below.n,
            "below_by": self.below.name,
            "tasks": list(self.tasks),
            "caution": self.caution,
            "learners": [item.to_dict() for item in self.entries],
            "refused": self.refused,
            "failed": len(self.failed),
        }


def ask(
    concepts: Any,
    k: int = 1,
    privacy: Privacy = _PRIVACY,
    accuracy: Accuracy = Study.accuracy,
    *,
    learners: Mapping[str, Any] | Sequence[Any] = (),
    only: Sequence[str] = (),
    tasks: Mapping[str, Task] | None = None,
    neighboring: Neighboring = Neighboring.REPLACE_ONE,
    measure: Measure | None = None,
    imports: Sequence[str] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> Advice:
    """Compares the private learners of a class by their theorems and, with ``measure``, by measured n*.

    For realizable data. Learners are measured in the order of their theorems; of those that differ in the composition
    of k runs only, the one with the smallest theorem. A learner's n* is the largest over the tasks.

    Args:
      concepts: the class. k: number of concepts, in 1..2^16. privacy, accuracy: plain numbers.
      learners, only, imports: further learners, names of public ones, modules; see `candidates.candidates`.
      tasks: by name, tasks of the class; by default `workloads.workloads`.
      neighboring: the relation of all guarantees.
      measure: how n* is measured, `race.Measure`; by default it is not.
      tell: receives a line about each learner that is measured.

    Returns: the learners that are private for this budget and relation, and why the others are not.
    Raises InputError for wrong numbers and unknown names.
    Reference: Bun, Nissim, Stemmer 2016, Theorem 3.1, a minimum over learners.
    """
    _, _, alpha, _ = host_numbers(privacy, accuracy)
    require_relation(neighboring)
    require_class(concepts)
    pool = candidates(concepts, k, learners, only=only, neighboring=neighboring, imports=imports)
    on = workloads(concepts, alpha) if tasks is None else Workloads(dict(tasks))
    if not on.tasks or any(task.concepts != concepts for task in on.tasks.values()):
        raise InputError("tasks", f"tasks of {concepts!r}", "none, or others", "write Task(concepts, distribution)")
    goal = Goal(k, privacy, accuracy)
    entries, refused, failed = (
        [],
        {candidate.name: candidate.reason for candidate in pool if candidate.reason is not None},
        [],
    )
    for candidate in pool:
        if candidate.reason is None:
            try:
                entries.append(entry_of(candidate, goal, neighboring))
            except InputError as error:
                refused[candidate.name] = str(error)
            except checks.RAISED as error:  # code that raises: the others compete all the same
                refused[candidate.name] = f"{type(error).__name__}: {error}"
                failed.append(candidate.name)
    entries.sort(key=lambda candidate: (candidate.theorem is None, candidate.theorem or 0))
    bounds = [lower_bound(task, k, privacy, accuracy, neighboring=neighboring) for task in on.tasks.values()]
    below = max(bounds, key=lambda candidate: candidate.n)
    if measure is None:
        entries = prove(entries, goal)
    else:
        with cells_in(measure.store, measure.seed) as cells:
            entries = Race(goal, on.tasks, below.n, measure, cells, tell).run(entries)
    failed += [candidate.name for candidate in entries if candidate.failed]
    return Advice(tuple(entries), refused, tuple(failed), below, tuple(on.tasks), goal, measure, on.caution)
