"""Arrays and bytes as text, for JSON."""

import base64
import math
import zlib
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.experiments.identity.describe import name_of

_MOST_BYTES = 1 << 28


def packed(value: Any) -> dict[str, Any]:
    """A table of an array or of bytes, compressed."""
    if isinstance(value, bytes):
        return {"bytes": _text(value)}
    array = np.asarray(value, order="C")
    return {"array": name_of(array.dtype), "shape": list(array.shape), "data": _text(array.tobytes())}


def unpacked(table: Mapping[str, Any]) -> Any:
    """The inverse of `packed`; InputError for other tables. Nothing is unpacked beyond the size that the table says."""
    try:
        if "bytes" in table:
            return _unzipped(table["bytes"], _MOST_BYTES)
        dtype, shape, size = _layout(table)
        array = np.frombuffer(_unzipped(table["data"], min(size, _MOST_BYTES)), dtype).reshape(shape)
    except (ValueError, TypeError, LookupError, zlib.error) as error:
        raise _other(error) from error
    return array if array.shape else array[()]


def _layout(table: Mapping[str, Any]) -> tuple[np.dtype, tuple[int, ...], int]:
    """The type and the shape of an array, and its bytes."""
    dtype, shape = jnp.dtype(table["array"]), tuple(table["shape"])
    if dtype.hasobject or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"shape {shape} and type {dtype}")
    return dtype, shape, math.prod(shape) * dtype.itemsize


def _other(error: Exception) -> InputError:
    advice = "write the numbers themselves, or use the file as dpjax wrote it"
    return InputError("array", "an array or bytes as dpjax writes them", str(error), advice)


def require_tables(data: Any) -> None:
    """InputError unless the tables of a configuration have the parts that `builder.Builder` reads, of their types, and
    its arrays and bytes need little memory together. Nothing is unpacked."""
    size = _size("configuration", data, False)
    if size > _MOST_BYTES:
        actual, advice = f"{size} bytes", "read large tables from files"
        raise InputError("configuration", f"arrays of at most {_MOST_BYTES} bytes together", actual, advice)


_WORDS: dict[Any, str] = {str: "a text", Mapping: "a table", (list, tuple): "a list"}
_TEXT, _TABLE, _LIST = _WORDS
_PARTS: dict[str, dict[str, Any]] = {
    "fields": {"use": _TEXT, "fields": _TABLE},
    "array": {"array": _TEXT, "shape": _LIST, "data": _TEXT},
    "bytes": {"bytes": _TEXT},
    "name": {"name": _TEXT},
    "use": {"use": _TEXT},
}
_LITERAL = _PARTS | {"enum": {"enum": _TEXT, "member": _TEXT}, "set": {"set": _LIST}, "float": {"float": _TEXT}}
"""Parts of a table by the key that tells its kind, outside and below ``fields``."""


def _size(name: str, data: Any, literal: bool) -> int:
    """Bytes of all arrays in a part of a configuration, as its tables say."""
    if isinstance(data, list | tuple):
        return sum(_size(f"{name}[{i}]", value, literal) for i, value in enumerate(data))
    if not isinstance(data, Mapping):
        return 0
    kinds = _LITERAL if literal else _PARTS
    key = next((key for key in kinds if key in data), "")
    for part, kind in kinds.get(key, {}).items():
        checks.instance(f"{name}.{part}", data.get(part), kind, "write it as dpjax does", _WORDS[kind])
    if key == "use":
        arguments = data.get("arguments", [])
        checks.instance(f"{name}.arguments", arguments, (list, tuple, Mapping), "write [...]", "a list")
    size = 0
    try:
        size = len(unpacked(data)) if key == "bytes" else _layout(data)[2] if key == "array" else 0
        if key == "float":
            float(data["float"])
    except (ValueError, TypeError) as error:
        raise _other(error) from error
    return size + sum(_size(f"{name}.{part}", value, literal or part == "fields") for part, value in data.items())


def _unzipped(text: str, most: int) -> bytes:
    unzip = zlib.decompressobj()
    data = unzip.decompress(base64.b85decode(text), most + 1)
    if len(data) > most or not unzip.eof:
        raise ValueError(f"data that do not end after {most} bytes")
    return data


def _text(data: bytes) -> str:
    return base64.b85encode(zlib.compress(data, 9)).decode()
