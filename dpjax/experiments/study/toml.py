"""Study configurations: converts TOML to the validated arguments of a `Study`.

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
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.commands import modules
from dpjax.core.files import read_bytes
from dpjax.core.types import Accuracy
from dpjax.core.user_code import calling
from dpjax.experiments.config.builder import CONCEPTS, DISTRIBUTIONS, LEARNERS, TASKS, Builder, NotImportedError
from dpjax.experiments.config.numbers import whole_number
from dpjax.experiments.config.packed import require_tables
from dpjax.experiments.store.capacity import CAPACITY_LIMIT
from dpjax.experiments.sweep.setting import Setting
from dpjax.experiments.sweep.sweep import LEAST_EPSILON, Search, Sweep
from dpjax.experiments.sweep.task import Task
from dpjax.learners.columns import for_concepts


def _whole(value: Any) -> Any:
    value = whole_number(value)
    if isinstance(value, bool | float):
        raise ValueError(f"a whole number, not {'a boolean' if isinstance(value, bool) else 'a fraction'}")
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


@dataclass(frozen=True)
class Range:
    """The numbers that a key may have, from low to high; a parenthesis in ``ends`` excludes that end."""

    low: float
    high: float
    ends: str = "[]"

    def __str__(self) -> str:
        """As an interval; whole numbers beyond 2**16 near a power of two are written by it."""
        return f"{self.ends[0]}{_short(self.low)}, {_short(self.high)}{self.ends[1]}"


def _short(value: float) -> str:
    for less in (0, 1):
        if isinstance(value, int) and value >= 2**16 and (value + less).bit_count() == 1:
            return f"2**{value.bit_length() - 1 + less}{' - 1' * less}"
    return str(value)


_CHANCE, _ROWS = Range(0, 1, "()"), Range(1, CAPACITY_LIMIT)


_MOST_BYTES = 1 << 26
"""Of a configuration."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=True, use_attribute_docstrings=True)


_Table = TypeVar("_Table", bound=_Model)


class TaskTable(_Model):
    """The concept class and the distribution of examples."""

    use: str | None = None
    """A function that returns the whole task; ``concepts``, ``distribution``, ``targets`` and ``noise`` are unused."""
    arguments: dict[str, Any] = {}
    """Arguments of the function ``use``."""
    concepts: Any = None
    """The concept class, or the path of a CSV or .npy file of labels with a line per concept; required without
    ``use``."""
    distribution: Any = "uniform"
    """The distribution of examples over the class's domain."""
    targets: Any = None
    """Indices of concepts, or a table of arguments of the class's ``targets``; by default the class's own choice."""
    noise: Annotated[Real, Range(0, 0.5, "[)")] = 0.0
    """Probability with which every label is flipped; errors are excess errors over the target."""


class SweepTable(_Model):
    """The points that are measured; defaults are those of `study.Study`."""

    k: Annotated[Wholes | None, Range(1, 2**16)] = None
    """Numbers of concepts that are learned at once."""
    epsilon: Annotated[Reals | None, Range(LEAST_EPSILON, math.inf, "[)")] = None
    """Privacy parameters epsilon."""
    delta: Annotated[Real | None, Range(0, 1, "[)")] = None
    """Privacy parameter delta; 0 for pure privacy."""
    alpha: Annotated[Real | None, _CHANCE] = None
    """Accuracy alpha, the largest error of a good hypothesis."""
    beta: Annotated[Real | None, _CHANCE] = None
    """Failure probability beta of a trial."""
    n: Annotated[Literal["search"] | Wholes | None, _ROWS] = None
    """Sample sizes of the curves, or "search" for n* and sizes around it."""
    trials: Annotated[Whole | None, Range(1, 2**32)] = None
    """Trials of each point of a curve."""
    points: Annotated[Whole | None, Range(1, 1000)] = None
    """Number of sample sizes chosen around n*."""
    fit_from: Annotated[Whole | None, Range(1, 2**16)] = None
    """The exponent of k is fitted over k >= this."""


class SearchTable(_Model):
    """The search for n*; defaults are those of `sweep.Search`. With sample sizes ``n`` given there is no search unless
    this table is there."""

    n_min: Annotated[Whole | None, _ROWS] = None
    """Smallest sample size considered."""
    n_max: Annotated[Whole | None, _ROWS] = None
    """Largest sample size considered, at least ``n_min``."""
    gamma: Annotated[Real | None, Range(0, 1, "[)")] = None
    """For quick looks, below 1 - beta: instead of n* the result has n within gamma, where success is below 1 - beta at
    the lower end of a bracket and above 1 - beta - gamma at the upper end. 0 for n*."""
    confidence: Annotated[Real | None, _CHANCE] = None
    """Confidence of each bracket of n*, and of each curve's simultaneous band."""
    steps_per_doubling: Annotated[Whole | None, Range(1, 64)] = None
    """Sample sizes of the search between n and 2 n."""
    most_trials: Annotated[Whole | None, Range(64, 2**32)] = None
    """Trials of the search of a curve, which ends earlier if the ends of its bracket are one sample size apart."""


class StudyTable(_Model):
    """A study: what is learned, by which learners, at which points."""

    title: str | None = None
    """Title of the figure."""
    seed: Annotated[Whole, Range(0, 2**32 - 1)] = Sweep.seed
    """Root of all random keys."""
    task: TaskTable
    """What is learned from which examples: the table [task]."""
    learners: dict[str, Any] | list[Any]
    """The learners that are compared, by name: the table [learners]; or a list, in which the text is the name."""
    sweep: SweepTable = SweepTable()
    """The points that are measured: the table [sweep]."""
    search: SearchTable | None = None
    """The search for n*: the table [search]."""


class PointTable(_Model):
    """One point."""

    task: TaskTable
    """What is learned, as in a study."""
    learner: Any
    """The learner."""
    k: Annotated[Whole, Field(ge=1, le=2**16)]
    """Number of concepts that are learned at once."""
    n: Annotated[Whole, Field(ge=1, le=CAPACITY_LIMIT)]
    """Number of rows."""
    epsilon: Annotated[Real, Field(gt=0, allow_inf_nan=False)]
    """Privacy parameter epsilon."""
    delta: Annotated[Real, Field(ge=0, lt=1)]
    """Privacy parameter delta."""
    alpha: Annotated[Real, Field(gt=0, lt=1)]
    """Accuracy alpha, the largest error of a good hypothesis."""
    beta: Annotated[Real, Field(gt=0, lt=1)]
    """Failure probability beta."""
    purpose: str
    """Use of the trials, such as "curve"; two purposes share no trial."""


def _read(kind: type[_Table], data: Mapping[str, Any]) -> _Table:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise _readable(error) from error


def read_toml(path: str | Path) -> dict[str, Any]:
    """A TOML file's content. InputError for a missing file and for broken TOML."""
    try:
        return tomllib.loads(read_bytes(path, _MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise InputError("configuration", "a TOML file", f"{path}: {error.strerror}", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise InputError("configuration", "valid TOML", f"{path}: {error}", "correct the line named") from error


def sweep_of(data: Mapping[str, Any], imports: Sequence[str] = ()) -> Sweep:
    """What a study of nested tables measures; errors name the key and similar known keys."""
    return Sweep(**arguments_of(data, imports))


def arguments_of(data: Mapping[str, Any], imports: Sequence[str] = ()) -> dict[str, Any]:
    """The arguments of `Study` from nested tables."""
    try:
        return _arguments_of(data, imports)
    except (RecursionError, MemoryError) as error:
        raise InputError(
            "configuration", "calls and lists that are not so deep", "deeper ones", "shorten it"
        ) from error


def _arguments_of(data: Mapping[str, Any], imports: Sequence[str]) -> dict[str, Any]:
    checks.instance("configuration", data, Mapping, "write the tables [task] and [learners]", "tables")
    require_tables(data)
    if "problem" in data:
        advice = "name classes and learners by their constructors, as configs/demo.toml does"
        raise InputError("configuration", "[task] and [learners]", "[problem], an earlier form", advice)
    table = _read(StudyTable, data)
    builder = Builder(tuple(imports))
    with _all_modules(data, builder):
        task = task_of(table.task, builder)
        known = _known(builder, task)
        learners = {name: _learner(f"learners.{name}", spec, known) for name, spec in _by_name(table.learners).items()}
    values = table.sweep.model_dump(exclude_none=True)
    goal = {name: values.pop(name, getattr(Sweep.accuracy, name)) for name in ("alpha", "beta")}
    search = None if table.search is None else Search(**table.search.model_dump(exclude_none=True))
    return {
        "task": task,
        "learners": learners,
        **values,
        "accuracy": Accuracy(**goal),
        "search": search,
        "seed": table.seed,
        "title": table.title,
    }


def setting_of(data: Mapping[str, Any], imports: Sequence[str] = ()) -> Setting:
    """One point of a figure, as `to_spec.setting_spec` wrote it."""
    require_tables(data)
    table = _read(PointTable, data)
    builder = Builder(tuple(imports))
    with _all_modules({"task": data["task"], "learners": {"": data["learner"]}}, builder):
        task = task_of(table.task, builder)
        learner = _known(builder, task).build("learner", table.learner, LEARNERS)
    return Setting(**{**dict(table), "task": task, "learner": learner})


@contextmanager
def _all_modules(data: Mapping[str, Any], builder: Builder) -> Iterator[None]:
    """An error about a module that is not imported names all such modules of the configuration."""
    try:
        yield
    except NotImportedError as error:
        error.modules = tuple(name for name in modules(data) if name not in builder.imports)
        raise


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
    within = builder.of_class(concepts)
    distribution = within.build("task.distribution", table.distribution, DISTRIBUTIONS)
    targets = table.targets
    if isinstance(targets, Mapping):
        packed = "array" in targets
        targets = builder.build("task.targets", targets) if packed else _targets(concepts, targets)
    return Task(concepts, distribution, targets, table.noise)


def _targets(concepts: Any, arguments: Mapping[str, Any]) -> Any:
    with calling("task.targets", "arguments of the class's targets", "correct them"):
        return concepts.targets(**{"count": 64, **arguments})


def _known(builder: Builder, task: Task) -> Builder:
    return builder.knowing(concepts=task.concepts, domain=task.concepts.domain, k=1)


def _learner(name: str, spec: Any, builder: Builder) -> Any:
    if isinstance(spec, Mapping) and "by_k" in spec:  # from a result: exactly the learners that ran
        checks.instance(f"{name}.by_k", spec["by_k"], Mapping, "write a learner for each k")
        made = {_concepts(name, k): builder.build(name, entry, LEARNERS) for k, entry in spec["by_k"].items()}
        if not made:
            raise InputError(f"{name}.by_k", "a learner for each k", "none", "add one")
        return made[1] if list(made) == [1] else lambda k: made[k] if k in made else for_concepts(made[min(made)], k)
    return builder.build(name, spec, LEARNERS)


def _concepts(name: str, k: str) -> int:
    if not (k.isascii() and k.isdigit() and int(k)):
        raise InputError(f"{name}.by_k", "numbers of concepts as keys", repr(k), "write for example 1")
    return int(k)


def _by_name(learners: dict[str, Any] | list[Any]) -> dict[str, Any]:
    """Learners by name; in a list the written text is the name."""
    if isinstance(learners, dict):
        return learners
    names = [str(spec.get("use", "?")) if isinstance(spec, Mapping) else str(spec) for spec in learners]
    if len(set(names)) < len(names):
        raise InputError("learners", "a name for each", ", ".join(names), 'write [learners] with name = "Learner"')
    return dict(zip(names, learners, strict=True))


def _readable(error: ValidationError) -> InputError:
    first, where = error.errors()[0], _place(error.errors()[0])
    if first["type"] == "extra_forbidden":
        model: Any = StudyTable
        for part in first["loc"][:-1]:
            model = model.model_fields[part].annotation
            model = next((entry for entry in getattr(model, "__args__", ()) if hasattr(entry, "model_fields")), model)
        known = list(model.model_fields)
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=2, cutoff=0.4)
        advice = f"did you mean {' or '.join(near)}?" if near else "remove it"
        return InputError(where, f"one of the keys {', '.join(known)}", "an unknown key", advice)
    if first["type"] == "missing":
        return InputError(where, "a table", "none", f"add [{where}]; configs/demo.toml is an example")
    kinds = [entry["msg"] for entry in error.errors() if f"{_place(entry)}.".startswith(f"{where}.")]
    words = [re.sub("^(Value error, |Input should be )", "", message) for message in kinds]
    return InputError(where, " or ".join(dict.fromkeys(words)), repr(first.get("input")), "correct the value")


def _place(error: Any) -> str:
    """The key of an error; pydantic's names of the kinds that it tried there are left out."""
    return ".".join(str(part) for part in error["loc"] if str(part).isidentifier() or isinstance(part, int))
