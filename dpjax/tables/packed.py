"""The bytes of a table's file: of a regular file, decompressed, up to a limit; and what other kinds of files are."""

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

from dpjax.core.checks import InputError
from dpjax.core.files import read_bytes

LARGEST = 1 << 29
"""The most bytes of a table, before and after decompression."""
_COMPRESSED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_OTHERS = {
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"%PDF": "a PDF document",
    b"ARROW1": "an Arrow file",
    b"{\\rtf": "RTF",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3\0": "an SQLite database",
    b"\x93NUMPY": "a NumPy array",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"PAR1": "a Parquet file",
}
_MOST_FILES = 1000
_FAULTS = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


def content(path: str | Path) -> bytes:
    """The file's bytes; decompressed if it is packed by gzip, bzip2 or xz, or the only file of a zip archive.

    Raises InputError for a file that cannot be read, is no regular file, or is larger than `LARGEST`.
    """
    try:
        data = read_bytes(path, LARGEST)
        opener = next((opener for start, opener in _COMPRESSED.items() if data.startswith(start)), None)
        if opener is not None:
            with opener(io.BytesIO(data), "rb") as file:
                data = file.read(LARGEST + 1)
        elif data.startswith(b"PK\x03\x04"):
            data = _only_file(data, path)
    except InputError:
        raise
    except _FAULTS as error:
        raise refused(path, str(getattr(error, "strerror", None) or error), "check path and file") from error
    if len(data) > LARGEST:
        raise refused(path, f"more than {LARGEST} bytes when decompressed", "give a smaller table")
    kind = next((kind for start, kind in _OTHERS.items() if data.startswith(start)), None)
    kind = "a tar archive" if data[257:262] == b"ustar" else kind
    if kind is not None:
        raise refused(path, f"it is {kind}", "save the table as CSV")
    return data


def refused(path: str | Path, given: str, advice: str) -> InputError:
    """An error about the whole file."""
    return InputError("table", "a CSV file with a header", f"{path}: {given}", advice)


def _only_file(data: bytes, path: str | Path) -> bytes:
    if data.count(b"PK\x01\x02") > _MOST_FILES:
        raise refused(path, f"a zip archive of more than {_MOST_FILES} files", "unpack it and give one file")
    archive = zipfile.ZipFile(io.BytesIO(data))
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if {"[Content_Types].xml", "content.xml"} & {*names}:
        raise refused(path, "it is an Excel or OpenDocument file", "save the sheet as CSV")
    if len(names) != 1:
        raise refused(path, f"a zip archive of {len(names)} files", "unpack it and give one file")
    with archive.open(names[0]) as file:
        return file.read(LARGEST + 1)
