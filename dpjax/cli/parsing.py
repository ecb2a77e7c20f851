"""Parses a command line. Imports no JAX."""

import functools
import inspect
import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import tyro

from dpjax.cli.arguments import COMMANDS
from dpjax.cli.arguments.numbers import Unread
from dpjax.cli.arguments.tables import LearnCommand
from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.core.logs import say

_OF_TABLES, _MARK = ("learn", "predict"), "\0"


def parse(arguments: Sequence[str]) -> Any:
    """The command, with the values of a TOML file as defaults of its flags."""
    words = with_one_import(arguments)
    name, files = (words or [""])[0], [word for word in words[1:] if word.endswith(".toml")]
    default = None
    if name == "learn" and files:
        from dpjax.experiments.study.toml import read_toml

        words = [word for word in words if word not in files]
        default = LearnCommand(table=tyro.MISSING, **_learn_values(read_toml(files[0])))
    if name in _OF_TABLES:  # names of columns and labels may begin with a dash
        words = [f"{_MARK}{word}" if re.match(r"-[^\W\d]", word) and word != "-h" else word for word in words]
    try:
        command = _parsed(name, words, default)
    except InputError:
        raise
    except ValueError as error:  # a value that the dataclass refuses
        raise InputError("flags", "values of the right kind", str(error), "see --help") from error
    except SystemExit as end:
        if end.code:
            _name_commands_of(name, words[1:])
        raise
    for field in fields(command):
        value = _unmarked(getattr(command, field.name))
        setattr(command, field.name, value)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Unread):
                raise InputError(_flag(field), part.expected, repr(part.word), f"see dpjax {words[0]} --help")
    for module in command.imports:
        if not all(part.isidentifier() for part in module.split(".")):
            advice = "write what is not a module before --import, or after another flag"
            raise InputError("--import", "names of modules", repr(module), advice)
    return command


def _parsed(name: str, words: Sequence[str], default: Any) -> Any:
    """The command. Flags of other commands are no suggestions for one that is named."""
    if name in COMMANDS:
        kind: Any = COMMANDS[name]
        how = {} if default is None else {"default": default}
        return tyro.cli(kind, prog=f"dpjax {name}", description=_described(kind), args=words[1:], **how)
    if name and not name.startswith("-"):
        checks.choice("command", name, list(COMMANDS))
    kinds: list[Any] = []
    for known, kind in COMMANDS.items():
        sentence = _described(kind).partition("\n\n")[0]  # a list of all: one sentence each
        kinds.append(Annotated[kind, tyro.conf.subcommand(known, description=sentence)])
    return tyro.cli(functools.reduce(operator.or_, kinds), prog="dpjax", description=_DESCRIPTION, args=words)


def _name_commands_of(name: str, words: Sequence[str]) -> None:
    """Says which commands have the flags that this one lacks."""
    if name not in COMMANDS:
        return
    flags = {known: {_flag(field) for field in fields(kind)} for known, kind in COMMANDS.items()}
    for flag in dict.fromkeys(word.partition("=")[0] for word in words):
        others = [known for known in COMMANDS if flag in flags[known]]
        if others and flag not in flags[name]:
            say(f"dpjax: {name} has no {flag}; these commands have it: {', '.join(others)}")


def _flag(field: Any) -> str:
    return "--" + field.name.replace("_", "-")


def _unmarked(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_unmarked, value))
    return type(value)(str(value).removeprefix(_MARK)) if isinstance(value, str | Path) else value


def with_one_import(words: Sequence[str]) -> list[str]:
    """The words with the modules of all --import flags behind one: of a repeated flag the parser keeps the last."""
    others: list[str] = []
    modules: list[str] = []
    importing = False
    for word in words:
        flag, equals, value = word.partition("=")
        if flag == "--import":
            importing = not equals
            modules += [value] * bool(equals)
            continue
        importing = importing and not word.startswith("-")
        (modules if importing else others).append(word)
    return [*others, *(["--import", *modules] if modules or others != [*words] else [])]


def _described(kind: type) -> str:
    """A command's docstring with each example on its own line, since tyro joins lines that begin with a letter."""
    text, *examples = (inspect.getdoc(kind) or "").split("\nExample: ")
    return text + "\nExample:" * bool(examples) + "".join(f"\n  {line}" for line in examples)


def _learn_values(data: dict[str, Any]) -> dict[str, Any]:
    """A TOML file's values as fields of LearnCommand; bounds and categories may be tables of name = [...]."""
    values = {}
    for name, value in data.items():
        checks.choice("key", name, [entry.name for entry in fields(LearnCommand) if entry.name != "table"])
        if name == "bounds" and isinstance(value, dict):
            value = [f"{column}={':'.join(map(str, pair))}" for column, pair in value.items()]
        if name == "categories" and isinstance(value, dict):
            value = [declared(column, map(str, texts)) for column, texts in value.items()]
        values[name] = tuple(value) if isinstance(value, list) else value
    return values


def declared(column: str, texts: Iterable[str]) -> str:
    """The value of --categories for a column of texts."""
    plain = (text if re.fullmatch(r"[\w .-]+", text) else '"' + text.replace('"', '""') + '"' for text in texts)
    return f"{column}={','.join(plain)}"


_DESCRIPTION = (
    "The wind tunnel of private learning theory: run private PAC learners thousands of times, with explicit keys, "
    "and measure the constants that O(.) notation leaves out. A simulator: not for the release of sensitive data.\n\n"
    "Completion of flags and commands by a shell, here bash (zsh and tcsh work alike):\n"
    "  dpjax --tyro-write-completion bash ~/.local/share/bash-completion/completions/dpjax"
)
