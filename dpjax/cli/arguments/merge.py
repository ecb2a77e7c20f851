"""Flags of `dpjax merge`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command


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
