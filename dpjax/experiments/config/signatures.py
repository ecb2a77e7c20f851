"""Signatures of classes and functions: what their parameters accept, and how a person writes a call."""

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any


def hints_of(found: Any) -> dict[str, Any]:
    """The annotations of a class's or function's parameters by name; none where they cannot be read."""
    try:
        return typing.get_type_hints(vars(found).get("__init__", found) if isinstance(found, type) else found)
    except Exception:  # annotations in user code may be arbitrary
        return {}


def kinds_of(hint: Any) -> Sequence[Any]:
    """The types that an annotation allows."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [kind for part in typing.get_args(hint) for kind in kinds_of(part)]
    return [hint]


NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
"""Kinds of parameters that take one value, by name."""


def required(found: Any) -> list[str]:
    """The parameters of a class or function that take one value and have no default, in order."""
    entries = inspect.signature(found).parameters.items()
    return [key for key, parameter in entries if parameter.default is parameter.empty and parameter.kind in NAMED]


def is_callable(hint: Any) -> bool:
    """Whether a type is that of functions or of classes."""
    return (typing.get_origin(hint) or hint) in (Callable, type)


def makers_of(path: str, found: Any) -> list[str]:
    """The public functions of a class that make its instances, with their parameters: how a person builds one."""
    members = vars(found).items() if isinstance(found, type) else ()
    kinds = {
        key: hints_of(method.__func__).get("return")
        for key, method in members
        if isinstance(method, staticmethod | classmethod)
    }
    made = [getattr(found, key) for key, kind in kinds.items() if kind is found and not key.startswith("_")]
    return [words_of(f"{path}.{method.__name__}", inspect.signature(method)) for method in made]


def words_of(path: str, signature: inspect.Signature) -> str:
    """The call of a class or function with its parameters and their defaults."""
    usual = {
        key: parameter.default
        for key, parameter in signature.parameters.items()
        if parameter.default is not parameter.empty
    }
    parts = [f"{key}={_default(usual[key])}" if key in usual else key for key in signature.parameters]
    return f"{path}({', '.join(parts)})"


def _default(value: Any) -> str:
    """A default value as a person writes it."""
    if isinstance(value, Enum):
        return repr(value.value)
    return getattr(value, "__qualname__", None) or repr(value)
