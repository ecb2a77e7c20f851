"""Flags of `dpjax predict`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import TableFlags


@dataclass
class PredictCommand(TableFlags):
    """Apply the result of `dpjax learn --out` to another table: a column of 0 and 1 for each concept.

    Reads the same features and places them on the same public grid. Values outside the bounds count as the nearest
    bound; their number is printed.

    Example: dpjax predict results/learned.json new.csv --out predictions.csv
    """

    compiles: ClassVar[bool] = True
    learned: tyro.conf.Positional[Path]
    """The file learned.json."""
    table: tyro.conf.Positional[Path]
    """A CSV file with a header that has the features' columns; other columns are ignored."""
    drop_missing: bool = False
    """Leave the prediction empty for rows with missing or infinite features, which are otherwise refused."""
    out: Path | None = None
    """The CSV file of predictions, with one line per row of the table, never one that is read; by default they are
    printed."""
