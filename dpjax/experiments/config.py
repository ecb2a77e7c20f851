"""Study configurations: converts TOML to a validated `Study`.

[task]
concepts = {use = "Points", domain = "2**32"}
distribution = {use = "heavy", atoms = 4, mass = 0.23}
[learners]
point = "PointLearner"
kln = {use = "Independent", learner = "KLN", composition = "optimal"}
[sweep]
k = [1, 8]
"""

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from dpjax.core.checks import InputError
from dpjax.core.types import Accuracy
from dpjax.experiments.build import CONCEPTS, DISTRIBUTIONS, LEARNERS, TASKS, Builder
from dpjax.experiments.cells import Setting
from dpjax.experiments.numbers import whole_number
from dpjax.experiments.study import Search, Study
from dpjax.experiments.task import Task
from dpjax.learners.columns import for_concepts


def _whole(value: Any) -> Any:
    value = whole_number(value)
    if isinstance(value, bool):
        raise ValueError("a whole number, not a boolean")
    return value


def _real(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("a number, without quotes")
    return value


def _one_or_several(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


Whole = Annotated[int, BeforeValidator(_whole)]
Real = Annotated[float, BeforeValidator(_real)]
Wholes = Annotated[tuple[Whole, ...], BeforeValidator(_one_or_several)]
Reals = Annotated[tuple[Real, ...], BeforeValidator(_one_or_several)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True)


_Table = TypeVar("_Table", bound=_Model)


class TaskTable(_Model):
    """The concept class and the distribution of examples."""

    use: str | None = None
    """A function that returns the whole task, with its ``arguments``, instead of the four entries below."""
    arguments: dict[str, Any] = {}
    concepts: Any = None
    """The concept class."""
    distribution: Any = "uniform"
    """The distribution of examples over the class's domain."""
    targets: Any = None
    """Indices of concepts, or a table of arguments of the class's ``targets``; by default the class's own choice."""
    noise: Real = 0.0
    """Probability, below 1/2, with which every label is flipped; errors are excess errors over the target."""


class SweepTable(_Model):
    """The points that are measured; defaults are those of `study.Study`."""

    k: Wholes | None = None
    epsilon: Reals | None = None
    delta: Real | None = None
    alpha: Real | None = None
    beta: Real | None = None
    n: Literal["search"] | Wholes | None = None
    trials: Whole | None = None
    points: Whole | None = None
    fit_from: Whole | None = None


class SearchTable(_Model):
    """The search for n*; defaults are those of `study.Search`."""

    n_min: Whole | None = None
    n_max: Whole | None = None
    gamma: Real | None = None
    confidence: Real | None = None
    steps_per_doubling: Whole | None = None


class StudyTable(_Model):
    """The whole file."""

    title: str | None = None
    seed: Whole = Study.seed
    task: TaskTable
    learners: dict[str, Any] | list[Any]
    sweep: SweepTable = SweepTable()
    search: SearchTable | None = None


class PointTable(_Model):
    """One point."""

    task: TaskTable
    learner: Any
    k: Whole
    n: Whole
    epsilon: Real
    delta: Real
    alpha: Real
    beta: Real
    purpose: str


def _read(kind: type[_Table], data: Mapping[str, Any]) -> _Table:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise _readable(error) from error


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file's content. InputError for a missing file and for broken TOML."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("configuration", "a TOML file", f"{path}: {error.strerror}", "check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("configuration", "valid TOML", f"{path}: {error}", "correct the line named") from error


def load(path: str | Path, imports: Sequence[str] = ()) -> Study:
    """A study from a TOML file. imports: user modules that it may use."""
    return study_of(read_toml(path), imports)


def study_of(data: Mapping[str, Any], imports: Sequence[str] = ()) -> Study:
    """A study from nested tables; errors name the key and similar known keys."""
    if "problem" in data:
        raise InputError(
            "configuration", "[task] and [learners]", "[problem], an earlier form",
            "name classes and learners by their constructors, as configs/demo.toml does",
        )  # fmt: skip
    table = _read(StudyTable, data)
    builder = Builder(tuple(imports))
    task = task_of(table.task, builder)
    known = _known(builder, task)
    learners = {name: _learner(f"learners.{name}", spec, known) for name, spec in _by_name(table.learners).items()}
    given = table.sweep.model_dump(exclude_none=True)
    goal = {name: given.pop(name, getattr(Study.accuracy, name)) for name in ("alpha", "beta")}
    search = None if table.search is None else Search(**table.search.model_dump(exclude_none=True))
    return Study(task, learners, **given, accuracy=Accuracy(**goal), search=search, seed=table.seed, title=table.title)


def setting_of(data: Mapping[str, Any], imports: Sequence[str] = ()) -> Setting:
    """One point of a figure, as `spec.setting_spec` wrote it."""
    table = _read(PointTable, data)
    builder = Builder(tuple(imports))
    task = task_of(table.task, builder)
    learner = _known(builder, task).build("learner", table.learner, LEARNERS)
    return Setting(**{**dict(table), "task": task, "learner": learner})


def task_of(table: TaskTable, builder: Builder) -> Task:
    """The task of a [task] table."""
    if table.use is not None:
        made = builder.build("task", {"use": table.use, **table.arguments}, TASKS)
        if not isinstance(made, Task):
            raise InputError("task.use", "a function that returns a Task", type(made).__name__, "return Task(...)")
        return made
    if table.concepts is None:
        raise InputError("task.concepts", "a concept class", "none", 'write concepts = "Thresholds(2**32)"')
    concepts = builder.build("task.concepts", table.concepts, CONCEPTS)
    of_class = {name: getattr(concepts, name) for name in ("domain", "dimension", "d") if hasattr(concepts, name)}
    within = builder.knowing(concepts=concepts, **of_class)
    distribution = within.build("task.distribution", table.distribution, DISTRIBUTIONS)
    targets = table.targets
    if isinstance(targets, Mapping):
        packed = "array" in targets
        targets = builder.build("task.targets", targets) if packed else concepts.targets(**{"count": 64, **targets})
    return Task(concepts, distribution, targets, table.noise)


def _known(builder: Builder, task: Task) -> Builder:
    return builder.knowing(concepts=task.concepts, domain=task.concepts.domain, k=1)


def _learner(name: str, spec: Any, builder: Builder) -> Any:
    if isinstance(spec, Mapping) and "by_k" in spec:  # from a result: exactly the learners that ran
        made = {int(k): builder.build(name, one, LEARNERS) for k, one in spec["by_k"].items()}
        return made[1] if list(made) == [1] else lambda k: made[k] if k in made else for_concepts(made[min(made)], k)
    return builder.build(name, spec, LEARNERS)


def _by_name(learners: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """Learners by name; in a list the written text is the name."""
    if isinstance(learners, dict):
        return learners
    names = [spec if isinstance(spec, str) else str(spec.get("use", "?")) for spec in learners]
    if len(set(names)) < len(names):
        raise InputError("learners", "a name for each", ", ".join(names), 'write [learners] with name = "Learner"')
    return dict(zip(names, learners, strict=True))


def _readable(error: ValidationError) -> InputError:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if str(part).isidentifier() or isinstance(part, int))
    if first["type"] == "extra_forbidden":
        model: Any = StudyTable
        for part in first["loc"][:-1]:
            model = model.model_fields[part].annotation
            model = next((one for one in getattr(model, "__args__", ()) if hasattr(one, "model_fields")), model)
        known = list(model.model_fields)
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=2, cutoff=0.4)
        advice = f"did you mean {' or '.join(near)}?" if near else "remove it"
        return InputError(where, f"one of the keys {', '.join(known)}", "an unknown key", advice)
    if first["type"] == "missing":
        return InputError(where, "a table", "none", f"add [{where}]; configs/demo.toml is an example")
    return InputError(where, first["msg"].removeprefix("Value error, "), repr(first.get("input")), "correct the value")
