"""Functions of plain numbers, on the host: their arguments are checked against their annotations."""

import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import wraps
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from dpjax.core import checks
from dpjax.core.checks import InputError

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Reader = Callable[[str, Any], Any]


def host(function: _Function) -> _Function:
    """The function with its arguments checked against their annotations, and NumPy scalars made Python numbers.

    A wrong type, a number that is not finite, an overflow on the way, and a NaN in the result are an `InputError`.
    """
    hints, signature = get_type_hints(function), inspect.signature(function)
    names = list(signature.parameters)
    readers = {name: reader for name in names if (reader := _reader(hints.get(name)))}

    def read(name: str, value: Any) -> Any:
        return readers[name](name, value) if name in readers else value

    @wraps(function)
    def checked(*given: Any, **named: Any) -> Any:
        signature.bind(*given, **named)  # TypeError for other arguments than the function's
        values = list(map(read, names, given))
        more = {name: read(name, value) for name, value in named.items()}
        try:
            with np.errstate(all="ignore"):
                result = function(*values, **more)
        except InputError:
            raise
        except (ArithmeticError, MemoryError, TypeError, ValueError) as error:
            raise _beyond(function, given, named, str(error) or type(error).__name__) from error
        if _has_nan(result):
            raise _beyond(function, given, named, "no number as the result")
        return result

    return checked  # type: ignore[return-value]


def host_functions(module: dict[str, Any]) -> None:
    """Applies `host` to the public functions that a module or package defines, in its ``globals()``."""
    for name, value in list(module.items()):
        if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith(module["__name__"]):
            module[name] = host(value)


def _beyond(function: Callable, given: tuple, named: Mapping[str, Any], what: str) -> InputError:
    shown = ", ".join([*map(repr, given), *(f"{name}={value!r}" for name, value in named.items())])
    shown = shown if len(shown) < 200 else shown[:200] + "..."
    expected = "arguments that fit each other, and results that fit in float64 and in memory"
    advice = "take numbers that are less extreme, or arrays of the shapes in the signature"
    return InputError(function.__name__, expected, f"{shown}: {what}", advice)


def _reader(hint: Any) -> _Reader | None:
    """The check of one annotation; None if it says nothing."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is float:
        return lambda name, value: value if type(value) is int else checks.number(name, value)
    if hint is int:
        return _whole
    if hint in (ArrayLike, ArrayLike | None):
        return _array if hint == ArrayLike else _any_of([_array, _none])
    if (
        hint in (Any, object)
        or getattr(hint, "_is_protocol", False)
        or getattr(hint, "__module__", "").startswith("jax")
    ):
        return None
    if origin in (Union, types.UnionType):
        return _any_of([_none if part is type(None) else _reader(part) for part in parts])
    if origin in (Sequence, Iterable) or origin is tuple:
        refused = (str, bytes) if origin is Iterable else (str, bytes, Mapping)
        return _each(parts, refused, fixed=origin is tuple and parts[-1:] != (...,))
    if origin is Callable or hint is Callable:
        hint = Callable
    if isinstance(hint, type):
        return lambda name, value: _instance(name, value, hint)
    return None


def _instance(name: str, value: Any, kind: type) -> Any:
    full = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    expected = f"a member of {full}" if issubclass(kind, Enum) else full
    checks.instance(name, value, kind, f"give {name} as in the signature", expected)
    return value


def _none(name: str, value: Any) -> None:
    _instance(name, value, type(None))


def _whole(name: str, value: Any) -> int:
    if isinstance(value, np.integer):
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(name, "a whole number", repr(value), f"give {name} as a plain integer")
    return value


def _array(name: str, value: Any) -> Any:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise InputError(name, "an array of numbers", type(value).__name__, "give a list or array of numbers")
    return value


def _any_of(readers: list[_Reader | None]) -> _Reader | None:
    if None in readers:
        return None

    def read(name: str, value: Any) -> Any:
        failed: list[InputError] = []
        for reader in readers:
            try:
                return reader(name, value)  # type: ignore[misc]
            except InputError as error:
                failed.append(error)
        raise failed[0]

    return read


def _each(parts: tuple, refused: tuple[type, ...], fixed: bool) -> _Reader:
    readers = [_reader(part) for part in parts if part is not ...]

    def read(name: str, value: Any) -> Any:
        several = isinstance(value, Iterable) and not isinstance(value, refused)
        if not several or getattr(value, "shape", None) == ():
            raise InputError(name, "a sequence", repr(value), f"give {name} as a list")
        items = list(value)
        if fixed and len(items) != len(readers):
            raise InputError(name, f"{len(readers)} parts", f"{len(items)}", f"give {name} as in the signature")
        each = readers if fixed else readers * len(items)
        checked = [reader(name, part) if reader else part for reader, part in zip(each, items, strict=False)]
        return tuple(checked) if isinstance(value, tuple) else checked

    return read


def _has_nan(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, tuple):
        return any(map(_has_nan, value))
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and bool(np.isnan(value).any())
