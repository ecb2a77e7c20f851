"""What the control groups of Linux leave a process of memory: limits of containers and of schedulers' jobs."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_OWN, _MOUNTED = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""By version, 2 and 1: files of the limit and of what is used, and the used part that is a cache of files."""
_NO_LIMIT = 1 << 60  # version 1 has a number of this size where version 2 has "max"


def memory_left(own: Path = _OWN, mounted: Path = _MOUNTED) -> int | None:
    """Bytes that the process's group and all groups around it still allow; None without a limit.

    A cache of files gives way to programs, so its inactive part counts as free.
    own: lists the groups of the process. mounted: where their files are.
    """
    remaining = []
    for folder, (limit, used, cache) in _groups(own, mounted):
        with suppress(OSError, ValueError):  # no such folder in this container, or "max"
            most, now = (int((folder / name).read_text()) for name in (limit, used))
            if most < _NO_LIMIT:
                remaining.append(max(most - now + min(_cached(folder, cache), now), 0))
    return min(remaining, default=None)


def _cached(folder: Path, name: str) -> int:
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text().splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return 0


def _groups(own: Path, mounted: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """The folders of the groups, from the innermost out, and the names of their files."""
    lines: list[str] = []
    with suppress(OSError):
        lines = own.read_text().splitlines()
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        kind = "memory" if "memory" in controllers.split(",") else controllers
        if kind in _FILES:
            base = mounted / kind
            inner = base / path.strip("/")
            for folder in (inner, *inner.parents):
                yield folder, _FILES[kind]
                if folder == base:
                    break
