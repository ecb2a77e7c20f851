"""`dpjax ask`: the learners of a class by their theorems and by measurement."""

from typing import Any

from dpjax.advice.answer import Advice, ask
from dpjax.advice.race import Measure
from dpjax.advice.text import show
from dpjax.cli.arguments.studies import AskCommand
from dpjax.cli.named import builder_of, class_of, relation_of
from dpjax.cli.output import Answer, console
from dpjax.concepts import Finite, Multiclass
from dpjax.concepts.base import ConceptClass
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.logs import say
from dpjax.core.matrices import class_matrix
from dpjax.core.types import Accuracy, Privacy
from dpjax.experiments.config.builder import DISTRIBUTIONS, TASKS, Builder
from dpjax.experiments.sweep.task import Task


def run(command: AskCommand) -> Answer:
    """The learner by theorem, the learner by measurement, and a table of all that compete."""
    builder = builder_of(command, alpha=command.alpha)
    privacy, accuracy = Privacy(command.epsilon, command.delta), Accuracy(command.alpha, command.beta)
    relation = relation_of(command.relation)
    how = Measure(command.trials, command.confidence, command.n_max, command.within, command.seed, command.store)
    concepts = _class(command)
    tasks = _tasks(command, builder.of_class(concepts), concepts)
    question = {name: getattr(command, name) for name in ("learners", "only", "imports")}
    question |= {"tasks": tasks, "neighboring": relation, "measure": None if command.theorems else how, "tell": _tell}
    advice = ask(concepts, command.k, privacy, accuracy, **question)
    parameters = {name: getattr(command, name) for name in ("k", "epsilon", "delta", "alpha", "beta", "relation")}
    answer = {"concepts": command.concepts, **parameters, "measured": not command.theorems} | advice.to_dict()
    return answer, lambda: _show(command, advice)


def _class(command: AskCommand) -> Any:
    """A concept class; of a matrix that with its rows."""
    made = class_of(command.concepts, command.imports)
    if isinstance(made, ConceptClass):
        return made
    matrix = class_matrix(made)
    return Finite.of(matrix) if matrix.max(initial=0) < 2 else Multiclass.of(matrix)


def _tasks(command: AskCommand, known: Builder, concepts: Any) -> dict[str, Task] | None:
    """The given tasks by name; None for those of the class."""
    if command.task and command.distribution is not None:
        raise InputError("distribution", "none beside task", repr(command.distribution), "leave one of them out")
    if command.distribution is not None:
        distribution = known.build("distribution", command.distribution, DISTRIBUTIONS)
        return {command.distribution: Task(concepts, distribution)}
    tasks = {}
    for text in command.task:
        tasks[text] = known.build("task", text, TASKS)
        checks.instance("task", tasks[text], Task, "name a function that returns one, such as hard_points")
    return tasks or None


def _tell(text: str) -> None:
    say(f"dpjax: {text}")


def _show(command: AskCommand, found: Advice) -> None:
    show(found, console(), verbose=command.verbose, rest="not listed without --verbose")
