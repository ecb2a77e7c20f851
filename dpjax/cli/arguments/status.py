"""Flags of `dpjax status`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command


@dataclass
class StatusCommand(Command):
    """Print what of a study is done, how fast it goes on, and when it ends; and broken files of the store.

    Also works while processes write to the directory, and after they were interrupted.

    Example: dpjax status results
    """

    out: tyro.conf.Positional[Path] = Path("results")
    """The directory given to `dpjax curve --out`."""
    check: bool = False
    """Open every cell; by default only as many as can be opened in one second."""
