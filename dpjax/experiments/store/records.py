"""Records of the items of a study that are done or have failed, in files beside the store.

Records say where no work is left, never what a result is: results are read from the cells alone. Any number of
processes may write them. Two that compute one item at the same time store the same bytes, and cost time.
"""

import json
import os
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpjax.core.checks import InputError
from dpjax.core.documents import parse_json
from dpjax.core.files import file_time, names_in, read_file, remove_file, remove_old_temporaries, replace_file
from dpjax.core.schemas import check
from dpjax.experiments.store.cell_file import parsed
from dpjax.experiments.store.file_schemas import FailedRecord, Record
from dpjax.experiments.store.store import Store

FOLDER, LISTING = "queue", "items.json"
"""The folder in a store, and in it the names and texts of a study's first items, by which its status is told without
building it."""
OWNER = 20
"""Length of the beginning of a name that a search and the points of its curve share."""

_MOST_BYTES = 1 << 24
_DONE, _FAILED, _CODE = "done", "failed", "code"


class Records:
    """Records in a folder of a store. Items are named by what they are, see `items`, so a changed study has others.

    Args:
      store: the store's folder.
    """

    def __init__(self, store: Path):
        self.root = Path(store) / FOLDER

    def begin(self, code: str | None) -> None:
        """Removes the records that other code wrote. code: its digest; None, unknown: nothing is removed."""
        for folder in (self.root / _DONE, self.root / _FAILED):
            if folder.is_dir():
                remove_old_temporaries([folder], file_time(folder))
        if code is None or _code(self.root / _CODE) == code.encode():
            return
        for kind in (_DONE, _FAILED):
            aside = self.root / f".tmp-{kind}-{uuid.uuid4().hex}"
            with suppress(FileNotFoundError):
                os.rename(self.root / kind, aside)
                shutil.rmtree(aside, ignore_errors=True)
        replace_file(self.root / _CODE, code.encode())

    def record_done(self, name: str, record: dict[str, Any]) -> None:
        """Records that an item is done; an earlier failure of it is forgotten."""
        replace_file(self.root / _DONE / name, json.dumps(record).encode())
        remove_file(self.root / _FAILED / name)

    def record_failed(self, name: str, record: dict[str, Any]) -> None:
        """Records a failure, with its reason."""
        replace_file(self.root / _FAILED / name, json.dumps(record).encode())

    def forget_cells(self, cells: set[str]) -> None:
        """Removes the records that rest on these cells, and those of failures by a broken file."""
        for kind in (_DONE, _FAILED):
            for name in names_in(self.root / kind):
                record = _record(self.root / kind / name) or {}
                if record.get("broken") or cells & set(record.get("cells", {}).values()):
                    remove_file(self.root / kind / name)

    def repair(self, store: Store) -> list[Path]:
        """`Store.repair`, and the records of what is computed again are removed; returns the files' new paths."""
        moved = store.repair()
        names = (parsed(path.name.partition("-")[2]) for path in moved)
        self.forget_cells({name[0] for name in names if name is not None})
        return moved

    def done(self, name: str) -> dict[str, Any] | None:
        """The record of an item that is done; None if it is not, or if the record cannot be read."""
        return _record(self.root / _DONE / name)

    def failed(self, name: str) -> dict[str, Any] | None:
        """The record of an item that failed."""
        return _record(self.root / _FAILED / name, FailedRecord)

    def failures(self) -> list[dict[str, Any]]:
        """The records of all items that failed and are not done, in the order of what they are."""
        done, failed = self.names()
        records = (self.failed(name) for name in failed - done)
        return sorted(
            (record for record in records if record is not None), key=lambda failure: str(failure.get("item"))
        )

    def names(self) -> tuple[set[str], set[str]]:
        """The names of all items that are recorded as done, and as failed."""
        return set(names_in(self.root / _DONE)), set(names_in(self.root / _FAILED))


def shard_of(text: str) -> Callable[[str], bool]:
    """Whether the item of a name belongs to shard "i/N", i from 0 to N - 1; a search and its points do together."""
    first, slash, second = text.partition("/")
    with suppress(ValueError):
        index, count = int(first), int(second)
        if slash and 0 <= index < count:
            return lambda name: int(name[:OWNER], 16) % count == index
    raise InputError("shard", "i/N with 0 <= i < N", repr(text), "write for example --shard 0/8")


def _record(path: Path, kind: type[Record] = Record) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        if (data := read_file(path, _MOST_BYTES)) is not None:
            check(kind, "record", record := parse_json(data), "remove it")
            return record
    return None


def _code(path: Path) -> bytes | None:
    with suppress(OSError):
        return read_file(path, _MOST_BYTES)
    return None
