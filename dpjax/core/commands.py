"""Commands that can be pasted into a shell, with the modules that a configuration names."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

_IN_TEXT = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*):(?=[A-Za-z_])")


def modules(config: Any) -> list[str]:
    """The modules outside of dpjax that a configuration names."""
    task, learners = _table(config, "task"), _table(config, "learners")
    texts = [text for text in (task.get("concepts"), task.get("distribution"), *learners.values()) if type(text) is str]
    found = {*_modules(config), *(name for text in texts for name in _IN_TEXT.findall(text))}
    return sorted(name for name in found if name.split(".")[0] not in ("dpjax", "__main__"))


def imports(config: Any) -> str:
    """The flag that imports these modules."""
    return "".join(f" {shlex.quote(name)}" for name in ("--import", *modules(config))) if modules(config) else ""


def command(*parts: Any, config: Any = None) -> str:
    """A command that can be pasted into a shell, with the imports of a configuration."""
    return shlex.join(["dpjax", *map(str, parts)]) + imports(config)


def _modules(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        for text in (part[key] for key in ("use", "name", "enum") if type(part.get(key)) is str):
            yield from _IN_TEXT.findall(text)
        part = list(part.values())
    if isinstance(part, list | tuple):
        for one in part:
            yield from _modules(one)


def _table(data: Any, name: str) -> Mapping[str, Any]:
    found = data.get(name) if isinstance(data, Mapping) else None
    return found if isinstance(found, Mapping) else {}
