"""Arguments of commands for many processes: a dataclass for each, whose docstrings are the help. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import tyro

from dpjax.cli.drawing import Command
from dpjax.cli.kinds import Real, Whole


@dataclass
class WorkCommand(Command):
    """Compute what is left of a study, beside any number of other processes on any number of hosts.

    The store says what is left: cells that nobody has computed and nobody works on. Processes may end at any moment;
    others take over what they had begun. `dpjax curve STUDY --out STORE --prepare` makes the store, `dpjax status
    STORE` tells how far it is, and `dpjax curve STUDY --out STORE` draws the figure when it is done.

    On SIGTERM, SIGUSR1 and an interruption the tiles that run are finished and stored. Exit status: 0 everything of
    the shard is done, 4 it is done and some cells failed, 5 work is left.

    Example: dpjax work results/demo
    Example: dpjax work /shared/results --shard 3/8 --time-limit 600
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    store: tyro.conf.Positional[Path]
    """Directory of the store."""
    shard: str | None = None
    """i/N: compute only the i-th of N parts, i from 0 to N - 1; by default everything."""
    processes: Whole = 1
    """Worker processes on this host. One that dies is started again."""
    time_limit: Real | None = None
    """Seconds that one cell may take; one that takes longer is recorded as failed."""
    max_seconds: Real | None = None
    """Seconds after which no more work is begun."""
    retry_failed: bool = False
    """Try cells again that failed before."""
    repair: bool = False
    """Move broken files of the store into its folder "broken", so that their cells are computed again."""
    lease: Real = 60.0
    """Seconds without a sign of life after which a process on another host counts as dead."""
    patience: Real = 60.0
    """Seconds that a new file of another host may look incomplete, as over NFS, before it counts as broken."""
    devices: Whole | None = None
    """Split the CPU into this many devices; by default one per core, divided among the processes."""
    compile_cache: str | None = None
    """Folder for compiled programs, or off; by default in the user's cache folder, by versions and processor."""
    alone: bool = False
    """Work in this process itself, which nobody starts again."""


@dataclass
class MergeCommand(Command):
    """Join stores: copy the cells of other stores into the first one.

    A cell that several stores hold is kept with its largest number of trials; the trials that two of them share must be
    equal. Run the study again in the first store to have its result.

    Example: dpjax merge results/all results/monday results/tuesday
    """

    into: tyro.conf.Positional[Path]
    """The store that receives the cells; made if there is none."""
    others: tyro.conf.Positional[tuple[Path, ...]]
    """Stores to read."""
