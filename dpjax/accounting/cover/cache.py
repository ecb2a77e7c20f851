"""A disk cache of set-cover calibrations, which take up to seconds and depend on a few numbers only.

An entry is a small JSON file in the folder given by DPJAX_CACHE, else in dpjax/ in the user's cache folder
(XDG_CACHE_HOME or ~/.cache). Unreadable entries, and those in a folder that others may write to, are recomputed; a
folder without write permission is not an error.
"""

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from dpjax.core.documents import parse_json
from dpjax.core.files import read_bytes
from dpjax.core.owners import is_private

_ROOM = Path(__file__).resolve().parents[1]  # accounting
_SOURCES = ("cover/*.py", "numeric/*.py", "zcdp.py")


def kept(name: str, arguments: Sequence[object], compute: Callable[[], Sequence[float]]) -> tuple[float, ...]:
    """``compute()``, or the result of an earlier call with the same name, arguments and source code.

    Args:
      name: of the computed quantity.
      arguments: everything that it depends on; numbers and enums, distinguished by their repr.
      compute: returns finite numbers.
    """
    place, text = _folder(), repr((name, tuple(arguments), _digest()))
    if place is None:
        return tuple(compute())
    path = place / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    values = _read(path, text) if is_private(path) else None
    if values is None:
        values = tuple(compute())
        _write(path, {"arguments": text, "values": list(values)})
    return values


def _folder() -> Path | None:
    """The folder of calibrations; None if there is no home."""
    if folder := os.environ.get("DPJAX_CACHE"):
        return Path(folder)
    with suppress(RuntimeError):  # no home
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpjax"
    return None


@lru_cache(maxsize=1)
def _digest() -> str:
    """The hash of the source files that an entry depends on: editing a formula invalidates entries."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _SOURCES for path in _ROOM.glob(pattern)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _read(path: Path, asked: str) -> tuple[float, ...] | None:
    try:
        entry = parse_json(read_bytes(path, 1 << 20))
        values = entry["values"]
        usable = entry["arguments"] == asked and all(type(v) is float and math.isfinite(v) for v in values)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return tuple(values) if usable and values else None


def _write(path: Path, entry: dict[str, object]) -> None:
    """Writes atomically: a reader sees a complete entry or none."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(entry, file)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
