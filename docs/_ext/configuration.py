"""The page of configurations, from the models in `dpjax.experiments.study.toml`."""

import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import commands
import site_text
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from site_text import code, markdown

from dpjax.cli.arguments.tables import LearnCommand
from dpjax.experiments.config import builder
from dpjax.experiments.study import toml
from dpjax.experiments.study.study import Study
from dpjax.experiments.sweep.sweep import Search

_CONFIGS = Path(__file__).resolve().parents[2] / "configs"
TABLES: dict[str, type[BaseModel]] = {
    "The file": toml.StudyTable,
    "[task]": toml.TaskTable,
    "[sweep]": toml.SweepTable,
    "[search]": toml.SearchTable,
}
"""The headings of the tables of a study's file."""
_HEADER = ("key", "value", "default", "range", "meaning")
_KINDS = {
    "concept class": builder.CONCEPTS,
    "distribution": builder.DISTRIBUTIONS,
    "learner": builder.LEARNERS,
    "task": builder.TASKS,
    "sanitizer": builder.SANITIZERS,
    "lists": builder.LISTS,
    "representation": builder.REPRESENTATIONS,
    "fingerprinting code": builder.CODES,
    "matrix of labels": builder.MATRICES,
}


def pages() -> dict[str, str]:
    """The page by its path."""
    parts = [_INTRODUCTION, _file("demo.toml")]
    for heading, model in TABLES.items():
        parts += [f"## {markdown(heading)}", _about(model), site_text.table(_HEADER, rows(model))]
    rooms = ((name, ", ".join(map(code, kind.rooms))) for name, kind in _KINDS.items())
    parts += [_NAMES, site_text.table(("what is named", "where a name without a module is looked up"), rooms)]
    parts += [_POINT, site_text.table(_HEADER, rows(toml.PointTable))]
    parts += [_LEARN, site_text.table(("key", "value", "default", "meaning"), _learn()), _file("breast-cancer.toml")]
    return {"reference/configuration.md": "\n\n".join(part.strip("\n") for part in parts) + "\n"}


def rows(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Key, kind of value, default, range and meaning of every field of a model."""
    for name, field in model.model_fields.items():
        shown = next((str(part) for part in field.metadata if isinstance(part, toml.Range)), None)
        kind = " or ".join(dict.fromkeys(_kinds(field.annotation)))
        meaning = markdown(field.description or "")
        yield code(name), kind, default(model, name, field), code(shown) if shown else "", meaning


def default(model: type[BaseModel], name: str, field: FieldInfo) -> str:
    """The default of a key as the file would have it; of keys that are left to `Study` or `Search`, theirs."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None and model is toml.SearchTable:
        value = getattr(Search, name)
    elif value is None and model is toml.SweepTable:
        value = getattr(Study, name) if hasattr(Study, name) else getattr(Study.accuracy, name)
        value = value[0] if isinstance(value, tuple) and len(value) == 1 else value
    if value is None or value == {} or isinstance(value, BaseModel):
        return ""
    return code(f'"{value}"' if isinstance(value, str) else str(value))


def _kinds(hint: Any) -> Iterator[str]:
    """What a value may be, in words."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        yield from _kinds(typing.get_args(hint)[0])
    elif origin in (types.UnionType, typing.Union):
        for part in typing.get_args(hint):
            yield from _kinds(part)
    elif origin is typing.Literal:
        yield from (code(f'"{word}"') for word in typing.get_args(hint))
    elif origin is tuple:
        (one,) = _kinds(typing.get_args(hint)[0])
        yield f"{one}, or a list of them"
    elif hint is not types.NoneType:
        known = {int: "whole number", float: "number", str: "text", Any: "object"}
        table = isinstance(hint, type) and issubclass(hint, BaseModel)
        yield known.get(hint) or ("table" if table or origin is dict else "list")


def _learn() -> Iterator[tuple[str, ...]]:
    for one in commands.arguments(LearnCommand):
        if not one.positional:
            key = next(word.removeprefix("--") for word in one.names).replace("-", "_")
            kind = f"list of {one.kind}s" if one.several else one.kind.replace("yes or no", "true or false")
            default = {"yes": "true", "no": "false"}.get(one.default or "", one.default)
            shown = "" if default is None else code(f'"{default}"' if kind == "text" else default)
            yield code("imports" if key == "import" else key), kind, shown, markdown(one.meaning)


def _about(model: type[BaseModel]) -> str:
    return markdown(model.__doc__ or "")


def _file(name: str) -> str:
    """A file of configs/, which the tests read."""
    return f"```toml\n# configs/{name}\n{(_CONFIGS / name).read_text(encoding='utf-8')}```"


_INTRODUCTION = """\
# Configurations

A study is a TOML file; [`dpjax curve`](commands/curve.md) runs it, and its flags override single keys. Unknown keys,
and values outside of their range, are refused by a message that names the key. Whole numbers may be written `"2**32"`
(in quotes) or `1e6`. In Python, `dp.Study` takes the same values.
"""
_NAMES = """\
## Names and arguments

Classes, distributions, learners and tasks are written as in Python, `"Points(2**32)"`, or as a table
`{use = "Points", domain = "2**32"}`; arguments that an object takes from the study, such as a learner's class, are left
out. An argument that is a class or a function is given by its name: `"Independent(KLN, composition=zcdp)"`. Objects of
your own are `module:Name(...)`; only modules that `--import` names are imported. `dpjax list` prints all names.
"""
_POINT = """\
## Points of a figure

A figure that a script drew holds its points in its metadata, by name, under `settings`; `dpjax trial FIGURE` reruns a
trial of one. Each is a table:
"""
_LEARN = """\
## Arguments of `dpjax learn`

A TOML file as the second argument of [`dpjax learn`](commands/learn.md) holds values of its flags. `bounds` may be a
table of `name = [low, high]`, and `categories` one of `name = ["text", ...]`.
"""
