"""Reads CSV files: compressed or not, in any encoding, with any delimiter."""

import csv
import difflib
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dpjax.core import checks
from dpjax.core.checks import InputError

_DELIMITERS = ",;\t|"
_SHOWN, _LOOKED_AT = 5, 1000
_SEPARATED = re.compile(r"[+-]?\d+([.,'_ \u00a0\u202f]\d+)+")


@dataclass(frozen=True)
class Form:
    """The format of a file.

    delimiter: one character; None for the one of comma, semicolon, tab and bar for which the header has the columns.
    encoding: a name that Python knows; None for UTF-8, or UTF-16 if the file starts with its byte-order mark.
    missing: words for a missing value, besides an empty field, NA, N/A, NaN, null and the like.
    """

    delimiter: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()

    def __post_init__(self):
        given = self.delimiter
        if given is not None and (len(given) != 1 or not given.isascii() or given in '"\r\n'):
            raise InputError("delimiter", "one character", repr(given), r"for example --delimiter ';'")


_PLAIN = Form()


def header(path: str | Path, form: Form = _PLAIN) -> list[str]:
    """The names of all columns, for the delimiter that gives the most columns."""
    return _header(_text(path, form), path, form, ())[0]


def opened(path: str | Path, names: Sequence[str], form: Form = _PLAIN) -> pa.Table:
    """The named columns as stripped texts, null for missing values; at least one row.

    Raises InputError for a file that cannot be read, a missing or duplicate column, and a file without rows.
    """
    text = _text(path, form)
    columns, delimiter = _header(text, path, form, names)
    for name in names:
        checks.choice("column", name, columns)
        if (count := columns.count(name)) > 1:
            raise InputError(
                f"column {name!r}", "one of this name", f"{count} in the header", "rename or remove all but one"
            )
        if (count := list(names).count(name)) > 1:
            raise InputError(f"column {name!r}", "each column once", f"{count} times", "name it once")
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(text.encode()),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(names), column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )  # fmt: skip
    except pa.ArrowException as error:
        raise InputError(
            "table",
            "a CSV file with as many fields in each row as in the header",
            f"{path}: {error}",
            "correct the row",
        ) from error
    if table.num_rows == 0:
        raise InputError("table", "at least one row", f"{path} has none", "check the file")
    absent = pa.array([*pa.csv.ConvertOptions().null_values, *form.missing])
    trimmed = [pc.utf8_trim_whitespace(table[name]) for name in names]
    return pa.table([pc.if_else(pc.is_in(one, absent), None, one) for one in trimmed], names=list(names))


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """A column of numbers, ``float64[n]``; NaN for missing or infinite values. InputError for any other text."""
    column = table[name]
    try:
        values = column.cast(pa.float64())
    except pa.ArrowException:
        row = next(i for i, text in enumerate(column) if not _is_number(text))
        given = f"{column[row].as_py()!r} in row {row + 1}"
        if _SEPARATED.fullmatch(column[row].as_py()):
            raise InputError(
                f"column {name!r}", "numbers without separators, such as 1234.5", given,
                "remove separators of thousands and write a point before the decimals; their meaning is not guessed",
            ) from None  # fmt: skip
        raise InputError(
            f"column {name!r}", "numbers", given, "correct the value, or name a word for missing ones by --missing"
        ) from None
    found = values.to_numpy(zero_copy_only=False).astype(np.float64) if values.null_count else values.to_numpy()
    return np.where(np.isfinite(found), found, np.nan)


def labels(table: pa.Table, names: Sequence[str], positive: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Columns of labels, ``bool[n, k]``, and the mask of present ones, ``bool[n, k]``.

    Without ``positive`` labels are 0 and 1, or false and true; with it a label is 1 if it equals ``positive``. If it
    does not occur in a column, a column of 0 and 1 keeps its meaning, and one of other columns' labels is 0 everywhere.
    """
    distinct = {name: sorted(pc.drop_null(pc.unique(table[name])).to_pylist()) for name in names}
    if positive is None:
        meanings = {name: dict(zip(own, map(_truth, own), strict=True)) for name, own in distinct.items()}
    else:
        meanings = _equal(distinct, positive.strip())
    for name, meaning in meanings.items():
        if None in meaning.values():
            raise _unclear(name, distinct[name], positive)
    found = [_coded(table[name], meanings[name]) for name in names]
    return np.stack([truths for truths, _ in found], axis=1), np.stack([there for _, there in found], axis=1)


def complete(parts: dict[str, np.ndarray], drop: bool) -> np.ndarray:
    """Mask of rows with all values, ``bool[n]``, from a ``bool[n]`` per column; missing values only if ``drop``."""
    whole = np.all(list(parts.values()), axis=0)
    if not whole.all() and not drop:
        where = [f"{name!r} in {_rows(~there)}" for name, there in parts.items() if not there.all()]
        raise InputError(
            "table", "a finite value in every row", f"{int(np.sum(~whole))} of {len(whole)} rows without: "
            f"{', '.join(where)}", "fill them in, or leave these rows out with --drop-missing",
        )  # fmt: skip
    if not whole.any():
        raise InputError("table", "at least one row with all values", "none", "choose other columns")
    return whole


def _rows(chosen: np.ndarray) -> str:
    found = np.flatnonzero(chosen) + 1
    more = ", ..." if len(found) > _SHOWN else ""
    return f"{len(found)} (row {', '.join(map(str, found[:_SHOWN]))}{more})"


def _equal(distinct: dict[str, list[str]], positive: str) -> dict[str, dict[str, bool | None]]:
    """The meaning of each value of each column; None if the positive label does not determine it."""
    same = {name: {value: _same(value, positive) for value in own} for name, own in distinct.items()}
    known = {value for own in same.values() if any(own.values()) for value in own}
    values = [value for own in distinct.values() for value in own]
    if values and not known:
        checks.choice("positive", positive, difflib.get_close_matches(positive, values[:_LOOKED_AT], 4 * _SHOWN, 0.0))
    meanings: dict[str, dict[str, bool | None]] = {}
    for name, own in same.items():
        plain = {value: _truth(value) for value in own}
        if any(own.values()) or (own.keys() <= known and None in plain.values()):
            meanings[name] = {**own}
        else:
            meanings[name] = plain
    return meanings


def _coded(column: pa.ChunkedArray, meaning: dict[str, bool | None]) -> tuple[np.ndarray, np.ndarray]:
    there = np.asarray(column.is_valid())
    codes = pc.fill_null(pc.index_in(column, pa.array(list(meaning), pa.string())), 0).to_numpy().astype(np.int64)
    truths = np.array([bool(value) for value in meaning.values()] or [False])
    return truths[codes] & there, there


def _unclear(name: str, distinct: list[str], positive: str | None) -> InputError:
    shown = ", ".join(map(repr, distinct[:_SHOWN])) + (", ..." if len(distinct) > _SHOWN else "")
    count = f"{len(distinct)} value{'s' if len(distinct) > 1 else ''}: {shown}"
    if positive is not None:
        return InputError(
            f"target {name!r}", f"labels of which one is {positive!r}", count, "learn this target in another run"
        )
    either = " or ".join(f"--positive {_quoted(value)}" for value in distinct)
    advice = (
        f"use {either}"
        if len(distinct) == 2
        else ("name the column of labels by --target, or use --positive VALUE: that one is 1, and all others 0")
    )
    return InputError(f"target {name!r}", "labels 0 or 1, or --positive", count, advice)


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w.+-]+", value) else f'"{value}"'


def _truth(text: str) -> bool | None:
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return {0.0: False, 1.0: True}.get(float(text))
    except ValueError:
        return None


def _same(text: str, positive: str) -> bool:
    try:
        return text == positive or float(text) == float(positive)
    except ValueError:
        return False


def _is_number(text: pa.Scalar) -> bool:
    try:
        text.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True


def _text(path: str | Path, form: Form) -> str:
    """The whole file, decompressed and decoded."""
    try:
        data = Path(path).read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError("table", "a CSV file with a header", f"{path}: {reason}", "check path and file") from error
    encoding = form.encoding
    if encoding is None:
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        known = "the name of an encoding, such as utf-8, utf-16, latin-1 or cp1252"
        raise InputError("encoding", known, repr(encoding), "check the name") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            "table", f"text in {encoding}", f"{path}: byte {data[error.start]:#04x} in line {line}",
            "give its encoding, for example --encoding latin-1, cp1252 or utf-16",
        ) from error  # fmt: skip


def _header(text: str, path: str | Path, form: Form, names: Sequence[str]) -> tuple[list[str], str]:
    """The first nonempty line, and the delimiter for which it has most of the names, then most columns."""
    found = []
    for delimiter in form.delimiter or _DELIMITERS:
        lines = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
        try:
            columns = next((line for line in lines if line), [])
        except csv.Error as error:
            raise InputError("table", "a CSV file with a header", f"{path}: {error}", "check the file") from error
        found.append((len({*names} & {*columns}), len(columns), columns, delimiter))
    _, count, columns, delimiter = max(found, key=lambda one: one[:2])  # the first delimiter wins ties
    if not count:
        raise InputError("table", "a CSV file with a header", f"{path} is empty", "check the file")
    return columns, delimiter
