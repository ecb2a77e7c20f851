"""The cores that a process may use."""

import os


def cores() -> int:
    """The number in NPROC, which XLA reads as well, else that of the cores to which the process is bound.

    A quota of a container is none of these: set NPROC to it.
    """
    given = os.environ.get("NPROC", "")
    return int(given) if given.isdecimal() and int(given) else len(os.sched_getaffinity(0))
