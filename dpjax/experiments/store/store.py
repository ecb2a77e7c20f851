"""Results on disk: one Parquet file per cell, named by the hash of its configuration.

A cell is one point of a study. It holds whole numbers, one row a trial, and is a prefix of the trials 0, 1, 2, ...: a
checkpoint is a shorter prefix. Any number of processes on any number of hosts may write to one store, without a lock.
A file is complete or absent at any moment, also after a kill or a full disk. POSIX only.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from dpjax.core.documents import parse_json
from dpjax.core.files import (
    StoreError,
    failure,
    file_time,
    is_name,
    names_in,
    read_file,
    remove_file,
    remove_old_temporaries,
    replace_file,
)
from dpjax.experiments.store.canonical import SCHEMA, canonical, cell_hash, versions
from dpjax.experiments.store.cell_file import (
    LAYOUT,
    BrokenCell,
    Cell,
    Rows,
    cell_of,
    encoded,
    file_name,
    load,
    parsed,
    require_common,
)

__all__ = ["BrokenCell", "Cell", "Rows", "Status", "Store", "canonical", "cell_hash", "require_schema", "versions"]

_FORMAT, _CELLS, _ASIDE = "format.json", "cells", "broken"
_PAUSE = 0.1
PATIENCE = 60.0
"""Seconds of patience, see `Store`, where several hosts write."""
_LOOKS = 10  # at a file that is broken, with patience: another host's may be seen empty at first
_MISSES = 20  # of a file that is listed and not there: listed late, or replaced by a longer one


@dataclass(frozen=True)
class Status:
    """The content of a store: cells, their rows, and unusable files."""

    cells: int
    trials: int
    broken: tuple[str, ...]


class Store:
    """The directory ``root`` with its cells in ``cells/<hh>/<hash>-<rows>.parquet``. A context manager.

    Several writers may work on one store: all that they can do to a cell is to add a file with more of the same
    trials, and to remove files with fewer.

    Args:
      root: made if need be; temporary files that killed writers left over an hour ago are removed.
      read_only: needs an existing store, and changes nothing.
      patience: seconds that a new file may stay incomplete to this reader before it counts as broken; for file systems
        over a network, where another host's file may be seen before its content.

    InputError where the directory cannot be used, or holds a store of another format.
    """

    def __init__(self, root: str | os.PathLike[str], read_only: bool = False, patience: float = 0.0):
        self.root, self.read_only, self.patience = Path(root), read_only, patience
        if not is_name(root):
            raise StoreError("store", "the name of a folder", repr(root), "leave out what no name has")
        self._cells = self.root / _CELLS
        require_schema(self.root, patience)
        if read_only:
            if not self._cells.is_dir():
                advice = "run a study into it, or check the path"
                raise StoreError("store", "a directory with results", f"{root}, which is none", advice)
            return
        try:
            self._cells.mkdir(parents=True, exist_ok=True)
            if not (self.root / _FORMAT).exists():
                replace_file(self.root / _FORMAT, json.dumps({"schema": SCHEMA}).encode())
            remove_old_temporaries([self._cells, *self._folders()], file_time(self._cells))
        except OSError as error:
            raise failure(error, self.root) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """The store cannot write any more."""
        self.read_only = True

    def path(self, config: Mapping[str, Any]) -> Path | None:
        """The file with most trials of this configuration; None if there is none."""
        return self._longest(cell_hash(config))

    def read(self, config: Mapping[str, Any]) -> Rows | None:
        """The trials computed so far, ``uint8[trials]`` or ``int64[trials]`` by name, or None if there are none.

        BrokenCell if the file is broken, cut short or not what was written: it is never deleted here.
        """
        cell = self._find(cell_hash(config))
        return None if cell is None else cell.rows

    def cell(self, name: str) -> Cell:
        """The cell of this hash; InputError if there is none, or if the file is broken."""
        cell = self._find(name)
        if cell is None:
            raise StoreError("store", f"the cell {name}", f"none in {self.root}", "run the study again in this folder")
        return cell

    def write(self, config: Mapping[str, Any], rows: Mapping[str, ArrayLike]) -> None:
        """Stores the trials 0, 1, ... computed so far; returns once they would survive a loss of power.

        rows: by name, whole numbers of one shape [count >= 1], entry i for trial i; bytes stay bytes, others become
        int64. The name "trial" is taken.
        Extends what is there: the common rows must be equal, and if more are stored already nothing changes.
        InputError if the common rows differ, if other versions wrote them, if the stored file is broken, or if
        there is no room; in each case all that was stored stays as it was.
        """
        self.add(cell_of(config, rows))

    def add(self, cell: Cell) -> bool:
        """`write` for a cell, which may come from another store; returns whether it has trials that were not here."""
        if self.read_only:
            raise StoreError("store", "a store open for writing", str(self.root), "open it without read_only")
        stored = self._find(cell.hash)
        if stored is not None:
            require_common(stored, cell, self._place(cell.hash, len(stored)))
            if len(stored) >= len(cell):
                return False
        replace_file(self._place(cell.hash, len(cell)), encoded(cell))
        self._remove_shorter(cell)
        return True

    def iter_cells(self) -> Iterator[Cell]:
        """All cells, ordered by hash. InputError at the first one that is broken."""
        for name in self._names():
            if (cell := self._find(name)) is not None:
                yield cell

    def names(self) -> set[str]:
        """The hashes of all cells, by the names of the files."""
        return set(self._names())

    def __contains__(self, name: str) -> bool:
        """Whether there is a file of the cell of this hash."""
        return self._longest(name) is not None

    def counts(self) -> tuple[int, int]:
        """(cells, trials) by the names of the files, which are not opened."""
        longest = self._names()
        return len(longest), sum(longest.values())

    def status(self, seconds: float | None = None) -> Status:
        """Counts the cells that can be used, and lists the files that cannot, opening each.

        seconds: time after which files are counted by their names, without opening them.
        """
        cells, trials, broken, end = 0, 0, [], None if seconds is None else time.monotonic() + seconds
        for name, rows in self._names().items():
            if end is None or time.monotonic() < end:
                try:
                    self._find(name)
                except BrokenCell:
                    broken.append(str(self._place(name, rows)))
                    continue
            cells, trials = cells + 1, trials + rows
        return Status(cells, trials, tuple(broken))

    def repair(self) -> list[Path]:
        """Moves broken files into the folder ``broken``, where nothing is read; returns their new paths.

        A file that another process moves, or replaces by a whole one, meanwhile is left to it.
        """
        moved = []
        for path in map(Path, self.status().broken):
            new = self.root / _ASIDE / f"{time.time_ns()}-{path.name}"
            try:
                new.parent.mkdir(exist_ok=True)
                if _is_broken(path):
                    path.rename(new)
                    moved.append(new)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise failure(error, path) from error
        return moved

    def compact(self, path: str | os.PathLike[str]) -> int:
        """Writes one Parquet file with a row for each trial of each cell, ordered by hash; returns the rows.

        Columns: cell (hash), config and versions (JSON with plain numbers, exact), trial, and every number that some
        cell has, by name (null in a cell without it). The same cells give the same bytes.
        """
        parts = []
        for cell in self.iter_cells():
            texts = {"cell": cell.hash, "config": _readable(cell.config), "versions": _readable(cell.versions)}
            columns = {name: pa.repeat(pa.scalar(text, pa.string()), len(cell)) for name, text in texts.items()}
            parts.append(pa.table({**columns, "trial": np.arange(len(cell)), **cell.rows}))
        if not parts:
            raise StoreError("store", "at least one cell", f"none in {self.root}", "run the sweep first")
        counts = sorted({name for part in parts for name in part.column_names[4:]})
        fields = [(name, pa.string()) for name in ("cell", "config", "versions")]
        schema = pa.schema([*fields, *((name, pa.int64()) for name in ("trial", *counts))])
        whole = pa.concat_tables(parts, promote_options="default").select(schema.names).cast(schema)
        sink = pa.BufferOutputStream()
        pq.write_table(whole, sink, row_group_size=2**20, **{**LAYOUT, "use_dictionary": schema.names[:3]})
        replace_file(Path(path), sink.getvalue())
        return whole.num_rows

    def _find(self, name: str) -> Cell | None:
        """The longest cell of this name. A file that another writer replaces meanwhile is looked for again."""
        missed = broken = 0
        while missed < _MISSES and (path := self._longest(name)) is not None:
            try:
                if (cell := load(path)) is not None:
                    return cell
                missed += 1
            except BrokenCell:
                broken += 1
                if not self.patience or (broken > _LOOKS and not self._is_young(path)):
                    raise
                time.sleep(_PAUSE)
        return None

    def _remove_shorter(self, cell: Cell) -> None:
        """Removes the files of this cell with fewer trials than the longest that can be read.

        That may be another writer's, stored since this one looked: of two writers, the later to look here removes.
        """
        try:
            longest = max(len(cell), len(self._find(cell.hash) or cell))
        except BrokenCell:
            longest = len(cell)
        for name, rows in self._files(cell.hash[:2]):
            if name == cell.hash and rows < longest:
                remove_file(self._place(name, rows))

    def _is_young(self, path: Path) -> bool:
        try:
            return file_time(self.root) - path.stat().st_mtime < self.patience
        except (OSError, StoreError):
            return False

    def _longest(self, name: str) -> Path | None:
        rows = max((rows for cell, rows in self._files(name[:2]) if cell == name), default=None)
        return None if rows is None else self._place(name, rows)

    def _place(self, name: str, rows: int) -> Path:
        return self._cells / name[:2] / file_name(name, rows)

    def _files(self, folder: str) -> list[tuple[str, int]]:
        return [entry for file in names_in(self._cells / folder) if (entry := parsed(file)) is not None]

    def _folders(self) -> list[Path]:
        return [self._cells / name for name in sorted(names_in(self._cells)) if len(name) == 2]

    def _names(self) -> dict[str, int]:
        """The rows of every cell, ordered by hash."""
        longest: dict[str, int] = {}
        for folder in self._folders():
            for name, rows in sorted(self._files(folder.name)):
                longest[name] = max(rows, longest.get(name, 0))
        return longest


def _is_broken(path: Path) -> bool:
    try:
        load(path)
    except BrokenCell:
        return True
    return False


def require_schema(root: Path, patience: float = 0.0) -> None:
    """Refuses a folder with a store that was written in another format; nothing in it is touched.

    patience: seconds that the file may stay unreadable, as one that another host writes.
    """
    if next((root / _CELLS).glob("*/*.parquet"), None) is None and not (root / _FORMAT).exists():
        return
    end = time.monotonic() + patience
    while (schema := _schema(root / _FORMAT)) is None and time.monotonic() < end:
        time.sleep(_PAUSE)
    if schema != SCHEMA:
        expected = f"a store of format {SCHEMA}"
        advice = "choose another directory: old results stay as they are and are never mixed with new ones"
        raise StoreError("store", expected, f"{root}, of format {schema or '1 or unknown'}", advice)


def _schema(path: Path) -> Any:
    """The format's number; None if the file is not there or not whole, "unknown" for other content."""
    with suppress(OSError, ValueError):
        if (data := read_file(path)) is not None:
            content = parse_json(data)
            return content.get("schema", "unknown") if isinstance(content, dict) else "unknown"
    return None


def _readable(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
