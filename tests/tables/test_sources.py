"""Files as other programs write them, and hostile ones: read, or refused by what they are."""

import bz2
import gzip
import io
import lzma
import os
import resource
import zipfile

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.tables import packed
from dpjax.tables.reading import numbers, opened
from dpjax.tables.sources import Form

ROWS = b"age,ill\n1,0\n2,1\n"


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)  # a date of 1980, in every worker
    return buffer.getvalue()


def read(folder, data, *names, **form):
    path = folder / "table.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    found = opened(path, names or ("age", "ill"), Form(**form))
    return found.schema.metadata[b"delimiter"].decode(), [numbers(found, name).tolist() for name in found.column_names]


@pytest.mark.parametrize(
    ("data", "form", "delimiter"),
    [
        (bz2.compress(ROWS), {}, ","),
        (lzma.compress(ROWS), {}, ","),
        (zipped(table=ROWS), {}, ","),
        (zipped(**{"folder/table": ROWS, "__MACOSX/x": b"1"}), {}, ","),
        (b"sep=;\nage;ill\n1;0\n2;1\n", {}, ";"),
        (b'"sep=|"\r\nage|ill\r\n1|0\r\n2|1\r\n', {}, "|"),
        (b"\xef\xbb\xbfsep=;\nage;ill\n1;0\n2;1\n", {}, ";"),
        (b"# station 12, degrees C\n# 2024\nage,ill\n1,0\n#2,1\n2,1\n", {"comment": "#"}, ","),
        (b"'id' 'age' 'ill'\n7 1 0\n8 2 1\n", {}, " "),
        (b"  age   ill \n  1     0\n  2     1\n", {}, " "),
        (b"name,age, ill \nO'Brien,1,0\nO'Hara,2,1\n", {}, ","),
        (b"mean age;age;ill\n3;1;0\n4;2;1\n", {}, ";"),
        (b'note,age,ill\n"two\n# lines",1,0\nx,2,1\n', {}, ","),
    ],
)
def test_tables_of_other_programs(tmp_path, data, form, delimiter):
    assert read(tmp_path, data, **form) == (delimiter, [[1, 2], [0, 1]])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            b"# station 12, degrees C\n# 2024\nage,ill\n1,0\n",
            r"header in the first line.*it is line 3; .*--comment '#'",
        ),
        (b"Patients of 2024\n\nage;ill\n1;0\n", r"it is line 3; remove the lines above"),
        (b"1,0\n2,1\n", r"first line has only numbers: insert a line with the names"),
        (b"years;sick\n1;0\n", r"one of sick, years, got 'age'; .*split at ';', choose another by --delimiter"),
        (
            b"age,ill\n1,0\n\n2,1,5\n3,0\n",
            r"2 fields in each row, .*\(delimiter ','\).* 3 in line 4; correct the row, or the header",
        ),
        (b'age,ill\n"1\n2",0\n3\n', r": 1 in line 4"),
        (b'age,ill\n1,0\n2,"1\n3,0\n', r"a quote that is not closed in line 3"),
        (b'age,ill\n1,0\n"2,1\n3,0\n', r"1 in line 3"),
        (b'age,ill\n1,0\n"2,1\n' + b"3,0\n" * 99999, r"a row after line 2 that cannot be split, .* quote"),
        (b"age,ill\n1,0\n\x00,1\n", r"a NUL character in line 3"),
        ("age,ill\n1,0\n".encode("utf-16-le"), r"NUL .* --encoding utf-16-le"),
        ("age,é\n1,0\n".encode() + b"\xe9,1\n", r"byte 0xe9 in line 3"),
        (zipped(a=ROWS, b=ROWS), r"a zip archive of 2 files; unpack it"),
        (zipped(**{"[Content_Types].xml": b"", "xl/sheet": b""}), r"Excel or OpenDocument file; save the sheet as CSV"),
        (zipped(**{f"f{i}": b"" for i in range(1001)}), r"more than 1000 files"),
        (zipped(a=ROWS)[:-30], r"zip"),
        (gzip.compress(b"\0" * 257 + b"ustar" + b"\0" * 99, mtime=0), r"it is a tar archive"),
        (bz2.compress(ROWS)[:-9], r"check path and file"),
        (b"PAR1\0\0PAR1", r"it is a Parquet file; save the table as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", r"it is an Excel workbook; save"),
        (b"%PDF-1.4", r"it is a PDF document"),
        (b"," * (1 << 22) + b",", r"a first line of more than 131072 columns"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path, data, words):
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, data)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


@pytest.mark.parametrize("encoding", ["rot13", "base64", "idna", "undefined", "\0"])
def test_encodings_that_are_none(tmp_path, encoding):
    with pytest.raises(InputError, match="encoding"):
        read(tmp_path, b"age,ill\n1,\xff\n", encoding=encoding)


def test_only_regular_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name, kind in (("pipe", "a pipe or"), ("link", "a pipe or"), (".", "a folder"), ("/dev/zero", ".* device")):
        with pytest.raises(InputError, match=rf"got .*: {kind}.*, no regular file; check path and file"):
            opened(tmp_path / name, ("age",))
    with pytest.raises(InputError, match="check path and file"):
        opened("a\0b", ("age",))


def test_sizes_are_limited_before_and_after_decompression(tmp_path, monkeypatch):
    path = tmp_path / "sparse.csv"
    with path.open("wb") as file:
        file.truncate(20 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"21474836480 bytes, beyond the limit of 536870912"):
        opened(path, ("age",))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 15  # KiB
    monkeypatch.setattr(packed, "LARGEST", 1 << 20)
    bomb = b"age,ill\n" + b"1,0\n" * (1 << 19)
    for data in (gzip.compress(bomb), bz2.compress(bomb), lzma.compress(bomb), zipped(a=bomb)):
        assert len(data) < 1 << 14
        with pytest.raises(InputError, match="more than 1048576 bytes when decompressed"):
            read(tmp_path, data)


def test_a_hundred_thousand_columns(tmp_path):
    names = ",".join(f"column number {i}" for i in range(100_000))
    data = f"{names}\n{','.join(['1.5'] * 99_999)},2\n"
    assert read(tmp_path, data, "column number 7", "column number 99999")[1] == [[1.5], [2]]
    with pytest.raises(InputError, match="did you mean") as caught:
        read(tmp_path, data, "colum number 7")
    assert len(str(caught.value)) < 1000
    with pytest.raises(InputError, match="expected one of") as caught:
        read(tmp_path, "x" * 100_000 + ",y\n1,2\n", "age")
    assert len(str(caught.value)) < 500


def test_a_name_that_was_shortened_is_none(tmp_path):
    with pytest.raises(InputError, match="did you mean"):
        read(tmp_path, "a" * 70 + ",y\n1,2\n", "a" * 60)
    assert np.isnan(read(tmp_path, "a" * 70 + ",y\n,2\n", "a" * 70)[1][0][0])
