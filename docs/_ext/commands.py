"""Pages of the commands, from the dataclasses of their arguments in `dpjax.cli.arguments`."""

import ast
import dataclasses
import functools
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import site_text
import tyro
from site_text import code, markdown

import dpjax.cli
from dpjax.cli.arguments import COMMANDS
from dpjax.cli.arguments.numbers import Real, Whole

_FOLDER = "reference/commands"
_UP = "../../"  # from a page of a command to docs/
_HOME = Path(dpjax.cli.__file__).parent


@dataclass(frozen=True)
class Argument:
    """One argument of a command, as its dataclass declares it.

    names: the flag and its aliases; of a positional argument, its name in capitals. kind: what a value is. default: as
    written on a command line; None for none. owner: the dataclass that declares it.
    """

    names: tuple[str, ...]
    kind: str
    default: str | None
    required: bool
    several: bool
    positional: bool
    meaning: str
    owner: type


def arguments(command: type) -> list[Argument]:
    """The arguments of a command in the order of its help: positional ones, then flags, those of its own first."""
    hints = typing.get_type_hints(command, include_extras=True)
    made = [_argument(field, hints[field.name], command) for field in dataclasses.fields(command)]
    order = list(command.__mro__)
    return sorted(made, key=lambda one: (not one.positional, order.index(one.owner)))


def summary(command: type) -> str:
    """The first sentences of a command's docstring, plain text."""
    return _parts(command)[0].partition("\n\n")[0].replace("\n", " ")


def usage(name: str, command: type) -> str:
    """One line: the command with its positional arguments."""
    words = [f"dpjax {name}"]
    for one in arguments(command):
        if one.positional:
            word = one.names[0] + (" ..." if one.several else "")
            words.append(word if one.required else f"[{word}]")
    return " ".join([*words, "[flags]"])


def pages() -> dict[str, str]:
    """The pages by their paths: an index, and one page for each command."""
    found = {f"{_FOLDER}/{name}.md": _page(name, command) for name, command in COMMANDS.items()}
    rows = [(f"[`{name}`]({name}.md)", markdown(summary(command))) for name, command in COMMANDS.items()]
    toctree = "\n".join(("```{toctree}", ":hidden:", "", *COMMANDS, "```"))
    index = _INDEX + site_text.table(("command", "what it does"), rows) + f"\n{toctree}\n"
    return {f"{_FOLDER}/index.md": index} | found


_INDEX = """\
# Commands

`dpjax COMMAND --help` prints the same descriptions. Every command takes `--json`: one object on standard output and
nothing else there. Whole numbers may be written `2**20` or `1e6`. The [exit statuses](../statuses.md) are those of all
commands; [how to use them](../../guide/commands.md) is a page of the guide.

"""
_WORDS = {int: "whole number", float: "number", str: "text", Path: "path", bool: "yes or no"}


def _page(name: str, command: type) -> str:
    text, examples = _parts(command)
    lines = [f"# dpjax {name}", "", markdown(text, _UP), "", "```text", usage(name, command), "```", ""]
    if examples:
        lines += ["## Examples", "", "```bash", *examples, "```", ""]
    groups: dict[str, list[Argument]] = {}
    for one in arguments(command):
        groups.setdefault("Arguments" if one.positional else _heading(one.owner, command), []).append(one)
    for heading, group in groups.items():
        lines += [f"## {markdown(heading)}", "", *(line for one in group for line in _entry(one))]
    lines += ["## Answer", "", markdown(_answer(name), _UP), "", _END + _COMPILES * command.compiles]
    return "\n".join(lines).rstrip("\n") + "\n"


_COMPILES = " Compiled programs are kept for [later processes](../../guide/commands.md#compiled-programs)."
_END = "`--json` prints the answer as one object. The command ends with one of the [exit statuses](../statuses.md)."


def _heading(owner: type, command: type) -> str:
    """The heading of the flags that a class declares: of a base class, the first sentence of its docstring."""
    if owner is command:
        return "Flags"
    return (inspect.getdoc(owner) or "Further flags").partition("\n")[0].rstrip(".")


def _entry(one: Argument) -> Iterator[str]:
    """A term and its definition."""
    words = [", ".join(map(code, one.names)), f"*{one.kind}{', several' * one.several}*"]
    if one.required:
        words.append("required")
    elif one.default is not None:
        words.append(f"default {code(one.default)}")
    yield " · ".join(words)
    meaning = markdown(one.meaning, _UP).replace("\n", "\n  ")
    yield from (f": {meaning}", "")


def _argument(field: dataclasses.Field, hint: Any, command: type) -> Argument:
    kind, marks = _bare(hint)
    several = typing.get_origin(kind) is tuple
    if several:
        kind, _ = _bare(typing.get_args(kind)[0])
    own = next((mark for mark in marks if hasattr(mark, "aliases")), None)
    name = (own and own.name) or field.name.replace("_", "-")
    flag = f"--{name}"
    positional = tyro.conf.Positional[int].__metadata__[0] in marks
    names = (field.name.upper(),) if positional else (flag, *((own and own.aliases) or ()))
    if kind is bool and not positional:
        names = (*names, f"--no-{name}")
    owner, meaning = _declared(command)[field.name]
    required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    default = None if required else _default(field.default, kind is bool, several)
    return Argument(names, _WORDS[kind], default, required, several, positional, meaning, owner)


def _bare(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without annotations and without None, and the annotations."""
    marks: tuple[Any, ...] = ()
    while True:
        if hint in (Whole, Real) or typing.get_origin(hint) is typing.Annotated:
            hint, *more = typing.get_args(hint)
            marks += tuple(more)
        elif isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
            (hint,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
        else:
            return hint, marks


def _default(value: Any, flag: bool, several: bool) -> str | None:
    if value is None or value == ():
        return None
    if flag:
        return "yes" if value else "no"
    return " ".join(map(str, value)) if several else str(value)


@functools.cache
def _declared(command: type) -> dict[str, tuple[type, str]]:
    """By name, the class that declares a field, and the docstring below the field."""
    found: dict[str, tuple[type, str]] = {}
    for owner in reversed(command.__mro__):
        if dataclasses.is_dataclass(owner):
            found |= {name: (owner, text) for name, text in _docstrings(owner).items()}
    return found


@functools.cache
def _docstrings(owner: type) -> dict[str, str]:
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(made, ast.ClassDef)
    found = {}
    for line, below in zip(made.body, made.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(below, ast.Expr):
            found[line.target.id] = inspect.cleandoc(ast.literal_eval(below.value))
    return found


def _parts(command: type) -> tuple[str, list[str]]:
    """A command's docstring without its examples, and the examples."""
    text, *examples = (inspect.getdoc(command) or "").split("\nExample: ")
    return text.strip(), [line.strip() for line in examples]


def _answer(name: str) -> str:
    """The docstring of the function that runs a command, which says what it returns."""
    made = ast.parse((_HOME / "commands" / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8"))
    (run,) = (one for one in made.body if isinstance(one, ast.FunctionDef) and one.name == "run")
    return ast.get_docstring(run) or ""
