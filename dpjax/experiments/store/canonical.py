"""The one text of a configuration, and the hash that names its cell."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from dpjax.core.checks import InputError

SCHEMA = 3  # of the files and of the hash; a store of another one is refused
_FLOAT = "$float"


def canonical(config: Mapping[str, Any]) -> str:
    """The one text of a configuration: JSON with sorted keys, ASCII, floats as {"$float": float.hex()}.

    Values: None, bool, int, finite float, str, lists or tuples, mappings with str keys, and NumPy scalars, which
    count as Python's. The order of keys does not matter, the type of a value does: 1 and 1.0 are different
    configurations, and so are 1 and True. -0.0 counts as 0.0. InputError for anything else, NaN and inf included.
    """
    return json.dumps(_plain(config, "config"), sort_keys=True, allow_nan=False, separators=(",", ":"))


def cell_hash(config: Mapping[str, Any]) -> str:
    """64 hexadecimal digits: the SHA-256 of the schema version and the canonical text. Names the cell.

    Whatever changes results belongs in the configuration: seed, tile, device kind, and ``versions()``.
    """
    return hash_of(canonical(config))


def versions() -> dict[str, str]:
    """The installed versions of what decides the numbers: dpjax, jax and jaxlib.

    Of jax and jaxlib the whole version, such as "0.10.2": a patch may change the last bit of a number. Of dpjax the
    minor series, such as "0.2": a patch changes no stored number, and a development version such as
    0.2.1.dev3+g1a2b3c4 differs by the commit, which says nothing about the numbers. What a change of the code does to
    a trial is in the digests of program, plan and learner.
    """
    return {"dpjax": series_of(_version("dpjax")), "jax": _version("jax"), "jaxlib": _version("jaxlib")}


def made_by() -> str:
    """The whole version of the installed dpjax, for people: no result is found or refused by it."""
    return f"dpjax {_version('dpjax')}"


def series_of(version: str) -> str:
    """The minor series of a version, "0.2" for "0.2.1.dev3+g1a2b3c4.d20261126"; other texts as they are."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return ".".join(match.groups()) if match else version


def hash_of(text: str) -> str:
    """The hash of a canonical text."""
    return hashlib.sha256(f"dpjax cell {SCHEMA}\n{text}".encode()).hexdigest()


@cache
def _version(name: str) -> str:
    """The version at the first call, i.e. of the running code, even if another version is installed later."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _plain(value: Any, name: str) -> Any:
    """``value`` reduced to JSON types, with tagged floats."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return {_FLOAT: (value + 0.0).hex()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: _plain(item, f"{name}.{key}") for key, item in value.items()}
    expected = "None, a bool, an int, a finite float, a str, a list, or a mapping with str keys not beginning with $"
    raise InputError(name, expected, repr(value)[:80], "describe the configuration in these terms")


def native(value: Any) -> Any:
    """The inverse of `canonical`; tuples come back as lists."""
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            return float.fromhex(value[_FLOAT])
        return {key: native(item) for key, item in value.items()}
    return [native(item) for item in value] if isinstance(value, list) else value
