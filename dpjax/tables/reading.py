"""Texts of a table's columns as numbers, labels and categories."""

import difflib
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dpjax.core import checks
from dpjax.core.checks import InputError
from dpjax.tables.sources import Form, source

_SHOWN, _LOOKED_AT, _NAME = 5, 1000, 60
_SEPARATED = re.compile(r"[+-]?\d+([.,'_ \u00a0\u202f]\d+)+")
_PLAIN = Form()


def header(path: str | Path, form: Form = _PLAIN) -> list[str]:
    """The names of all columns, for the delimiter that gives the most columns."""
    return source(path, form, ()).columns


def opened(path: str | Path, names: Sequence[str], form: Form = _PLAIN) -> pa.Table:
    """The named columns as stripped texts, null for missing values; at least one row.

    The metadata of the schema has the ``delimiter``. Raises InputError for a file that
    cannot be read, a missing or duplicate column, and a file without rows.
    """
    file = source(path, form, names)
    columns = file.columns
    for name in names:
        checks.choice("column", name, _near(name, columns), file.advice)
        if (count := columns.count(name)) > 1:
            raise InputError(
                f"column {name!r}", "one of this name", f"{count} in the header", "rename or remove all but one"
            )
        if (count := list(names).count(name)) > 1:
            raise InputError(f"column {name!r}", "each column once", f"{count} times", "name it once")
    texts = file.read(names)
    if not len(texts[0]):
        raise InputError("table", "at least one row", f"{path} has none", "check the file")
    absent = pa.array([*pa.csv.ConvertOptions().null_values, *form.missing])
    trimmed = [pc.utf8_trim_whitespace(column) for column in texts]
    table = pa.table([pc.if_else(pc.is_in(column, absent), None, column) for column in trimmed], names=list(names))
    return table.replace_schema_metadata({"delimiter": file.delimiter})


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """A column of numbers, ``float64[n]``; NaN for missing or infinite values. InputError for any other text."""
    column = table[name]
    try:
        values = column.cast(pa.float64())
    except pa.ArrowException:
        row = next(i for i, text in enumerate(column) if not _is_number(text))
        cell = f"{column[row].as_py()!r} in row {row + 1}"
        if _SEPARATED.fullmatch(column[row].as_py()):
            advice = (
                "remove separators of thousands and write a point before the decimals; their meaning is not guessed"
            )
            raise InputError(f"column {name!r}", "numbers without separators, such as 1234.5", cell, advice) from None
        advice = (
            "write plain numbers such as 1234.5, a date as a number of days, and "
            "no units; name words for missing values by --missing, or declare --categories for a column of texts"
        )
        raise InputError(f"column {name!r}", "numbers", cell, advice) from None
    floats = values.to_numpy(zero_copy_only=False).astype(np.float64) if values.null_count else values.to_numpy()
    return np.where(np.isfinite(floats), floats, np.nan)


def labels(table: pa.Table, names: Sequence[str], positive: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Columns of labels, ``bool[n, k]``, and the mask of present ones, ``bool[n, k]``.

    Without ``positive`` labels are 0 and 1, or false and true; with it a label is 1 if it equals ``positive``. If it
    does not occur in a column, a column of 0 and 1 keeps its meaning, and one of other columns' labels is 0 everywhere.
    """
    distinct = {name: texts_of(table, name) for name in names}
    if positive is None:
        meanings = {name: dict(zip(texts, map(_truth, texts), strict=True)) for name, texts in distinct.items()}
    else:
        meanings = _equal(distinct, positive.strip())
    for name, meaning in meanings.items():
        if None in meaning.values():
            raise _unclear(name, distinct[name], positive)
    coded = [_coded(table[name], meanings[name]) for name in names]
    return np.stack([truths for truths, _ in coded], axis=1), np.stack([there for _, there in coded], axis=1)


def spellings(table: pa.Table, names: Sequence[str], positive: str) -> list[str]:
    """A sentence for each column with labels that differ from the positive one only in case, blanks and signs."""

    def folded(text: str) -> str | float:
        plain = re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", text).casefold())
        return _key(text) if isinstance(_key(text), float) else plain or text

    said = []
    for name in names:
        counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(pc.drop_null(table[name])).to_pylist()}
        others = {
            text: n for text, n in counts.items() if folded(text) == folded(positive) and not _same(text, positive)
        }
        if others:
            ones = sum(n for text, n in counts.items() if _same(text, positive))
            listed = ", ".join(f"{text!r} ({n})" for text, n in others.items())
            said.append(
                f"target {name!r}: 1 is {positive!r} ({ones} of {len(table)} rows); other spellings count as 0: "
                f"{listed}; if they mean the same, write them alike in the table"
            )
    return said


def texts_of(table: pa.Table, name: str) -> list[str]:
    """The different texts of a column, sorted."""
    return sorted(pc.drop_null(pc.unique(table[name])).to_pylist())


def indicators(table: pa.Table, name: str, categories: Sequence[str]) -> tuple[list[np.ndarray], np.ndarray]:
    """A column of 0 and 1 for each category, ``float64[n]``, NaN for missing values; and the mask of other texts."""
    place = {_key(text): i for i, text in enumerate(categories)}
    distinct = texts_of(table, name)
    codes = np.array([-2, *(place.get(_key(text), -1) for text in distinct)])
    rows = codes[pc.fill_null(pc.index_in(table[name], pa.array(distinct, pa.string())), -1).to_numpy() + 1]
    return [np.where(rows == -2, np.nan, rows == i) for i in range(len(categories))], rows == -1


def complete(parts: dict[str, np.ndarray], drop: bool) -> np.ndarray:
    """Mask of rows with all values, ``bool[n]``, from a ``bool[n]`` per column; missing values only if ``drop``."""
    whole = np.all(list(parts.values()), axis=0)
    if not whole.all() and not drop:
        where = [f"{name!r} in {_rows(~there)}" for name, there in parts.items() if not there.all()]
        actual = f"{int(np.sum(~whole))} of {len(whole)} rows without: {', '.join(where)}"
        advice = "fill them in, or leave these rows out with --drop-missing"
        raise InputError("table", "a finite value in every row", actual, advice)
    if not whole.any():
        raise InputError("table", "at least one row with all values", "none", "choose other columns")
    return whole


def _rows(chosen: np.ndarray) -> str:
    positions = np.flatnonzero(chosen) + 1
    more = ", ..." if len(positions) > _SHOWN else ""
    return f"{len(positions)} (row {', '.join(map(str, positions[:_SHOWN]))}{more})"


def _equal(distinct: dict[str, list[str]], positive: str) -> dict[str, dict[str, bool | None]]:
    """The meaning of each value of each column; None if the positive label does not determine it."""
    same = {name: {value: _same(value, positive) for value in column} for name, column in distinct.items()}
    known = {value for column in same.values() if any(column.values()) for value in column}
    values = [value for column in distinct.values() for value in column]
    if values and not known:
        checks.choice("positive", positive, difflib.get_close_matches(positive, values[:_LOOKED_AT], 4 * _SHOWN, 0.0))
    meanings: dict[str, dict[str, bool | None]] = {}
    for name, column in same.items():
        plain = {value: _truth(value) for value in column}
        if any(column.values()) or (column.keys() <= known and None in plain.values()):
            meanings[name] = {**column}
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


def _key(text: str) -> str | float:
    """Equal for texts that are equal, or the same number."""
    try:
        return float(text)
    except ValueError:
        return text


def _same(text: str, positive: str) -> bool:
    return _key(text) == _key(positive)


def _is_number(text: pa.Scalar) -> bool:
    try:
        text.cast(pa.float64())
    except pa.ArrowException:
        return False
    return True


def _near(name: str, known: Sequence[str]) -> list[str]:
    """All the known names if they are few and short, otherwise those that are most like the name, shortened."""
    if name in known or (len(known) <= 4 * _SHOWN and all(len(candidate) <= _NAME for candidate in known)):
        return [*known]
    short = [candidate if len(candidate) <= _NAME else f"{candidate[:_NAME]}..." for candidate in known[:_LOOKED_AT]]
    return difflib.get_close_matches(name[:_NAME], short, 4 * _SHOWN, 0.0)
