"""Who may have written a file."""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

_LINKS = 40


def is_private(path: Path | str) -> bool:
    """Whether nobody but this user and root can have written what is at ``path``, or can replace it.

    The folder or file itself, and each folder and symbolic link on the way to it, belongs to one of the two. Nobody
    else may write to them, except to folders with the sticky bit, such as /tmp, on the way. A group of which only this
    user is a member may write.
    """
    try:
        way = [(place, os.lstat(place)) for place in _way(Path(path).absolute())]
    except (OSError, ValueError):
        return False
    for place, status in way:
        if status.st_uid not in (0, os.geteuid()):
            return False
        if stat.S_ISLNK(status.st_mode):
            continue
        others = stat.S_IWOTH if _only_ours(status.st_gid) else stat.S_IWOTH | stat.S_IWGRP
        sticky = status.st_mode & stat.S_ISVTX and place != way[-1][0]
        if status.st_mode & others and not sticky:
            return False
    return True


def _way(path: Path) -> Iterator[Path]:
    """Every folder and symbolic link from the root to the end of a path."""
    at, left, links = Path(path.anchor), list(path.parts[:0:-1]), 0
    yield at
    while left:
        part = left.pop()
        if part == "..":
            at = at.parent
            continue
        yield (at := at / part)
        if at.is_symlink():
            if (links := links + 1) > _LINKS:
                raise OSError("too many symbolic links")
            target = Path(os.readlink(at))
            at = Path(target.anchor) if target.anchor else at.parent
            left += list(target.parts[: 0 if target.anchor else None : -1])


def _only_ours(group: int) -> bool:
    """Whether a group is the one that many systems make for each user, with nobody else in it."""
    try:
        user, record = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and record.gr_name == user.pw_name and set(record.gr_mem) <= {user.pw_name}
