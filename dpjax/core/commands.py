"""Commands that can be pasted into a shell, with the modules that a configuration names."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_IN_TEXT = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*):(?=[A-Za-z_])")


def modules(config: Any) -> list[str]:
    """The modules outside of dpjax that a configuration names and --import takes."""
    return sorted(filter(_importable, _named(config)))


def imports(config: Any) -> str:
    """The flag that imports these modules; a comment if --import does not take the name of one."""
    names = sorted(_named(config))
    if odd := [name for name in names if not _importable(name)]:
        return f"    # cannot run: --import takes no module of the name {', '.join(map(ascii, odd))}"
    return "".join(f" {name}" for name in ("--import", *names)) if names else ""


def command(*parts: Any, config: Any = None) -> str:
    """A command that can be pasted into a shell, with the imports of a configuration.

    A part that begins with a dash is the value of the flag before it, a path, or a flag.
    """
    words, flag = ["dpjax"], False
    for part in parts:
        word = str(part)
        if flag and word.startswith("-"):
            words[-1] += f"={word}"
        else:
            words.append(f"./{word}" if isinstance(part, Path) and word.startswith("-") else word)
        flag = not flag and isinstance(part, str) and word.startswith("--")
    return shlex.join(words) + imports(config)


def _importable(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _named(config: Any) -> set[str]:
    """The modules outside of dpjax that a configuration names, in a text before the colon of each name."""
    task, learners = _table(config, "task"), _table(config, "learners")
    texts = [task.get("concepts"), task.get("distribution"), *learners.values(), *_texts(config)]
    names = set()
    for text in texts:
        if type(text) is str:
            head, _, rest = text.partition("(")
            module, colon, _ = head.partition(":")
            names |= {*([module] if colon else ()), *_IN_TEXT.findall(rest)}
    return {name for name in names if name.split(".")[0] not in ("dpjax", "__main__")}


def _texts(part: Any) -> Iterator[Any]:
    if isinstance(part, Mapping):
        yield from (part.get(key) for key in ("use", "name", "enum"))
        part = list(part.values())
    if isinstance(part, list | tuple):
        for item in part:
            yield from _texts(item)


def _table(data: Any, name: str) -> Mapping[str, Any]:
    table = data.get(name) if isinstance(data, Mapping) else None
    return table if isinstance(table, Mapping) else {}
