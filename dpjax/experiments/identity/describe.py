"""Canonical description of a value: equal in every process, and different if any field or array differs."""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import FunctionType, NoneType
from typing import Any

import jax
import numpy as np

from dpjax.core.checks import InputError
from dpjax.core.members import Base


def describe(value: Any, name: str = "value") -> Any:
    """Nested lists of strings, whole numbers, booleans and None.

    Numbers by their exact value and type, arrays by type, shape and a digest of their bytes, frozen dataclasses by
    their qualified name and fields, functions and classes of a module by their qualified name. A dataclass field with
    ``metadata={"performance": True}`` is left out: it must change no result. ``cache_token``, a string that a learner
    may have, is part of it.

    Raises InputError for anything else, such as a plain object, whose repr would be its address.
    """
    for kind, described in _KINDS:
        if isinstance(value, kind):
            return described(value, name)
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value, name)
    if isinstance(value, FunctionType | type) and "<" not in value.__qualname__:
        return ["name", _qualified(value)]
    expected = "numbers, strings, tuples, arrays, enums, frozen dataclasses of these, or functions of a module"
    advice = "make it a frozen dataclass: a result is found again by its fields"
    raise InputError(name, expected, f"{type(value).__qualname__}", advice)


def digest(value: Any, name: str = "value") -> str:
    """The SHA-256 of `describe`, 64 hexadecimal digits."""
    return hashlib.sha256(json.dumps(describe(value, name), separators=(",", ":")).encode()).hexdigest()


def label(value: Any) -> str:
    """The qualified name of a value's class."""
    return _qualified(type(value))


def module_of(thing: Any) -> str:
    """The module of a class or function; of a script's own, the name under which it is imported."""
    if thing.__module__ == "__main__" and (file := getattr(sys.modules["__main__"], "__file__", None)) is not None:
        return Path(file).stem
    return thing.__module__


def code_of(value: Any) -> tuple[Any, ...]:
    """The classes and functions that `describe` names, as objects: other ones of the same names are not equal."""
    if isinstance(value, FunctionType | type):
        return (value,)
    if isinstance(value, Mapping):
        parts: Any = [item for pair in value.items() for item in pair]
    elif isinstance(value, tuple | list | frozenset | set):
        parts = value
    elif is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        return ()
    return (type(value), *(item for part in parts for item in code_of(part)))


def _qualified(thing: Any) -> str:
    current: Any = sys.modules.get(thing.__module__)
    for part in thing.__qualname__.split("."):
        current = getattr(current, part, None)
    if current is not thing and isinstance(current, FunctionType | type):
        expected = f"the present {thing.__qualname__} of {thing.__module__}"
        advice = "make it again: its class or function was defined anew since it was made"
        raise InputError("code", expected, "one that was defined before it", advice)
    return f"{module_of(thing)}.{thing.__qualname__}"


def _object(value: Any, name: str) -> Any:
    if not type(value).__dataclass_params__.frozen:
        kind = type(value).__qualname__
        raise InputError(name, "a frozen dataclass", f"{kind}, which is not frozen", "write @dataclass(frozen=True)")
    attributes = [field for field in fields(value) if not field.metadata.get("performance")]
    parts = [[field.name, describe(getattr(value, field.name), f"{name}.{field.name}")] for field in attributes]
    token = value.cache_token if isinstance(value, Base) else None
    return ["object", label(value), parts, *([] if token is None else [str(token)])]


def _array(value: Any, name: str) -> Any:
    if jax.dtypes.issubdtype(getattr(value, "dtype", None), jax.dtypes.extended):
        raise InputError(name, "an array of numbers", f"dtype {value.dtype}", "take keys in learn, not in a field")
    array = np.asarray(value, order="C")
    if array.dtype.hasobject:
        raise InputError(name, "an array of numbers", f"dtype {array.dtype}", "convert it")
    return ["array", name_of(array.dtype), list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()]


def name_of(dtype: np.dtype) -> str:
    """A dtype's name with its byte order; of those beyond NumPy's, such as bfloat16, their own name."""
    return dtype.name if dtype.kind == "V" else dtype.str


def _sequence(value: Any, name: str) -> Any:
    kind = "tuple" if type(value) in (tuple, list) else label(value)
    return [kind, *(describe(part, f"{name}[{i}]") for i, part in enumerate(value))]


def _mapping(value: Any, name: str) -> Any:
    pairs = [[describe(key, name), describe(part, f"{name}[{key!r}]")] for key, part in value.items()]
    return ["mapping", *sorted(pairs, key=json.dumps)]


_KINDS: tuple[tuple[Any, Any], ...] = (
    (NoneType, lambda value, name: None),
    (Enum, lambda value, name: ["enum", label(value), value.name]),
    (bool | int | str, lambda value, name: value),
    (float, lambda value, name: ["float", float(value).hex()]),
    (bytes, lambda value, name: ["bytes", value.hex()]),
    (np.ndarray | np.generic | jax.Array, _array),
    (tuple | list, _sequence),
    (Mapping, _mapping),
    (frozenset | set, lambda value, name: ["set", *sorted((describe(part, name) for part in value), key=json.dumps)]),
)
"""Python's and NumPy's own types; everything else is a dataclass. An enum may be an int or a str, so it comes first."""
