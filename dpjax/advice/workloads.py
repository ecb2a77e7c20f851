"""The tasks on which the learners of a class are compared: hard ones, if anything says which are."""

from dataclasses import dataclass
from typing import Any

from dpjax.concepts.distributions import uniform
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.config.builder import TASKS, public_names
from dpjax.experiments.config.signatures import hints_of, kinds_of, required
from dpjax.experiments.sweep.task import Task


@dataclass(frozen=True)
class Workloads:
    """tasks: by name. caution: a sentence for the reader if nothing says that they are hard, else None."""

    tasks: dict[str, Task]
    caution: str | None = None


def workloads(concepts: Any, alpha: float) -> Workloads:
    """`hard_tasks`; without any, uniform examples, with a caution unless the class has a single distribution."""
    if hard := hard_tasks(concepts, alpha):
        return Workloads(hard)
    try:
        task = Task(concepts, uniform(concepts.domain))
    except (InputError, AttributeError, TypeError) as error:
        advice = "give a distribution, or the class a method hard(alpha)"
        message = f"{type(concepts).__name__}: {error}"
        raise InputError("task", "a class with hard tasks or a uniform distribution", message, advice) from error
    if not concepts.any_distribution:
        return Workloads({"uniform": task})
    name = type(concepts).__name__
    caution = f"nothing says which examples are hard for {name}: n* is that of uniform ones, and others may need more"
    return Workloads({"uniform": task}, caution)


def hard_tasks(concepts: Any, alpha: float) -> dict[str, Task]:
    """By name, the tasks that are hard for the class at error alpha; none if nothing tells any.

    Those of the class's method ``hard(alpha)``, pairs of a distribution and of targets by name, and those of the
    functions of `dpjax.experiments.sweep.hard_tasks` for a class of this type. A function that has no task for
    these numbers, which it says by an InputError, is left out.
    """
    checks.probability("alpha", alpha)
    result = {str(name): Task(concepts, *pair) for name, pair in concepts.hard(alpha).items()}
    for name, make in public_names(TASKS).items():
        if _is_for(make, concepts):
            try:
                result[name] = make(concepts, alpha)
            except InputError:
                continue
    return result


def _is_for(make: Any, concepts: Any) -> bool:
    """Whether ``make(concepts, alpha)`` is a call for a class of this type."""
    kinds = tuple(kind for kind in kinds_of(hints_of(make).get("concepts")) if isinstance(kind, type))
    return required(make) == ["concepts", "alpha"] and isinstance(concepts, kinds)
