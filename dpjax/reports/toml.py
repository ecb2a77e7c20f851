"""A configuration as TOML, from which `dpjax curve` runs it again."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile("[A-Za-z0-9_-]+")


def as_toml(config: Mapping[str, Any]) -> str | None:
    """The text of a file with this content. Entries of the outermost table that are None are left out.

    None if the configuration has None elsewhere, which TOML cannot say.
    """
    kept = {key: value for key, value in config.items() if value is not None}
    try:
        return "\n".join(_table(kept, ())).strip() + "\n"
    except _NoWord:
        return None


class _NoWord(Exception):
    """TOML has no word for a value."""


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """The lines of a table: plain values first, then the tables in it; below [one.two] in braces."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping) and len(path) < 2}
    plain = [f"{_key(key)} = {_value(value)}" for key, value in table.items() if key not in inner]
    if path and (plain or not inner):
        yield from ("", f"[{'.'.join(map(_key, path))}]")
    yield from plain
    for key, value in inner.items():
        yield from _table(value, (*path, key))


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if value is None:
        raise _NoWord
    return _string(value) if isinstance(value, str) else json.dumps(value, allow_nan=False)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
