"""Who works on what: claims and records of a study's items, as files beside the store.

Claims and records decide where work is left, never what a result is: results are read from the cells alone. Two
processes that work on one item, as can happen when a claim is taken over from a process that was only slow, compute the
same bytes and cost time.
"""

import json
import os
import shutil
import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dpjax.core.checks import InputError
from dpjax.core.documents import parse_json
from dpjax.core.files import (
    add_file,
    file_time,
    names_in,
    read_file,
    remove_file,
    remove_old_temporaries,
    replace_file,
)
from dpjax.core.schemas import check
from dpjax.experiments.store.file_schemas import FailedRecord, Record

LEASE = 60.0
"""Seconds without a sign of life after which the claim of a process on another host is stale."""
MOST_DEATHS = 5
"""Processes that may die on one item, one after the other and without storing a trial, before it counts as failed."""

LISTING = "items.json"
"""Names and texts of a study's first items, so that its standing can be told without building it."""
OWNER = 20
"""Length of the beginning of a name that a search and the points of its curve share."""

_MOST_BYTES = 1 << 24
"""Of a claim or a record."""
_CLAIMS, _DONE, _FAILED, _CODE = "claims", "done", "failed", "code"


@dataclass(frozen=True)
class Claim:
    """Of an item: by which process, since when, and how many died on it before."""

    host: str
    pid: int
    start: str
    since: float
    token: str
    deaths: int
    text: str

    @staticmethod
    def read(path: Path) -> "Claim | None":
        """The claim in a file; None if there is none, or none that can be read yet."""
        with suppress(OSError, ValueError):
            if (data := read_file(path, _MOST_BYTES)) is not None:
                parse_json(data)  # stricter in its numbers and text
                return _CLAIM.validate_json(data, strict=True)
        return None

    def encoded(self) -> bytes:
        """The file's content."""
        return json.dumps(vars(self)).encode()

    def is_dead(self) -> bool:
        """Whether its process was on this host and has ended."""
        return self.host == this_host() and self.start != start_of(self.pid)


_CLAIM = TypeAdapter(Claim)


class Queue:
    """Claims and records in the folder ``root / "queue"``; a context manager that shows life while it is entered.

    Items are named by what they are, see `items`, so a changed study has other items.

    Args:
      root: the store's folder.
      lease: see `LEASE`.
    """

    def __init__(self, root: Path, lease: float = LEASE):
        self.root, self.lease = Path(root) / "queue", lease
        self._held: dict[str, Claim] = {}
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._beating: threading.Thread | None = None

    def __enter__(self) -> "Queue":
        for name in (_CLAIMS, _DONE, _FAILED):
            # a folder is made with its first file, so that a store that is only read stays as it is
            folder = self.root / name
            if folder.is_dir():
                remove_old_temporaries([folder], file_time(folder))
        self._beating = threading.Thread(target=self._beat, daemon=True)
        self._beating.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        if self._beating is not None:
            self._beating.join()
        self.release_all()

    def begin(self, code: str | None) -> None:
        """Removes the records of other code, which decide nothing; None: of a process whose code cannot be told."""
        if code is None or _code(self.root / _CODE) == code.encode():
            return
        for kind in (_DONE, _FAILED):
            aside = self.root / f".tmp-{kind}-{uuid.uuid4().hex}"
            with suppress(FileNotFoundError):
                os.rename(self.root / kind, aside)
                shutil.rmtree(aside, ignore_errors=True)
        replace_file(self.root / _CODE, code.encode())

    def release_all(self) -> None:
        """Gives all claims back."""
        for name in list(self._held):
            self.release(name)

    def claim(self, name: str, text: str = "") -> Claim | None:
        """Claims an item; None if another process, or another thread, holds it.

        A claim whose process is dead, or of which nothing was heard for ``lease`` seconds, is taken over: ``deaths``
        then counts it. text: what the item is, for people.
        """
        path, deaths = self._claim(name), 0
        with self._lock:
            if name in self._held:
                return None
        if path.exists():
            found = Claim.read(path)
            if not self._is_stale(path, found):
                return None
            if not self._taken(path, found):
                return None
            deaths = 1 if found is None else found.deaths + 1
        self.root.mkdir(parents=True, exist_ok=True)
        own = Claim(
            this_host(), os.getpid(), start_of(os.getpid()), file_time(self.root), uuid.uuid4().hex, deaths, text
        )
        if not add_file(path, own.encoded()):
            return None
        with self._lock:
            self._held[name] = own
        return own

    def deaths(self, name: str) -> int:
        """The deaths that a claim of the item would count now."""
        path = self._claim(name)
        if not path.exists():
            return 0
        found = Claim.read(path)
        return (1 if found is None else found.deaths + 1) if self._is_stale(path, found) else 0

    def progressed(self, name: str) -> None:
        """Says that the holder stored trials of the item: earlier deaths do not count any more."""
        with self._lock:
            own = self._held.get(name)
            if own is None or not own.deaths:
                return
            own = Claim(**(vars(own) | {"deaths": 0}))
            self._held[name] = own
        replace_file(self._claim(name), own.encoded())

    def release(self, name: str) -> None:
        """Gives a claim back, unless somebody took it over."""
        with self._lock:
            own = self._held.pop(name, None)
        found = Claim.read(self._claim(name))
        if own is not None and found is not None and found.token == own.token:
            remove_file(self._claim(name))

    def record_done(self, name: str, record: dict[str, Any]) -> None:
        """Records that an item is done; an earlier failure of it is forgotten."""
        replace_file(self.root / _DONE / name, json.dumps(record).encode())
        remove_file(self.root / _FAILED / name)

    def record_failed(self, name: str, record: dict[str, Any]) -> None:
        """Records a failure, with its reason."""
        replace_file(self.root / _FAILED / name, json.dumps(record).encode())

    def forget(self, name: str) -> None:
        """Removes an item's records, so that it is tried again."""
        for kind in (_DONE, _FAILED):
            remove_file(self.root / kind / name)

    def forget_cells(self, cells: set[str]) -> None:
        """Removes the records that rest on these cells, and those of failures by a broken file."""
        for kind in (_DONE, _FAILED):
            for name in names_in(self.root / kind):
                found = _record(self.root / kind / name) or {}
                if found.get("broken") or cells & set(found.get("cells", {}).values()):
                    remove_file(self.root / kind / name)

    def done(self, name: str) -> dict[str, Any] | None:
        """The record of an item that is done; None if it is not, or if the record cannot be read."""
        return _record(self.root / _DONE / name)

    def failed(self, name: str) -> dict[str, Any] | None:
        """The record of an item that failed."""
        return _record(self.root / _FAILED / name, FailedRecord)

    def failures(self) -> list[dict[str, Any]]:
        """The records of all items that failed and are not done, in the order of what they are."""
        done, failed = self.names()
        found = (self.failed(name) for name in failed - done)
        return sorted((one for one in found if one is not None), key=lambda one: str(one.get("item")))

    def names(self) -> tuple[set[str], set[str]]:
        """The names of all items that are recorded as done, and as failed."""
        return set(names_in(self.root / _DONE)), set(names_in(self.root / _FAILED))

    def running(self) -> list[tuple[str, Claim, float]]:
        """(item, claim, seconds since its last sign of life) of all claims that are not stale."""
        found, now = [], None
        for name in names_in(self.root / _CLAIMS):
            path = self._claim(name)
            claim = Claim.read(path)
            with suppress(OSError):
                now = _now(self.root, path) if now is None else now
                age = now - path.stat().st_mtime
                if claim is not None and abs(age) < self.lease and not claim.is_dead():
                    found.append((name, claim, max(0.0, age)))
        return found

    def _claim(self, name: str) -> Path:
        return self.root / _CLAIMS / name

    def _is_stale(self, path: Path, claim: Claim | None) -> bool:
        if claim is not None and claim.is_dead():
            return True
        try:
            return abs(file_time(self.root) - path.stat().st_mtime) > self.lease
        except OSError:  # it went meanwhile, and may be claimed
            return False

    def _taken(self, path: Path, claim: Claim | None) -> bool:
        """Moves a stale claim away; False if it was another one by then, which is put back."""
        aside = path.with_name(f".tmp-stale-{uuid.uuid4().hex}")
        try:
            os.rename(path, aside)
        except OSError:
            return False
        moved = Claim.read(aside)
        fresh = moved is not None and (claim is None or moved.token != claim.token)
        if fresh:
            with suppress(OSError):
                os.link(aside, path)
        remove_file(aside)
        return not fresh

    def _beat(self) -> None:
        while not self._ended.wait(self.lease / 6):
            with self._lock:
                names = list(self._held)
            for name in names:
                with suppress(OSError):
                    os.utime(self._claim(name))


def _now(root: Path, path: Path) -> float:
    """The file system's time; by a claim that is touched regularly where nothing may be written."""
    with suppress(Exception):
        return file_time(root)
    return path.stat().st_mtime


def _record(path: Path, kind: type[Record] = Record) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        if (data := read_file(path, _MOST_BYTES)) is not None:
            check(kind, "record", found := parse_json(data), "remove it")
            return found
    return None


def _code(path: Path) -> bytes | None:
    with suppress(OSError):
        return read_file(path, _MOST_BYTES)
    return None


def shard_of(text: str) -> Callable[[str], bool]:
    """Whether the item of a name belongs to shard "i/N", i from 0 to N - 1; a search and its points do together."""
    first, slash, second = text.partition("/")
    with suppress(ValueError):
        index, count = int(first), int(second)
        if slash and 0 <= index < count:
            return lambda name: int(name[:OWNER], 16) % count == index
    raise InputError("shard", "i/N with 0 <= i < N", repr(text), "write for example --shard 0/8")


@cache
def this_host() -> str:
    """What tells processes of one host, and one container, from those of others."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def start_of(pid: int) -> str:
    """When a process of this host started, as the system tells it; "" if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "running"
