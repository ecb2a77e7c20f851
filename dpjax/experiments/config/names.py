"""Which objects a name in a configuration or in a file may denote.

Configurations, results, stores, figures and learned hypotheses are read as a stranger's: a name in them decides which
object of Python is called with which arguments. `denoted` returns only what is

- defined in dpjax, in one of `PACKAGES`, or in a module that the command line (``--import``) or ``imports=`` names: an
  object that such a module has merely imported, ``os.system`` say, is refused;
- public: no part of its name begins with an underscore;
- reached from a module by its own name, or as a static method, class method or nested class of a class: no attribute of
  a module within a module, of a function or of an instance;
- accepted by its place, before it is called: see `values_of`.

None of `PACKAGES` has a public function or class that takes a path, a module or code, which a test enumerates.
"""

import importlib
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Self, get_origin

import jax
import numpy as np

from dpjax.core.checks import InputError
from dpjax.experiments.config.signatures import hints_of, kinds_of

PACKAGES = (
    "dpjax.attacks",
    "dpjax.baselines",
    "dpjax.concepts",
    "dpjax.core.types",
    "dpjax.dimensions.families",
    "dpjax.experiments.sweep.hard_polygons",
    "dpjax.experiments.sweep.hard_tasks",
    "dpjax.experiments.sweep.task",
    "dpjax.laws",
    "dpjax.learners",
    "dpjax.lists",
    "dpjax.mechanisms",
    "dpjax.sanitizers",
    "dpjax.theory",
)
"""Packages and modules of dpjax whose public objects a file may name: the science, nothing that reads or writes."""

_PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, frozenset, type(None), np.generic, np.ndarray)


def within(module: str, packages: Iterable[str]) -> bool:
    """Whether a module is one of these packages, or in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def public_module(module: str) -> Any:
    """A module of dpjax whose objects a file may name; None if it is none."""
    if (module != "dpjax" and not within(module, PACKAGES)) or "._" in module:
        return None
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None


def denoted(name: str, of: Any, inner: str, path: str, packages: Sequence[str]) -> Any:
    """The object ``inner``, such as "Class" or "Class.make", of a module or a namespace of public objects.

    name: used in error messages. path: the whole name, as written. packages: where the object may be defined.
    """
    steps = inner.split(".")
    for at, step in enumerate(steps):
        inside = isinstance(of, type)
        if step.startswith("_") or not (_made_by_class(of, step) if inside else at == 0 and hasattr(of, step)):
            near = [key for key in vars(of) if not key.startswith("_")] if at == 0 or inside else []
            expected = f"one of {', '.join(sorted(near)[:40])}" if near else f"a name without .{step}"
            raise InputError(name, expected, repr(path), "check the name")
        of = getattr(of, step)
    called = isinstance(of, type) or _is_function(of)
    home = getattr(of if called else type(of), "__module__", None) or ""
    known = within(home, packages if called else (*packages, "dpjax")) or isinstance(of, (*_PLAIN, jax.Array))
    if isinstance(of, ModuleType) or not known:
        what = "a module" if isinstance(of, ModuleType) else f"an object of {home or 'no module'}"
        expected = "a public object that is defined in dpjax or in a module that --import names"
        raise InputError(name, expected, f"{path!r}, {what}", "name a learner, a class or a function of its own module")
    return of


def values_of(thing: Any) -> list[Any]:
    """The types of what a call of a class or function returns: the class, or what the function is annotated with.

    None for callable instances and functions without an annotation, which are therefore never called.
    """
    if isinstance(thing, type):
        return [thing]
    if not _is_function(thing):
        return []
    owner = getattr(thing, "__self__", None)
    kinds = kinds_of(hints_of(thing).get("return"))
    return [owner if kind is Self else get_origin(kind) or kind for kind in kinds if kind is not None]


def is_value(kind: Any) -> bool:
    """Whether a type is that of values which configurations consist of: a dataclass, a tuple with names, an array."""
    return isinstance(kind, type) and (
        is_dataclass(kind) or hasattr(kind, "_fields") or issubclass(kind, (Enum, np.ndarray, jax.Array))
    )


def _is_function(thing: Any) -> bool:
    return isinstance(thing, FunctionType | BuiltinFunctionType | MethodType) or hasattr(thing, "__wrapped__")


def _made_by_class(of: type, step: str) -> bool:
    """Whether an attribute of a class is a static method, a class method, a nested class or a member of an Enum."""
    held = inspect.getattr_static(of, step, None)
    return isinstance(held, staticmethod | classmethod | type) or (issubclass(of, Enum) and step in of.__members__)
