"""JSON as it may come from anybody, and with a digest of its content."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

_SEAL = "sha256"


def parse_json(data: bytes | str) -> Any:
    """The value of a JSON text. ValueError for anything else, also for NaN, infinities and text with surrogates."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        value = json.loads(text, parse_constant=_finite, parse_float=_finite)
        (json.dumps(value, ensure_ascii=False) if "\\u" in text else text).encode()
    except RecursionError as error:
        raise ValueError("lists in lists, too deep") from error
    return value


def sealed(data: Mapping[str, Any]) -> bytes:
    """JSON of a mapping, with a digest of all entries as the last one."""
    return json.dumps({**data, _SEAL: _digest(data)}, indent=1, allow_nan=False).encode()


def unsealed(data: bytes | str) -> dict[str, Any]:
    """The mapping that was `sealed`, or one without a digest. ValueError for anything else."""
    document = parse_json(data)
    if not isinstance(document, dict):
        raise ValueError(f"{type(document).__name__}, no object")
    if document.pop(_SEAL, digest := _digest(document)) != digest:
        raise ValueError("another content than was written, by the digest at its end")
    return document


def _digest(data: Mapping[str, Any]) -> str:
    content = {name: value for name, value in data.items() if name != _SEAL}
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]}, no finite number")
    return value
