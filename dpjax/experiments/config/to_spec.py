"""Converts objects to configuration data, from which they can be built again."""

import json
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from types import FunctionType
from typing import Any

import jax
import numpy as np

from dpjax.core.checks import InputError
from dpjax.experiments.config.builder import public_names
from dpjax.experiments.config.packed import packed
from dpjax.experiments.identity.describe import module_of

_JSON = (bool, int, str)


def spec_of(value: Any, name: str = "value") -> Any:
    """JSON-ready, for `builder.Builder.build`, which takes every part of it literally.

    Dataclasses and named tuples are {"use": path, "fields": {...}}, enums {"enum": path, "member": name}, arrays
    packed, functions and classes {"name": path}, sets {"set": [...]}, floats that JSON lacks {"float": text}.

    Raises InputError for values without a name, such as a lambda.
    """
    if isinstance(value, Enum):
        return {"enum": path_of(type(value), name), "member": value.name}
    if value is None or type(value) in _JSON:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, bytes | np.generic | np.ndarray | jax.Array):
        return packed(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a NamedTuple
        specs = {field: spec_of(part, f"{name}.{field}") for field, part in zip(value._fields, value, strict=True)}
        return {"use": path_of(type(value), name), "fields": specs}
    if isinstance(value, frozenset):
        parts = [spec_of(part, name) for part in value]
        return {"set": sorted(parts, key=json.dumps)}
    if isinstance(value, tuple | list):
        return [spec_of(part, f"{name}[{i}]") for i, part in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        specs = {
            field.name: spec_of(getattr(value, field.name), f"{name}.{field.name}")
            for field in fields(value)
            if field.init
        }
        return {"use": path_of(type(value), name), "fields": specs}
    if isinstance(value, FunctionType | type):
        return {"name": path_of(value, name)}
    expected = "frozen dataclasses of numbers, strings, tuples and arrays"
    raise InputError(name, expected, type(value).__qualname__, "make it a frozen dataclass: a result says what made it")


def task_spec(task: Any) -> dict[str, Any]:
    """A task as the table [task] of a configuration."""
    return {
        "concepts": spec_of(task.concepts, "concepts"),
        "targets": spec_of(task.targets, "targets"),
        "distribution": spec_of(task.distribution, "distribution"),
        "noise": task.noise,
    }


def study_spec(study: Any) -> dict[str, Any]:
    """A study as a configuration, JSON-ready, from which `toml.study_of` builds it again."""
    learners = {
        name: {"by_k": {str(k): spec_of(study.learner(name, k), f"learners.{name}") for k in study.k}}
        for name in study.learners
    }
    sweep = {
        "k": list(study.k),
        "epsilon": list(study.epsilon),
        "delta": float(study.delta),
        "alpha": float(study.accuracy.alpha),
        "beta": float(study.accuracy.beta),
        "n": study.n if study.n == "search" else list(study.n),
        "trials": study.trials,
        "points": study.points,
        "fit_from": study.fit_from,
    }
    search = {} if study.search is None else {"search": vars(study.search)}
    return {
        "title": study.title,
        "seed": study.seed,
        "task": task_spec(study.task),
        "learners": learners,
        "sweep": sweep,
        **search,
    }


def setting_spec(setting: Any) -> dict[str, Any]:
    """One point, for `toml.setting_of`: its task and learner as tables, beside its numbers."""
    values = {field.name: getattr(setting, field.name) for field in fields(setting)}
    return values | {"task": task_spec(setting.task), "learner": spec_of(setting.learner, "learner")}


def path_of(thing: Any, name: str) -> str:
    """The name of a class or function in a configuration: alone if it is public, else module:object."""
    qualname: str = thing.__qualname__
    if public_names().get(qualname) is thing:
        return qualname
    if "<" in qualname:
        raise InputError(name, "a class or function of a module", qualname, "define it at a module's top level")
    return f"{module_of(thing)}:{qualname}"
