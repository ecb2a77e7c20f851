"""Files that several processes, on several hosts, write and read at the same time. POSIX only.

What is read may come from anybody: `read_bytes` opens regular files only, and looks at the size before it reads.

Nothing here takes a lock: a file appears whole, under its name, or not at all. On network file systems a new file may
be seen late, a read may fail with ESTALE, and times are the server's; directories that cannot be synced are left to
the file system.
"""

import errno
import os
import stat
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from dpjax.core.checks import InputError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_UNSUPPORTED = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM, errno.EACCES, errno.EBADF}
_TEMPORARY = ".tmp-"
_OLD = 3600.0  # seconds after which a temporary file belongs to a dead process
_ATTEMPTS, _PAUSE = 5, 0.05
LARGEST = 1 << 28
"""Bytes of the largest file that is read, 256 MiB, where no other limit is given."""
_CHUNK = 1 << 20

_T = TypeVar("_T")


class StoreError(InputError):
    """A store cannot be used. Results stored earlier are intact."""


def replace_file(path: Path, data: Any) -> None:
    """Replaces ``path`` atomically and durably: a reader sees the complete old file or the complete new one.

    Writes a temporary file ``.tmp-*`` in the same directory, then fsync, rename, fsync of the directory where the file
    system has that. On a full disk or missing permission: StoreError, and the temporary file is removed.
    """
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            _sync(path.parent.parent)
        temporary = _temporary_beside(path)
        try:
            _write(temporary, memoryview(data), sync=True)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync(path.parent)
    except OSError as error:
        raise failure(error, path) from error


def is_name(path: Path | str | os.PathLike[str]) -> bool:
    """Whether the system can have a file of this name: of encodable characters, none of them null."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def read_bytes(path: Path | str, limit: int = LARGEST) -> bytes:
    """The content of a regular file of at most ``limit`` bytes; OSError for any other.

    Pipes and devices are not waited for, and nothing is read of a file that is too large. A few attempts if it is
    stale.
    """
    return _attempted(lambda: _content(path, limit))


def _content(path: Path | str, limit: int) -> bytes:
    if not is_name(path):
        raise OSError(errno.EINVAL, "no name of a file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"{_kind(status)}, no regular file")
        data, size = bytearray(), status.st_size
        while size <= limit and (chunk := os.read(descriptor, _CHUNK)):
            data += chunk
            size = max(size, len(data))
        if size > limit:
            raise OSError(errno.EFBIG, f"{size} bytes, beyond the limit of {limit}")
        return bytes(data)
    finally:
        os.close(descriptor)


def read_file(path: Path, limit: int = LARGEST) -> bytes | None:
    """`read_bytes`; None if there is no such file."""
    try:
        return read_bytes(path, limit)
    except FileNotFoundError:
        return None


def require_new(path: Path, inputs: Iterable[Path]) -> None:
    """InputError if ``path`` is one of the inputs, under any name or link, or is neither new nor a regular file."""
    if not path.exists():
        return
    for source in inputs:
        if source.exists() and path.samefile(source):
            raise InputError("out", "a file that is not read", f"{path}, which is {source}", "choose another name")
    if not path.is_file():
        raise InputError("out", "a new or a regular file", f"{path}, {_kind(path.stat())}", "choose another name")


def _kind(seen: os.stat_result) -> str:
    return "a folder" if stat.S_ISDIR(seen.st_mode) else "a pipe or a device"


def names_in(folder: Path) -> list[str]:
    """The names of a folder's entries, temporary files left out; none if there is no such folder."""
    try:
        return [name for name in _attempted(lambda: os.listdir(folder)) if not name.startswith(_TEMPORARY)]
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        actual, advice = f"{folder}, which is none", "move it away, or choose another directory"
        raise StoreError("store", "a folder", actual, advice) from error


def remove_file(path: Path) -> None:
    """Removes the file; no error if it is gone already, or stale."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise failure(error, path) from error


def file_time(folder: Path) -> float:
    """The present time of the folder's file system, in seconds: hosts' clocks may differ from it.

    Writes an empty file and reads its time.
    """
    probe = _temporary_beside(folder / "time")
    try:
        _write(probe, memoryview(b""), sync=False)
        return probe.stat().st_mtime
    except OSError as error:
        raise failure(error, folder) from error
    finally:
        probe.unlink(missing_ok=True)


def remove_old_temporaries(folders: list[Path], now: float) -> None:
    """Removes temporary files that were written over an hour before ``now``; younger ones may be in use."""
    for folder in folders:
        for leftover in folder.glob(f"{_TEMPORARY}*"):
            try:
                if now - leftover.stat().st_mtime > _OLD:
                    leftover.unlink(missing_ok=True)
            except OSError:  # another process removes it
                continue


def _attempted(read: Callable[[], _T]) -> _T:
    for left in reversed(range(_ATTEMPTS)):
        try:
            return read()
        except OSError as error:
            if error.errno != errno.ESTALE or not left:
                raise
        time.sleep(_PAUSE)
    raise AssertionError("unreachable")


def _temporary_beside(path: Path) -> Path:
    return path.parent / f"{_TEMPORARY}{os.getpid()}-{uuid.uuid4().hex}"


def _write(path: Path, data: memoryview, sync: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(directory: Path) -> None:
    """Makes the entries of a directory durable, where the file system can."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return
        raise
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def failure(error: OSError, path: Path) -> StoreError:
    """The operating system's error as a StoreError."""
    if error.errno in _FULL:
        expected = f"room to write {path}"
        advice = "free some space or raise the quota and run again: all that was stored before is intact"
        return StoreError("store", expected, f"{error.strerror} ({errno.errorcode[error.errno]})", advice)
    if error.errno == errno.EROFS:
        advice = "choose another directory; all that was stored before is intact and can be read"
        return StoreError("store", "a file system that can be written to", f"{path}: {error.strerror}", advice)
    advice = "choose another directory or correct its permissions; all that was stored before is intact"
    return StoreError("store", "a directory that can be written to", f"{path}: {error.strerror or error}", advice)
