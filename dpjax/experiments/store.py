"""Results on disk: one Parquet file per cell, named by the hash of its configuration.

A cell is one point of a study. It holds whole numbers, one row a trial, and is a prefix of the trials 0, 1, 2, ...: a
checkpoint is a shorter prefix. Equal configurations with equal rows give equal bytes, in whatever steps the rows came.
A file is complete or absent at any moment, also after a kill or a full disk. POSIX only.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from dpjax.core.checks import InputError
from dpjax.core.files import StoreError, failure, locked, replace_file

SCHEMA = 2  # of the files and of the hash; a store of another one is refused
Rows = dict[str, NDArray[Any]]

_FLOAT = "$float"
_FORMAT, _CELLS = "format.json", "cells"
_LAYOUT = {
    "compression": "zstd", "compression_level": 3, "use_dictionary": False, "write_statistics": False,
    "version": "2.6", "data_page_version": "1.0",
}  # fmt: skip


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
    return _hash_of(canonical(config))


def versions() -> dict[str, str]:
    """The installed versions of what decides the numbers: dpjax, jax and jaxlib."""
    return {name: _version(name) for name in ("dpjax", "jax", "jaxlib")}


@dataclass(frozen=True)
class Cell:
    """One stored cell: its hash, its configuration, the versions that computed it, and its rows."""

    hash: str
    config: dict[str, Any]
    versions: dict[str, str]
    rows: Rows


@dataclass(frozen=True)
class Status:
    """The content of a store: cells, their rows, and unusable files."""

    cells: int
    trials: int
    broken: tuple[str, ...]


class Store:
    """The directory ``root`` with its cells in ``cells/<hh>/<hash>.parquet``. A context manager.

    A writer makes the directory if need be, holds an exclusive lock until ``close`` or the end of the process,
    however it ends, and removes the temporary files of killed writers. read_only: needs an existing store, takes
    no lock and may look on while another process writes. Workers hand their counts to the process that opened the
    store; spawn them, for a forked child would keep the lock. InputError where the directory cannot be used or is
    locked.
    """

    def __init__(self, root: str | os.PathLike[str], read_only: bool = False):
        self.root, self.read_only, self._lock = Path(root), read_only, None
        self._cells = self.root / _CELLS
        require_schema(self.root)
        if read_only:
            if not self._cells.is_dir():
                advice = "run a study into it, or check the path"
                raise StoreError("store", "a directory with results", f"{root}, which is none", advice)
            return
        try:
            self._cells.mkdir(parents=True, exist_ok=True)
            self._lock = locked(self.root / ".lock")
            if not (self.root / _FORMAT).exists():
                replace_file(self.root / _FORMAT, json.dumps({"schema": SCHEMA}).encode())
            for pattern in (".tmp-*", "*/.tmp-*"):
                for leftover in self._cells.glob(pattern):
                    leftover.unlink()
        except OSError as error:
            self.close()
            raise failure(error, self.root) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the lock; the store cannot write any more."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def path(self, config: Mapping[str, Any]) -> Path:
        """The path of the cell of this configuration, whether it exists or not."""
        name = cell_hash(config)
        return self._cells / name[:2] / f"{name}.parquet"

    def read(self, config: Mapping[str, Any]) -> Rows | None:
        """The trials computed so far, ``uint8[trials]`` or ``int64[trials]`` by name, or None if there are none.

        InputError if the file is broken, cut short or not what was written: it is never deleted here.
        """
        cell = _load(self.path(config))
        return None if cell is None else cell.rows

    def cell(self, name: str) -> Cell:
        """The cell of this hash; InputError if there is none, or if the file is broken."""
        found = _load(self._cells / name[:2] / f"{name}.parquet")
        if found is None:
            raise StoreError("store", f"the cell {name}", f"none in {self.root}", "run the study again in this folder")
        return found

    def write(self, config: Mapping[str, Any], rows: Mapping[str, ArrayLike]) -> None:
        """Stores the trials 0, 1, ... computed so far; returns once they would survive a loss of power.

        rows: by name, whole numbers of one shape [count >= 1], entry i for trial i; bytes stay bytes, others become
        int64. The name "trial" is taken.
        Extends what is there: the common rows must be equal, and if more are stored already nothing changes.
        InputError if the common rows differ, if other versions wrote them, if the stored file is broken, or if
        there is no room; in each case all that was stored stays as it was.
        """
        if self._lock is None:
            raise StoreError("store", "a store open for writing", str(self.root), "open it without read_only")
        path, table = self.path(config), _table(config, rows)
        stored = _load(path)
        if stored is not None and not _extends(stored, table, path):
            return
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, row_group_size=table.num_rows, **_LAYOUT)
        replace_file(path, sink.getvalue())

    def iter_cells(self) -> Iterator[Cell]:
        """All cells, ordered by hash. InputError at the first one that is broken."""
        for path in self._paths():
            if (cell := _load(path)) is not None:
                yield cell

    def status(self) -> Status:
        """Counts the cells that can be used, and lists the files that cannot."""
        cells, trials, broken = 0, 0, []
        for path in self._paths():
            try:
                cell = _load(path)
            except InputError:
                broken.append(str(path))
                continue
            if cell is not None:
                cells, trials = cells + 1, trials + _length(cell.rows)
        return Status(cells, trials, tuple(broken))

    def compact(self, path: str | os.PathLike[str]) -> int:
        """Writes one Parquet file with a row for each trial of each cell, ordered by hash; returns the rows.

        Columns: cell (hash), config and versions (JSON with plain numbers, exact), trial, and every number that some
        cell has, by name (null in a cell without it). The same cells give the same bytes.
        """
        parts = []
        for cell in self.iter_cells():
            rows = _length(cell.rows)
            texts = {"cell": cell.hash, "config": _readable(cell.config), "versions": _readable(cell.versions)}
            columns = {name: pa.repeat(pa.scalar(text, pa.string()), rows) for name, text in texts.items()}
            parts.append(pa.table({**columns, "trial": np.arange(rows), **cell.rows}))
        if not parts:
            raise StoreError("store", "at least one cell", f"none in {self.root}", "run the sweep first")
        counts = sorted({name for part in parts for name in part.column_names[4:]})
        fields = [(name, pa.string()) for name in ("cell", "config", "versions")]
        schema = pa.schema([*fields, *((name, pa.int64()) for name in ("trial", *counts))])
        whole = pa.concat_tables(parts, promote_options="default").select(schema.names).cast(schema)
        sink = pa.BufferOutputStream()
        pq.write_table(whole, sink, row_group_size=2**20, **{**_LAYOUT, "use_dictionary": schema.names[:3]})
        replace_file(Path(path), sink.getvalue())
        return whole.num_rows

    def _paths(self) -> list[Path]:
        return sorted(self._cells.glob("[0-9a-f][0-9a-f]/*.parquet"), key=lambda path: path.name)


def require_schema(root: Path) -> None:
    """Refuses a folder with a store that was written in another format; nothing in it is touched."""
    if next((root / _CELLS).glob("*/*.parquet"), None) is None and not (root / _FORMAT).exists():
        return
    try:
        found = json.loads((root / _FORMAT).read_text())["schema"]
    except (OSError, ValueError, KeyError, TypeError):
        found = "1 or unknown"
    if found != SCHEMA:
        raise StoreError(
            "store", f"a store of format {SCHEMA}", f"{root}, of format {found}",
            "choose another directory: old results stay as they are and are never mixed with new ones",
        )  # fmt: skip


def _load(path: Path) -> Cell | None:
    """The cell in a file, None if there is no file, InputError if it is not exactly what ``write`` made."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _broken(path, error.strerror or str(error)) from error
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        about = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
        text, written_by = about["dpjax.config"], json.loads(about["dpjax.versions"])
        rows = {name: table[name].to_numpy() for name in table.column_names}
        if about["dpjax.content"] != _content(text, about["dpjax.versions"], rows):
            raise ValueError("the rows are not those that were written")
        if path.stem != _hash_of(text):
            raise ValueError("the file has the name of another configuration")
        return Cell(path.stem, _native(json.loads(text)), written_by, rows)
    except (pa.ArrowException, ValueError, KeyError, OSError, TypeError, MemoryError) as error:
        raise _broken(path, str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def _broken(path: Path, why: str) -> InputError:
    return StoreError(
        "store", "a whole cell file", f"{path}: {why}",
        "move the file away or delete it; the next run computes the cell again",
    )  # fmt: skip


def _table(config: Mapping[str, Any], rows: Mapping[str, ArrayLike]) -> pa.Table:
    """The table of a cell: its columns by name, and the metadata."""
    given = {name: np.asarray(rows[name]) for name in sorted(rows)}
    shape = next(iter(given.values())).shape if given else ()
    whole = all(column.dtype.kind in "iu" and column.shape == shape for column in given.values())
    if len(shape) != 1 or shape == (0,) or not whole or "trial" in given:
        what = ", ".join(f"{name}: {column.dtype}{list(column.shape)}" for name, column in given.items())
        raise InputError(
            "rows", "columns of whole numbers of one shape [trials >= 1], none named 'trial'", what or "no column",
            "give one number for each trial, one column for each kind of number",
        )  # fmt: skip
    if any(column.max() > np.iinfo(np.int64).max for column in given.values()):
        raise InputError("rows", "numbers below 2**63", "a larger one", "count fewer things")
    exact = {name: column if column.dtype == np.uint8 else column.astype(np.int64) for name, column in given.items()}
    text, by = canonical(config), json.dumps(versions(), sort_keys=True)
    about = {"config": text, "versions": by, "content": _content(text, by, exact)}
    return pa.table(exact).replace_schema_metadata({f"dpjax.{key}": value for key, value in about.items()})


def _extends(stored: Cell, table: pa.Table, path: Path) -> bool:
    """Whether the table has rows that the stored cell lacks; InputError if the two contradict each other."""
    by = json.loads(table.schema.metadata[b"dpjax.versions"])
    if by != stored.versions:
        raise StoreError(
            "store", f"a cell of {by}", f"{path} of {stored.versions}",
            "use another directory, or the versions that began the cell, or delete the file",
        )  # fmt: skip
    rows = {name: table[name].to_numpy() for name in table.column_names}
    common = min(table.num_rows, _length(stored.rows))
    same = rows.keys() == stored.rows.keys()
    if not same or any(not np.array_equal(rows[name][:common], stored.rows[name][:common]) for name in rows):
        raise InputError(
            "rows", f"the {common} trials that {path} holds", "other numbers or other columns",
            "the configuration leaves out something that changes results: add it, or report that a trial is not "
            "reproducible",
        )  # fmt: skip
    return table.num_rows > common


def _length(rows: Rows) -> int:
    return len(next(iter(rows.values())))


def _content(text: str, by: str, rows: Rows) -> str:
    """SHA-256 of the configuration, the versions, and each column's name, type and little-endian values."""
    types = [[name, column.dtype.name] for name, column in rows.items()]
    digest = hashlib.sha256(json.dumps([SCHEMA, text, by, types]).encode())
    for column in rows.values():
        digest.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _hash_of(text: str) -> str:
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
    raise InputError(
        name, "None, a bool, an int, a finite float, a str, a list, or a mapping with str keys not beginning with $",
        repr(value)[:80], "describe the configuration in these terms",
    )  # fmt: skip


def _native(value: Any) -> Any:
    """The inverse of ``_plain``; tuples come back as lists."""
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            return float.fromhex(value[_FLOAT])
        return {key: _native(item) for key, item in value.items()}
    return [_native(item) for item in value] if isinstance(value, list) else value


def _readable(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
