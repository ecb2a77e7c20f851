"""Arrays and bytes as text, for JSON."""

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.core.checks import InputError
from dpjax.experiments.identity import name_of


def packed(value: Any) -> dict[str, Any]:
    """A table of an array or of bytes, compressed."""
    if isinstance(value, bytes):
        return {"bytes": _text(value)}
    array = np.asarray(value, order="C")
    return {"array": name_of(array.dtype), "shape": list(array.shape), "data": _text(array.tobytes())}


def unpacked(table: Mapping[str, Any]) -> Any:
    """The inverse of `packed`; InputError for other tables."""
    try:
        data = zlib.decompress(base64.b85decode(table["bytes"] if "bytes" in table else table["data"]))
        if "bytes" in table:
            return data
        found = np.frombuffer(data, jnp.dtype(table["array"])).reshape(table["shape"])
    except (ValueError, TypeError, LookupError, zlib.error) as error:
        advice = "write the numbers themselves, or use the file that dpjax wrote"
        raise InputError("array", "an array or bytes as dpjax writes them", str(error), advice) from error
    return found if found.shape else found[()]


def _text(data: bytes) -> str:
    return base64.b85encode(zlib.compress(data, 9)).decode()
