"""The cores that a process may use."""

import os


def cores() -> int:
    """The number in NPROC, which XLA reads as well, else that of the cores to which the process is bound.

    A quota of a container is none of these: set NPROC to it.
    """
    nproc = os.environ.get("NPROC", "")
    return int(nproc) if nproc.isdecimal() and int(nproc) else len(os.sched_getaffinity(0))
