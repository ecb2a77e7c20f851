"""A file system as processes on several hosts see it over NFS: `install` changes this process's view of one folder.

What another process wrote is not listed and cannot be opened until some time has passed; when it is first read it may
be empty or cut short; and any look may fail with ESTALE.
"""

import errno
import os
import random
import time
import zlib
from pathlib import Path

DELAY, STALE = 0.7, 0.03


def install(root: str, seed: int) -> None:
    """Every process has its own view. ``root``: the folder it concerns."""
    rng, own, seen = random.Random(seed), set(), {}
    listdir, read_bytes, rename, link, open_ = os.listdir, Path.read_bytes, os.replace, os.link, os.open

    def concerns(path):
        return str(path).startswith(root)

    def stale(path):
        if concerns(path) and rng.random() < STALE:
            raise OSError(errno.ESTALE, "Stale file handle", str(path))

    def late(path):
        """Seconds until another process's file can be seen here."""
        try:
            found = os.stat(path)
        except OSError:
            return 0.0
        if (found.st_ino, found.st_mtime_ns) in own:
            return 0.0
        delay = DELAY * (zlib.crc32(f"{seed} {path}".encode()) % 1000) / 1000
        return found.st_ctime + delay - time.time()

    def remember(path):
        found = os.stat(path)
        own.add((found.st_ino, found.st_mtime_ns))

    def listed(folder="."):
        stale(folder)
        names = listdir(folder)
        return [name for name in names if late(Path(folder, name)) <= 0] if concerns(folder) else names

    def read(path):
        if not concerns(path):
            return read_bytes(path)
        stale(path)
        if late(path) > 0:
            raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
        data = read_bytes(path)
        found = os.stat(path)
        key = found.st_ino, found.st_mtime_ns
        if key not in own and seen.setdefault(key, rng.randrange(4)):
            seen[key] -= 1
            return data[: rng.choice((0, len(data) // 2))]
        return data

    def replace(source, target, **options):
        rename(source, target, **options)
        if concerns(target):
            remember(target)

    def linked(source, target, **options):
        link(source, target, **options)
        if concerns(target):
            remember(target)
            if rng.random() < 0.2:
                raise OSError(errno.EIO, "the answer was lost")

    def opened(path, flags, *rest, **options):
        descriptor = open_(path, flags, *rest, **options)
        if concerns(path) and flags & os.O_CREAT:
            found = os.fstat(descriptor)
            own.add((found.st_ino, found.st_mtime_ns))
        return descriptor

    os.listdir, os.replace, os.link, os.open, Path.read_bytes = listed, replace, linked, opened, read
