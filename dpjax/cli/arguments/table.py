"""Flags of `dpjax table`. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import tyro

from dpjax.cli.arguments.base import Command
from dpjax.cli.arguments.numbers import Real, Whole


@dataclass
class TableCommand(Command):
    """Measure a paper's table of sample complexities: n* along every axis, and the exponents beside the claimed ones.

    Results that are already in --out are not computed again: run the same command to continue after an interruption.

    Example: dpjax table bns-multi --out results/bns-multi --rows parities "points, PAC"
    """

    compiles: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    name: tyro.conf.Positional[str] = "bns-multi"
    """bns-multi: Section 1.3 of Bun, Nissim, Stemmer 2016."""
    rows: tuple[str, ...] = ()
    """Substrings of the titles of the rows to measure; by default all rows."""
    out: Path = Path("results/table")
    """Directory of the store, table.json, table.md and the figure."""
    limit: Whole = 2**17
    """Largest sample size considered."""
    trials: Whole = 10_000
    """Trials of each search, unless its bracket is one grid step before."""
    confidence: Real = 0.95
    """Confidence of all brackets of a row together."""
    seed: Whole = 0
    """Root of all random keys."""
    devices: Whole | None = None
    """Split the CPU into this many devices; by default one per core. Does not affect results."""
    formats: tuple[str, ...] = ("png", "svg")
    """Formats of the figure: png, svg, pdf; none for no figure."""
