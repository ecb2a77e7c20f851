"""The file of a cell: Parquet, with its configuration, the versions that computed it, and a digest of its content.

Equal configurations with equal rows give equal bytes, in whatever steps the rows came.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from dpjax.core.checks import InputError
from dpjax.core.documents import parse_json
from dpjax.core.files import StoreError, read_file
from dpjax.experiments.store import error_bins
from dpjax.experiments.store.canonical import SCHEMA, canonical, hash_of, native, versions

Rows = dict[str, NDArray[Any]]
RESERVED = {"trial", "cell", "config", "versions"}
"""Columns of `store.Store.compact` beside those of cells."""

LAYOUT: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": False,
    "write_statistics": False,
    "version": "2.6",
    "data_page_version": "1.0",
}
_NAME = re.compile(r"([0-9a-f]{64})-([1-9][0-9]{0,9})\.parquet", re.ASCII)
_MOST_BYTES = 1 << 30
"""Of the rows of a cell, in memory."""


class BrokenCell(StoreError):
    """A cell's file is not what was written. Other cells can be used."""


@dataclass(frozen=True)
class Cell:
    """One stored cell: its hash, its configuration, the versions that computed it, and its rows."""

    hash: str
    config: dict[str, Any]
    versions: dict[str, str]
    rows: Rows

    def __len__(self) -> int:
        """Its trials."""
        return len(next(iter(self.rows.values())))


def file_name(name: str, rows: int) -> str:
    """The name of the file that holds ``rows`` trials of the cell ``name``.

    The number of rows is in the name: a file with more rows never takes the place of another, whoever writes when.
    """
    return f"{name}-{rows}.parquet"


def parsed(file: str) -> tuple[str, int] | None:
    """(cell, rows) of a file's name; None for other files."""
    match = _NAME.fullmatch(file)
    return None if match is None else (match[1], int(match[2]))


def load(path: Path) -> Cell | None:
    """The cell in a file, None if there is no file, BrokenCell if it is not exactly what `encoded` made."""
    try:
        data = read_file(path)
    except OSError as error:
        raise _broken(path, error.strerror or str(error)) from error
    if data is None:
        return None
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        about = {key.decode(): value.decode() for key, value in (file.schema_arrow.metadata or {}).items()}
        _require_columns(file)
        table = file.read(use_threads=False)
        text, written_by = about["dpjax.config"], _versions(about["dpjax.versions"])
        if any(column.null_count for column in table.columns):
            raise ValueError("rows without a number")
        rows = {name: table[name].to_numpy() for name in table.column_names}
        if about["dpjax.content"] != _content(text, about["dpjax.versions"], rows):
            raise ValueError("the rows are not those that were written")
        if path.name != file_name(hash_of(text), table.num_rows):
            raise ValueError("the file has the name of another cell")
        config = native(parse_json(text))
        if canonical(config) != text:
            raise ValueError("the configuration is not in its canonical form")
        return Cell(hash_of(text), config, written_by, rows)
    except (pa.ArrowException, ValueError, KeyError, OSError, TypeError, MemoryError, RecursionError) as error:
        raise _broken(path, str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def _require_columns(file: pq.ParquetFile) -> None:
    """ValueError unless the columns are of the types that `cell_of` makes, and small enough to be read."""
    about, schema = file.metadata, file.schema_arrow
    if (
        not schema.names
        or about.num_rows < 1
        or set(schema.types) - {pa.uint8(), pa.int64()}
        or RESERVED & {*schema.names}
    ):
        raise ValueError("columns that no cell has")
    sizes = (about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if max(sum(sizes), 8 * about.num_rows * about.num_columns) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES} bytes of rows")


def _versions(text: str) -> dict[str, str]:
    entries = parse_json(text)
    if not isinstance(entries, dict) or not all(isinstance(value, str) for value in entries.values()):
        raise ValueError("versions without names")
    return entries


def outcomes_of(rows: Rows) -> NDArray[np.uint8]:
    """The outcomes of trials, see `error_bins`; BrokenCell for rows without them."""
    outcomes = rows.get("outcome")
    if outcomes is None or outcomes.dtype != np.uint8 or not error_bins.are_outcomes(outcomes):
        actual = (
            "no column outcome" if outcomes is None else f"outcomes of type {outcomes.dtype}, or beyond the last bin"
        )
        raise BrokenCell("store", "a cell of a study, with a byte for each trial", actual, "run the study again")
    return outcomes


def _broken(path: Path, why: str) -> BrokenCell:
    advice = "run again with --repair, or move the file away; the next `curve` computes the cell again"
    return BrokenCell("store", "a whole cell file", f"{path}: {why}", advice)


def cell_of(config: Mapping[str, Any], rows: Mapping[str, ArrayLike]) -> Cell:
    """A cell of these trials by this code. InputError unless rows are columns of whole numbers of one length."""
    columns = {name: np.asarray(rows[name]) for name in sorted(rows)}
    shape = next(iter(columns.values())).shape if columns else ()
    whole = all(column.dtype.kind in "iu" and column.shape == shape for column in columns.values())
    if len(shape) != 1 or shape == (0,) or not whole or RESERVED & columns.keys():
        what = ", ".join(f"{name}: {column.dtype}{list(column.shape)}" for name, column in columns.items())
        expected = "columns of whole numbers of one shape [trials >= 1], with names of their own"
        advice = "give one number for each trial, one column for each kind of number"
        raise InputError("rows", expected, what or "no column", advice)
    if any(column.max() > np.iinfo(np.int64).max for column in columns.values()):
        raise InputError("rows", "numbers below 2**63", "a larger one", "count fewer things")
    exact = {name: column if column.dtype == np.uint8 else column.astype(np.int64) for name, column in columns.items()}
    text = canonical(config)
    return Cell(hash_of(text), native(json.loads(text)), versions(), exact)


def encoded(cell: Cell) -> pa.Buffer:
    """The file's bytes."""
    text, by = canonical(cell.config), json.dumps(cell.versions, sort_keys=True)
    about = {"config": text, "versions": by, "content": _content(text, by, cell.rows)}
    table = pa.table(cell.rows).replace_schema_metadata({f"dpjax.{key}": value for key, value in about.items()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=table.num_rows, **LAYOUT)
    return sink.getvalue()


def require_common(stored: Cell, new: Cell, path: Path) -> None:
    """InputError if the trials that both cells have differ, or if other versions computed them."""
    if new.versions != stored.versions:
        advice = "use another directory, or the versions that began the cell, or delete the file"
        raise StoreError("store", f"a cell of {new.versions}", f"{path} of {stored.versions}", advice)
    common = min(len(new), len(stored))
    same = new.rows.keys() == stored.rows.keys()
    if not same or any(not np.array_equal(new.rows[name][:common], stored.rows[name][:common]) for name in new.rows):
        advice = (
            "the configuration leaves out something that changes results: add it, or report that a trial is not "
            "reproducible"
        )
        raise InputError("rows", f"the {common} trials that {path} holds", "other numbers or other columns", advice)


def _content(text: str, by: str, rows: Rows) -> str:
    """SHA-256 of the configuration, the versions, and each column's name, type and little-endian values."""
    types = [[name, column.dtype.name] for name, column in rows.items()]
    digest = hashlib.sha256(json.dumps([SCHEMA, text, by, types]).encode())
    for column in rows.values():
        digest.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()
