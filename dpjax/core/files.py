"""Atomic, durable file replacement and an exclusive lock. POSIX only."""

import errno
import fcntl
import os
import uuid
from pathlib import Path
from typing import Any

from dpjax.core.checks import InputError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class StoreError(InputError):
    """A store cannot be used. Results stored earlier are intact."""


def replace_file(path: Path, data: Any) -> None:
    """Replaces ``path`` atomically and durably: a reader sees the complete old file or the complete new one.

    Writes a temporary file ``.tmp-*`` in the same directory, then fsync, rename, fsync of the directory. On a full disk
    or missing permission: InputError, and the temporary file is removed.
    """
    temporary = path.parent / f".tmp-{os.getpid()}-{uuid.uuid4().hex}"
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            _sync(path.parent.parent)
        try:
            _write_synced(temporary, memoryview(data))
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync(path.parent)
    except OSError as error:
        raise failure(error, path) from error


def _write_synced(path: Path, data: memoryview) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(directory: Path) -> None:
    """Makes the entries of a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def locked(path: Path) -> int:
    """A file descriptor that holds the exclusive lock on ``path``; the file contains the id of the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            raise StoreError(
                "store", "a store without another writer",
                f"{path.parent}: another process is writing to this store (process {holder})",
                "wait for it to end, choose another directory, or open with read_only=True",
            ) from None  # fmt: skip
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def failure(error: OSError, path: Path) -> InputError:
    """The operating system's error as an InputError."""
    if error.errno in _FULL:
        return StoreError(
            "store", f"room to write {path}", f"{error.strerror} ({errno.errorcode[error.errno]})",
            "free some space or raise the quota and run again: all that was stored before is intact",
        )  # fmt: skip
    return StoreError(
        "store", "a directory that can be written to", f"{path}: {error.strerror or error}",
        "choose another directory or correct its permissions; all that was stored before is intact",
    )  # fmt: skip
