"""Damaged and malformed variants of a file, and the commands that read the files of a study."""

import copy
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

WRONG = (None, True, -8, 2**70, 1e300, "", "a\x1b[2J", "../..", [], [None], {}, {"x": 1}, [[1]], "\ud800")
"""Values that replace each value of a document."""
OTHERS = (b"", b"null", b"[]", b"{}", b"1", b'"x"', b"\xff\xfe", b"[" * 200_000, b'{"a": NaN}', b"PAR1")
"""Contents that replace a whole file."""


def flips(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """The data with one bit flipped, at ``count`` random places."""
    chosen = random.Random(seed)
    for _ in range(count):
        place = chosen.randrange(8 * len(data))
        made = bytearray(data)
        made[place // 8] ^= 1 << place % 8
        yield bytes(made)


def cuts(data: bytes, count: int) -> Iterator[bytes]:
    """Beginnings of the data."""
    yield from (data[: len(data) * i // count] for i in range(count))


def replaced(document: Any, seed: int, each: int, values: Sequence = WRONG) -> Iterator[tuple[str, Any]]:
    """(what, document with one value replaced or left out): every place, with ``each`` of the values and without it."""
    chosen = random.Random(seed)
    for path in places(document):
        for value in chosen.sample(values, min(each, len(values))):
            yield f"{path} = {value!r}", _with(document, path, value)
        yield f"no {path}", _with(document, path, _GONE)


_GONE = object()


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The places of all values in tables and lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from places(one, (*path, key))


def _with(document: Any, path: tuple, value: Any) -> Any:
    made = copy.deepcopy(document)
    inner = made
    for part in path[:-1]:
        inner = inner[part]
    if value is _GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return made


def odd_files() -> Iterator[tuple[str, Callable[[Path], Any]]]:
    """(what, what makes it at a path where nothing is)."""
    yield "a folder", lambda path: path.mkdir()
    yield "a pipe", lambda path: os.mkfifo(path)
    yield "a link to itself", lambda path: path.symlink_to(path)
    yield "a device", lambda path: path.symlink_to("/dev/zero")
    yield "20 GB", lambda path: (path.touch(), os.truncate(path, 20 << 30))


def dumped(document: Any) -> bytes:
    """JSON, also of what JSON does not have."""
    return json.dumps(document).encode()
