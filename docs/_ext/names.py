"""Every public name of dpjax: where it is documented, and what it is.

A name is public if a package exports it, or if a module defines it without a leading underscore. It is documented once,
at its shortest path: `dpjax.KLN`, not `dpjax.learners.kln.KLN`.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import dpjax

_WITHOUT_PAGES = ("dpjax.cli", "dpjax.templates")
"""Packages that are no library: the commands have pages of their own, and `dpjax new` writes the templates."""

_WORD = re.compile(r"[a-z_0-9]+")


@dataclass(frozen=True)
class Name:
    """A documented name. path: as a user writes it; home: module and name of its definition; kind: "class",
    "function", "data" or "module"; exported: by a package, and so with a page of its own."""

    path: str
    home: str
    kind: str
    exported: bool

    @property
    def package(self) -> str:
        """The module or package that it is listed under."""
        return self.path.rpartition(".")[0]


@cache
def modules() -> dict[str, ModuleType]:
    """All importable modules of dpjax without a leading underscore, by dotted name."""
    found = {"dpjax": dpjax}
    for info in pkgutil.walk_packages(dpjax.__path__, "dpjax."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        if not info.name.startswith(_WITHOUT_PAGES):
            found[info.name] = importlib.import_module(info.name)
    return found


@cache
def names() -> dict[str, Name]:
    """All documented names, by path."""
    found: dict[str, Name] = {}
    seen: set[str] = set()
    listed = [(path, name, True) for path, module in _packages() for name in _exports(module)]
    listed += [(path, name, False) for path, module in modules().items() for name in _definitions(module)]
    for path, name, exported in listed:
        one = _named(path, name, exported)
        if one.home not in seen:
            seen.add(one.home)
            found[one.path] = one
    return found


@cache
def homes() -> dict[str, str]:
    """The documented path of each home: `dpjax.learners.kln.KLN` is documented as `dpjax.KLN`."""
    return {one.home: one.path for one in names().values()}


def find(text: str, *scopes: str) -> str | None:
    """The documented path of a name as it is written: absolute, relative to dpjax or to one of ``scopes`` (modules or
    classes, innermost first), by any path that imports it, or the mere name of a class if no other class has it. A
    member of a class is found below its class."""
    text = text.removesuffix("()")
    if text.startswith("dp."):
        text = f"dpjax.{text[3:]}"
    for scope in ("", *scopes, "dpjax"):
        found = _resolved(f"{scope}.{text}" if scope else text)
        if found:
            return found
    first, dot, rest = text.partition(".")
    return _resolved(f"{_classes()[first]}{dot}{rest}") if first in _classes() else None


def written(text: str) -> str | None:
    """The documented path of inline code on a page, or None. A single word in lower case is None, since it is more
    often the name of a flag, a column or an argument, or of a function of another module: `dp.uniform` is a name,
    `uniform` a word. Write the dot to have a link."""
    return None if _WORD.fullmatch(text) else find(text)


@cache
def _classes() -> dict[str, str]:
    """The paths of classes whose names no other class has, by name."""
    found: dict[str, list[str]] = {}
    for one in names().values():
        if one.kind == "class":
            found.setdefault(one.path.rpartition(".")[2], []).append(one.path)
    return {name: paths[0] for name, paths in found.items() if len(paths) == 1}


@cache
def _resolved(path: str) -> str | None:
    if path in names():
        return names()[path].home if names()[path].kind == "module" else path
    if path in modules():
        return path
    if not path.startswith("dpjax."):
        return None
    above, _, last = path.rpartition(".")
    module = modules().get(above)
    if module is not None:
        return _documented(module, last)
    owner = _resolved(above)
    if owner and owner in names() and names()[owner].kind == "class":
        kind = value(names()[owner])
        if not last.startswith("_") and (last in members(kind) or last in _fields(kind)):
            return f"{owner}.{last}"
    return None


def _documented(module: ModuleType, last: str) -> str | None:
    if isinstance(vars(module).get(last), ModuleType):
        return vars(module)[last].__name__ if vars(module)[last].__name__ in modules() else None
    if last.startswith("_") or not hasattr(module, last):
        return None
    return homes().get(_home(module, last))


def value(name: Name) -> Any:
    """The object itself."""
    module, _, last = name.home.rpartition(".")
    return (
        importlib.import_module(name.home) if name.kind == "module" else getattr(importlib.import_module(module), last)
    )


def comment(name: Name) -> str:
    """The documentation of a constant: the string after its assignment."""
    module, _, last = name.home.rpartition(".")
    body = _tree(importlib.import_module(module)).body
    for node, after in pairwise(body):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == last for target in targets):
            return inspect.cleandoc(ast.literal_eval(after.value)) if isinstance(after, ast.Expr) else ""
    return ""


def members(kind: type) -> dict[str, str]:
    """Public methods and properties, own and inherited, that dpjax defines and documents: name -> directive."""
    found: dict[str, str] = {}
    for base in kind.__mro__:
        own = vars(base).items() if base.__module__.startswith("dpjax") else ()
        for name, member in own:
            directive = _directive(member)
            documented = inspect.getdoc(getattr(kind, name, None))
            if directive and documented and name not in found and not name.startswith("_"):
                found[name] = directive
    return found


def _directive(member: Any) -> str | None:
    if isinstance(member, property) or type(member).__name__ == "cached_property":
        return "autoproperty"
    return "automethod" if inspect.isfunction(member) or isinstance(member, (classmethod, staticmethod)) else None


def _fields(kind: type) -> set[str]:
    return {name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())}


def _packages() -> list[tuple[str, ModuleType]]:
    found = [(path, module) for path, module in modules().items() if hasattr(module, "__path__")]
    return sorted(found, key=lambda one: (one[0].count("."), one[0]))


def _exports(module: ModuleType) -> list[str]:
    if module is dpjax:
        return list(dpjax.__all__)
    aliases = [
        alias.asname
        for node in _tree(module).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    ]
    return [*aliases, *_definitions(module)]


def _definitions(module: ModuleType) -> list[str]:
    """Functions, classes and documented constants that a module defines."""
    found, body = [], _tree(module).body
    for node, after in zip(body, [*body[1:], None], strict=False):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                found += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in found if not name.startswith("_")]


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def _named(path: str, name: str, exported: bool) -> Name:
    module = modules().get(path) or importlib.import_module(path)
    found = getattr(module, name)
    if isinstance(found, ModuleType):
        return Name(f"{path}.{name}", found.__name__, "module", exported)
    own = inspect.isclass(found) and found.__module__.startswith("dpjax")  # an alias of Any is a constant
    kind = "class" if own else "function" if inspect.isroutine(found) else "data"
    if kind == "data" and callable(found) and inspect.getdoc(found) and hasattr(found, "__wrapped__"):
        kind = "function"
    return Name(f"{path}.{name}", _home(module, name), kind, exported)


def _home(module: ModuleType, name: str) -> str:
    """Module and name of a definition: what the object says, or for a constant where the imports lead."""
    found = vars(module).get(name, getattr(module, name, None))
    own, called = getattr(found, "__module__", None), getattr(found, "__qualname__", None)
    if isinstance(found, ModuleType):
        return found.__name__
    if own and called and own.startswith("dpjax") and "<" not in called and not isinstance(own, property):
        return f"{own}.{called}"
    for node in _tree(module).body if module.__name__.startswith("dpjax") else ():
        if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
            source = importlib.import_module("." * node.level + (node.module or ""), module.__package__)
            original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
            return _home(source, original)
    return f"{module.__name__}.{name}"
