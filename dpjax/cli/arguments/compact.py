"""Flags of `dpjax compact`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path

import tyro

from dpjax.cli.arguments.base import Command


@dataclass
class CompactCommand(Command):
    """Write all trials of a store into one Parquet file, with a row for each trial, and leave the store as it is.

    Columns: cell (its digest), config and versions (JSON), trial, and the numbers of the trial. pandas, polars and
    DuckDB read it.

    Example: dpjax compact results/demo --out demo.parquet
    """

    store: tyro.conf.Positional[Path] = Path("results")
    """A directory given to `dpjax curve --out`."""
    out: Path | None = None
    """The file to write; by default trials.parquet in that directory."""
