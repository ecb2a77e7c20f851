"""`dpjax ask`: the learners of a class by their theorems and by measurement."""

import sys
from typing import Any

from dpjax.cli import Answer
from dpjax.cli.asking import AskCommand
from dpjax.cli.named import class_of
from dpjax.cli.printing import Table, console
from dpjax.concepts import Finite, Multiclass
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.matrices import class_matrix
from dpjax.core.types import Accuracy, Neighboring, Privacy
from dpjax.experiments.asking import Asked, ask
from dpjax.experiments.build import DISTRIBUTIONS, TASKS, Builder, imported
from dpjax.experiments.racing import Entry, Measure
from dpjax.experiments.task import Task

_RELATIONS = {one.value: one for one in Neighboring}


def run(command: AskCommand) -> Answer:
    """The learner by theorem, the learner by measurement, and a table of all that compete."""
    for module in command.imports:
        imported(module)
    privacy, accuracy = Privacy(command.epsilon, command.delta), Accuracy(command.alpha, command.beta)
    relation = _RELATIONS[checks.choice("relation", command.relation, _RELATIONS)]
    how = Measure(
        command.trials, command.gamma, command.confidence, command.n_max, command.within, command.seed, command.store
    )
    concepts = _class(command)
    tasks = _tasks(command, concepts)
    found = ask(
        concepts, command.k, privacy, accuracy, learners=command.learners, only=command.only, tasks=tasks,
        neighboring=relation, measure=None if command.theorems else how, imports=command.imports, tell=_tell,
    )  # fmt: skip
    asked = {name: getattr(command, name) for name in ("k", "epsilon", "delta", "alpha", "beta", "relation")}
    answer = {"concepts": command.concepts, **asked, "measured": not command.theorems} | found.to_dict()
    return answer, lambda: _show(command, found)


def _class(command: AskCommand) -> Any:
    """A concept class; of a matrix that with its rows."""
    made = class_of(command.concepts, command.imports)
    if hasattr(made, "predict"):
        return made
    matrix = class_matrix(made)
    return Finite.of(matrix) if matrix.max(initial=0) < 2 else Multiclass.of(matrix)


def _tasks(command: AskCommand, concepts: Any) -> dict[str, Task] | None:
    """The given tasks by name; None for those of the class."""
    if command.task and command.distribution is not None:
        raise InputError("distribution", "none beside task", repr(command.distribution), "leave one of them out")
    of_class = {name: getattr(concepts, name) for name in ("domain", "dimension", "d") if hasattr(concepts, name)}
    known = Builder(command.imports, {"concepts": concepts, "alpha": command.alpha, **of_class})
    if command.distribution is not None:
        distribution = known.build("distribution", command.distribution, DISTRIBUTIONS)
        return {command.distribution: Task(concepts, distribution)}
    found = {}
    for text in command.task:
        found[text] = known.build("task", text, TASKS)
        checks.instance("task", found[text], Task, "name a function that returns one, such as hard_points")
    return found or None


def _tell(text: str) -> None:
    print(f"dpjax: {text}", file=sys.stderr, flush=True)


def _show(command: AskCommand, found: Asked) -> None:
    out = console()

    def say(text: str) -> None:
        out.print(text, markup=False, highlight=False, soft_wrap=True)

    theorem, measured = found.by_theorem, found.by_measurement
    none = "no learner that runs has a theorem for these numbers"
    say(f"smallest provable n    {none if theorem is None else f'{theorem.theorem}  {theorem.name}'}")
    if not command.theorems:
        none = f"no learner was found to succeed up to n = {command.n_max}"
        say(f"smallest measured n*   {none if measured is None else f'{measured.star}  {measured.name}'}")
        if others := [name for name in found.as_good if measured is not None and name != measured.name]:
            say(f"maybe as small         {', '.join(others)}")
    say(f"no learner below       {found.below}")
    rows = Table()
    for heading in ("learner", "guarantee", "provable n", *(() if command.theorems else ("n*", "on"))):
        rows.add_column(heading, justify="right" if heading in ("provable n", "n*") else "left")
    shown = found.entries if command.verbose else _first_of_each(found.entries)
    notes: list[str] = []
    for one in shown:
        rows.add_row(*_cells(one, notes, command.theorems))
    if shown:
        out.print(rows)
    for number, reason in enumerate(notes, 1):
        say(f"[{number}] {reason}")
    if not command.theorems:
        of = f"with confidence {command.confidence:g} each: (low, high] holds the n from which {1 - command.beta:g} of"
        say(
            f"n*: brackets {of} the trials succeed, within {command.gamma:g}; the largest over {', '.join(found.tasks)}"
        )
        if found.caution is not None:
            say(f"caution: {found.caution}")
    hidden = len(found.entries) - len(shown)
    if command.verbose:
        for name, why in found.refused.items():
            say(f"does not compete: {name}: {why}")
    elif found.refused or hidden:
        rest = f"{len(found.refused)} that do not compete, {hidden} that differ in the composition only"
        say(f"not listed without --verbose: {rest}")


def _cells(one: Entry, notes: list[str], theorems: bool) -> tuple[str, ...]:
    """The cells of a row; reasons are appended to the notes."""

    def note(text: str | None) -> str:
        if text is None:
            return "-"
        if text not in notes:
            notes.append(text)
        return f"- [{notes.index(text) + 1}]"

    size = note(one.no_theorem) if one.theorem is None else str(one.theorem)
    if not one.runs:
        size += f", does not run {note(one.not_measured).removeprefix('- ')}"
    cells = one.name, "pure" if one.pure else "approximate", size
    if theorems:
        return cells
    star = note(one.not_measured) if one.star is None else str(one.star)
    return *cells, star, "" if one.star is None else one.star.task


def _first_of_each(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Of learners that differ in the composition only, the one with the smallest theorem."""
    first: dict[Any, Entry] = {}
    for one in entries:
        if one.family not in first or not first[one.family].runs:
            first[one.family] = one
    return tuple(first.values())
