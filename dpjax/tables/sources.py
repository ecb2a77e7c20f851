"""CSV files: how they are split, and their columns as texts."""

import csv
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from dpjax.core.checks import InputError
from dpjax.tables.packed import content, refused

_DELIMITERS, _QUOTES = ",;\t| ", "\"'"
_LINES, _LONGEST = 100, 1 << 22  # lines in which a header is sought; characters of a row
_COLUMNS = 1 << 17  # of a file


@dataclass(frozen=True)
class Form:
    """The format of a file.

    delimiter: one character; None for the one of comma, semicolon, tab, bar and blank for which the header has the
    columns, or the one that a first line "sep=;" names. encoding: a name that Python knows; None for UTF-8, or UTF-16
    if the file starts with its byte-order mark. missing: words for a missing value, besides an empty field, NA, N/A,
    NaN, null and the like. comment: lines that begin with it are ignored.
    """

    delimiter: str | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    comment: str | None = None

    def __post_init__(self):
        character = self.delimiter
        if character is not None and (len(character) != 1 or not character.isascii() or character in '"\r\n'):
            raise InputError("delimiter", "one character", repr(character), r"for example --delimiter ';'")
        if self.comment is not None and not self.comment.strip():
            raise InputError("comment", "how lines of comments begin", repr(self.comment), "for example --comment '#'")


@dataclass(frozen=True)
class Source:
    """A file's text, its columns, how it is split, and what to do if a name is not among the columns."""

    path: str | Path
    text: str
    columns: list[str]
    delimiter: str
    quote: str
    advice: str

    def read(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """The texts of the columns. InputError for a row of another length than the header."""
        chosen, last = [f"f{self.columns.index(name)}" for name in names], f"f{len(self.columns) - 1}"
        kept = [*dict.fromkeys([*chosen, last])]
        try:
            table = pa.csv.read_csv(
                pa.BufferReader(self.text.encode(errors="replace")),
                pa.csv.ReadOptions(autogenerate_column_names=True, block_size=2 * _LONGEST),
                pa.csv.ParseOptions(delimiter=self.delimiter, quote_char=self.quote, newlines_in_values=True),
                pa.csv.ConvertOptions(
                    include_columns=kept, column_types=dict.fromkeys(kept, pa.string()), strings_can_be_null=False
                ),
            ).slice(1)
            end, wrong = table[last][-1].as_py() if table.num_rows else "", ""
            if "\n" in end and not self.text.rstrip().endswith(self.quote):
                wrong = f"a quote that is not closed in line {self.text.count(chr(10)) + 1 - end.count(chr(10))}"
        except pa.ArrowException:
            line, wrong = 1, ""
            for line, row in _rows_of(self.text, self.delimiter, self.quote):
                if len(row) != len(self.columns):
                    wrong = f"{len(row)} in line {line}"
                    break
            wrong = wrong or f"a row after line {line} that cannot be split, perhaps at a quote that is not closed"
        if wrong:
            raise InputError(
                "table",
                f"a CSV file with {len(self.columns)} fields in each row, as in the header (delimiter "
                f"{self.delimiter!r})",
                f"{self.path}: {wrong}",
                "correct the row, or the header if all rows are so",
            )
        return [table[name] for name in chosen]


def source(path: str | Path, form: Form, names: Sequence[str]) -> Source:
    """The file, split by the delimiter that fits these names of columns best."""
    text, delimiters = _text(content(path), path, form), form.delimiter or _DELIMITERS
    if (stated := re.match(r'"?sep=([ -!#-~\t])"?[ \t]*\r?\n', text, re.IGNORECASE)) is not None:
        text, delimiters = "\n" + text[stated.end() :], form.delimiter or stated[1]
    if form.comment is not None:
        text = re.sub(rf"^{re.escape(form.comment)}.*$", "", text, flags=re.MULTILINE)
    start, forms = text[:_LONGEST], itertools.product(delimiters, _QUOTES)
    heads = {form: [*itertools.islice(_rows_of(_single(start, form[0]), *form), _LINES)] for form in forms}
    if not any(heads.values()):
        raise refused(path, "no line with names of columns" if text.strip() else "it is empty", "check the file")
    delimiter, quote = best = max(heads, key=lambda form: _fit(form, heads[form], names))  # the first wins ties
    columns, text = heads[best][0][1], _single(text, delimiter)
    if len(columns) > _COLUMNS or (len(text) > _LONGEST and not {*"\r\n"} & {*start}):
        raise refused(path, f"a first line of more than {_COLUMNS} columns or {_LONGEST} characters", "keep fewer")
    if not {*names} <= {*columns}:
        for line, row in itertools.chain.from_iterable(heads.values()):
            if {*names} <= {*row}:
                advice = "remove the lines above it, or give --comment '#' if they begin so"
                raise InputError("table", "the header in the first line", f"{path}: it is line {line}", advice)
    advice = f"take one of these; the first line was split at {delimiter!r}, choose another by --delimiter"
    if all(re.fullmatch(r"[-+.\d]+", name) for name in columns):
        advice = "the first line has only numbers: insert a line with the names of the columns"
    return Source(path, text, columns, delimiter, quote, advice)


def _single(text: str, delimiter: str) -> str:
    """The text, with one blank between columns if blanks separate them."""
    return re.sub(r"^ +| +(?= |\r?$)", "", text, flags=re.MULTILINE) if delimiter == " " else text


def _fit(form: tuple[str, str], rows: Sequence[tuple[int, list[str]]], names: Sequence[str]) -> tuple[int, ...]:
    """How well a delimiter and a quote fit: the number of names that are columns; a blank only if nothing else does."""
    columns = rows[0][1] if rows else []
    return len({*names} & {*columns}), len(columns) > 1 and form[0] != " ", form[1] == '"', len(columns)


def _rows_of(text: str, delimiter: str, quote: str) -> Iterator[tuple[int, list[str]]]:
    """The nonempty rows, each with the number of its first line, up to one that is not CSV."""
    lines = (line.group() for line in re.finditer(r"[^\r\n]*(?:\r\n|\r|\n|$)", text))
    rows, before = csv.reader(lines, delimiter=delimiter, quotechar=quote), 0
    with suppress(csv.Error):
        for row in rows:
            if row:
                yield before + 1, [field.strip() for field in row]
            before = rows.line_num


def _text(data: bytes, path: str | Path, form: Form) -> str:
    """The decoded file."""
    encoding = form.encoding
    if encoding is None:
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        expected = f"text in {encoding}"
        advice = "give its encoding, for example --encoding latin-1, cp1252 or utf-16"
        raise InputError("table", expected, f"{path}: byte {data[error.start]:#04x} in line {line}", advice) from error
    except (LookupError, ValueError):
        known = "the name of an encoding, such as utf-8, utf-16, latin-1 or cp1252"
        raise InputError("encoding", known, repr(encoding), "check the name") from None
    if (place := text.find("\0")) >= 0:
        line = text.count("\n", 0, place) + 1
        advice = "check the file, or give its encoding, for example --encoding utf-16-le"
        raise InputError("table", f"text in {encoding}", f"{path}: a NUL character in line {line}", advice)
    return text
